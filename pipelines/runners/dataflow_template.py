"""The launcher of a Dataflow Flex Template: turns the template's parameters into `beamscore evaluate`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..commands import main as command
from ..commands.arguments import Parser
from ..commands.messages import WRONG_USAGE
from ..config.errors import UsageError

SEPARATOR = ";"
"""Stands between the values of a parameter that takes several: each parameter of a template is given once."""

_REPEATED = {
    "ground_truth": "--ground-truth",
    "predictions": "--predictions",
    "slices": "--slice",
    "set": "--set",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Launches an evaluation with the parameters of the template and returns the exit code of the command.

    Dataflow's launcher gives each parameter as --name=value, and beside them the options of the job, such as
    --template_location; with that one, the command hands the job over and does not wait for its end.
    """
    try:
        return command.main(command_line(sys.argv[1:] if arguments is None else arguments))
    except UsageError as error:
        print(f"beamscore: {error}", file=sys.stderr)
        return WRONG_USAGE


def command_line(arguments: Sequence[str]) -> list[str]:
    """Returns the command line of `beamscore` that the parameters of the template mean.

    Raises UsageError where `config` is missing.
    """
    parser = _parser()
    parsed, options = parser.parse_known_args(list(arguments))
    line = ["evaluate", parsed.config, "--quiet"]
    for name, flag in _REPEATED.items():
        values = [value.strip() for value in getattr(parsed, name).split(SEPARATOR)]
        line += [f"{flag}={value}" for value in values if value]
    if parsed.output:
        line.append(f"--output={parsed.output}")
    return line + options


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="template", description=__doc__, allow_abbrev=False)
    several = f"several are separated by {SEPARATOR!r}"
    parser.add_argument("--config", required=True, help="a YAML file, or the name of a benchmark")
    parser.add_argument("--ground_truth", default="", help=f"globs; {several}")
    parser.add_argument("--predictions", default="", help=f"[NAME=]GLOB; {several}")
    parser.add_argument("--output", help="the folder for the result")
    parser.add_argument("--slices", default="", help=f"COLUMN[,COLUMN]; {several}")
    parser.add_argument("--set", default="", help=f"KEY=VALUE; {several}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
