"""What of a Markdown text can hold formulas: fenced blocks, inline code and quotes told apart.

A parser of CommonMark does not serve here: it knows no formulas, and takes a line of one that begins with `+`, `-`,
`=`, `>` or `#` for a list, a heading or a quote. So only what formulas must be kept from is read here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_QUOTE_DEPTH = 4
"""Quotes within one another are told apart to this depth."""

_QUOTE_MARKS = [re.compile(rf"^(?:[ \t]*>){{1,{depth}}}", re.MULTILINE) for depth in range(1, MAX_QUOTE_DEPTH + 1)]
_FENCE = (
    r"^(?P<list>[ \t]*(?:>[ \t]*|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+){0,4})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$"
)
_PARAGRAPH_END = re.compile(rf"\n[ \t\r>]*$|{_FENCE}", re.MULTILINE)
_MARK = re.compile(rf"{_FENCE}|\\.|(?P<ticks>`+)", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"`+")
_VISIBLE = re.compile(r"[^\n]")
_TRANSPARENT = frozenset({"", "markdown", "md", "mmd"})


class Stretch(NamedTuple):
    """A stretch of a Markdown text.

    language: the word after the opening fence, in small letters; "" for what is not fenced.
    start: where it is in the text.
    text: its text; inline code and, in a fenced block within a quote, the marks of the quote are blank.
    """

    language: str
    start: int
    text: str


def stretches(text: str) -> Iterator[Stretch]:
    """Yields the fenced blocks of a Markdown text and what is between them, in order, without the fences.

    - A fence may be indented, in a list or by a quote. One without a word, or with `markdown` or `md`, fences no
      block: a model often puts its whole answer, page by page, into such fences. A block that is never closed runs to
      the end.
    - Inline code is between equal runs of backticks within a paragraph; `quotes' and ``quotes'' of LaTeX are none.

    The time is that of sorting the backticks.
    """
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    paragraph_ends = [end.start() for end in _PARAGRAPH_END.finditer(text)]
    block: re.Match[str] | None = None
    parts: list[str] = []
    start = kept_to = position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if mark["fence"]:
            words = mark["info"].split()
            language = words[0].lower() if words else ""
            if block is not None and (words or not _closes(mark, block)):
                continue
            yield _stretch(block, start, "".join([*parts, text[kept_to : mark.start()]]))
            block = None if block is not None or language in _TRANSPARENT else mark
            start = kept_to = mark.end()
            parts = []
        elif block is None and mark["ticks"]:
            end = _code_end(text, mark, runs.get(position - mark.start(), []), paragraph_ends)
            if end is not None:
                parts += [text[kept_to : mark.start()], _VISIBLE.sub(" ", text[mark.start() : end])]
                position = kept_to = end
    yield _stretch(block, start, "".join([*parts, text[kept_to:]]))


def _code_end(text: str, opening: re.Match[str], runs: Sequence[int], paragraph_ends: Sequence[int]) -> int | None:
    """Where the inline code ends that opens with these backticks; None where there is none.

    runs: where as many backticks are, in order. paragraph_ends: in order.
    """
    length, after = opening.end() - opening.start(), opening.end()
    following, end = bisect_left(runs, after), bisect_left(paragraph_ends, after)
    if following == len(runs) or (end < len(paragraph_ends) and paragraph_ends[end] < runs[following]):
        return None
    quoted = length <= 2 and "'" * length in text[after : runs[following]]
    return None if quoted else runs[following] + length


def quote_depth(text: str, line: int) -> int:
    """Returns how many quotes, at most 4, the line that begins at `line` is in: the `>` that it begins with."""
    marks = _QUOTE_MARKS[-1].match(text, line)
    return marks.group().count(">") if marks else 0


def without_quote_marks(text: str, depth: int) -> str:
    """Returns `text` with blanks for the first `depth` of the `>` that each of its lines begins with."""
    return _QUOTE_MARKS[depth - 1].sub(lambda marks: " " * len(marks.group()), text) if depth else text


def _stretch(block: re.Match[str] | None, start: int, text: str) -> Stretch:
    """The stretch of a fenced block; without one, of what is not fenced."""
    if block is None:
        return Stretch("", start, text)
    language = str(block.group("info").split()[0].lower())
    return Stretch(language, start, without_quote_marks(text, min(block.group("list").count(">"), MAX_QUOTE_DEPTH)))


def _closes(fence: re.Match[str], block: re.Match[str]) -> bool:
    marks, opening = fence.group("fence"), block.group("fence")
    return marks[0] == opening[0] and len(marks) >= len(opening) and not fence.group("list").strip(" \t>")
