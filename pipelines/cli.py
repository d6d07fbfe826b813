"""The command `beamscore`."""

from __future__ import annotations

import argparse
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipelines import launch
from pipelines.commands import benchmarks, convert, describe, draw, evaluate, select, split
from pipelines.commands.common import CRASHED, INTERRUPTED, WRONG_USAGE, Parser
from pipelines.errors import UsageError

EXAMPLE = """\
example:
  beamscore evaluate chart --ground-truth tests/corpora/chart/ground_truth.jsonl \\
      --predictions tests/corpora/chart/predictions.jsonl --output out/chart

'beamscore COMMAND --help' tells the options of a command."""

COMMANDS = (evaluate, benchmarks, convert, describe, split, select, draw)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0 done, 1 a gate failed, 2 wrong usage or input."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        parsed, rest = parser().parse_known_args(arguments)
        launch.quiet_logging(parsed.verbose)
        options = launch.beam_options(rest)
        launch.quiet_workers(options, parsed.verbose)
        FileSystems.set_options(options)
        command: Callable[[argparse.Namespace, PipelineOptions], int] = parsed.command
        return command(parsed, options)
    except UsageError as error:
        print(f"beamscore: {error}", file=sys.stderr)
        return WRONG_USAGE
    except KeyboardInterrupt:
        print("beamscore: interrupted; the result of an earlier run, if any, is as it was", file=sys.stderr)
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - a defect is shown whole, and told apart from wrong usage by the exit code
        traceback.print_exc()
        return CRASHED


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line; what it does not know is meant for Beam."""
    whole = Parser(
        prog="beamscore",
        description="Scores machine predictions against ground truth, exactly as the benchmarks define it.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return whole


if __name__ == "__main__":
    sys.exit(main())
