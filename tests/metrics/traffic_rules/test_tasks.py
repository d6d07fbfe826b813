"""The three tasks, on the sample of the benchmark's figure and against the plain definitions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.traffic_rules.metrics import TASKS as ALL_TASKS
from beamscore.metrics.traffic_rules.metrics import distinct_edges
from beamscore.metrics.traffic_rules.records import GroundTruth, Prediction
from beamscore.metrics.traffic_rules.rules import Rule, Sample, predicted_rules, true_rules
from tests.metrics.traffic_rules import oracle

TASKS = {task.name: task.count for task in ALL_TASKS}


def rules(truth: list[Any], predicted: list[Any]) -> tuple[list[Rule], list[Rule]]:
    true = msgspec.convert({"rules": truth}, GroundTruth)
    sample = Sample(Budget(10_000))
    return true_rules(true, sample), predicted_rules(msgspec.convert({"rules": predicted}, Prediction), sample)


def true(name: str, properties: dict[str, Any], *lines: str) -> dict[str, Any]:
    return {"id": name, "properties": properties, "centerlines": list(lines)}


def predicted(matches: str | None, properties: dict[str, Any], *lines: str) -> dict[str, Any]:
    return {"matches": matches, "properties": properties, "centerlines": list(lines)}


BUS, LEFT, SLOW = {"LaneType": "Bus"}, {"LaneType": "Turn", "Direction": ["Left"]}, {"Limit": 40}


def test_an_example_with_every_kind_of_error() -> None:
    pair = rules(
        [true("a", BUS, "1"), true("b", LEFT, "2", "3"), true("c", SLOW, "4")],
        [predicted("a", BUS, "1"), predicted("b", BUS, "2", "9"), predicted("c", SLOW)],
    )
    # Bus and the limit are right; the second rule should have been a turn to the left.
    assert TASKS["rule_extraction"](*pair) == (2, 3, 3)
    # a-1 and b-2 are right, b-9 is wrong, b-3 and c-4 are missed.
    assert TASKS["correspondence"](*pair) == (2, 3, 4)
    # Only (Bus, 1) is right: (Bus, 2) has the lane of another rule, (Bus, 9) neither.
    assert TASKS["overall"](*pair) == (1, 3, 4)


def test_two_equal_rules_need_two_predictions() -> None:
    once = rules([true("a", BUS, "1"), true("b", BUS, "1")], [predicted("a", BUS, "1")])
    assert TASKS["rule_extraction"](*once) == (1, 1, 2)
    assert TASKS["overall"](*once) == (1, 1, 2)
    twice = rules([true("a", BUS, "1"), true("b", BUS, "1")], [predicted("a", BUS, "1"), predicted("b", BUS, "1")])
    assert TASKS["rule_extraction"](*twice) == (2, 2, 2)
    assert TASKS["overall"](*twice) == (2, 2, 2)


@pytest.mark.parametrize("given_twice", [[predicted("a", BUS, "1", "1")], [predicted("a", BUS, "1")] * 2])
def test_an_edge_predicted_twice_is_right_once(given_twice: list[Any]) -> None:
    pair = rules([true("a", BUS, "1")], given_twice)
    assert TASKS["correspondence"](*pair) == (1, 2, 1)
    assert TASKS["overall"](*pair) == (1, 2, 1)


@pytest.mark.parametrize("matches", [None, "no such rule", ""])
def test_edges_of_a_rule_that_matches_none_are_wrong(matches: str | None) -> None:
    pair = rules([true("a", BUS, "1")], [predicted(matches, BUS, "1")])
    assert TASKS["correspondence"](*pair) == (0, 1, 1)
    assert TASKS["rule_extraction"](*pair) == (1, 1, 1)
    assert TASKS["overall"](*pair) == (1, 1, 1)


def test_edges_are_of_rules_with_a_name_each_once_and_in_order() -> None:
    _, found = rules([], [predicted("b", BUS, "2", "1", "2"), predicted(None, BUS, "3"), predicted("a", BUS, "1")])
    assert list(distinct_edges(found)) == [("b", "2"), ("b", "1"), ("a", "1")]


def test_names_are_text_whatever_their_json_type() -> None:
    pair = rules(
        [{"id": 1, "properties": BUS, "centerlines": [7]}], [{"matches": "1", "properties": BUS, "centerlines": ["7"]}]
    )
    assert TASKS["correspondence"](*pair) == (1, 1, 1)


def test_properties_and_centerlines_may_be_null() -> None:
    pair = rules([{"id": "a", "properties": None, "centerlines": None}], [{"properties": None, "centerlines": None}])
    assert TASKS["rule_extraction"](*pair) == (1, 1, 1)
    assert TASKS["overall"](*pair) == (0, 0, 0)


TEXTS = st.lists(st.sampled_from("ab"), max_size=12) | st.lists(st.sampled_from("abcdefghij"), min_size=9, max_size=12)
VALUES = st.sampled_from([1, 1.0, True, "1", [1, 2], [2, 1, 1], ["a", None], None, 2**53, 2.0**53, 0.5]) | TEXTS
PROPERTIES = st.dictionaries(
    st.sampled_from(["Type", "Limit"]), st.sampled_from([1, 1.0, True, "1", [1, 2], [2, 1, 1], None]), max_size=2
)
LINES = st.lists(st.sampled_from("123"), max_size=3)
SAMPLES = st.tuples(
    st.lists(st.fixed_dictionaries({"properties": PROPERTIES, "centerlines": LINES}), max_size=4),
    st.lists(
        st.fixed_dictionaries(
            {"properties": PROPERTIES, "centerlines": LINES, "matches": st.sampled_from(["0", "1", "9", None])}
        ),
        max_size=4,
    ),
)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_rules_are_equal_where_the_values_of_their_properties_are(left: Any, right: Any) -> None:
    pair = rules([true("0", {"a": left})], [predicted(None, {"a": right})])
    assert TASKS["rule_extraction"](*pair) == (oracle.same(left, right), 1, 1)


@settings(deadline=None)
@given(SAMPLES)
def test_counts_are_those_of_the_plain_definitions(sample: tuple[list[Any], list[Any]]) -> None:
    truth = [{"id": str(number), **rule} for number, rule in enumerate(sample[0])]
    pair = rules(truth, sample[1])
    for task, count in TASKS.items():
        assert count(*pair) == getattr(oracle, task)(truth, sample[1]), task


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_rules_and_lanes_does_not_count(sample: tuple[list[Any], list[Any]], chance: Any) -> None:
    truth = [{"id": str(number), **rule} for number, rule in enumerate(sample[0])]
    before = {task: count(*rules(truth, sample[1])) for task, count in TASKS.items()}
    mixed = [{**rule, "centerlines": chance.sample(rule["centerlines"], len(rule["centerlines"]))} for rule in truth]
    chance.shuffle(mixed)
    found = list(sample[1])
    chance.shuffle(found)
    assert {task: count(*rules(mixed, found)) for task, count in TASKS.items()} == before
