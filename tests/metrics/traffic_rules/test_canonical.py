"""Properties are compared as JSON values: these are the equalities that count."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.traffic_rules.limits import MAX_DEPTH, MAX_VALUES
from beamscore.metrics.traffic_rules.rules import NotComparable
from beamscore.metrics.traffic_rules.rules import canonical as canonical_within
from tests.metrics.traffic_rules.oracle import same

LEAVES = st.sampled_from([None, True, False, 0, 1, -0.0, 1.0, 1.5, "", "1", "a", "A", 10**30, 10**400])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


def canonical(value: Any) -> str:
    return canonical_within(value, lambda steps: None)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (0, -0.0, True),
        ([[1, 2], [2, 1]], [[2, 1.0]], True),
        ({"from": "7:00", "to": None}, {"from": "7:00"}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (float("nan"), float("nan"), True),
        ({"é": ["é"]}, {"e\u0301": ["e\u0301"]}, True),
        (True, 1, False),
        ("60", 60, False),
        ("None", None, False),
        ("bus", "Bus", False),
        ([], {}, False),
        ([None], [], False),
        ([True], [1], False),
        (10**17 + 1, 1e17, False),
        ({"a": 1}, [["a", 1]], False),
        (["1:a"], ["1", "a"], False),
        (["s1:a", "b"], ["s1:as1:b"], False),
        (["a", "b"], ["asb"], False),
        (1.5, "0x1.8000000000000p+0;", False),
        (16, "i10;", False),
        (0.1, 0.1 + 2**-55, False),
        (float("inf"), float("-inf"), False),
    ],
)
def test_equality(left: Any, right: Any, equal: bool) -> None:
    assert (canonical(left) == canonical(right)) is equal


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_texts_in_a_row_are_equal_where_the_values_are(left: list[Any], right: list[Any]) -> None:
    """Each text tells where it ends, so that no two lists of values run together to the same text."""
    joined = "".join(map(canonical, left)) == "".join(map(canonical, right))
    assert joined == (len(left) == len(right) and all(map(same, left, right)))


def nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("largest", "too_large", "said"),
    [
        (nested(MAX_DEPTH), nested(MAX_DEPTH + 1), "more than 16 deep"),
        ([], nested(100_000), "more than 16 deep"),
        ([*range(MAX_VALUES)], [*range(MAX_VALUES + 1)], "more than 1000 values"),
        ([[*range(MAX_VALUES - 1)]], [[*range(MAX_VALUES)]], "more than 1000 values"),
        ({"a": [*range(MAX_VALUES - 1)]}, [1, [*range(MAX_VALUES - 1)]], "more than 1000 values"),
        ("x", b"bytes", "is not a type of JSON"),
        (1, datetime(2024, 1, 1), "is not a type of JSON"),
        ([], {1, 2}, "is not a type of JSON"),
    ],
)
def test_what_cannot_be_compared(largest: Any, too_large: Any, said: str) -> None:
    canonical(largest)
    with pytest.raises(NotComparable, match=said):
        canonical(too_large)


class Colliding(int):
    """An integer that counts how often it is compared; all of them have one hash, as the multiples of 2**61 - 1."""

    compared = 0

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        Colliding.compared += 1
        return int(self) == other


def test_numbers_are_not_compared_with_each_other() -> None:
    canonical([Colliding(n) for n in range(1000)])
    assert Colliding.compared == 0


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        (None, 1),
        ("x" * 999, 1),
        ("x" * 1000, 2),
        ([1, 2, 3], 4),
        # The object, a name and a value: the null member does not count.
        ({"a": 1, "b": None}, 3),
        ({"x" * 2000: "y" * 3000}, 1 + 3 + 4),
    ],
)
def test_each_value_and_each_thousand_characters_are_a_step(value: Any, steps: int) -> None:
    spent: list[int] = []
    canonical_within(value, spent.append)
    assert sum(spent) == steps
