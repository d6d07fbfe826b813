"""LaTeX text in which comments, skipped conditionals and verbatim text are blank, all else at its place."""

from __future__ import annotations

import re

_MARK = re.compile(
    r"%[^\n]*"
    r"|\\begin[ \t]*\{(?P<environment>comment|(?:[BL]?[Vv]erbatim|lstlisting|minted|filecontents)\*?)\}"
    r"|\\(?:verb\*?|lstinline(?:\[[^\]\n]{0,200}\])?)"
    r"(?:\{(?P<braced>[^}\n]{0,2000})\}|(?P<quote>[^A-Za-z@*\s{])(?P<quoted>[^\n]{0,2000}?)(?P=quote))"
    r"|\\(?:url|path|href|nolinkurl)[ \t]*\{(?P<address>[^{}\n]*)\}"
    r"|\\newif\s*\\if[A-Za-z@]+"
    r"|\\(?:[A-Za-z@]+|.)",
    re.DOTALL,
)
_NEW_CONDITIONAL = re.compile(r"\\newif\s*(\\if[A-Za-z@]+)")
_REST_OF_BLANK_LINE = re.compile(r"[ \t\r]*\n")
_VISIBLE = re.compile(r"\S")
_CONDITIONAL_NAMES = (
    r"\if \ifcase \ifcat \ifcsname \ifdefined \ifdim \ifeof \iffalse \iffontchar \ifhbox \ifhmode \ifinner \ifmmode "
    r"\ifnum \ifodd \ifpdf \iftrue \ifluatex \ifvbox \ifvmode \ifvoid \ifx \ifxetex"
)
_CONDITIONALS = frozenset(_CONDITIONAL_NAMES.split())


def visible_source(source: str) -> str:
    """Returns LaTeX text with blanks for what TeX skips or takes verbatim; every other character keeps its place.

    - An unescaped `%` and the rest of its line. The line break stays, unless nothing else is on the line: a blank line
      would end the paragraph.
    - `\\iffalse ... \\fi`. Conditionals within it nest: those of TeX, and those that `\\newif` makes anywhere in the
      text. What is between its `\\else` and its `\\fi` stays.
    - `\\begin{comment} ... \\end{comment}`, which does not nest.
    - What is inside of the environments verbatim, Verbatim, lstlisting, minted and filecontents, of `\\verb` and
      `\\lstinline`, and the address of `\\url`, `\\href`, `\\path` and `\\nolinkurl`. There, line breaks stay. What is
      never closed, `\\verb` within 2,000 characters, is not verbatim.

    Where `\\iffalse` or the comment environment is never closed, the rest of the text goes, as in TeX. The time is
    linear in the length.

    >>> visible_source("a % b\\n100\\\\% c")
    'a    \\n100\\\\% c'
    """
    return _Reader(source).visible()


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._parts: list[str] = []
        self._end = 0
        """Where the part of the source ends that has been written."""
        self._blank_line = True
        """Whether the line being written is blank so far."""
        self._unclosed: set[str] = set()

    def visible(self) -> str:
        source = self._source
        conditionals = _CONDITIONALS | set(_NEW_CONDITIONAL.findall(source))
        live: list[bool] = []  # the open conditionals; True for an \iffalse whose \else has been passed
        false_start, depth = -1, 0
        position = 0
        while mark := _MARK.search(source, position):
            token, start, position = mark.group(), mark.start(), mark.end()
            if false_start >= 0:
                if token in conditionals:
                    depth += 1
                elif token == "\\fi" and depth:
                    depth -= 1
                elif token == "\\fi" or (token == "\\else" and not depth):
                    position = self._hide(false_start, position)
                    false_start = -1
                    live += [True] if token == "\\else" else []
            elif token[0] == "%":
                position = self._hide(start, position)
            elif mark["environment"] == "comment":
                end = source.find("\\end{comment}", position)
                position = self._hide(start, end + len("\\end{comment}") if end >= 0 else len(source))
            elif token == "\\iffalse":
                false_start = start
            elif token in conditionals:
                live.append(False)
            elif token == "\\fi":
                if live and live.pop():
                    position = self._hide(start, position)
            elif mark["environment"] and (end := self._environment_end(mark["environment"], position)) >= 0:
                position = self._blank(position, end)
            elif inside := mark["braced"] or mark["quoted"] or mark["address"]:
                self._blank(end := position - 1 - len(inside), end + len(inside))
        if false_start >= 0:
            self._hide(false_start, len(source))
        self._write(len(source))
        return "".join(self._parts)

    def _environment_end(self, name: str, start: int) -> int:
        end = -1 if name in self._unclosed else self._source.find(f"\\end{{{name}}}", start)
        if end < 0:
            self._unclosed.add(name)
        return end

    def _blank(self, start: int, end: int) -> int:
        """Writes blanks for the visible characters from `start` to `end`, and returns `end`."""
        self._write(start)
        self._parts.append(_VISIBLE.sub(" ", self._source[start:end]))
        self._end = end
        return end

    def _write(self, end: int) -> None:
        written = self._source[self._end : end]
        _, line_break, line = written.rpartition("\n")
        self._blank_line = (self._blank_line or bool(line_break)) and not line.strip()
        self._parts.append(written)
        self._end = end

    def _hide(self, start: int, end: int) -> int:
        """Writes blanks for what is from `start` to `end`, and for the end of its line if that is left blank."""
        self._write(start)
        rest = _REST_OF_BLANK_LINE.match(self._source, end) if self._blank_line else None
        end = rest.end() if rest else end
        self._parts.append(" " * (end - start))
        self._end = end
        return end
