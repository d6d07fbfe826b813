"""The definitions again, written as plainly and slowly as they read, to hold the code against."""

from __future__ import annotations

from itertools import permutations
from typing import Any

Triple = tuple[int, int, int]
Record = dict[str, Any]


def same(left: Any, right: Any) -> bool:
    """Tells whether two JSON values are equal: lists as sets, null members as absent, true apart from 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return all(any(same(a, b) for b in right) for a in left) and all(any(same(a, b) for a in left) for b in right)
    if isinstance(left, dict) and isinstance(right, dict):
        names = {name for side in (left, right) for name in side if side[name] is not None}
        return all(same(left.get(name), right.get(name)) for name in names)
    return type(left) is type(right) and bool(left == right)


def most_equal(true: list[Any], predicted: list[Any]) -> int:
    """The largest number of one-to-one pairs of equal values, found by trying every assignment."""
    few, many = sorted((true, predicted), key=len)
    return max(sum(same(a, b) for a, b in zip(few, order, strict=False)) for order in permutations(many))


def rule_extraction(truth: list[Record], predicted: list[Record]) -> Triple:
    true, found = [rule["properties"] for rule in truth], [rule["properties"] for rule in predicted]
    return most_equal(true, found), len(found), len(true)


def correspondence(truth: list[Record], predicted: list[Record]) -> Triple:
    true = [[rule["id"], line] for rule in truth for line in unique(rule["centerlines"])]
    found = [[rule.get("matches"), line] for rule in predicted for line in rule["centerlines"]]
    return sum(edge in found for edge in true), len(found), len(true)


def overall(truth: list[Record], predicted: list[Record]) -> Triple:
    true = [[line, rule["properties"]] for rule in truth for line in unique(rule["centerlines"])]
    found = [[line, rule["properties"]] for rule in predicted for line in rule["centerlines"]]
    right, open_ = 0, list(true)
    for line, properties in found:
        at = next((i for i, other in enumerate(open_) if other[0] == line and same(other[1], properties)), None)
        if at is not None:
            right += 1
            del open_[at]
    return right, len(found), len(true)


def unique(items: list[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if item not in items[:i]]
