"""Lets through what a formula may use: the commands and environments of the vocabulary."""

from __future__ import annotations

import re

from .vocabulary import COMMANDS, CONTROL_SYMBOLS, ENVIRONMENTS

_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)|(.)|$)", re.DOTALL)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z]*)[^{}]*\}|\\(?:begin|end)(?![a-zA-Z])")
_UNKNOWN = r"\unknowncommand "
_MANY_COLUMNS = re.compile(r"""\*\s*\{(?:\s*\d{3,}\s*\}|[-+\s]*(?:\d{3,}|["'`\\])[^{}]*\}(?=\s*\{))""")


def allowed(source: str) -> str:
    """Returns the LaTeX with every command and environment outside of the vocabulary made an unknown one.

    A column that is repeated more than 99 times, or as often as other than decimal digits say, is repeated 99 times.
    """

    def command(found: re.Match[str]) -> str:
        word, symbol = found.groups()
        if word is None:
            return found.group() if symbol and symbol in CONTROL_SYMBOLS else _UNKNOWN
        return found.group() if word in COMMANDS else _UNKNOWN

    def environment(found: re.Match[str]) -> str:
        return found.group() if found[2] in ENVIRONMENTS else _UNKNOWN

    return _MANY_COLUMNS.sub("*{99}", _ENVIRONMENT.sub(environment, _COMMAND.sub(command, source)))
