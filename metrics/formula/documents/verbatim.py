"""The stretches of a LaTeX text that TeX takes verbatim: no comment, command or formula is in them."""

from __future__ import annotations

import re

MAX_SHORT_LENGTH = 2_000
"""A `\\verb` whose closing character is further away than this is not taken as verbatim."""

_ENVIRONMENT = re.compile(r"\\begin[ \t]*\{((?:[BL]?[Vv]erbatim|lstlisting|minted|filecontents)\*?)\}")
_SHORT = re.compile(r"\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,200}\])?)([^A-Za-z@*\s])")
_ADDRESS = re.compile(r"\\(?:url|path|href|nolinkurl)[ \t]*\{[^{}\n]*\}")

COMMANDS = frozenset({"\\begin", "\\verb", "\\lstinline", "\\url", "\\path", "\\href", "\\nolinkurl"})
"""The commands that may begin such a stretch."""


class Verbatim:
    """Finds where verbatim stretches of one text end.

    Known are the environments verbatim, Verbatim, lstlisting, minted and filecontents (with or without *),
    `\\verb` and `\\lstinline`, and the address of `\\url`, `\\href`, `\\path` and `\\nolinkurl`. What is never closed
    is no verbatim stretch.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: set[str] = set()

    def end(self, start: int) -> int | None:
        """Returns the end of the verbatim stretch whose command begins at `start`; None where none begins there."""
        text = self._text
        environment = _ENVIRONMENT.match(text, start)
        if environment:
            return self._environment_end(environment.group(1), environment.end())
        short = _SHORT.match(text, start)
        if short:
            closing = "}" if short.group(1) == "{" else short.group(1)
            window_end = short.end() + MAX_SHORT_LENGTH
            found = text.find(closing, short.end(), window_end)
            line_end = text.find("\n", short.end(), window_end)
            return found + 1 if found >= 0 and not 0 <= line_end < found else None
        address = _ADDRESS.match(text, start)
        return address.end() if address else None

    def _environment_end(self, name: str, start: int) -> int | None:
        if name in self._unclosed:
            return None
        closing = f"\\end{{{name}}}"
        found = self._text.find(closing, start)
        if found < 0:
            self._unclosed.add(name)
            return None
        return found + len(closing)
