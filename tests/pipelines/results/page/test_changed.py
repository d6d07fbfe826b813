from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.chemistry.benchmark import ChemistryBenchmark, ChemistryOptions
from beamscore.pipelines.results.page.changed import make_changed, what_changed, worst_first
from beamscore.pipelines.results.page.comparison_document import ChangedSide
from beamscore.transforms.changed_records import ChangedRecords, Text


def side(score: float | None, *words: str, status: str = "scored") -> ChangedSide:
    return ChangedSide(status, {"score": score, "other": 1.0}, None, words)


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


BENCHMARK = ChemistryBenchmark(ChemistryOptions())


def records(change: float | None, truth: Text | None, *predictions: Text | None) -> ChangedRecords:
    names = [spec.name for spec in BENCHMARK.sample_metrics]
    row: dict[str, Any] = {"sample_id": "s", "change": change, "kind": "worse"}
    for name in ("baseline", "candidate"):
        row |= {f"{name}.status": "scored"} | {f"{name}.{metric}": 0.25 for metric in names}
    return ChangedRecords(row, (None, b"null"), truth, (predictions[0], predictions[1]))


def text(value: str) -> Text:
    encoded = json.dumps({"sample_id": "s", "text": value}).encode()
    return encoded, len(encoded)


def test_a_sample_has_both_predictions_and_drawings() -> None:
    changed = make_changed(BENCHMARK, records(-0.5, text("\\chemfig{A-B}"), text("\\chemfig{A=B}"), None))
    assert changed.truth is not None
    assert changed.truth.text == "text: \\chemfig{A-B}"
    before, after = changed.sides
    assert before.prediction is not None
    assert after.prediction is None
    assert all(each.drawing is not None and each.drawing.startswith("<svg") for each in changed.sides)
    assert all(each.drawing is None for each in changed.without_drawings().sides)


def test_without_records_it_says_why() -> None:
    changed = make_changed(BENCHMARK, records(None, None, None, None), "the inputs are gone")
    assert changed.truth is None
    assert [each.problem for each in changed.sides] == ["the inputs are gone"] * 2
    assert changed.change is None


def test_those_that_lost_most_come_first() -> None:
    found = [records(change, None, None, None).row for change in (0.5, None, -1.0)]
    assert [each["change"] for each in sorted(found, key=worst_first)] == [-1.0, None, 0.5]
