"""Text and numbers as the tasks compare them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..common.arrays import floats
from ..common.text import normalized
from .options import ChartOptions
from .records import Scalar, identifier_text

# What is longer is no block of a chart, and keeps its LaTeX.
MAX_REWRITTEN_LENGTH = 1000
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
    text = compared_text(text, options)
    steps = 1 + len(text) // 50
    plain = text.replace("\n", " ").replace("\r", " ").lower().strip()
    if len(plain) <= MAX_REWRITTEN_LENGTH and ("\\" in plain or "_{" in plain or "^{" in plain):
        replaced, latex_steps = _without_latex(plain)
        return compared_text(replaced, options), steps + latex_steps
    return plain, steps


@lru_cache(maxsize=4096)
def _without_latex(text: str) -> tuple[str, int]:
    # Not at the top: the tables of thousands of commands take a while to make, and few texts need them.
    from .latex import without_latex

    return without_latex(text)


def compared_text(text: str, options: ChartOptions) -> str:
    """Returns a text in Unicode normalization form C, in which `published` compares it; released, as it is."""
    return text if options.protocol == "released" else normalized(text)


def labels(values: Sequence[Scalar], options: ChartOptions) -> list[str]:
    """Returns names or labels as texts that are compared."""
    texts = [value if isinstance(value, str) else label(value) for value in values]
    return texts if "".join(texts).isascii() else [compared_text(text, options) for text in texts]


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
    """Returns a name or label as text, a number as an id is written (2011.0 as 2011); none is the empty text."""
    return identifier_text(value) or ""
