"""The command line: what each command takes.

Beam and the scientific libraries take seconds to import, so that nothing here imports them: help and what is wrong with
a command line come at once. What a command does stands in the module of its name, as `run(parsed, options)`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import shtab

from ...metrics.registry import benchmark_names
from ...metrics.version import VERSION
from ..config.errors import UsageError
from ..config.explain import not_positive
from ..config.systems import DEFAULT_SYSTEM

if TYPE_CHECKING:
    from ..config.settings import Configuration

EXAMPLE = """\
example:
  beamscore evaluate chart --output out/chart \\
      --ground-truth tests/corpora/chart/ground_truth.jsonl \\
      --predictions tests/corpora/chart/predictions.jsonl

'beamscore COMMAND --help' tells the options of a command."""

DEFAULT_FRACTIONS = "training=0.2,validation=0.2,testing=0.6"

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An argument parser that ends with one line."""

    _starts_with_option = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses arguments, of which a CONFIG may stand behind globs, which would be taken for one more."""
        return super().parse_known_args(None if args is None else self._config_first(list(args)), namespace)

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of ending the process."""
        if "required: CONFIG" in message and self._starts_with_option:
            message += "; give it first, as --ground-truth and --predictions take all paths that follow them"
        raise UsageError(f"{message}; see {self.prog} --help")

    def _config_first(self, args: list[str]) -> list[str]:
        takes_config = any(action.dest == "config" for action in self._actions)
        self._starts_with_option = takes_config and args[:1] != [] and args[0].startswith("-")
        if not self._starts_with_option:
            return args
        for index in range(2, len(args)):
            is_config = args[index] in benchmark_names() or args[index].endswith((".yaml", ".yml"))
            if is_config and not args[index - 1].startswith("-"):
                return [args[index], *args[:index], *args[index + 1 :]]
        return args


class Globs(argparse.Action):
    """Adds the globs that follow an option, one or several, to those given before."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`."""
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *values])


class NamedGlobs(Globs):
    """Adds globs that may have a name, NAME=GLOB: one without belongs to the name before it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`, each with its name."""
        named: list[str] = []
        name = ""
        for value in values:
            found = _NAMED.match(value)
            name = f"{found[1]}=" if found else name
            named.append(value if found else name + value)
        super().__call__(parser, namespace, named, option_string)


class SystemGlobs(NamedGlobs):
    """Adds the globs of systems.

    Several paths that follow one option, none of them a pattern and none with a name, may be what the shell made of a
    pattern: `notes` of the namespace says what they are taken for.
    """

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`, each with its name."""
        if len(values) > 1 and not any(_NAMED.match(value) or re.search(r"[*?[]", value) for value in values):
            text = f"--predictions: {len(values)} paths without a name are one system; NAME=PATH makes one of each"
            namespace.notes = [*getattr(namespace, "notes", []), text]
        super().__call__(parser, namespace, values, option_string)


def systems(predictions: Sequence[str]) -> dict[str, list[str]]:
    """Returns the globs by system; a glob without a name belongs to DEFAULT_SYSTEM."""
    named: dict[str, list[str]] = {}
    for each in predictions:
        found = _NAMED.match(each)
        name, glob = (found.group(1), found.group(2)) if found else (DEFAULT_SYSTEM, each)
        named.setdefault(name, []).append(glob)
    return named


def configuration_of(parsed: argparse.Namespace) -> Configuration:
    """Returns the configuration of a command that takes one, which is read once; raises UsageError."""
    if parsed.configuration is None:
        # NumPy and the benchmark are imported with it.
        from ..config import settings

        given = {name: getattr(parsed, name) for name in parsed.settings}
        if "predictions" in given:
            given["predictions"] = systems(given["predictions"])
        parsed.configuration = settings.load(parsed.config, parsed.set, given)
    configuration: Configuration = parsed.configuration
    return configuration


def positive(text: str) -> int:
    """Returns a whole number of at least 1; raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(not_positive(text))
    return int(text)


def _add_config(command: argparse.ArgumentParser, *given: str) -> None:
    """Adds the configuration and what overrides it.

    given: the options of the command, by their names, that are settings of the configuration too.
    """
    config = command.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a benchmark")
    config.complete = shtab.FILE  # type: ignore[attr-defined]
    _add_set(command)
    command.set_defaults(settings=given, configuration=None)


def _add_set(command: argparse.ArgumentParser) -> None:
    command.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="set a key of the config")


def _add_ground_truth(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--ground-truth",
        metavar="GLOB",
        action=Globs,
        nargs="+",
        default=[],
        help="files of records, or a folder of them",
    )


def _add_predictions(command: argparse.ArgumentParser, of_several: str) -> None:
    """Adds the predictions; of_several: what the command does with several systems."""
    command.add_argument(
        "--predictions",
        metavar="[NAME=]GLOB",
        action=SystemGlobs,
        nargs="+",
        default=[],
        help=f"the files of a system; {of_several}",
    )


def _add_record_output(command: argparse.ArgumentParser) -> None:
    """Adds the file of records that a command writes."""
    command.add_argument("--output", metavar="FILE", help="ends with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    command.add_argument(
        "--shards", metavar="N", type=int, default=1, help="write N files, numbered before the ending (default: 1)"
    )


def _add_verdicts(command: argparse.ArgumentParser) -> None:
    """Adds the baseline of gates and the files for their verdicts."""
    command.add_argument("--baseline", metavar="RUN", help="a run, RUN:SYSTEM, or a file such as blessed.txt")
    command.add_argument("--junit", metavar="FILE", help="write the verdicts as JUnit XML")
    command.add_argument("--markdown", metavar="FILE", help="write the verdicts as short Markdown")


def _evaluate(command: argparse.ArgumentParser) -> None:
    _add_config(command, "ground_truth", "predictions", "output", "slices")
    _add_ground_truth(command)
    _add_predictions(command, "several systems are ranked")
    command.add_argument("--output", metavar="DIR", help="the folder for the result, on any filesystem of Beam")
    command.add_argument(
        "--slice",
        metavar="COLUMN[,COLUMN]",
        dest="slices",
        action="append",
        default=[],
        help="metrics by column, or crossed columns",
    )
    command.add_argument(
        "--processes", type=positive, metavar="N", help="worker processes of a local run (default: by cores and input)"
    )
    command.add_argument("--reuse", metavar="RUN", help="take the scores of unchanged samples from a finished run")
    command.add_argument(
        "--resume", action="store_true", help="go on where an interrupted run into this --output has stopped"
    )
    command.add_argument("--no-html", action="store_true", help="no report.html, the page for a browser")
    _add_verdicts(command)
    command.add_argument(
        "--check", action="store_true", help="look at the first records, say what the run would do, and stop"
    )
    command.add_argument(
        "--metrics-file", metavar="FILE", help="keep the metrics of the run in a textfile for Prometheus"
    )
    command.add_argument("--quiet", action="store_true", help="no progress and no metrics on the console")


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("baseline", metavar="BASELINE", help="the output folder of a run, or RUN:SYSTEM")
    command.add_argument("candidate", metavar="CANDIDATE", help="another, or the same run with another system")
    command.add_argument(
        "--output", metavar="DIR", help="the folder for comparison.json, comparison.md, comparison.html and changes/"
    )
    command.add_argument(
        "--allow-differences", action="store_true", help="compare though options, versions or ground truth differ"
    )
    command.add_argument(
        "--threshold",
        type=float,
        default=0.1,
        metavar="X",
        help="a larger change of a sample is counted (default: 0.1)",
    )
    command.add_argument(
        "--changes", type=positive, default=100_000, metavar="N", help="samples listed in changes/ (default: 100000)"
    )
    command.add_argument("--no-html", action="store_true", help="no comparison.html, the page for a browser")
    command.add_argument(
        "--samples",
        type=int,
        default=50,
        metavar="N",
        help="samples in comparison.html that lost most, and that won most (default: 50); 0 reads no input again",
    )
    command.add_argument("--quiet", action="store_true", help="no table on the console")


def _gate(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="RUN", help="the output folder of the run")
    command.add_argument("--config", metavar="FILE", help="the configuration with the gates (default: the run's own)")
    _add_set(command)
    _add_verdicts(command)
    command.add_argument("--quiet", action="store_true", help="no verdicts on the console")


def _history(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", metavar="FOLDER", help="the folder with the runs, on any disk or object store")
    command.add_argument(
        "--output", metavar="DIR", help="where history.parquet, history.md and history.html go (default: FOLDER)"
    )
    command.add_argument("--no-html", action="store_true", help="no history.html, the page for a browser")
    command.add_argument("--rebuild", action="store_true", help="read every run again, not only what is new")


def _merge(command: argparse.ArgumentParser) -> None:
    command.add_argument("runs", metavar="RUN", nargs="+", help="the output folders of finished runs")
    command.add_argument("--output", metavar="RUN", required=True, help="the folder for the merged run")
    command.add_argument("--no-html", action="store_true", help="no report.html, the page for a browser")
    _add_verdicts(command)
    command.add_argument("--quiet", action="store_true", help="no metrics on the console")


def _benchmarks(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME", help="one benchmark alone")
    command.add_argument("--names", action="store_true", help="the names alone, one a line")


def _convert(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmark", metavar="BENCHMARK", help="the benchmark")
    command.add_argument(
        "--input",
        metavar="[ROLE=]GLOB",
        action=NamedGlobs,
        nargs="+",
        default=[],
        help="files; 'roles' in place of GLOB lists them",
    )
    _add_record_output(command)


def _describe(command: argparse.ArgumentParser) -> None:
    _add_config(command, "ground_truth", "output", "slices")
    _add_ground_truth(command)
    command.add_argument("--output", metavar="DIR", help="the folder for description.json and description.md")
    command.add_argument(
        "--slice", metavar="COLUMN", dest="slices", action="append", default=[], help="compare, such as by split"
    )


def _split(command: argparse.ArgumentParser) -> None:
    _add_config(command, "ground_truth")
    _add_ground_truth(command)
    _add_record_output(command)
    command.add_argument("--group", metavar="COLUMN", help="samples with the same value, an article say, stay together")
    command.add_argument("--column", metavar="NAME", default="split", help="the column to write (default: split)")
    command.add_argument("--seed", type=int, default=0, help="another seed draws another split")
    rule = command.add_mutually_exclusive_group()
    rule.add_argument(
        "--fractions", metavar="NAME=X,...", help=f"fractions of the groups; default: {DEFAULT_FRACTIONS}"
    )
    rule.add_argument("--folds", type=int, metavar="K", help="k-fold cross validation: 0 to K - 1")
    rule.add_argument(
        "--published",
        metavar="T,V",
        help="the DeTEXT recipe: T samples for training, one a group, and V for validation, in whole groups",
    )


def _select(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", help="the output folder of the run")
    _add_record_output(command)
    command.add_argument("--value", metavar="NAME", help="the per-sample metric (default: that of the worst samples)")
    command.add_argument("--below", type=float, help="the threshold (default: 1; with --samples, none)")
    command.add_argument(
        "--samples", metavar="FILE", help="only these: JSONL or Parquet with sample_id, such as changes/ of compare"
    )
    command.add_argument("--system", metavar="NAME", help="the system (default: the best)")
    command.add_argument(
        "--ground-truth", metavar="GLOB", action=Globs, nargs="+", help="where it is now, if it has moved since the run"
    )
    command.add_argument(
        "--predictions",
        metavar="GLOB",
        action=Globs,
        nargs="+",
        help="where those of the system are now, if they have moved",
    )


def _draw(command: argparse.ArgumentParser) -> None:
    _add_config(command, "ground_truth", "predictions")
    _add_ground_truth(command)
    _add_predictions(command, "of several systems the first is drawn")
    command.add_argument(
        "--sample", metavar="ID", action=Globs, nargs="+", default=[], help="a sample_id, or several of them"
    )
    command.add_argument(
        "--samples",
        metavar="FILE",
        help="those of a list: JSONL or Parquet with sample_id, such as changes/ of compare",
    )
    command.add_argument(
        "--output", metavar="PATH", required=True, help="the picture, FILE.svg; of several samples, the folder for them"
    )


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "evaluate": ("score predictions and write a report", _evaluate),
    "compare": ("tell which of two finished runs is better, and where", _compare),
    "gate": ("judge the gates of a finished run", _gate),
    "history": ("tell what changed over the runs below a folder", _history),
    "merge": ("merge runs over disjoint samples to one", _merge),
    "benchmarks": ("list the benchmarks and what their metrics mean", _benchmarks),
    "convert": ("turn a benchmark's own files into JSONL or Parquet", _convert),
    "describe": ("write the tables of a data set", _describe),
    "split": ("write the records with a column of splits by group", _split),
    "select": ("write the samples of a finished run that score low, or that a list names", _select),
    "draw": ("draw ground truth and prediction of samples as SVG", _draw),
}
"""Each command, a module of this folder: what it does, and what adds its options."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps each command on one line: argparse forgets that commands are indented twice when it makes room."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = max(map(len, COMMANDS)) + 4


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
    for name, (text, add_options) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(command=name)
        command.add_argument("--verbose", action="store_true", help="show the log of Beam too")
        command.add_argument(
            "--log-format", choices=["text", "json"], default="text", help="how messages are written (default: text)"
        )
        command.epilog = "Any option of a Beam pipeline may follow, such as --runner or --direct_num_workers."
        add_options(command)
    return whole
