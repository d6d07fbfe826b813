"""Properties are compared as JSON values: these are the equalities that count."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.traffic_rules.canonical import DEEPEST, LARGEST, NotComparable, canonical
from tests.metrics.traffic_rules.oracle import same

LEAVES = st.sampled_from([None, True, False, 0, 1, -0.0, 1.0, 1.5, "", "1", "a", "A", 10**30])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0, -0.0),
        (["TurnLeft", "TurnRight"], ["TurnRight", "TurnLeft"]),
        (["TurnLeft", "TurnLeft"], ["TurnLeft"]),
        ([[1, 2], [2, 1]], [[2, 1.0]]),
        ({"from": "7:00", "to": None}, {"from": "7:00"}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (float("nan"), float("nan")),
    ],
)
def test_equal(left: Any, right: Any) -> None:
    assert canonical(left) == canonical(right)
    assert hash(canonical(left)) == hash(canonical(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        ("60", 60),
        ("None", None),
        ("bus", "Bus"),
        ("é", "e\u0301"),
        ([], {}),
        ([None], []),
        (["a"], "a"),
        ([True], [1]),
        (10**17 + 1, 1e17),
        ({"a": 1}, [["a", 1]]),
        (float("inf"), float("-inf")),
    ],
)
def test_not_equal(left: Any, right: Any) -> None:
    assert canonical(left) != canonical(right)


@given(VALUES, VALUES)
def test_equality_is_that_of_the_plain_definition(left: Any, right: Any) -> None:
    assert (canonical(left) == canonical(right)) == same(left, right)


@given(VALUES)
def test_every_value_equals_itself(value: Any) -> None:
    assert canonical(value) == canonical(value)


def test_depth_is_bounded() -> None:
    assert canonical(_nested(DEEPEST)) == canonical(_nested(DEEPEST))
    with pytest.raises(NotComparable, match="more than 16 deep"):
        canonical(_nested(DEEPEST + 1))
    with pytest.raises(NotComparable, match="more than 16 deep"):
        canonical(_nested(100_000))


def test_size_is_bounded() -> None:
    canonical(list(range(LARGEST)))
    with pytest.raises(NotComparable, match=r"more than 1000 values"):
        canonical([list(range(LARGEST)), 1])


@pytest.mark.parametrize("value", [b"bytes", datetime(2024, 1, 1), {1, 2}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(NotComparable, match="is not a type of JSON"):
        canonical(value)


def _nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value
