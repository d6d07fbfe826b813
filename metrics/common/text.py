"""Texts in Unicode code points: their error rates, comments in LaTeX, characters that nobody sees, and truncation."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from rapidfuzz.distance import Levenshtein

P = ParamSpec("P")
T = TypeVar("T")

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*|\\[A-Za-z]+)%[^\n]*\n")
_RETURNS = re.compile(r"(?<!\r)\r+(?![\r\n])")
RELATED, ALIKE = 0.6, 0.8
"""Ratios of difflib from which on a name may be meant by another one, and is a misspelling of it."""
MAX_CACHED_LENGTH = 64
MAX_MARKS = 30
"""No language needs more combining marks after a character (UAX 15, stream-safe text format)."""

IN_FENCE = "predictions_in_markdown_fence"
FENCE_WARNINGS = {
    IN_FENCE: "some predictions begin with a Markdown fence, ``` or ~~~, and are scored as text or code: remove it"
}


def cached_if_short(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Returns `function` with a cache for texts of at most 64 characters; longer ones would fill memory."""
    cached = lru_cache(maxsize=10_000)(function)

    @wraps(function)
    def known(text: str, /, *arguments: P.args, **options: P.kwargs) -> T:
        return (cached if len(text) <= MAX_CACHED_LENGTH else function)(text, *arguments, **options)  # type: ignore[arg-type]

    return known


def in_fence(text: str) -> dict[str, int]:
    """Returns what `coverage` counts of a prediction: 1 if it begins with a Markdown fence, as answers of models do.

    Behind `~~~`, which are ties in LaTeX, a fence has only a word on its line.
    """
    line, end, _ = text.lstrip().partition("\n")
    word = line.lstrip("~").strip()
    is_fence = line.startswith("```") or (line.startswith("~~~") and end and (not word or word.isalnum()))
    return {IN_FENCE: 1} if is_fence else {}


def truncated(text: str, length: int) -> str:
    """Returns `text`, or its first `length` characters and an ellipsis if it is longer.

    >>> truncated("abcd", 3)
    'abc…'
    """
    return text if len(text) <= length else f"{text[:length]}…"


def some_of(names: Iterable[str], most: int) -> str:
    """Returns the first names, and how many more there are: `a, b and 17 more`."""
    named = list(names)
    more = len(named) - most
    return ", ".join(named[:most]) + (f" and {more:,} more" if more > 0 else "")


def quoted(text: str) -> str:
    r"""Returns `text` between quotes as `repr` does, but with each backslash once: it is read by people.

    >>> print(quoted(r"\ce{A'}"))
    "\ce{A'}"
    """
    return repr(text).replace("\\\\", "\\")


def nearest(name: str, known: Iterable[str], cutoff: float = RELATED) -> str:
    """Returns a hint at the most similar known name, or an empty string if none is as similar as `cutoff`, up to 1.

    Of several, one that begins with the name is preferred, as what was meant may be abbreviated.

    >>> nearest("min", ["margin", "minimum"])
    ' (did you mean minimum?)'
    """
    close = difflib.get_close_matches(name, sorted(known), n=5, cutoff=cutoff)
    return f" (did you mean {max(close, key=lambda each: each.startswith(name))}?)" if close else ""


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
    if text.isascii() or len(text) < MAX_MARKS:
        return unicodedata.normalize("NFC", text)
    mark, row_of_marks = _marks()
    # A row of MAX_MARKS contains a position that is a multiple of MAX_MARKS.
    if mark.search(text[::MAX_MARKS]):
        text = row_of_marks.sub("\\g<0>\u034f", text)
    return unicodedata.normalize("NFC", text)


@lru_cache(maxsize=1)
def _marks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns the patterns of one and of 30 characters that are, or decompose to start with, combining marks."""
    # No marks are encoded before or after.
    marks = _ranges(
        {code for code in range(0x300, 0x20000) if unicodedata.combining(unicodedata.normalize("NFD", chr(code))[0])}
    )
    return re.compile(f"[{marks}]"), re.compile(f"[{marks}]{{{MAX_MARKS}}}")


def _ranges(codes: Set[int]) -> str:
    """Returns what a class of these code points holds; ranges are searched faster than single characters."""
    first, last = (sorted(code for code in codes if code + step not in codes) for step in (-1, 1))
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(first, last, strict=True))


_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"})
_UNSEEN_OTHERS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2065\u2800\u3164\ufdd0-\ufdef\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\ufffe\uffff\U000e0000-\U000e0fff"
)
"""Of other categories: what Unicode lets a font ignore (Default_Ignorable_Code_Point), the Braille blank, and code
points that are not characters."""


@lru_cache
def unseen(seen: str = "") -> re.Pattern[str]:
    """Returns the pattern of a character that no reader sees, or takes for a blank, except for those in `seen`.

    These are controls, marks of direction and format, surrogates, all separators but the plain blank, and others.
    """
    # Those that are encoded after these are among the others.
    codes = {code for code in range(0x20000) if unicodedata.category(chr(code)) in _UNSEEN_CATEGORIES}
    return re.compile(f"[{_ranges(codes - set(map(ord, seen)) - {0x20})}{_UNSEEN_OTHERS}]")


def with_codes(text: str, seen: str = "") -> str:
    """Returns text with the code point of each unseen character in its place, such as `<U+202E>`.

    >>> with_codes("co\\xadop")
    'co<U+00AD>op'
    """
    return unseen(seen).sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def without_lone_returns(text: str) -> str:
    """Returns `text` with LF for each CR that ends a line; nothing changes its place.

    CRs before an LF stay: CR CR LF is one line end that was converted twice.
    """
    return _RETURNS.sub(lambda returns: "\n" * len(returns[0]), text)


def without_comments(text: str) -> tuple[str, Sequence[int]]:
    r"""Returns LaTeX text without its comments, and the index in `text` of each remaining character and of the end.

    A comment runs from `%` through the line break; on the last line, which has none, `%` begins no comment. A blank
    replaces a comment right after a command, which keeps the command apart from what follows.

    >>> without_comments("a%b\n\\c%d\ne")
    ('a\\c e', [0, 4, 5, 6, 9, 10])
    """
    if "%" not in text:
        return text, range(len(text) + 1)
    text = without_lone_returns(text)
    kept: list[str] = []
    offsets: list[int] = []
    position = 0
    # There is no comment after the last line break: looking for one at each `%` would be quadratic.
    for match in _COMMENT.finditer(text, 0, text.rfind("\n") + 1):
        kept.append(text[position : match.end(1)])
        offsets += range(position, match.end(1))
        if match[1][-1:].isalpha():
            kept.append(" ")
            offsets.append(match.end(1))
        position = match.end()
    return "".join(kept) + text[position:], [*offsets, *range(position, len(text) + 1)]
