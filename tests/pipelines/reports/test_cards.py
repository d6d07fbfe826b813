from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chemistry.benchmark import ChemistryBenchmark
from beamscore.metrics.chemistry.records import ChemistryOptions
from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from beamscore.metrics.traffic_rules.records import Options
from beamscore.pipelines.compare_page import in_order
from beamscore.pipelines.reports.cards import (
    MAX_DRAWINGS_LENGTH,
    MAX_RECORD_LENGTH,
    Beginning,
    make_cards,
    make_changed,
    record_text,
    what_changed,
    within_limit,
)
from beamscore.pipelines.reports.document import CardSide
from beamscore.transforms.pick import PickedSample
from beamscore.transforms.records import MAX_RECORD_BYTES
from beamscore.transforms.sample_changes import ChangedRecords, Text

TRUTH = {"sample_id": "s", "source": "web", "rules": [{"id": "r0", "properties": {"a": "1"}, "centerlines": ["4"]}]}


def picked(prediction: bytes | None, size: int = 0) -> PickedSample:
    truth, metrics = json.dumps(TRUTH).encode(), {"x": 1 / 3}
    return PickedSample(
        (0.0, 0), "s", 0, "scored", "worst", ("worst",), metrics, b"null", 4, truth, len(truth), prediction, size
    )


def test_a_card_has_both_records_and_the_drawing() -> None:
    [card] = make_cards(TrafficRulesBenchmark(Options()), [picked(b'{"sample_id": "s", "rules": []}', 30)])
    assert card.truth is not None
    assert card.truth.text.splitlines()[0] == "source: web"
    assert card.sides[0].prediction is not None
    assert card.sides[0].prediction.text == "rules: []"
    assert card.sides[0].drawing is not None
    assert card.sides[0].drawing.startswith("<svg")
    assert card.sides[0].metrics == {"x": 0.3333}


def test_a_card_of_what_cannot_be_drawn_says_why() -> None:
    benchmark = TrafficRulesBenchmark(Options())
    [card] = make_cards(benchmark, [picked(b"{", MAX_RECORD_BYTES + 1)])
    assert card.sides[0].drawing is None
    assert "too large" in card.sides[0].problem
    # A prediction that cannot be decoded was scored as missing, and is drawn so.
    assert make_cards(benchmark, [picked(b'{"rules": 3}', 12)])[0].sides[0].drawing is not None


def test_a_record_is_text_that_says_what_is_left_out() -> None:
    long = {"sample_id": "s", "latex": "x" * (MAX_RECORD_LENGTH + 10)}
    text = record_text(Beginning(msgspec.json.encode(long), 1))
    assert text.text == "latex: " + "x" * (MAX_RECORD_LENGTH - 7)
    assert text.left_out == 17
    assert record_text(Beginning(b'{"a": "\\u202e', 20)).text == '{"a": "\\u202e'


def side(score: float | None, *words: str, status: str = "scored") -> CardSide:
    return CardSide(status, {"score": score, "other": 1.0}, None, words)


def test_what_changed_tells_status_metrics_and_matches_of_one_side() -> None:
    before, after = side(1.0, "a", "b", "b"), side(None, "b", "c", status="missing_prediction")
    assert list(what_changed("score", before, after)) == [
        "status was scored, and is missing prediction",
        "score: 1 → no value",
        "only in the baseline: a",
        "only in the baseline: b",
        "only in the candidate: c",
    ]


@given(st.lists(st.sampled_from("abc")))
def test_nothing_changed_says_nothing(words: list[str]) -> None:
    assert list(what_changed("score", side(0.5, *words), side(0.5, *words))) == []


CHEMISTRY = ChemistryBenchmark(ChemistryOptions())


def records(change: float | None, truth: Text | None, *predictions: Text | None) -> ChangedRecords:
    names = [spec.name for spec in CHEMISTRY.sample_metrics]
    row: dict[str, Any] = {"sample_id": "s", "change": change, "kind": "worse"}
    for name in ("baseline", "candidate"):
        row |= {f"{name}.status": "scored"} | {f"{name}.{metric}": 0.25 for metric in names}
    return ChangedRecords(row, (None, b"null"), truth, (predictions[0], predictions[1]))


def text(value: str) -> Text:
    encoded = json.dumps({"sample_id": "s", "text": value}).encode()
    return encoded, len(encoded)


def test_a_sample_has_both_predictions_and_drawings() -> None:
    [changed] = make_changed(CHEMISTRY, [records(-0.5, text("\\chemfig{A-B}"), text("\\chemfig{A=B}"), None)])
    assert changed.truth is not None
    assert changed.truth.text == "text: \\chemfig{A-B}"
    before, after = changed.sides
    assert before.prediction is not None
    assert after.prediction is None
    assert all(each.drawing is not None and each.drawing.startswith("<svg") for each in changed.sides)
    assert before.drawing is not None
    heavy = msgspec.structs.replace(before, drawing="x" * MAX_DRAWINGS_LENGTH)
    *shown, last = within_limit([msgspec.structs.replace(changed, sides=(heavy,)), changed])
    assert shown[0].sides[0].drawing is not None
    assert [each.drawing for each in last.sides] == [None, None]


def test_each_sample_of_a_batch_has_its_own_drawings() -> None:
    """One whose ground truth cannot be drawn, or was not found, takes nothing from the others."""
    broken, missing = records(0.0, text("none"), None, None), records(0.0, None, None, None)
    good = [records(0.0, text(f"\\chemfig{{A-{atom}}}"), text("\\chemfig{A=B}"), None) for atom in "BC"]
    batch = [good[0], broken, missing, good[1]]
    assert make_changed(CHEMISTRY, batch) == [make_changed(CHEMISTRY, [each])[0] for each in batch]


def test_without_records_it_says_why() -> None:
    [changed] = make_changed(CHEMISTRY, [records(None, None, None, None)], "the inputs are gone")
    assert changed.truth is None
    assert [each.problem for each in changed.sides] == ["the inputs are gone"] * 2
    assert changed.change is None


def test_those_that_lost_most_come_first() -> None:
    found = make_changed(CHEMISTRY, [records(change, None, None, None) for change in (0.5, None, -1.0)])
    assert [each.change for each in in_order(found)] == [-1.0, None, 0.5]
