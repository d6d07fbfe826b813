"""The three tasks and the pairing behind the properties, against the plain definitions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.traffic_rules.limits import MAX_PROPERTIES, MAX_RULES
from beamscore.metrics.traffic_rules.metrics import TASKS, distinct_edges, pair_rules
from beamscore.metrics.traffic_rules.records import GroundTruth, Prediction
from beamscore.metrics.traffic_rules.rules import Rule, Sample, predicted_rules, true_rules
from tests.metrics.traffic_rules import oracle

Record = dict[str, Any]


def rules(truth: list[Record], predicted: list[Record]) -> tuple[list[Rule], list[Rule]]:
    true = msgspec.convert({"rules": truth}, GroundTruth)
    sample = Sample(Budget(10**6))
    return true_rules(true, sample), predicted_rules(msgspec.convert({"rules": predicted}, Prediction), sample)


def counts(truth: list[Record], predicted: list[Record]) -> list[tuple[int, int, int]]:
    """Returns (right, predicted, true) of rule extraction, correspondence and the whole task."""
    return [task.count(*rules(truth, predicted)) for task in TASKS]


def rule(name: str | int | None, properties: Record, *lines: str | int) -> Record:
    """A rule of either side: the name is its id there, and what it matches here."""
    return {"id": name, "matches": name, "properties": properties, "centerlines": list(lines)}


BUS, LEFT, SLOW = {"LaneType": "Bus"}, {"LaneType": "Turn", "Direction": ["Left"]}, {"Limit": 40}


@pytest.mark.parametrize(
    ("truth", "predicted", "expected"),
    [
        # Bus and the limit are right; the second rule should have been a turn to the left. a-1 and b-2 are right, b-9
        # is wrong, b-3 and c-4 are missed. Only (Bus, 1) is right: (Bus, 2) has another rule's lane, (Bus, 9) none.
        (
            [rule("a", BUS, "1"), rule("b", LEFT, "2", "3"), rule("c", SLOW, "4")],
            [rule("a", BUS, "1"), rule("b", BUS, "2", "9"), rule("c", SLOW)],
            [(2, 3, 3), (2, 3, 4), (1, 3, 4)],
        ),
        # Two equal rules need two predictions.
        ([rule("a", BUS, "1"), rule("b", BUS, "1")], [rule("a", BUS, "1")], [(1, 1, 2)] * 3),
        ([rule("a", BUS, "1"), rule("b", BUS, "1")], [rule("a", BUS, "1"), rule("b", BUS, "1")], [(2, 2, 2)] * 3),
        # An edge predicted twice is right once; one that is true twice is one.
        ([rule("a", BUS, "1")], [rule("a", BUS, "1", "1")], [(1, 1, 1), (1, 2, 1), (1, 2, 1)]),
        ([rule("a", BUS, "1")], [rule("a", BUS, "1")] * 2, [(1, 2, 1)] * 3),
        ([rule("a", BUS, "1", "1")], [rule("a", BUS, "1")], [(1, 1, 1)] * 3),
        # The edges of a rule that matches none are wrong.
        *(
            ([rule("a", BUS, "1")], [rule(name, BUS, "1")], [(1, 1, 1), (0, 1, 1), (1, 1, 1)])
            for name in (None, "no such rule", "")
        ),
        # Names are text, whatever their JSON type.
        ([rule(1, BUS, 7)], [rule("1", BUS, "7")], [(1, 1, 1)] * 3),
        ([{"id": "a"}], [{"properties": None, "centerlines": None}], [(1, 1, 1), (0, 0, 0), (0, 0, 0)]),
    ],
)
def test_counts(truth: list[Record], predicted: list[Record], expected: list[tuple[int, int, int]]) -> None:
    assert counts(truth, predicted) == expected


def test_edges_are_of_rules_with_a_name_each_once_and_in_order() -> None:
    _, found = rules([], [rule("b", BUS, "2", "1", "2"), rule(None, BUS, "3"), rule("a", BUS, "1")])
    assert list(distinct_edges(found)) == [("b", "2"), ("b", "1"), ("a", "1")]


VALUES = st.sampled_from([1, 1.0, True, "1", [1, 2], [2, 1, 1], None])
SIDE = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.dictionaries(st.sampled_from(["Type", "Limit"]), VALUES, max_size=2),
            "centerlines": st.lists(st.sampled_from("123"), max_size=3),
            "matches": st.sampled_from(["0", "1", "9", None]),
        }
    ),
    max_size=4,
)


@given(SIDE, SIDE, st.randoms(use_true_random=False))
def test_counts_are_those_of_the_plain_definitions_in_any_order(
    true: list[Record], predicted: list[Record], chance: Any
) -> None:
    truth = [{**each, "id": str(number)} for number, each in enumerate(true)]
    expected = [getattr(oracle, task.name)(truth, predicted) for task in TASKS]
    assert counts(truth, predicted) == expected
    mixed = [{**each, "centerlines": chance.sample(each["centerlines"], len(each["centerlines"]))} for each in truth]
    chance.shuffle(mixed)
    chance.shuffle(predicted)
    assert counts(mixed, predicted) == expected


def paired(true: list[Record], predicted: list[Record], budget: Budget | None = None) -> list[tuple[int, int]]:
    sides = rules([{**each, "id": number} for number, each in enumerate(true)], predicted)
    return pair_rules(*sides, budget or Budget(10**6))


def made(lines: str = "", **properties: str) -> Record:
    return {"properties": properties, "centerlines": list(lines)}


ONE, TWO = made(a="1"), made(a="2")


@pytest.mark.parametrize(
    ("true", "predicted", "pairs"),
    [
        # Crossing over would pair nothing equal; the equal pair comes first, and the rest takes what is left.
        ([made(a="1", b="1"), made(a="1", b="2")], [made(a="1", b="2"), made(a="9", b="9")], [(0, 1), (1, 0)]),
        # One agreeing property outweighs all shared centerlines, which tell equally good pairs apart.
        ([made("12345", a="1", b="1")], [made("12345", a="9", b="9"), made(a="1", b="9")], [(0, 1)]),
        (
            [made("1", a="1", b="1"), made("2", a="1", b="2")],
            [made("2", a="1", b="7"), made("1", a="1", b="8")],
            [(0, 1), (1, 0)],
        ),
        # As many pairs as the smaller side has.
        ([], [ONE], []),
        ([ONE], [], []),
        # Equal rules pair in order.
        ([ONE, TWO, ONE, ONE], [ONE, TWO, ONE, ONE], [(0, 0), (1, 1), (2, 2), (3, 3)]),
        ([ONE, TWO, ONE], [ONE, TWO, ONE, ONE], [(0, 0), (1, 1), (2, 2)]),
        ([ONE], [ONE, ONE], [(0, 0)]),
    ],
)
def test_pairs(true: list[Record], predicted: list[Record], pairs: list[tuple[int, int]]) -> None:
    assert paired(true, predicted) == pairs


def test_rules_that_are_left_are_paid_for() -> None:
    budget = Budget(100)
    paired([ONE, TWO, made(a="3")], [made(a="3"), made(a="4"), made(b="1"), made(a="5")], budget)
    assert budget.steps == 2 * 3  # all but the equal ones
    paired([ONE], [ONE], budget)
    paired([ONE], [], budget)
    assert budget.steps == 2 * 3


RULES = st.lists(
    st.builds(
        lambda a, b, lines: made("".join(sorted(lines)), a=a, b=b),
        *(st.sampled_from("12"), st.sampled_from("123"), st.sets(st.sampled_from("45"))),
    ),
    max_size=4,
)


@given(RULES, RULES)
def test_equal_rules_pair_first_and_the_rest_as_well_as_can_be(true: list[Record], predicted: list[Record]) -> None:
    pairs = paired(true, predicted)

    def quality(chosen: list[tuple[int, int]]) -> tuple[int, int]:
        both = [(true[i], predicted[j]) for i, j in chosen]
        agreeing = sum(one["properties"][name] == other["properties"][name] for one, other in both for name in "ab")
        return agreeing, sum(len({*one["centerlines"]} & {*other["centerlines"]}) for one, other in both)

    rest = [(i, j) for i, j in pairs if true[i]["properties"] != predicted[j]["properties"]]
    rows = [i for i in range(len(true)) if i not in {i for i, _ in {*pairs} - {*rest}}]
    columns = [j for j in range(len(predicted)) if j not in {j for _, j in {*pairs} - {*rest}}]
    assert not any(true[i]["properties"] == predicted[j]["properties"] for i in rows for j in columns)
    count = min(len(rows), len(columns))
    every = [
        list(zip(some, others, strict=True))
        for some in permutations(rows, count)
        for others in permutations(columns, count)
    ]
    assert len(rest) == count
    assert quality(rest) == max(map(quality, every))


def test_the_largest_samples_are_paired() -> None:
    sides = [
        [
            made(**{f"p{k}": str((number * k + offset) % 7) for k in range(MAX_PROPERTIES)})
            for number in range(MAX_RULES)
        ]
        for offset in (0, 1)
    ]
    assert len(paired(sides[0], sides[1])) == MAX_RULES
