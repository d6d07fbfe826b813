"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ..common.text import normalized
from .records import ChartOptions, Protocol, Scalar, identifier_text

# What is longer is no block of a chart, and keeps its LaTeX.
MAX_REWRITTEN_LENGTH = 1000
MAX_REMEMBERED_LENGTH = 100
# The square of a value, and the sum of many squares, must be a finite float.
MAX_VALUE = 1e100


def read_text(text: str, options: ChartOptions) -> tuple[str, int]:
    """Returns a text block as task 2 compares it, and the steps of reading it.

    Line ends become blanks, letters lower case, the ends are stripped, and LaTeX becomes Unicode where there is a
    backslash or a braced sub- or superscript, as in metric2.py. Published, the result is in Unicode normalization
    form C. Texts above 1000 characters keep their LaTeX.

    >>> read_text(" CO_{2}\\nper km^{2} ", ChartOptions())[0]
    'co₂ per km²'
    """
    return (_read_again if len(text) <= MAX_REMEMBERED_LENGTH else _read)(text, options.protocol)


def _read(text: str, protocol: Protocol) -> tuple[str, int]:
    text = compared_text(text, protocol)
    steps = 1 + len(text) // 50
    plain = text.replace("\n", " ").replace("\r", " ").lower().strip()
    if len(plain) <= MAX_REWRITTEN_LENGTH and ("\\" in plain or "_{" in plain or "^{" in plain):
        replaced, latex_steps = _without_latex(plain)
        return compared_text(replaced, protocol), steps + latex_steps
    return plain, steps


_read_again = lru_cache(maxsize=1 << 14)(_read)
"""Reads short texts, most of which stand on both sides, such as the numbers of ticks."""


@lru_cache(maxsize=4096)
def _without_latex(text: str) -> tuple[str, int]:
    # Not at the top: the tables of thousands of commands take a while to make, and few texts need them.
    from .latex import without_latex

    return without_latex(text)


def compared_text(text: str, protocol: Protocol) -> str:
    """Returns a text in Unicode normalization form C, in which `published` compares it; released, as it is."""
    return text if protocol == "released" else normalized(text)


def compared_labels(values: Iterable[Scalar], protocol: Protocol) -> list[str]:
    """Returns names or labels as they are compared."""
    texts = [value if isinstance(value, str) else label(value) for value in values]
    return texts if "".join(texts).isascii() else [compared_text(text, protocol) for text in texts]


def label(value: Scalar) -> str:
    """Returns a name or label as text, a number as an id is written (2011.0 as 2011); none is the empty text."""
    return value if isinstance(value, str) else identifier_text(value) or ""


def text_scores(texts: Collection[str], others: Collection[str], alpha: float) -> list[list[float]]:
    """Returns 1 - L^alpha of each pair of names or labels, with L the edits over the length of the longer text.

    >>> text_scores(["abcd", ""], ["abx", ""], 1.0)
    [[0.5, 0.0], [0.0, 1.0]]
    """
    if len("".join(texts)) + len("".join(others)) <= MAX_REMEMBERED_LENGTH:
        return [[1.0 if text == other else _text_score(text, other, alpha) for other in others] for text in texts]
    distances = cdist(list(texts), list(others), scorer=Levenshtein.normalized_distance, dtype=np.float64)
    return [[1 - distance**alpha for distance in row] for row in distances.tolist()]


@lru_cache(maxsize=1 << 14)
def _text_score(text: str, other: str, alpha: float) -> float:
    """Compares two short texts, such as the labels of box plots, which are always the same."""
    return float(1 - Levenshtein.normalized_distance(text, other) ** alpha)


def numbers(values: Iterable[Scalar]) -> list[float]:
    """Returns the numbers that values are or hold as text; NaN where there is none within +-1e100.

    >>> numbers([" 12.50 ", "n/a", 3, "1e101"])
    [12.5, nan, 3.0, nan]
    """
    held = map(_number, values)
    return [value if -MAX_VALUE <= value <= MAX_VALUE else math.nan for value in held]


def _number(value: Scalar) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
