"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from metrics.chart.latex import without_latex
from metrics.chart.records import Scalar
from metrics.common.arrays import floats
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


def numbers(values: Sequence[Scalar]) -> npt.NDArray[np.float64]:
    """Returns the numbers that values are or hold as text, `[N]`; NaN where there is none within +-1e100.

    >>> numbers([" 12.50 ", "n/a", 3]).tolist()
    [12.5, nan, 3.0]
    """
    try:
        held = floats(values)  # type: ignore[arg-type]
    except (struct.error, OverflowError):
        held = floats([value if type(value) is float else _number(value) for value in values])
    return np.where(np.abs(held) <= MAX_VALUE, held, np.nan)


def _number(value: Scalar) -> float:
    """Returns the number that a value is or holds as text, of any size; NaN where there is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def label(value: Scalar) -> str:
    """Returns a name or label as text; none is the empty text."""
    return "" if value is None else str(value)
