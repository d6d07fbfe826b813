"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from ..common.text import cached_if_short, normalized
from .records import Protocol, Scalar, identifier_text

# What is longer is no block of a chart, and keeps its LaTeX.
MAX_REWRITTEN_LENGTH = 1000
# Of two sides together; their labels, such as those of box plots, are often the same as before.
MAX_REMEMBERED_LENGTH = 100
# Braced sub- and superscripts that unicodeit replaces.
SCRIPTS = (
    re.compile(r"_\{([+-=()<>\-aeoxjhklmnpstiruv\u03b2\u03c6\u03c7\u2212\u03b3\u03c1]+)\}"),
    re.compile(r"\^\{([+-=()<>ABDEGHIJKLMNOPRTUWa-pr-z\u03b2\u03c6\u03c7\u2212\u03b3\u03b4\u222b]+)\}"),
)
# The square of a value, and the sum of many squares, must be a finite float.
MAX_VALUE = 1e100


@cached_if_short
def read_text(text: str, protocol: Protocol) -> str:
    """Returns a text block as task 2 compares it.

    Line ends become blanks, letters lower case, the ends are stripped, and LaTeX becomes Unicode where there is a
    backslash or a braced sub- or superscript, as in metric2.py. Published, CR LF is one line end, and the result is in
    Unicode normalization form C. Texts above 1000 characters keep their LaTeX.

    >>> read_text(" CO_{2}\\nper km^{2} ", "published")
    'co₂ per km²'
    """
    if protocol == "published":
        text = text.replace("\r\n", "\n")
    plain = compared_text(text, protocol).replace("\n", " ").replace("\r", " ").lower().strip()
    if len(plain) <= MAX_REWRITTEN_LENGTH and may_have_latex(plain):
        plain = without_latex(plain)
    # Lower case has compositions that upper case lacks, such as that of J and a caron.
    return compared_text(plain, protocol)


def may_have_latex(text: str) -> bool:
    """Returns whether metric2.py replaces LaTeX in the text."""
    return "\\" in text or "_{" in text or "^{" in text


def without_latex(text: str) -> str:
    """Returns what the unicodeit package makes of the text: its LaTeX as Unicode.

    >>> without_latex("\\\\alpha CO_{2}")
    'α CO₂'
    """
    # Not at the top: its tables of thousands of commands take a while to make, and few texts need them.
    import unicodeit
    from unicodeit.data import SUBSUPERSCRIPTS

    if "\\" in text:
        return str(unicodeit.replace(text))
    # It tries all commands on every text; without a backslash, only the minus and the scripts are replaced.
    text = text.replace("-", "\u2212")
    for scripts in SCRIPTS:
        text = scripts.sub(lambda match: "".join(match[0][0] + each for each in match[1]), text)
    for script, character in SUBSUPERSCRIPTS:
        text = text.replace(script, character)
    return text


def compared_text(text: str, protocol: Protocol) -> str:
    """Returns a text in Unicode normalization form C, in which `published` compares it; released, as it is."""
    return text if protocol == "released" else normalized(text)


def compared_labels(values: Iterable[Scalar], protocol: Protocol) -> list[str]:
    """Returns names or labels as they are compared."""
    return [compared_text(label(value), protocol) for value in values]


def label(value: Scalar) -> str:
    """Returns a name or label of a record as text, a number as an id is written; none is the empty text."""
    return identifier_text(value) or ""


def text_scores(texts: Collection[str], others: Collection[str], alpha: float) -> dict[str, dict[str, float]]:
    """Returns 1 - L^alpha of each pair of names or labels, with L the edits over the length of the longer text.

    >>> text_scores(["abcd", ""], ["abx", ""], 1.0)
    {'abcd': {'abx': 0.5, '': 0.0}, '': {'abx': 0.0, '': 1.0}}
    """
    if len("".join(texts)) + len("".join(others)) <= MAX_REMEMBERED_LENGTH:
        return {
            text: {other: 1.0 if text == other else _text_score(text, other, alpha) for other in others}
            for text in texts
        }
    distances = cdist(list(texts), list(others), scorer=Levenshtein.normalized_distance, dtype=np.float64)
    scores = [[1 - distance**alpha for distance in row] for row in distances.tolist()]
    return {text: dict(zip(others, row, strict=True)) for text, row in zip(texts, scores, strict=True)}


@lru_cache(maxsize=1 << 14)
def _text_score(text: str, other: str, alpha: float) -> float:
    return float(1 - Levenshtein.normalized_distance(text, other) ** alpha)


def numbers(values: Sequence[Scalar]) -> list[float]:
    """Returns the numbers that values are or hold as text; NaN if there is none within +-1e100.

    >>> numbers([" 12.50 ", "n/a", 3, "1e101"])
    [12.5, nan, 3.0, nan]
    """
    return [value if -MAX_VALUE <= value <= MAX_VALUE else math.nan for value in map(_number, values)]


def _number(value: Scalar) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan
