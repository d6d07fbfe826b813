"""The command `beamscore`."""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from metrics.benchmark import MissingTool, benchmark_class, benchmark_names
from pipelines import console, launch, settings
from pipelines.errors import UsageError
from pipelines.evaluate import build_evaluation, plan_evaluation, summary_path
from pipelines.result import REPORT, verdict
from transforms.write import new_run_id, remove_staging

DONE, FAILED, WRONG_USAGE, CRASHED, INTERRUPTED = 0, 1, 2, 3, 130

EXAMPLE = """\
example:
  beamscore evaluate chart --ground-truth 'tests/corpora/chart/ground_truth.jsonl' \\
      --predictions 'tests/corpora/chart/predictions.jsonl' --output out/chart

'beamscore COMMAND --help' tells the options of a command."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that ends with one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see {self.prog} --help")


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
        print("beamscore: interrupted; nothing of this run was left behind", file=sys.stderr)
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - a defect is shown whole, and told apart from wrong usage by the exit code
        traceback.print_exc()
        return CRASHED


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line; what it does not know is meant for Beam."""
    whole = _Parser(
        prog="beamscore",
        description="Scores machine predictions against ground truth, exactly as the benchmarks define it.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_evaluate(commands)
    _add_benchmarks(commands)
    return whole


def _add_command(commands: Any, name: str, run: Callable[..., int], text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.add_argument("--verbose", action="store_true", help="show the log of Beam too")
    command.set_defaults(command=run)
    return command


def _add_evaluate(commands: Any) -> None:
    command = _add_command(commands, "evaluate", evaluate, "score predictions and write a report")
    command.add_argument("config", metavar="CONFIG", help="a YAML file, or a benchmark's name for its defaults")
    command.add_argument(
        "--ground-truth", metavar="GLOB", action="append", default=[], help="JSONL or Parquet; may be given again"
    )
    command.add_argument(
        "--predictions", metavar="[NAME=]GLOB", action="append", default=[], help="a system; several are ranked"
    )
    command.add_argument("--output", metavar="DIR", help="the folder for the result, on any filesystem of Beam")
    command.add_argument(
        "--slice", metavar="COLUMN[,COLUMN]", action="append", default=[], help="figures by column, or crossed columns"
    )
    command.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="set a key of the config")
    command.add_argument("--quiet", action="store_true", help="no progress and no figures on the console")
    command.epilog = "Any option of a Beam pipeline may follow, such as --runner or --direct_num_workers."


def _add_benchmarks(commands: Any) -> None:
    command = _add_command(commands, "benchmarks", benchmarks, "list the benchmarks and what their figures mean")
    command.add_argument("name", nargs="?", metavar="NAME", help="one benchmark, in detail")


def evaluate(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Runs `beamscore evaluate`."""
    given = {
        "ground_truth": parsed.ground_truth,
        "predictions": _systems(parsed.predictions),
        "output": parsed.output,
        "slices": parsed.slice,
    }
    configuration = settings.load(parsed.config, parsed.set, given)
    run_id = new_run_id()
    plan = plan_evaluation(configuration, run_id)
    local = launch.is_local(options)
    if local:
        _check_tools(configuration)
    try:
        with console.progress_line(len(plan.systems), parsed.quiet or not local):
            launch.run(options, lambda pipeline: build_evaluation(pipeline, plan))
    except BaseException:
        remove_staging(plan.output, run_id)
        raise
    with FileSystems.open(summary_path(plan.output)) as stream:
        document = json.loads(stream.read())
    if not parsed.quiet:
        report = summary_path(plan.output).removesuffix("summary.json") + REPORT
        console.print_figures(document, configuration.benchmark.headline, report)
    failures = verdict(document, configuration.settings).failures
    for failure in failures:
        print(f"beamscore: {failure}", file=sys.stderr)
    return FAILED if failures else DONE


def _check_tools(configuration: settings.Configuration) -> None:
    """Raises UsageError where a program that the benchmark needs is missing on this machine."""
    try:
        configuration.benchmark.setup()
    except MissingTool as error:
        raise UsageError(str(error)) from error
    finally:
        configuration.benchmark.teardown()


def _systems(predictions: Sequence[str]) -> dict[str, list[str]]:
    """Returns the globs by system; a glob without a name belongs to the system `predictions`."""
    systems: dict[str, list[str]] = {}
    for each in predictions:
        named = re.match(r"([A-Za-z0-9_.-]+)=(.*)", each, re.DOTALL)
        name, glob = (named.group(1), named.group(2)) if named else ("predictions", each)
        systems.setdefault(name, []).append(glob)
    return systems


def benchmarks(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Runs `beamscore benchmarks`."""
    if parsed.name is not None and parsed.name not in benchmark_names():
        raise UsageError(f"there is no benchmark {parsed.name}; there are {', '.join(benchmark_names())}")
    for name in [parsed.name] if parsed.name else benchmark_names():
        kind = benchmark_class(name)
        print(f"{name}: {kind.summary}")
        for title, meanings in [("values", kind.value_meanings), ("of each sample", kind.sample_columns)]:
            print(f"  {title}")
            width = max(len(value) for value in meanings)
            for value, meaning in meanings.items():
                print(f"    {value:<{width}}  {meaning}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
