"""Fenced blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*)$", re.MULTILINE)
_TRANSPARENT = frozenset({"", "markdown", "md", "mmd"})


class Stretch(NamedTuple):
    """A stretch of a Markdown text.

    language: the word after the opening fence, in small letters; "" for what is not fenced.
    """

    language: str
    start: int
    end: int


def stretches(text: str) -> Iterator[Stretch]:
    """Yields the fenced blocks of a Markdown text and what stands between them, in order, without the fences.

    A fence without a word, or with `markdown` or `md`, fences no block: a model often puts its whole answer, page
    by page, into such fences. A block that is never closed runs to the end.
    """
    block: re.Match[str] | None = None
    start = 0
    for fence in _FENCE.finditer(text):
        words = fence.group("info").split()
        language = words[0].lower() if words else ""
        if block is None:
            yield Stretch("", start, fence.start())
            start = fence.end()
            block = None if language in _TRANSPARENT else fence
        elif not words and _closes(fence, block):
            yield Stretch(_language(block), start, fence.start())
            start = fence.end()
            block = None
    yield Stretch("" if block is None else _language(block), start, len(text))


def _language(block: re.Match[str]) -> str:
    return str(block.group("info").split()[0].lower())


def _closes(fence: re.Match[str], block: re.Match[str]) -> bool:
    marks, opening = fence.group("marks"), block.group("marks")
    return marks[0] == opening[0] and len(marks) >= len(opening)
