"""A prediction equal to its ground truth scores 1, however texts are encoded and records are damaged."""

from __future__ import annotations

import copy
import random
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from beamscore.metrics.traffic_rules.records import GroundTruth, Prediction
from tests.generate.traffic_rules import sample
from tests.plain_loop import make_benchmark


def in_nfc(name: Any) -> str:
    return unicodedata.normalize("NFC", str(name))


texts = st.text(st.sampled_from("aÅé각\u0301\u0323\u0f73"), max_size=4)
names = texts | st.integers(0, 5)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
rules = st.fixed_dictionaries(
    {
        "properties": st.none() | st.dictionaries(texts, values, max_size=4),
        # A centerline that is named twice is two predicted edges, and one true one: see docs.
        "centerlines": st.none() | st.lists(names, max_size=3, unique_by=in_nfc),
    }
)
FORMS = ("NFC", "NFD")


def predicted(truth: dict[str, Any]) -> dict[str, Any]:
    return {"rules": [{**rule, "matches": rule["id"]} for rule in truth["rules"]]}


def encoded(value: Any, form: Any) -> Any:
    """The same record with all texts in one form of Unicode."""
    if isinstance(value, str):
        return unicodedata.normalize(form, value)
    if isinstance(value, list):
        return [encoded(each, form) for each in value]
    if isinstance(value, dict):
        return {encoded(name, form): encoded(each, form) for name, each in value.items()}
    return value


def assert_perfect(truth: dict[str, Any], prediction: dict[str, Any], **options: Any) -> None:
    benchmark = make_benchmark("traffic_rules", **options)
    result = benchmark.score_sample(msgspec.convert(truth, GroundTruth), msgspec.convert(prediction, Prediction))
    for metric, value in benchmark.values(Sums.of(result.statistics)).items():
        assert value is None or value == 1, metric
    rest = {"wrong_properties", "unpaired_rules"}
    assert {value for name, value in result.metrics.items() if value is not None and name not in rest} <= {1}
    assert {result.metrics[name] for name in rest} == {0}


@settings(max_examples=150, deadline=None)
@given(st.lists(rules, max_size=4), st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_any_rules_score_1_in_either_form_of_unicode(drawn: list[dict[str, Any]], one: str, other: str) -> None:
    truth = {"rules": [{"id": f"É{number}", **rule} for number, rule in enumerate(drawn)]}
    assert_perfect(encoded(truth, one), encoded(predicted(truth), other))


def test_generated_and_damaged_clips_score_1() -> None:
    draw = random.Random(2)
    for index in range(60):
        truth = copy.deepcopy(sample(index, 4)[0])
        for rule in truth["rules"]:
            damage = draw.choice(["none", "properties", "centerlines", "one", "type"])
            if damage in ("properties", "centerlines"):
                rule[damage] = draw.choice([None, type(rule[damage])()])
            elif damage == "one":
                rule["properties"].pop(draw.choice([*rule["properties"]]))
            elif damage == "type":
                rule["properties"]["LaneType"] = draw.choice([float("nan"), 10**30, {"a": [1, None]}, [[]], True])
        assert_perfect(truth, predicted(truth))
        assert_perfect(truth, predicted(truth), ignore_properties=["RuleIndex", "LaneType"])


def test_a_centerline_that_a_true_rule_names_twice_is_one_edge_and_two_where_it_is_predicted() -> None:
    benchmark = make_benchmark("traffic_rules")
    truth = {"rules": [{"id": "r", "properties": {"a": 1}, "centerlines": ["1", "1"]}]}
    result = benchmark.score_sample(msgspec.convert(truth, GroundTruth), msgspec.convert(predicted(truth), Prediction))
    assert result.metrics["correspondence.precision"] == pytest.approx(1 / 2)
    assert result.metrics["correspondence.recall"] == 1
