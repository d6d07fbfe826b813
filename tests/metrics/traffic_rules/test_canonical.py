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
        ("é", "e\u0301"),
        ({"é": ["é"]}, {"e\u0301": ["e\u0301"]}),
    ],
)
def test_equal(left: Any, right: Any) -> None:
    assert canonical(left) == canonical(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        ("60", 60),
        ("None", None),
        ("bus", "Bus"),
        ([], {}),
        ([None], []),
        (["a"], "a"),
        ([True], [1]),
        (10**17 + 1, 1e17),
        ({"a": 1}, [["a", 1]]),
        (["1:a"], ["1", "a"]),
        (["s1:a", "b"], ["s1:as1:b"]),
        (1.5, "0x1.8000000000000p+0;"),
        (16, "i10;"),
        (0.1, 0.1 + 2**-55),
        (float("inf"), float("-inf")),
    ],
)
def test_not_equal(left: Any, right: Any) -> None:
    assert canonical(left) != canonical(right)


@given(VALUES, VALUES)
def test_equality_is_that_of_the_plain_definition(left: Any, right: Any) -> None:
    assert (canonical(left) == canonical(right)) == same(left, right)


def test_depth_is_bounded() -> None:
    assert canonical(_nested(MAX_DEPTH)) == canonical(_nested(MAX_DEPTH))
    with pytest.raises(NotComparable, match="more than 16 deep"):
        canonical(_nested(MAX_DEPTH + 1))
    with pytest.raises(NotComparable, match="more than 16 deep"):
        canonical(_nested(100_000))


def test_size_is_bounded() -> None:
    canonical(list(range(MAX_VALUES)))
    canonical([[*range(MAX_VALUES - 1)]])
    canonical({str(n): n for n in range(MAX_VALUES)})
    for too_many in (
        [*range(MAX_VALUES + 1)],
        [[*range(MAX_VALUES)]],
        {"a": [*range(MAX_VALUES)]},
        [1, [*range(MAX_VALUES - 1)]],
    ):
        with pytest.raises(NotComparable, match=r"more than 1000 values"):
            canonical(too_many)


@pytest.mark.parametrize("value", [b"bytes", datetime(2024, 1, 1), {1, 2}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(NotComparable, match="is not a type of JSON"):
        canonical(value)


class Colliding(int):
    """An integer that counts how often it is compared; all of them have one hash, as the multiples of 2**61 - 1."""

    compared = 0

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        Colliding.compared += 1
        return int(self) == other


def test_numbers_are_not_compared_with_each_other() -> None:
    assert {hash(k * (2**61 - 1)) for k in range(1000)} == {0}
    canonical([Colliding(n) for n in range(1000)])
    assert Colliding.compared == 0


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        (None, 1),
        (1.5, 1),
        ("x" * 999, 1),
        ("x" * 1000, 2),
        ("x" * 5000, 6),
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


@given(st.lists(VALUES, max_size=4), st.lists(VALUES, max_size=4))
def test_texts_in_a_row_are_equal_where_the_values_are(left: list[Any], right: list[Any]) -> None:
    """Each text tells where it ends, so that no two lists of values run together to the same text."""
    joined = "".join(map(canonical, left)) == "".join(map(canonical, right))
    assert joined == (len(left) == len(right) and all(map(same, left, right)))


def _nested(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value
