"""Values that may be numbers or text, or any JSON, in one form: the formats of files write equal ones differently."""

from __future__ import annotations

import contextlib
from operator import is_
from typing import Any

import msgspec

_PLAIN = {str, int, bool}
_TOO_LARGE = 1e23
"""Powers of ten from here on are no floats, and many 1e308 would become text that is much longer."""


def set_plain(record: Any, *fields: str) -> None:
    """Replaces fields of a record, which may be frozen, by their `plain` values; for `__post_init__`.

    A value that is nested too deep for Python stays as it is.
    """
    with contextlib.suppress(RecursionError):
        for name in fields:
            msgspec.structs.force_setattr(record, name, plain(getattr(record, name)))


def plain(value: Any) -> Any:
    """Returns a value of JSON with whole floats as integers, and without members that are null.

    In a column of floats Parquet has 7.0 for 7, and it has null for an absent member. Null in a list is kept. What is
    plain already is returned as it is, as a copy of a large record would double its memory.

    >>> plain([7.0, -0.0, 1e16, 1e23, 7.5, None, {"a": None, "b": {"c": 1.0}}])
    [7, 0, 10000000000000000, 1e+23, 7.5, None, {'b': {'c': 1}}]
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _TOO_LARGE else value
    if not value or not isinstance(value, (dict, list)):
        return value
    # Most values are plain, and a call takes longer than to see it.
    if isinstance(value, dict):
        members = {
            name: each if type(each) in _PLAIN else plain(each) for name, each in value.items() if each is not None
        }
        return value if len(members) == len(value) and all(map(is_, members.values(), value.values())) else members
    items = [each if type(each) in _PLAIN else plain(each) for each in value]
    return value if all(map(is_, items, value)) else items
