"""LaTeX text in which comments, skipped conditionals and verbatim text are blank, all else at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    parts: list[str] = []
    end, blank_line = 0, True
    for start, stop, hides_line in _hidden(source):
        written = source[end:start]
        _, line_break, line = written.rpartition("\n")
        blank_line = (blank_line or bool(line_break)) and not line.strip()
        if not hides_line:
            shown = _VISIBLE.sub(" ", source[start:stop])
        else:
            rest = _REST_OF_BLANK_LINE.match(source, stop) if blank_line else None
            stop = rest.end() if rest else stop
            shown = " " * (stop - start)
        parts += [written, shown]
        end = stop
    return "".join([*parts, source[end:]])


def _hidden(source: str) -> Iterator[tuple[int, int, bool]]:
    """Yields what TeX skips or takes verbatim, from where to where, and whether it skips it, its line breaks too."""
    conditionals = _CONDITIONALS | set(_NEW_CONDITIONAL.findall(source))
    unclosed: set[str] = set()
    live: list[bool] = []  # the open conditionals; True for an \iffalse whose \else has been passed
    false_start, depth = -1, 0
    position = 0
    while mark := _MARK.search(source, position):
        token, start, position = mark.group(), mark.start(), mark.end()
        name = mark["environment"]
        if false_start >= 0:
            if token in conditionals:
                depth += 1
            elif token == "\\fi" and depth:
                depth -= 1
            elif token == "\\fi" or (token == "\\else" and not depth):
                yield false_start, position, True
                false_start = -1
                live += [True] if token == "\\else" else []
        elif token[0] == "%":
            yield start, position, True
        elif name == "comment":
            end = source.find("\\end{comment}", position)
            position = end + len("\\end{comment}") if end >= 0 else len(source)
            yield start, position, True
        elif token == "\\iffalse":
            false_start = start
        elif token in conditionals:
            live.append(False)
        elif token == "\\fi":
            if live and live.pop():
                yield start, position, True
        elif name and name not in unclosed:
            end = source.find(f"\\end{{{name}}}", position)
            if end >= 0:
                yield position, end, False
                position = end
            else:
                unclosed.add(name)
        elif inside := mark["braced"] or mark["quoted"] or mark["address"]:
            yield position - 1 - len(inside), position - 1, False
    if false_start >= 0:
        yield false_start, len(source), True
