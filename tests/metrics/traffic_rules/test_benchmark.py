"""The benchmark as a whole: values, properties, details, and what is refused."""

from __future__ import annotations

import copy
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.statistics.sums import Sums
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
Rules = list[dict[str, Any]]


def score(truth: Rules, predicted: Rules | None, **options: Any) -> SampleScore:
    benchmark = make_benchmark("traffic_rules", **options)
    return benchmark.score_sample(
        msgspec.convert({"rules": truth}, GroundTruth),
        None if predicted is None else msgspec.convert({"rules": predicted}, Prediction),
    )


def values(*scores: SampleScore) -> dict[str, float | None]:
    return make_benchmark("traffic_rules").values(total(scores))


def test_values_are_ratios_of_sums_over_the_samples() -> None:
    found = values(
        score([{"id": "a", "properties": BUS, "centerlines": ["1"]}], [{"properties": BUS, "centerlines": ["1"]}]),
        score(
            [{"id": "a", "properties": BUS, "centerlines": ["1", "2", "3"]}],
            [{"properties": {}, "centerlines": ["1", "2"], "matches": "a"}, {"properties": {"LaneType": "Bus"}}],
        ),
    )
    assert [found[name] for name in TASK_METRICS] == [
        *(1 / 3, 1 / 2, 0.4),  # 1 of 1 + 0 of 2 predicted; 1 of 1 + 0 of 1 true; 2 * 1/3 * 1/2 / (1/3 + 1/2)
        *(2 / 3, 2 / 4, pytest.approx(4 / 7)),  # 0 of 1 + 2 of 2, as the first rule matches none; 0 of 1 + 2 of 3
        *(1 / 3, 1 / 4, pytest.approx(2 / 7)),  # 1 of 1 + 0 of 2 predicted; 1 of 1 + 0 of 3 true
    ]


def test_nothing_on_one_side_is_wrong_and_on_both_is_not_measured() -> None:
    some = [{"id": "a", "properties": BUS, "centerlines": ["1"], "matches": "a"}]
    assert dict.fromkeys(TASK_METRICS) == values() == values(score([], []), score([], None))
    assert score([], None).metrics == {**dict.fromkeys(TASK_METRICS), "wrong_properties": 0, "unpaired_rules": 0}
    assert values(score(some, None)) == {
        **dict.fromkeys(TASK_METRICS, 0),
        **{f"property_accuracy[{name}]": 0 for name in BUS},
    }
    assert values(score(some, [])) == values(score(some, None))
    assert values(score([], some)) == dict.fromkeys(TASK_METRICS, 0)


def test_ignored_properties_are_left_out_on_both_sides_whatever_they_hold() -> None:
    deep: Any = []
    for _ in range(40):
        deep = [deep]
    truth = [{"id": "a", "properties": {**BUS, "RuleIndex": 1}}]
    assert values(score(truth, [{"properties": {**BUS, "RuleIndex": 2, "Remark": "x"}}]))["rule_extraction.f1"] == 0
    with pytest.raises(RejectedRecord, match=r"rules\[0\].properties: 'Remark' cannot be compared: it nests more than"):
        score(truth, [{"properties": {**BUS, "Remark": deep}}])
    ignoring = values(
        score(truth, [{"properties": {**BUS, "Remark": deep}}], ignore_properties=["RuleIndex", "Remark"])
    )
    assert ignoring["rule_extraction.f1"] == 1
    assert "property_accuracy[RuleIndex]" not in ignoring


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
    assert (scored.metrics["wrong_properties"], scored.metrics["unpaired_rules"]) == (4, 1)
    found = values(scored)
    assert [found[f"property_accuracy[{name}]"] for name in ("Type", "Limit", "Date")] == [0.5, 0, 0]
    (table,) = make_benchmark("traffic_rules").tables(total([scored]))
    # property, true, accuracy, right, other value, absent, rule not paired, extra: most often wrong in a pair first
    assert table.rows == [
        ["(other)", 0, None, 0, 0, 0, 0, 2],
        ["Date", 1, 0.0, 0, 0, 1, 0, 0],
        ["Limit", 1, 0.0, 0, 1, 0, 0, 0],
        ["Type", 2, 0.5, 1, 0, 0, 1, 0],
    ]
    assert len(table.header) == 8
    assert make_benchmark("traffic_rules").tables(Sums()) == []


def test_details_say_what_was_paired_and_which_edges_were_wrong() -> None:
    scored = score(
        [
            {"id": "a", "properties": {"Time": None, **BUS}, "centerlines": ["1", "2"]},
            {"id": "b", "properties": {"LaneType": "Tidal"}},
        ],
        [
            {"properties": {}, "centerlines": ["7"]},
            # The properties of both sides come in order of their names.
            {"properties": {"x": 1, "a": 2, **BUS, "Limit": 60}, "centerlines": ["1", "1", "3"], "matches": "a"},
            {"properties": {}, "matches": "gone"},
        ],
    )
    wrong = [
        {"name": "Limit", "fault": "different", "true": "40", "predicted": "60"},
        {"name": "a", "fault": "extra", "true": None, "predicted": "2"},
        {"name": "x", "fault": "extra", "true": None, "predicted": "1"},
    ]
    lane = {"name": "LaneType", "fault": "absent", "true": '"Tidal"', "predicted": None}
    assert json.loads(msgspec.json.encode(scored.details)) == {
        "rules": [
            {"id": "a", "prediction": 1, "right": False, "wrong": wrong},
            {"id": "b", "prediction": 0, "right": False, "wrong": [lane]},
        ],
        "unpaired_predictions": [2],
        "edges": {"right": [["a", "1"]], "missed": [["a", "2"]], "wrong": [[None, "7"], ["a", "1"], ["a", "3"]]},
    }
    assert scored.coverage == {"matches_unknown_rule": 1}
    unpaired = score([{"id": "a", "properties": BUS}], []).details["rules"]
    assert msgspec.to_builtins(unpaired) == [{"id": "a", "prediction": None, "right": False, "wrong": None}]


def test_long_names_are_cut_in_details_and_statistics() -> None:
    name = "x" * 100_000
    scored = score(
        [{"id": name, "properties": {name: 1, "a]b[": 2}, "centerlines": ["r", "m", "l" * 201]}],
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
    assert max(map(len, scored.statistics)) < MAX_NAME_LENGTH + 30
    assert values(scored)["property_accuracy[a]b[]"] == 0.0


@pytest.mark.parametrize(
    ("truth", "predicted", "side", "said"),
    [
        (
            [{"id": 1}, {"id": "1"}],
            [],
            "ground_truth",
            r"rules: the id '1' is duplicated; give every rule an id of its own\Z",
        ),
        ([], [{}] * 501, "prediction", r"rules: there are 501, and at most 500 are scored\Z"),
        ([], [{"centerlines": ["1"] * 10_001}], "prediction", "rules: they name 10001 centerlines, and at most 10000"),
        (
            [{"id": "a", "properties": {str(n): n for n in range(65)}}],
            [],
            "ground_truth",
            r"rules\[0\].properties: there are 65, and at most 64 are scored",
        ),
        (
            [],
            [{"properties": {"x" * 10_000: list(range(2000))}}],
            "prediction",
            r"\A.{0,100}xxx\.\.\.' cannot .{0,90}\Z",
        ),
    ],
)
def test_more_than_can_be_scored_is_refused(truth: Rules, predicted: Rules, side: str, said: str) -> None:
    with pytest.raises(RejectedRecord, match=said) as caught:
        score(truth, predicted)
    assert caught.value.side == side


def test_as_much_as_can_be_scored_is_scored() -> None:
    most = [{"id": n, "properties": {}, "centerlines": [n] * 20} for n in range(500)]
    scored = score(most, most)
    assert scored.statistics["rule_extraction.true"] == scored.statistics["rule_extraction.predicted"] == 500
    assert scored.statistics["correspondence.predicted"] == 10_000


def test_work_is_what_there_is_to_read_and_the_pairs_of_unequal_rules() -> None:
    truth = [{"id": n, "properties": {"a": n}, "centerlines": [1, 2]} for n in range(3)]
    predicted = [{"properties": {"a": n, "b": [1, 2]}, "centerlines": [3]} for n in range(4)]
    # 3 x 2 + 4 x 1 edges, 3 x 1 + 4 x (1 + 3) values, 3 x 4 pairs of rules that are not equal
    assert score(truth, predicted, max_steps=10 + 19 + 12).statistics["rule_extraction.predicted"] == 4
    with pytest.raises(RejectedRecord, match=r"max_steps=40 allows \(at least 41 steps\): raise max_steps") as caught:
        score(truth, predicted, max_steps=10 + 19 + 11)
    assert caught.value.side == "sample"


def test_integers_of_any_size_are_compared() -> None:
    colliding = [k * (2**61 - 1) for k in range(1, 900)]
    scored = score(
        [{"id": 2**60, "properties": {"a": [*colliding, 2**70]}, "centerlines": [2**62]}],
        [{"properties": {"a": [2**70, *colliding[::-1]]}, "centerlines": [2**62], "matches": str(2**60)}],
    )
    assert [scored.metrics[name] for name in TASK_METRICS] == [1.0] * 9


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


@pytest.mark.parametrize("options", [{"ignore_properties": [""]}, {"ignore_property": ["RuleIndex"]}])
def test_impossible_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, Options)


def in_nfc(name: Any) -> str:
    return unicodedata.normalize("NFC", str(name))


texts = st.text(max_size=4) | st.text(st.sampled_from("aÅé각\u0301\u0323\u0f73"), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
names = texts | st.integers(0, 5)
rules = st.lists(
    st.fixed_dictionaries(
        {
            "properties": st.none() | st.dictionaries(texts, json_values, max_size=4),
            # A centerline that is named twice is two predicted edges, and one true one: see docs.
            "centerlines": st.none() | st.lists(names, max_size=3, unique_by=in_nfc),
            "matches": st.none() | names,
        }
    ),
    max_size=4,
)


def encoded(value: Any, form: Any) -> Any:
    """The same record with all texts in one form of Unicode."""
    if isinstance(value, str):
        return unicodedata.normalize(form, value)
    if isinstance(value, list):
        return [encoded(each, form) for each in value]
    if isinstance(value, dict):
        return {encoded(name, form): encoded(each, form) for name, each in value.items()}
    return value


@given(rules, rules | st.none())
def test_any_text_is_scored(true: Rules, predicted: Rules | None) -> None:
    scored = score([{**rule, "id": number} for number, rule in enumerate(true)], predicted)
    found = values(scored)
    for name in TASK_METRICS:
        assert found[name] == scored.metrics[name]
        assert 0.0 <= (found[name] or 0.0) <= 1.0
    msgspec.json.encode(scored.details)
    assert all(value for value in scored.statistics.values())


def assert_perfect(truth: Rules, form: str = "NFC", other: str = "NFC", **options: Any) -> None:
    prediction = [{**rule, "matches": rule["id"]} for rule in truth]
    result = score(encoded(truth, form), encoded(prediction, other), **options)
    assert {value for value in values(result).values() if value is not None} <= {1}
    wrong = {name: result.metrics.get(name) for name in ("wrong_properties", "unpaired_rules")}
    assert set(wrong.values()) == {0}
    assert {value for name, value in result.metrics.items() if value is not None and name not in wrong} <= {1}


@given(rules, st.sampled_from(("NFC", "NFD")), st.sampled_from(("NFC", "NFD")))
def test_a_copy_scores_1_in_either_form_of_unicode(drawn: Rules, form: str, other: str) -> None:
    assert_perfect([{**rule, "id": f"É{number}"} for number, rule in enumerate(drawn)], form, other)


def test_a_copy_of_a_generated_and_damaged_clip_scores_1() -> None:
    draw = random.Random(2)
    for index in range(40):
        truth = copy.deepcopy(sample(index, 4)[0]["rules"])
        for rule in truth:
            damage = draw.choice(["none", "properties", "centerlines", "one", "type"])
            if damage in ("properties", "centerlines"):
                rule[damage] = draw.choice([None, type(rule[damage])()])
            elif damage == "one":
                rule["properties"].pop(draw.choice([*rule["properties"]]))
            elif damage == "type":
                rule["properties"]["LaneType"] = draw.choice([float("nan"), 10**30, {"a": [1, None]}, [[]], True])
        assert_perfect(truth)
        assert_perfect(truth, ignore_properties=["RuleIndex", "LaneType"])


def test_the_project_corpus_is_what_the_generator_makes_and_has_every_kind_of_error() -> None:
    truths, predictions = read_records(CORPUS / "ground_truth.jsonl"), read_records(CORPUS / "predictions.jsonl")
    made = [sample(index, 7) for index in range(len(truths))]
    assert [json.loads(text) for text in truths.values()] == [truth for truth, _ in made]
    assert [json.loads(text) for text in predictions.values()] == [predicted for _, predicted in made if predicted]
    assert len(predictions) < len(truths)
    benchmark = make_benchmark("traffic_rules")
    scores = score_records(benchmark, truths, predictions)
    sums = total(scores.values())
    assert all(sums.bracketed(f"property_{name}") for name in ("different", "absent", "extra"))
    assert any(each.coverage for each in scores.values() if isinstance(each, SampleScore))
    found = benchmark.values(sums)
    assert all(0.3 < (found[name] or 0) < 1 for name in TASK_METRICS)
