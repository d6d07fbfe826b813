"""The values of properties in a form where Python's equality is the equality of JSON values."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

DEEPEST = 16
LARGEST = 1000


class NotComparable(Exception):
    """A value that has no canonical form; the message says why."""


@dataclass(slots=True)
class _Budget:
    values: int = LARGEST


def canonical(value: Any) -> Hashable:
    """Returns a hashable form of a JSON value; two forms are equal exactly where the values are.

    Numbers are equal by magnitude (1 and 1.0 are one number), truth values are no numbers (true is not 1), text
    is compared code point by code point. A list is a set: order and repetition do not count, also of lists within
    lists. An object is a set of named values, of which a null one is as good as absent, since Parquet writes the
    two alike. Not-a-number, which only binary formats can hold, equals itself.

    Raises NotComparable where the value nests more than 16 deep, holds more than 1,000 values, or is not JSON.
    """
    return value if isinstance(value, str) else _canonical(value, DEEPEST, _Budget())


def _canonical(value: Any, depth: int, budget: _Budget) -> Hashable:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return (value,)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return ("NaN",) if math.isnan(value) else value
    if not depth:
        raise NotComparable(f"it nests more than {DEEPEST} deep")
    if isinstance(value, list):
        _spend(budget, len(value))
        return frozenset(_canonical(item, depth - 1, budget) for item in value)
    if isinstance(value, dict):
        _spend(budget, len(value))
        named = frozenset(
            (name, _canonical(item, depth - 1, budget)) for name, item in value.items() if item is not None
        )
        return ("object", named)
    raise NotComparable(f"{type(value).__name__} is not a type of JSON")


def _spend(budget: _Budget, values: int) -> None:
    budget.values -= values
    if budget.values < 0:
        raise NotComparable(f"it holds more than {LARGEST} values")
