"""The command `beamscore`."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Iterator, Sequence

import shtab
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.version import VERSION
from ...transforms.io.storage import new_run_id
from ...transforms.records import printable
from ..config.errors import as_usage_error
from ..config.reachable import check_reachable
from ..runtime import launch
from ..runtime.process import run_in_this_process
from ..runtime.temporary_space import own_temporary_folder
from . import benchmarks, compare, convert, describe, draw, evaluate, gate, history, merge, select, split
from .common import CRASHED, DONE, INTERRUPTED, WRONG_USAGE, Parser, warn
from .console import stop_output
from .interrupt import Interrupted, is_interrupt, signals
from .messages import say, say_defect, use_format

EXAMPLE = """\
example:
  beamscore evaluate chart --output out/chart \\
      --ground-truth tests/corpora/chart/ground_truth.jsonl \\
      --predictions tests/corpora/chart/predictions.jsonl

'beamscore COMMAND --help' tells the options of a command."""

COMMANDS = (evaluate, compare, gate, history, merge, benchmarks, convert, describe, split, select, draw)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code.

    0 done; 1 a gate failed; 2 wrong usage or input; 3 a defect; 4 a gate is inconclusive; 130 interrupted, by Ctrl-C
    or SIGTERM.
    """
    with signals(), run_in_this_process():
        try:
            with own_temporary_folder():
                return _run(arguments)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - each is told, and told apart by the exit code
            return _failed(error)


def _run(arguments: Sequence[str] | None) -> int:
    use_format(_log_format(arguments), False)
    parsed, rest = parser().parse_known_args(arguments)
    use_format(parsed.log_format, parsed.verbose)
    warn(getattr(parsed, "notes", []))
    options = launch.beam_options(rest)
    launch.quiet_workers(options, parsed.verbose)
    FileSystems.set_options(options)
    check_reachable(_texts(parsed))
    parsed.command_line = ["beamscore", *(sys.argv[1:] if arguments is None else arguments)]
    command: Callable[[argparse.Namespace, PipelineOptions], int] = parsed.command
    launch.name_job(options, command.__module__.rpartition(".")[2], new_run_id())
    return command(parsed, options)


def _log_format(arguments: Sequence[str] | None) -> str:
    """Returns how messages are written, known before the rest of the command line is found right."""
    alone = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    alone.add_argument("--log-format", nargs="?", default="text")
    return str(alone.parse_known_args(arguments)[0].log_format)


def _texts(parsed: argparse.Namespace) -> Iterator[str]:
    """Yields all text that was given, alone or in lists: whatever it is, an address in it is one of a filesystem."""
    for value in vars(parsed).values():
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str))


def _failed(error: BaseException) -> int:
    """Says what ended the command, and returns the exit code."""
    if is_interrupt(error):
        say("ERROR", "; ".join(["interrupted", *([printable(str(error))] if isinstance(error, Interrupted) else [])]))
        return INTERRUPTED
    problem = as_usage_error(error)
    if problem is not None:
        say("ERROR", str(problem))
        return WRONG_USAGE
    if isinstance(error, BrokenPipeError):
        # Python must not stumble over it again when it ends.
        stop_output()
        return DONE
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        say("ERROR", f"{error}: a disk is full, or standard output goes to one; make room and run again")
        return WRONG_USAGE
    # A defect is shown whole, and told apart from wrong usage by the exit code.
    say_defect(error)
    return CRASHED


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps each command on one line: argparse forgets that commands are indented twice when it makes room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = max(map(len, (command.__name__.rpartition(".")[2] for command in COMMANDS))) + 4


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line; what it does not know is meant for Beam."""
    whole = Parser(
        prog="beamscore",
        description="Scores machine predictions against ground truth as the benchmarks define it.",
        epilog=EXAMPLE,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"beamscore {VERSION}")
    shtab.add_argument_to(whole, "--print-completion", help=argparse.SUPPRESS)
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return whole
