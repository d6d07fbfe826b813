"""The launcher of a Dataflow Flex Template: converts the template's parameters to `beamscore evaluate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..commands import main as command

SEPARATOR = ";"
"""Separates the values of a parameter with several: a template accepts each parameter only once."""

_FLAGS = {
    "ground_truth": "--ground-truth",
    "predictions": "--predictions",
    "output": "--output",
    "slices": "--slice",
    "set": "--set",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Launches an evaluation with the parameters of the template and returns the exit code of the command.

    Dataflow's launcher passes each parameter as --name=value, in addition to the options of the job, such as
    --template_location; with that option, the command hands the job over and does not wait for its end.
    """
    return command.main(command_line(sys.argv[1:] if arguments is None else arguments))


def command_line(arguments: Sequence[str]) -> list[str]:
    """Returns the command line of `beamscore` for the parameters of the template."""
    config, line = list[str](), list[str]()
    for argument in arguments:
        name, _, text = argument.removeprefix("--").partition("=")
        if name == "config":
            config = [text] if text else []
        elif name in _FLAGS:
            values = [text] if name == "output" else text.split(SEPARATOR)
            line += [f"{_FLAGS[name]}={value.strip()}" for value in values if value.strip()]
        else:
            line.append(argument)
    return ["evaluate", *config, "--quiet", *line]
