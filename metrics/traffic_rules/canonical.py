"""The values of properties as text that is the same exactly where the JSON values are equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..common.text import normalized

MAX_DEPTH = 16
MAX_VALUES = 1000

CHARACTERS_PER_STEP = 1000


class NotComparable(Exception):
    """A value that has no canonical form; the message says why."""


def canonical(value: Any, spend: Callable[[int], None]) -> str:
    """Returns the canonical text of a JSON value; two texts are equal exactly where the values are.

    Numbers are equal by magnitude (1 and 1.0 are one number), booleans are not numbers (true is not 1), text
    is compared in NFC, code point by code point. A list is a set: order and repetition do not count, also of lists
    within lists. An object is a set of named values, of which a null one is as good as absent, since Parquet writes the
    two alike. Not-a-number, which only binary formats can hold, equals itself.

    It is text since Python's hash of text cannot be foreseen: integers with one hash can be written down by the
    thousand, and make every set of them as slow as a list.

    spend: is told of the work in steps, one for each value and each 1,000 characters of text, before it is done.

    Raises NotComparable where the value nests more than 16 deep, holds more than 1,000 values, or is not JSON.
    """
    return _Writer(spend).write(value, MAX_DEPTH)


class _Writer:
    """Writes one value; each text tells where it ends, so that a sequence of them can be read in one way only."""

    def __init__(self, spend: Callable[[int], None]) -> None:
        self._spend = spend
        self._left = MAX_VALUES

    def write(self, value: Any, depth: int) -> str:
        if isinstance(value, str):
            self._spend(1 + len(value) // CHARACTERS_PER_STEP)
            value = normalized(value)
            return f"s{len(value)}:{value}"
        self._spend(1)
        if value is None:
            return "0"
        if isinstance(value, bool):
            return "t" if value else "f"
        if isinstance(value, (int, float)):
            return _number(value)
        if not depth:
            raise NotComparable(f"it nests more than {MAX_DEPTH} deep")
        if isinstance(value, list):
            self._count(len(value))
            return f"[{''.join(sorted({self.write(item, depth - 1) for item in value}))}]"
        if isinstance(value, dict):
            self._count(len(value))
            members = (
                self.write(name, 0) + self.write(item, depth - 1) for name, item in value.items() if item is not None
            )
            return f"{{{''.join(sorted(members))}}}"
        raise NotComparable(f"{type(value).__name__} is not a type of JSON")

    def _count(self, values: int) -> None:
        self._left -= values
        if self._left < 0:
            raise NotComparable(f"it holds more than {MAX_VALUES} values")


def _number(value: int | float) -> str:
    """Returns a number's text, hexadecimal: exact for a float, and of linear cost for a long integer."""
    if isinstance(value, float):
        if math.isnan(value):
            return "nan;"
        if not value.is_integer():
            return f"{value.hex()};"
    return f"i{int(value):x};"
