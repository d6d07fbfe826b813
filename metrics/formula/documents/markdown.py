"""What of a Markdown text can hold formulas: fenced blocks, inline code, HTML comments and quotes told apart.

A parser of CommonMark does not serve here: it knows no formulas, and takes a line of one that begins with `+`, `-`,
`=`, `>` or `#` for a list, a heading or a quote. So only what formulas must be kept from is read here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

MAX_QUOTE_DEPTH = 4
"""Quotes within one another are told apart to this depth."""

_QUOTE_MARKS = [re.compile(rf"^(?:[ \t]*>){{1,{depth}}}", re.MULTILINE) for depth in range(1, MAX_QUOTE_DEPTH + 1)]
_FENCE = (
    r"^(?P<list>[ \t]*(?:>[ \t]*|(?:[-*+]|[0-9]{1,9}[.)])[ \t]+){0,4})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$"
)
_PARAGRAPH_END = re.compile(rf"\n[ \t\r>]*$|{_FENCE}", re.MULTILINE)
_MARK = re.compile(rf"{_FENCE}|\\.|(?P<ticks>`+)|(?P<comment><!--)", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"`+")
_VISIBLE = re.compile(r"[^\n]")
_TRANSPARENT = frozenset({"", "markdown", "md", "mmd"})
_COMMENT_END = "-->"


class Stretch(NamedTuple):
    """A stretch of a Markdown text.

    language: the word after the opening fence, in small letters; "" for what is not fenced.
    start: where it is in the text.
    text: its text; inline code, comments and, in a fenced block within a quote, the marks of the quote are blank.
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
    - An HTML comment that is never closed is none.

    The time is that of sorting the backticks.
    """
    return _Reader(text).stretches()


def quote_depth(text: str, line: int) -> int:
    """Returns how many quotes, at most 4, the line that begins at `line` is in: the `>` that it begins with."""
    marks = _QUOTE_MARKS[-1].match(text, line)
    return marks.group().count(">") if marks else 0


def without_quote_marks(text: str, depth: int) -> str:
    """Returns `text` with blanks for the first `depth` of the `>` that each of its lines begins with."""
    return _QUOTE_MARKS[depth - 1].sub(lambda marks: " " * len(marks.group()), text) if depth else text


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._ticks: dict[int, list[int]] = {}
        for run in _TICKS.finditer(text):
            self._ticks.setdefault(run.end() - run.start(), []).append(run.start())
        self._paragraph_ends = [end.start() for end in _PARAGRAPH_END.finditer(text)]
        self._last_comment_end = text.rfind(_COMMENT_END)

    def stretches(self) -> Iterator[Stretch]:
        text = self._text
        block: re.Match[str] | None = None
        parts: list[str] = []
        start = kept_to = position = 0
        while mark := _MARK.search(text, position):
            position = mark.end()
            if mark.group("fence"):
                words = mark.group("info").split()
                language = words[0].lower() if words else ""
                if block is not None and (words or not _closes(mark, block)):
                    continue
                yield _stretch(block, start, "".join([*parts, text[kept_to : mark.start()]]))
                block = None if block is not None or language in _TRANSPARENT else mark
                start = kept_to = mark.end()
                parts = []
            elif block is None and (mark.group("ticks") or mark.group("comment")):
                end = self._code_end(mark) if mark.group("ticks") else self._comment_end(mark.end())
                if end is not None:
                    parts += [text[kept_to : mark.start()], _VISIBLE.sub(" ", text[mark.start() : end])]
                    position = kept_to = end
        yield _stretch(block, start, "".join([*parts, text[kept_to:]]))

    def _code_end(self, opening: re.Match[str]) -> int | None:
        """Where the inline code ends that opens with these backticks; None where there is none."""
        length = opening.end() - opening.start()
        runs = self._ticks.get(length, [])
        following = bisect_left(runs, opening.end())
        ends = self._paragraph_ends
        end = bisect_left(ends, opening.end())
        if following == len(runs) or (end < len(ends) and ends[end] < runs[following]):
            return None
        if length <= 2 and "'" * length in self._text[opening.end() : runs[following]]:
            return None
        return runs[following] + length

    def _comment_end(self, start: int) -> int | None:
        if self._last_comment_end < start:
            return None
        return self._text.index(_COMMENT_END, start) + len(_COMMENT_END)


def _stretch(block: re.Match[str] | None, start: int, text: str) -> Stretch:
    """The stretch of a fenced block; without one, of what is not fenced."""
    if block is None:
        return Stretch("", start, text)
    language = str(block.group("info").split()[0].lower())
    return Stretch(language, start, without_quote_marks(text, min(block.group("list").count(">"), MAX_QUOTE_DEPTH)))


def _closes(fence: re.Match[str], block: re.Match[str]) -> bool:
    marks, opening = fence.group("fence"), block.group("fence")
    return marks[0] == opening[0] and len(marks) >= len(opening) and not fence.group("list").strip(" \t>")
