"""The benchmark as a whole: figures, samples, properties, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.statistics.sums import Sums
from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from beamscore.metrics.traffic_rules.metrics import MAX_NAME_LENGTH
from beamscore.metrics.traffic_rules.records import GroundTruth, Options, Prediction
from tests.generate.traffic_rules import sample
from tests.plain_loop import make_benchmark, read_records, score_records, total

CORPUS = Path("tests/corpora/traffic_rules")
TASK_METRICS = [
    f"{task}.{kind}"
    for task in ("rule_extraction", "correspondence", "overall")
    for kind in ("precision", "recall", "f1")
]
BUS = {"LaneType": "Bus", "Limit": 40}


def score(truth: Any, predicted: Any, **options: Any) -> SampleScore:
    benchmark = make_benchmark("traffic_rules", **options)
    return benchmark.score_sample(
        msgspec.json.decode(json.dumps({"rules": truth}), type=GroundTruth),
        None if predicted is None else msgspec.json.decode(json.dumps({"rules": predicted}), type=Prediction),
    )


def values(*scores: SampleScore) -> dict[str, float | None]:
    return make_benchmark("traffic_rules").values(total(scores))


def test_figures_are_ratios_of_sums_over_the_samples() -> None:
    found = values(
        score([{"id": "a", "properties": BUS, "centerlines": ["1"]}], [{"properties": BUS, "centerlines": ["1"]}]),
        score(
            [{"id": "a", "properties": BUS, "centerlines": ["1", "2", "3"]}],
            [{"properties": {}, "centerlines": ["1", "2"], "matches": "a"}, {"properties": {"LaneType": "Bus"}}],
        ),
    )
    assert found["rule_extraction.precision"] == 1 / 3  # 1 of 1 + 0 of 2 predicted
    assert found["rule_extraction.recall"] == 1 / 2  # 1 of 1 + 0 of 1 true
    assert found["rule_extraction.f1"] == 0.4  # 2 * 1/3 * 1/2 / (1/3 + 1/2)
    assert found["correspondence.precision"] == 2 / 3  # 0 of 1 + 2 of 2: the first rule matches none
    assert found["correspondence.recall"] == 2 / 4
    assert found["overall.precision"] == 1 / 3
    assert found["overall.recall"] == 1 / 4


def test_nothing_on_either_side_is_not_measured() -> None:
    assert dict.fromkeys(TASK_METRICS) == values() == values(score([], []), score([], None))
    assert score([], None).metrics == {**dict.fromkeys(TASK_METRICS), "wrong_properties": 0, "unpaired_rules": 0}


@pytest.mark.parametrize("predicted", [None, []])
def test_nothing_predicted_is_wrong_where_there_was_something_to_find(predicted: Any) -> None:
    found = values(score([{"id": "a", "properties": BUS, "centerlines": ["1"]}], predicted))
    assert [found[name] for name in TASK_METRICS] == [0.0] * 9
    assert found["property_accuracy[LaneType]"] == 0.0


def test_something_predicted_is_wrong_where_there_was_nothing_to_find() -> None:
    found = values(score([], [{"properties": BUS, "centerlines": ["1"], "matches": "a"}]))
    assert [found[name] for name in TASK_METRICS] == [0.0] * 9


def test_ignored_properties_are_left_out_on_both_sides() -> None:
    truth = [{"id": "a", "properties": {**BUS, "RuleIndex": 1}}]
    predicted = [{"properties": {**BUS, "RuleIndex": 2, "Remark": "x"}}]
    assert values(score(truth, predicted))["rule_extraction.f1"] == 0.0
    ignoring = score(truth, predicted, ignore_properties=["RuleIndex", "Remark"])
    assert values(ignoring)["rule_extraction.f1"] == 1.0
    assert "property_accuracy[RuleIndex]" not in values(ignoring)


def test_what_cannot_be_compared_may_be_ignored() -> None:
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    truth = [{"id": "a", "properties": BUS}]
    with pytest.raises(
        RejectedRecord, match=r"rules\[0\].properties: 'Junk' cannot be compared: it nests more than 16"
    ):
        score(truth, [{"properties": {**BUS, "Junk": deep}}])
    assert (
        values(score(truth, [{"properties": {**BUS, "Junk": deep}}], ignore_properties=["Junk"]))["rule_extraction.f1"]
        == 1.0
    )


def test_each_property_of_a_paired_rule_is_judged_by_itself() -> None:
    scored = score(
        [
            {"id": "a", "properties": {"Type": "Bus", "Limit": 40, "Date": "Workday"}},
            {"id": "b", "properties": {"Type": "Tidal"}},
        ],
        [{"properties": {"Type": "Bus", "Limit": 60, "Remark": "x", "Time": "7:00"}}],
    )
    assert {name: value for name, value in scored.statistics.items() if name.startswith("property")} == {
        "property_true[Type]": 2,
        "property_true[Limit]": 1,
        "property_true[Date]": 1,
        "property_right[Type]": 1,
        "property_different[Limit]": 1,
        "property_absent[Date]": 1,
        "property_extra[(other)]": 2,
    }
    assert scored.metrics["wrong_properties"] == 4
    assert scored.metrics["unpaired_rules"] == 1
    assert values(scored)["property_accuracy[Type]"] == 0.5
    assert values(scored)["property_accuracy[Limit]"] == 0.0


def test_the_table_lists_the_property_most_often_wrong_first() -> None:
    scored = score(
        [
            {"id": "a", "properties": {"Type": "Bus", "Limit": 40}},
            {"id": "b", "properties": {"Type": "Tidal", "Limit": 50}},
            {"id": "c", "properties": {"Type": "Turn"}},
        ],
        [{"properties": {"Type": "Bus", "Limit": 60}}, {"properties": {"Type": "Tidal", "Remark": "x"}}],
    )
    (table,) = make_benchmark("traffic_rules").tables(total([scored]))
    # property, true, accuracy, right, other value, absent, rule not paired, extra
    assert table.rows == [
        ["Limit", 2, 0.0, 0, 1, 1, 0, 0],
        ["(other)", 0, None, 0, 0, 0, 0, 1],
        ["Type", 3, 2 / 3, 2, 0, 0, 1, 0],
    ]
    assert len(table.header) == len(table.rows[0])
    assert make_benchmark("traffic_rules").tables(Sums()) == []


def test_details_say_what_was_paired_and_which_edges_were_wrong() -> None:
    scored = score(
        [
            {"id": "a", "properties": BUS, "centerlines": ["1", "2"]},
            {"id": "b", "properties": {"LaneType": "Tidal"}},
        ],
        [
            {"properties": {}, "centerlines": ["7"]},
            {"properties": {**BUS, "Limit": 60}, "centerlines": ["1", "1", "3"], "matches": "a"},
            {"properties": {}, "matches": "gone"},
        ],
    )
    details = json.loads(msgspec.json.encode(scored.details))
    limit = {"name": "Limit", "fault": "different", "true": "40", "predicted": "60"}
    lane = {"name": "LaneType", "fault": "absent", "true": '"Tidal"', "predicted": None}
    assert details == {
        "rules": [
            {"id": "a", "prediction": 1, "right": False, "wrong": [limit]},
            {"id": "b", "prediction": 0, "right": False, "wrong": [lane]},
        ],
        "unpaired_predictions": [2],
        "edges": {"right": [["a", "1"]], "missed": [["a", "2"]], "wrong": [[None, "7"], ["a", "1"], ["a", "3"]]},
    }
    assert scored.coverage == {"matches_unknown_rule": 1}


def test_a_true_rule_without_a_partner_has_no_faults() -> None:
    details = score([{"id": "a", "properties": BUS}], []).details
    assert msgspec.to_builtins(details["rules"]) == [{"id": "a", "prediction": None, "right": False, "wrong": None}]


def rejection(truth: Any, predicted: Any) -> RejectedRecord:
    with pytest.raises(RejectedRecord) as caught:
        score(truth, predicted)
    return caught.value


def test_ids_must_be_unique() -> None:
    rejected = rejection([{"id": 1, "properties": {}}, {"id": "1", "properties": {}}], [])
    assert rejected.side == "ground_truth"
    assert rejected.message == "rules: the id '1' is duplicated; give every rule an id of its own"


def test_more_than_can_be_scored_is_refused() -> None:
    rejected = rejection([], [{}] * 501)
    assert (rejected.side, rejected.message) == ("prediction", "rules: there are 501, and at most 500 are scored")
    rejected = rejection([], [{"centerlines": ["1"] * 10_001}])
    assert rejected.message == "rules: they name 10001 centerlines, and at most 10000 are scored"
    rejected = rejection([{"id": "a", "properties": {str(n): n for n in range(65)}}], [])
    assert rejected.side == "ground_truth"
    assert rejected.message == "rules[0].properties: there are 65, and at most 64 are scored"
    rejected = rejection([], [{"properties": {"x" * 10_000: list(range(2000))}}])
    assert rejected.side == "prediction"
    assert len(rejected.message) < 200


def test_as_much_as_can_be_scored_is_scored() -> None:
    most = [{"id": n, "properties": {}, "centerlines": [n] * 20} for n in range(500)]
    scored = score(most, most)
    assert scored.statistics["rule_extraction.true"] == scored.statistics["rule_extraction.predicted"] == 500
    assert scored.statistics["correspondence.predicted"] == 10_000
    widest = [{"id": "a", "properties": {str(n): n for n in range(64)}}]
    assert score(widest, widest).statistics["rule_extraction.right"] == 1


def test_work_beyond_the_budget_is_refused() -> None:
    truth = [{"id": n, "properties": {"a": n}, "centerlines": [1, 2]} for n in range(3)]
    predicted = [{"properties": {"a": n, "b": [1, 2]}, "centerlines": [3]} for n in range(4)]
    # 3 x 2 + 4 x 1 edges, 3 x 1 + 4 x (1 + 3) values, 3 x 4 pairs of rules that are not equal
    assert score(truth, predicted, max_steps=10 + 19 + 12).statistics["rule_extraction.predicted"] == 4
    with pytest.raises(RejectedRecord) as caught:
        score(truth, predicted, max_steps=10 + 19 + 11)
    assert caught.value.side == "sample"
    assert "max_steps=40 allows (at least 41 steps): raise max_steps" in caught.value.message


def test_a_large_sign_is_far_within_the_budget() -> None:
    """A rule of 64 lists of 999 texts each and 10,000 centerlines costs what there is to read, once a side."""
    properties = {str(n): [f"{n}-{k}" for k in range(999)] for n in range(64)}
    rule = {"id": 1, "properties": properties, "centerlines": list(range(10_000))}
    steps = 2 * (64 * 1000 + 10_000)
    assert score([rule], [rule], max_steps=steps).metrics["overall.f1"] == 1.0
    with pytest.raises(RejectedRecord):
        score([rule], [rule], max_steps=steps - 1)


def test_integers_of_any_size_are_compared() -> None:
    colliding = [k * (2**61 - 1) for k in range(1, 900)]
    scored = score(
        [{"id": 2**70, "properties": {"a": colliding}, "centerlines": [10**40]}],
        [{"properties": {"a": colliding[::-1]}, "centerlines": [10**40], "matches": 2**70}],
    )
    assert [scored.metrics[name] for name in TASK_METRICS] == [1.0] * 9


def test_long_names_are_cut_in_the_details_of_edges() -> None:
    name = "x" * 100_000
    scored = score(
        [{"id": name, "properties": {}, "centerlines": ["r", "m", "l" * 201]}],
        [{"matches": name, "centerlines": ["r", "w"]}, {"matches": name + "y", "centerlines": ["y" * 200]}],
    )
    shown = "x" * 200 + "…"
    assert scored.details["edges"] == {
        "right": [(shown, "r")],
        "missed": [(shown, "m"), (shown, "l" * 200 + "…")],
        "wrong": [(shown, "w"), (shown, "y" * 200)],
    }
    assert scored.statistics["correspondence.right"] == 1
    assert scored.coverage == {"matches_unknown_rule": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"rules": [{"properties": [1]}]}',
        '{"rules": [{"properties": {}, "centerlines": "12"}]}',
        '{"rules": [{"matches": true}]}',
        '{"rules": {"0": {}}}',
    ],
)
def test_records_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Prediction)


def test_impossible_options_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"ignore_properties": [""]}, Options)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"ignore_property": ["RuleIndex"]}, Options)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
RULES = st.lists(
    st.fixed_dictionaries(
        {"properties": st.dictionaries(st.text(), JSON, max_size=4)},
        optional={
            "centerlines": st.lists(st.text() | st.integers(), max_size=4) | st.none(),
            "matches": st.none() | st.integers(0, 3) | st.text(),
        },
    ),
    max_size=4,
)


@settings(deadline=None)
@given(RULES, RULES | st.none())
def test_any_text_is_scored(true: list[Any], predicted: list[Any] | None) -> None:
    truth = [{"id": number, **rule} for number, rule in enumerate(true)]
    scored = score(truth, predicted)
    found = values(scored)
    for name in TASK_METRICS:
        assert found[name] == scored.metrics[name]
        assert 0.0 <= (found[name] or 0.0) <= 1.0
    json.loads(msgspec.json.encode(scored.details))
    assert all(value for value in scored.statistics.values())


@settings(deadline=None)
@given(RULES)
def test_a_prediction_equal_to_the_truth_is_right(true: list[Any]) -> None:
    truth = [{"id": n, **rule, "centerlines": [f"line {n}"]} for n, rule in enumerate(true)]
    scored = score(truth, [{**rule, "matches": rule["id"]} for rule in truth])
    assert {scored.metrics[name] for name in TASK_METRICS} == ({1.0} if truth else {None})
    assert scored.metrics["wrong_properties"] == 0


def test_names_of_statistics_have_a_bounded_length() -> None:
    scored = score([{"id": "a", "properties": {"x" * 10_000: 1, "a]b[": 2}}], [{"properties": {"y" * 10_000: 1}}])
    assert max(map(len, scored.statistics)) < MAX_NAME_LENGTH + 30
    assert values(scored)["property_accuracy[a]b[]"] == 0.0


def test_the_project_corpus_is_what_the_generator_makes() -> None:
    lines = (CORPUS / "ground_truth.jsonl").read_text().splitlines()
    made = [sample(index, 7) for index in range(len(lines))]
    assert [json.loads(line) for line in lines] == [truth for truth, _ in made]
    predictions = (CORPUS / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in predictions] == [predicted for _, predicted in made if predicted]


def test_the_project_corpus_has_every_kind_of_error() -> None:
    benchmark = make_benchmark("traffic_rules")
    truths, predictions = read_records(CORPUS / "ground_truth.jsonl"), read_records(CORPUS / "predictions.jsonl")
    scores = score_records(benchmark, truths, predictions)
    sums = total(scores.values())
    for name in ("different", "absent", "extra"):
        assert sums.bracketed(f"property_{name}"), name
    assert any(s.coverage for s in scores.values() if isinstance(s, SampleScore))
    assert len(predictions) < len(truths)
    found = benchmark.values(sums)
    assert all(0.3 < (found[name] or 0) < 1 for name in TASK_METRICS)


def test_every_value_and_column_has_its_meaning() -> None:
    scored = score([{"id": "a", "properties": BUS}], [{"properties": BUS}])
    for name in values(scored):
        assert TrafficRulesBenchmark.spec_of(name)
    assert set(scored.metrics) == set(TrafficRulesBenchmark.sample_metric_names())
    assert set(TrafficRulesBenchmark.main_metrics()) <= set(TASK_METRICS)
