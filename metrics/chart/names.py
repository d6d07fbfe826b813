"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
from functools import lru_cache

from metrics.chart.latex import without_latex
from metrics.chart.records import Scalar
from metrics.common.budget import Budget

# What is longer is no block of a chart.
MAX_LATEX_LENGTH = 1000
# The square of a value, and the sum of many squares, must be a finite float.
MAX_VALUE = 1e100


def normalised_text(text: str, budget: Budget) -> str:
    """Returns a text block as task 2 compares it, and spends the steps of reading it.

    Line ends become blanks, letters lower case, the ends are stripped, and LaTeX becomes Unicode where there is a
    backslash or a braced sub- or superscript, as in metric2.py. Texts above 1000 characters keep their LaTeX.

    >>> normalised_text(" CO_{2}\\nper km^{2} ", Budget(1000))
    'co₂ per km²'
    """
    normalised, steps = read_text(text)
    budget.spend(steps)
    return normalised


def read_text(text: str) -> tuple[str, int]:
    """Returns a text as `normalised_text` does, and the steps of reading it."""
    steps = 1 + len(text) // 50
    plain = text.replace("\n", " ").replace("\r", " ").lower().strip()
    if len(plain) <= MAX_LATEX_LENGTH and ("\\" in plain or "_{" in plain or "^{" in plain):
        replaced, latex_steps = _without_latex(plain)
        return replaced, steps + latex_steps
    return plain, steps


_without_latex = lru_cache(maxsize=4096)(without_latex)


def number(value: Scalar) -> float | None:
    """Returns the number that `value` is or holds as text; None where there is none within +-1e100.

    >>> number(" 12.50 "), number("n/a")
    (12.5, None)
    """
    if value is None:
        return None
    try:
        held = float(value)
    except (ValueError, OverflowError):
        return None
    return held if math.isfinite(held) and abs(held) <= MAX_VALUE else None


def label(value: Scalar) -> str:
    """Returns a name or label as text; none is the empty text."""
    return "" if value is None else str(value)
