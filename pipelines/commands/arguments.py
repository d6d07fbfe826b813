"""The command line: the arguments and options of each command.

Beam and the scientific libraries take seconds to import, so nothing here imports them: help and usage errors appear at
once. Each command is `run(parsed, options)` of the module of its name, except that `bless` is in `history`.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import shtab

from ...metrics.version import VERSION
from ..config.errors import UsageError, not_positive

if TYPE_CHECKING:
    from ..config.settings import Configuration

EXAMPLE = """\
example:
  beamscore evaluate chart --output out/chart \\
      --ground-truth tests/corpora/chart/ground_truth.jsonl \\
      --predictions tests/corpora/chart/predictions.jsonl

'beamscore COMMAND --help' explains the options of a command."""

DEFAULT_FRACTIONS = "training=0.2,validation=0.2,testing=0.6"

EXPORTS = {
    "mlflow": ("tracking_uri", "experiment"),
    "wandb": ("output", "experiment"),
    "every-eval-ever": ("output", "model", "dataset", "organization", "relationship"),
    "inspect": ("output",),
    "model-index": ("output", "model", "dataset", "task"),
    "junit": ("output",),
    "github": ("output",),
}
"""The targets of `export`, each with the options that have an effect on it."""

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of exiting."""
        if "required: CONFIG" in message:
            message += "; give it first, as --ground-truth and --predictions take all paths that follow them"
        raise UsageError(f"{message}; see {self.prog} --help")


class NamedGlobs(argparse.Action):
    """Adds globs that may have a name, NAME=GLOB. One without a name belongs to the preceding name of the option."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Appends `values`, each with its name."""
        named: list[str] = []
        name = ""
        for value in values:
            match = _NAMED.match(value)
            name = f"{match[1]}=" if match else name
            named.append(value if match else name + value)
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), *named])


def systems(predictions: Sequence[str]) -> dict[str, list[str]]:
    """Returns the globs by system; a glob without a name belongs to DEFAULT_SYSTEM."""
    from ..config.settings import DEFAULT_SYSTEM

    named: dict[str, list[str]] = {}
    for argument in predictions:
        match = _NAMED.match(argument)
        name, glob = (match[1], match[2]) if match else (DEFAULT_SYSTEM, argument)
        named.setdefault(name, []).append(glob)
    return named


def configuration_of(parsed: argparse.Namespace) -> Configuration:
    """Returns the configuration of a command that has one; it is read once. Raises UsageError if it is wrong."""
    if parsed.configuration is None:
        # This imports NumPy and the benchmark.
        from ..config import settings

        options = {name: getattr(parsed, name, None) for name in ("ground_truth", "predictions", "output", "slices")}
        options["predictions"] = systems(options["predictions"] or ())
        parsed.configuration = settings.load(parsed.config, parsed.set, options)
    configuration: Configuration = parsed.configuration
    return configuration


def positive(text: str) -> int:
    """Returns an integer of at least 1; raises ArgumentTypeError for anything else.

    >>> positive("1")
    1
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(not_positive(text))
    return int(text)


def not_empty(text: str) -> str:
    """Returns the text; raises ArgumentTypeError if it is empty: no option ignores its value."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the value is empty; is a variable of the shell unset?")
    return text


Option = tuple[str, dict[str, Any]]


def _option(usage: str, text: str, **more: Any) -> Option:
    """Returns an option such as `--output DIR`, a flag such as `--quiet`, or an argument such as `CONFIG`."""
    name, _, metavar = usage.partition(" ")
    if not name.startswith("-"):
        name, metavar = name.lower(), name
    value = {"metavar": metavar, "type": not_empty} if metavar else {"action": "store_true"}
    return name, {"help": text, **value, **more}


_GLOBS: dict[str, Any] = {"action": "extend", "nargs": "+", "default": []}
_NAMED_GLOBS: dict[str, Any] = {**_GLOBS, "action": NamedGlobs}
_REPEATED: dict[str, Any] = {"action": "append", "default": []}
_SLICES: dict[str, Any] = {**_REPEATED, "dest": "slices"}

_CONFIG = _option("CONFIG", "a YAML file, the name of a benchmark, or FILE.py:CLASS")
_SET = _option("--set KEY=VALUE", "set a key of the configuration", **_REPEATED)
_BENCHMARK_AND_TRUTH = (_CONFIG, _SET, _option("--ground-truth GLOB", "the ground-truth files", **_GLOBS))
_RECORD_OUTPUT = (_option("--output FILE", "the file to write: .jsonl, .jsonl.gz, .jsonl.zst or .parquet"),)
_VERDICTS = (
    _option(
        "--baseline RUN",
        "compare with RUN, RUN:SYSTEM, or the run that a file such as blessed.txt names; such a file counts the runs "
        "judged against it",
    ),
    _option("--junit FILE", "write the verdicts as JUnit XML"),
    _option("--markdown FILE", "write the verdicts as short Markdown"),
)


def _command(text: str, *options: Option | list[Option]) -> tuple[str, Sequence[Option | list[Option]]]:
    return text, options


COMMANDS = {
    "evaluate": _command(
        "score predictions and write a report",
        *_BENCHMARK_AND_TRUTH,
        _option("--predictions [NAME=]GLOB", "the files of a system; several systems are ranked", **_NAMED_GLOBS),
        _option("--output DIR", "the folder for the result, on any filesystem of Beam"),
        _option("--slice COLUMN[,COLUMN]", "compute metrics per value of a column, or of crossed columns", **_SLICES),
        _option("--processes N", "worker processes of a local run (default: by cores and input)", type=positive),
        _option("--reuse RUN", "take the scores of unchanged samples from a finished run"),
        _option("--resume", "continue an interrupted run into the same --output"),
        _option("--no-html", "no report.html, the page for a browser"),
        *_VERDICTS,
        _option("--check", "check the first records, report, and stop"),
        _option("--quiet", "no progress and no metrics on the console"),
    ),
    "compare": _command(
        "show which of two finished runs is better, and where",
        _option("BASELINE", "the output folder of a run, or RUN:SYSTEM"),
        _option("CANDIDATE", "the run to compare, or RUN:SYSTEM"),
        _option("--output DIR", "the folder for comparison.json, comparison.md, comparison.html and changes/"),
        _option("--allow-differences", "compare even if options, versions or ground truth differ"),
        _option("--threshold X", "count samples that change by more than X (default: 0.1)", type=float, default=0.1),
        _option("--changes N", "at most N samples in changes/ (default: 100000)", type=positive, default=100_000),
        _option("--no-html", "no comparison.html, the page for a browser"),
        _option(
            "--samples N",
            "show the N samples that lost most and the N that gained most (default: 50); 0: do not reread inputs",
            type=int,
            default=50,
        ),
        _option("--quiet", "no table on the console"),
    ),
    "gate": _command(
        "evaluate the gates of a finished run",
        _option("RUN", "the output folder of the run"),
        _option("--config FILE", "the configuration with the gates (default: the run's own)"),
        _SET,
        *_VERDICTS,
        _option("--quiet", "no verdicts on the console"),
    ),
    "history": _command(
        "show what changed over the runs below a folder",
        _option("FOLDER", "the folder with the runs, on any disk or object store"),
        _option("--output DIR", "where history.parquet, history.md and history.html go (default: FOLDER)"),
        _option("--no-html", "no history.html, the page for a browser"),
    ),
    "bless": _command(
        "make the median of the recent nights the baseline",
        _option("FOLDER", "the folder with the runs, on any disk or object store"),
        _option("--nights N", "number of nights in the median (default: 7)", type=positive, default=7),
    ),
    "export": _command(
        "export a finished run to another tool",
        _option("RUN", "the output folder of the run, or RUN:SYSTEM"),
        _option("--to TARGET", f"one of {', '.join(EXPORTS)}", choices=list(EXPORTS), required=True),
        _option("--output FILE", "where the document goes (default: standard output); for wandb a folder (default: .)"),
        _option("--model NAME", "the id of the model (default: the name of the system)"),
        _option("--dataset NAME", "the id of the data set (default: the benchmark)"),
        _option("--task ID", "the task of model-index (default: image-to-text)"),
        _option("--organization NAME", "who evaluated, for every-eval-ever (default: unknown)"),
        _option("--relationship WORD", "the organization's relationship to the model: first_party, third_party, ..."),
        _option("--tracking-uri URI", "the store or server of MLflow (default: as MLflow is set up)"),
        _option("--experiment NAME", "the experiment of MLflow or project of W&B (default: the benchmark)"),
    ),
    "merge": _command(
        "merge runs over disjoint samples into one",
        _option("RUNS", "the output folders of finished runs", metavar="RUN", nargs="+"),
        _option("--output RUN", "the folder for the merged run", required=True),
        _option("--no-html", "no report.html, the page for a browser"),
        *_VERDICTS,
        _option("--quiet", "no metrics on the console"),
    ),
    "benchmarks": _command(
        "list the benchmarks and what their metrics mean",
        _option("NAME", "show only this benchmark", nargs="?"),
        _option("--names", "print only the names, one per line"),
    ),
    "convert": _command(
        "turn a benchmark's own files into JSONL or Parquet",
        _option("BENCHMARK", "the benchmark"),
        _option("--input [ROLE=]GLOB", "the files to convert; `--input roles` lists the roles", **_NAMED_GLOBS),
        *_RECORD_OUTPUT,
    ),
    "split": _command(
        "split records into training, validation and test sets",
        *_BENCHMARK_AND_TRUTH,
        *_RECORD_OUTPUT,
        _option("--group COLUMN", "keep samples with the same value together, such as an article"),
        _option("--column NAME", "the column to write (default: split)", default="split"),
        _option("--seed SEED", "seed of the split (default: 0)", type=int, default=0),
        [
            _option("--fractions NAME=X,...", f"fractions of the groups; default: {DEFAULT_FRACTIONS}"),
            _option("--folds K", "k-fold cross validation: 0 to K - 1", type=positive),
        ],
    ),
    "select": _command(
        "write the samples of a finished run that score low or are listed in a file",
        _option("RUN", "the output folder of the run, or RUN:SYSTEM (default: the best)"),
        *_RECORD_OUTPUT,
        _option("--value NAME", "the per-sample metric (default: that of the worst samples)"),
        _option(
            "--below BELOW",
            "select samples below this (default: 1; if lower is better, above 0; with --samples, all)",
            type=float,
        ),
        _option("--samples FILE", "only these: a file with sample_id, such as changes/ of compare"),
        _option("--ground-truth GLOB", "the ground truth, if it has moved since the run", **_GLOBS),
        _option("--predictions GLOB", "the predictions of the system, if they have moved", **_GLOBS),
    ),
    "draw": _command(
        "draw ground truth and prediction of samples as SVG",
        *_BENCHMARK_AND_TRUTH,
        _option(
            "--predictions [NAME=]GLOB",
            "the files of a system; only the first system and the worst of its repeats are drawn",
            **_NAMED_GLOBS,
        ),
        _option("--sample ID", "ids of the samples to draw", type=str, **_GLOBS),
        _option(
            "--samples FILE",
            "a file with the ids to draw as sample_id, such as changes/ of compare",
        ),
        _option("--output PATH", "FILE.svg for one sample, a folder for several", required=True),
    ),
}
"""Each command: its help text and its options. The options of a list exclude each other."""


def flags_of(command: str) -> list[str]:
    """Returns the options of a command, such as `--output`."""
    groups = [each if isinstance(each, list) else [each] for each in COMMANDS[command][1]]
    return ["--help", "--verbose", *(name for group in groups for name, _ in group if name.startswith("--"))]


def beam_flags() -> list[str]:
    """Returns the options that Beam's source declares: importing it takes a second."""
    spec = find_spec("apache_beam")
    folder = os.path.dirname(str(spec and spec.origin))
    with open(os.path.join(folder, "options", "pipeline_options.py"), encoding="utf-8") as source:
        # Some docstrings declare options too.
        found = re.findall(r"""\"{3}(?s:.*?)\"{3}|["'](--[\w-]+)["']""", source.read())
    return [name for name in found if name]


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps each command on one line: argparse ignores the double indent of commands when it computes the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = max(map(len, COMMANDS)) + 4


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line; unknown options are those of Beam."""
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
    for name, (text, options) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(command=name, **({"configuration": None} if _CONFIG in options else {}))
        command.add_argument("--verbose", action="store_true", help="show the log of Beam too")
        command.epilog = "Any option of a Beam pipeline may follow, such as --runner or --direct_num_workers."
        for option in options:
            alternatives = command.add_mutually_exclusive_group() if isinstance(option, list) else command
            for flag, details in option if isinstance(option, list) else [option]:
                action = alternatives.add_argument(flag, **details)
                if flag == "config":
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
    return whole
