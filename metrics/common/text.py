"""Texts in Unicode code points: their error rates, and truncation for display."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from rapidfuzz.distance import Levenshtein

P = ParamSpec("P")
T = TypeVar("T")

MAX_CACHED_LENGTH = 64
MAX_MARKS = 30
"""No language needs more combining marks after a character (UAX 15, stream-safe text format)."""

FIRST_MARK = "\u0300"
_MAY_HAVE_MARKS = re.compile(f"[{FIRST_MARK}-\U0010ffff]{{{MAX_MARKS}}}")
"""MAX_MARKS characters in a row that may be marks: a cheap test before `_marks`, which is slow to compile."""


def cached_if_short(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Returns `function` with a cache for texts of at most 64 characters; longer ones would fill memory."""
    cached = lru_cache(maxsize=10_000)(function)

    @wraps(function)
    def known(text: str, /, *arguments: P.args, **options: P.kwargs) -> T:
        return (cached if len(text) <= MAX_CACHED_LENGTH else function)(text, *arguments, **options)  # type: ignore[arg-type]

    return known


def truncated(text: str, length: int) -> str:
    """Returns `text`, or its first `length` characters and an ellipsis if it is longer.

    >>> truncated("abcd", 3)
    'abc…'
    """
    return text if len(text) <= length else f"{text[:length]}…"


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns a hint at the most similar known name, or an empty string if none is similar.

    >>> nearest("charts", ["chart", "formula"])
    ' (did you mean chart?)'
    """
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def character_error_rate(truth: str, predicted: str) -> float:
    """Returns the edits that turn `predicted` into `truth`, over the length of `truth`, at most 1.

    With an empty truth it is 0 if both are empty, else 1.

    >>> character_error_rate("abcd", "abxd")
    0.25
    """
    if not truth:
        return 1.0 if predicted else 0.0
    edits = Levenshtein.distance(truth, predicted, score_cutoff=len(truth))
    return min(1.0, edits / len(truth))


def normalized(text: str) -> str:
    """Returns the text in Unicode normalization form C, for comparisons.

    Sorting marks takes time quadratic in their number, so a U+034F is inserted after every 30 combining marks in a
    row, as in the stream-safe text format of UAX 15.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _marks().sub("\\g<0>\u034f", text) if _MAY_HAVE_MARKS.search(text) else text)


@lru_cache(maxsize=1)
def _marks() -> re.Pattern[str]:
    """Returns the pattern of 30 characters in a row that are, or decompose to start with, a combining mark."""
    last = 0x1FFFF  # no marks are encoded beyond
    firsts = ((each, unicodedata.normalize("NFD", each)[0]) for each in map(chr, range(ord(FIRST_MARK), last)))
    marks = [each for each, first in firsts if unicodedata.combining(first)]
    return re.compile(f"[{''.join(marks)}]{{{MAX_MARKS}}}")
