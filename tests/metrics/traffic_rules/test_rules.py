"""Equal values, the three tasks and the pairing behind the properties, against the plain definitions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.traffic_rules.metrics import TASKS, pair_rules
from beamscore.metrics.traffic_rules.records import GroundTruth, Prediction
from beamscore.metrics.traffic_rules.rules import Rule, Sample, predicted_rules, true_rules
from beamscore.metrics.traffic_rules.rules import canonical as canonical_within

Record = dict[str, Any]
Records = list[Record]
LEAVES = st.sampled_from([None, True, False, 0, 1, -0.0, 1.0, 1.5, "", "1", "a", "A", 10**30, 10**400])
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)


def same(left: Any, right: Any) -> bool:
    """Tells whether two JSON values are equal: lists as sets, null members as absent, true apart from 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return all(any(same(a, b) for b in right) for a in left) and all(any(same(a, b) for a in left) for b in right)
    if isinstance(left, dict) and isinstance(right, dict):
        names = {name for side in (left, right) for name in side if side[name] is not None}
        return all(same(left.get(name), right.get(name)) for name in names)
    return bool(left == right)


def canonical(value: Any) -> str:
    return canonical_within(value, lambda steps: None)


def test_equality() -> None:
    for left, right, equal in (
        (float("nan"), float("nan"), True),
        ({"é": ["é"]}, {"e\u0301": ["e\u0301"]}, True),
        ([10**17 + 1, 2**70], [2.0**70, 10**17 + 1], True),
        (10**17 + 1, 1e17, False),
        ({"a": 1}, [["a", 1]], False),
        (["1:a"], ["1", "a"], False),
        (1.5, "0x1.8000000000000p+0;", False),
        (0.1, 0.1 + 2**-55, False),
    ):
        assert (canonical(left) == canonical(right)) is equal, (left, right)


@given(st.lists(JSON, max_size=3), st.lists(JSON, max_size=3))
def test_texts_in_a_row_are_equal_where_the_values_are(left: list[Any], right: list[Any]) -> None:
    """Each text tells where it ends, so that no two lists of values run together to the same text."""
    equal = len(left) == len(right) and all(map(same, left, right))
    assert ("".join(map(canonical, left)) == "".join(map(canonical, right))) is equal


def rules(truth: Records, predicted: Records) -> tuple[list[Rule], list[Rule]]:
    sample = Sample(Budget(10**6))
    numbered = [{**each, "id": n} for n, each in enumerate(truth)]
    true = true_rules(msgspec.convert({"rules": numbered}, GroundTruth), sample)
    return true, predicted_rules(msgspec.convert({"rules": predicted}, Prediction), sample)


SIDE = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.dictionaries(
                st.sampled_from(["Type", "Limit"]), st.sampled_from([1, 1.0, True, "1", [1, 2], [2, 1, 1], None])
            ),
            # Names are text, whatever their JSON type.
            "centerlines": st.lists(st.sampled_from([1, "1", "2", 3]), max_size=3),
            "matches": st.sampled_from(["0", 1, "9", None]),
        }
    ),
    max_size=4,
)


def counted(true: list[Any], found: list[Any]) -> tuple[int, int, int]:
    """How many are right, one found for each true one, how many are found, and how many are true."""
    left = list(found)
    for value in true:
        at = next((place for place, other in enumerate(left) if same(value, other)), None)
        if at is not None:
            del left[at]
    return len(found) - len(left), len(found), len(true)


@given(SIDE, SIDE, st.randoms(use_true_random=False))
def test_counts_are_those_of_the_plain_definitions_in_any_order(true: Records, predicted: Records, chance: Any) -> None:
    """(right, predicted, true) of rule extraction, correspondence and the whole task.

    A line that is named twice is one of a true rule, and two of a predicted one.
    """
    truth = [{**each, "matches": n, "centerlines": {*map(str, each["centerlines"])}} for n, each in enumerate(true)]
    edges, found = ([(rule, str(line)) for rule in side for line in rule["centerlines"]] for side in (truth, predicted))
    sides = rules(true, chance.sample(predicted, len(predicted)))
    assert [task.count(*sides) for task in TASKS] == [
        counted([rule["properties"] for rule in truth], [rule["properties"] for rule in predicted]),
        counted(*([(str(rule["matches"]), line) for rule, line in side] for side in (edges, found))),
        counted(*([{"line": line, "of": rule["properties"]} for rule, line in side] for side in (edges, found))),
    ]


def paired(true: Records, predicted: Records) -> list[tuple[int, int]]:
    return pair_rules(*rules(true, predicted), Budget(10**6))


def made(lines: str = "", **properties: str) -> Record:
    return {"properties": properties, "centerlines": list(lines)}


def test_equal_rules_pair_in_order_and_one_agreeing_property_outweighs_all_shared_centerlines() -> None:
    one, two = made(a="1"), made(a="2")
    assert paired([one, two, one], [one, two, one, one]) == [(0, 0), (1, 1), (2, 2)]
    assert paired([made("12345", a="1", b="1")], [made("12345", a="9", b="9"), made(a="1", b="9")]) == [(0, 1)]


@given(SIDE, SIDE)
def test_equal_rules_pair_first_and_the_rest_as_well_as_can_be(true: Records, predicted: Records) -> None:
    pairs = paired(true, predicted)
    equal = {(i, j) for i, j in pairs if same(true[i]["properties"], predicted[j]["properties"])}
    rows = [i for i in range(len(true)) if i not in dict(equal)]
    columns = [j for j in range(len(predicted)) if j not in dict(equal).values()]
    assert not any(same(true[i]["properties"], predicted[j]["properties"]) for i in rows for j in columns)

    def quality(chosen: Iterable[tuple[int, int]]) -> tuple[int, int]:
        """How many properties agree, then how many centerlines are shared, which tell equally good pairs apart."""
        both = [(true[i], predicted[j]) for i, j in chosen]
        sides = [(one["properties"], other["properties"]) for one, other in both]
        agreeing = sum(
            one[name] is not None and same(one[name], other.get(name)) for one, other in sides for name in one
        )
        lines = [[{*map(str, rule["centerlines"])} for rule in pair] for pair in both]
        return agreeing, sum(len(one & other) for one, other in lines)

    count = min(len(rows), len(columns))
    every = itertools.product(itertools.permutations(rows, count), itertools.permutations(columns, count))
    assert len(pairs) == len(equal) + count
    assert quality({*pairs} - equal) == max(quality(zip(*both, strict=True)) for both in every)
