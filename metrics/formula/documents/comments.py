"""LaTeX without its comments: `%`, `\\iffalse ... \\fi` and the comment environment."""

from __future__ import annotations

import re

from .trace import TracedText, Tracer
from .verbatim import COMMANDS, Verbatim

_STOP = re.compile(r"\\(?:[A-Za-z@]+|.)|%", re.DOTALL)
_COMMENT_ENVIRONMENT = re.compile(r"\\begin[ \t]*\{comment\}")
_COMMENT_END = "\\end{comment}"
_NEW_CONDITIONAL = re.compile(r"\\newif\s*(\\if[A-Za-z@]+)")
_REST_OF_BLANK_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")

_CONDITIONAL_NAMES = (
    "if ifcase ifcat ifcsname ifdefined ifdim ifeof iffalse iffontchar ifhbox ifhmode ifinner ifmmode ifnum ifodd "
    "ifpdf iftrue ifluatex ifvbox ifvmode ifvoid ifx ifxetex"
)
_CONDITIONALS = frozenset(f"\\{name}" for name in _CONDITIONAL_NAMES.split())


def strip_comments(source: str) -> str:
    """Returns LaTeX text without its comments; see `without_comments`.

    >>> strip_comments("a % b\\n100\\\\% c")
    'a \\n100\\\\% c'
    """
    return without_comments(source).text


def without_comments(source: str) -> TracedText:
    """Returns LaTeX text without its comments, as TeX would skip them.

    - An unescaped `%` and the rest of its line go. The line break stays, unless nothing else is on the line.
    - `\\iffalse ... \\fi` goes. Conditionals within it nest: those of TeX, and those that `\\newif` makes anywhere in
      the text. What is between its `\\else` and its `\\fi` stays.
    - `\\begin{comment} ... \\end{comment}` goes; it does not nest.
    - Verbatim stretches stay as they are.

    Where `\\iffalse` or the comment environment is never closed, the rest of the text goes, as in TeX. The time is
    linear in the length.
    """
    return _Stripper(source).stripped()


class _Stripper:
    def __init__(self, source: str) -> None:
        self._source = source
        self._conditionals = _CONDITIONALS | set(_NEW_CONDITIONAL.findall(source))
        self._verbatim = Verbatim(source)
        self._kept = Tracer()
        self._fresh = True
        """Whether the line being written is blank so far."""
        self._live: list[bool] = []
        """The open conditionals; True for an `\\iffalse` whose `\\else` has been passed."""

    def stripped(self) -> TracedText:
        source = self._source
        keep_from = position = 0
        while stop := _STOP.search(source, position):
            position, dropped = self._passed(stop.group(), stop.start(), stop.end())
            if dropped:
                self._keep(keep_from, stop.start())
                keep_from = position = self._after_blank_line(position)
        self._keep(keep_from, len(source))
        return self._kept.finished()

    def _passed(self, token: str, start: int, end: int) -> tuple[int, bool]:
        """Where to read on after the token at `start`, and whether all from `start` to there is to go."""
        source = self._source
        if token == "%":
            line_end = source.find("\n", start)
            return (line_end if line_end >= 0 else len(source)), True
        if token in COMMANDS:
            if _COMMENT_ENVIRONMENT.match(source, start):
                found = source.find(_COMMENT_END, start)
                return (found + len(_COMMENT_END) if found >= 0 else len(source)), True
            return self._verbatim.end(start) or end, False
        if token == "\\iffalse":
            return self._false_branch_end(end), True
        if token == "\\newif":
            declared = _NEW_CONDITIONAL.match(source, start)
            return (declared.end() if declared else end), False
        if token in self._conditionals:
            self._live.append(False)
        elif token == "\\fi" and self._live and self._live.pop():
            return end, True
        return end, False

    def _false_branch_end(self, position: int) -> int:
        """The end of what `\\iffalse` skips: past its `\\fi`, or past its `\\else`, whose branch then is live."""
        depth = 0
        while stop := _STOP.search(self._source, position):
            token, position = stop.group(), stop.end()
            if token == "%":
                line_end = self._source.find("\n", position)
                position = line_end if line_end >= 0 else len(self._source)
            elif token == "\\newif":
                declared = _NEW_CONDITIONAL.match(self._source, stop.start())
                position = declared.end() if declared else position
            elif token in self._conditionals:
                depth += 1
            elif token == "\\fi":
                if depth == 0:
                    return position
                depth -= 1
            elif token == "\\else" and depth == 0:
                self._live.append(True)
                return position
        return len(self._source)

    def _keep(self, start: int, end: int) -> None:
        kept = self._source[start:end]
        _, line_break, line = kept.rpartition("\n")
        self._fresh = (self._fresh or bool(line_break)) and not line.strip(" \t\r")
        self._kept.append(kept, start)

    def _after_blank_line(self, position: int) -> int:
        """Skips the line break of a line that a cut has left blank, for a blank line would end the paragraph."""
        rest = _REST_OF_BLANK_LINE.match(self._source, position) if self._fresh else None
        return rest.end() if rest else position
