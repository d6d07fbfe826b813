"""The coverage, the ranking and the verdict of a run, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.settings import Settings, load
from beamscore.pipelines.runs.documents import slice_coverage
from beamscore.pipelines.runs.gates import coverage_failures
from beamscore.pipelines.runs.ranking import rank
from beamscore.pipelines.runs.run import Run

VALUES = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])


def document(
    rejected: int = 0, read: int = 10, balanced: bool = True, missing: int = 0, **values: float | None
) -> dict[str, Any]:
    coverage = {
        "ground_truth": {"read": read, "scored": read - missing, "missing_prediction": missing, "rejected": 0},
        "predictions": {"read": read, "rejected": rejected},
        "balanced": balanced,
    }
    return {"systems": {"ours": {"coverage": coverage, "values": values}}}


@pytest.mark.parametrize("missing", ["wrong", "exclude"])
def test_too_many_rejected_records_or_missing_predictions_fail(missing: Any) -> None:
    settings = Settings(benchmark="toy", missing=missing, max_rejected_fraction=0.1, max_missing_fraction=0.5)
    failures = coverage_failures(document(rejected=40, read=396, missing=225)["systems"], settings)
    assert [each.text for each in failures] == [
        "ours: 40 of 396 predictions were rejected, more than max_rejected_fraction 0.1 allows; see quarantine/",
        "ours: 225 of 396 samples have no prediction, more than max_missing_fraction 0.5 allows",
    ]
    assert [(each.system, each.status) for each in failures] == [("ours", "missing_prediction")] * 2


@given(st.integers(1, 400), st.data())
def test_a_limit_holds_as_long_as_the_share_is_not_above_it(read: int, data: st.DataObject) -> None:
    """A share that is the limit passes, one more does not: 7 of 100 are 0.07, though 0.07 * 100 is above 7."""
    allowed = data.draw(st.integers(0, read))
    settings = Settings(benchmark="toy", max_rejected_fraction=allowed / read, max_missing_fraction=allowed / read)
    for count in (allowed, min(allowed + 1, read)):
        found = coverage_failures(document(rejected=count, read=read, missing=count)["systems"], settings)
        assert len(found) == (0 if count == allowed else 2)


def test_books_that_do_not_balance_fail() -> None:
    (failure,) = coverage_failures(document(balanced=False)["systems"], Settings(benchmark="toy"))
    assert failure.text.startswith("ours: the record counts do not add up: ")


def test_ranking_follows_the_direction_of_each_metric() -> None:
    values: dict[str, dict[str, float | None]] = {"a": {"errors": 3}, "b": {"errors": 1}, "c": {"errors": None}}
    assert rank(values, [MetricSpec("errors", "", higher_is_better=False)]) == ["b", "a", "c"]
    assert rank(values, [MetricSpec("errors", "")]) == ["a", "b", "c"]


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(VALUES, VALUES)), st.randoms(use_true_random=False))
def test_ranking_is_by_the_metrics_in_order_and_then_by_name_whatever_the_order_of_the_systems(
    metrics: dict[str, tuple[float | None, float | None]], rng: Any
) -> None:
    values = {name: dict(zip("xy", each, strict=True)) for name, each in metrics.items()}
    names = rng.sample(list(values), len(values))
    ranked = rank({name: values[name] for name in names}, [MetricSpec("x", ""), MetricSpec("y", "")])
    assert ranked == sorted(values, key=lambda name: (*(-(-1.0 if v is None else v) for v in metrics[name]), name))


def test_the_coverage_of_a_slice() -> None:
    counted = {"predictions.scored": 2, "ground_truth.scored": 2, "ground_truth.rejected": 1, "not_rendered": 4}
    assert slice_coverage(counted) == {
        "ground_truth": {"rejected": 1, "scored": 2},
        "predictions": {"scored": 2},
        "not_rendered": 4,
    }


@pytest.mark.parametrize(("read", "balanced"), [(3, True), (4, False)])
def test_the_coverage_of_a_run_adds_what_was_read_paired_and_scored(read: int, balanced: bool) -> None:
    configuration = load("toy", [], {})
    outcomes = {-1: Sums(), 0: Sums.of({"read": read, "rejected": 1, "duplicate": 1, "unmatched": 1})}
    system = Run.of(configuration, ["ours"], [], outcomes, {}, []).systems["ours"]
    assert system.coverage == {
        "ground_truth": {"read": 0, "scored": 0, "missing_prediction": 0, "rejected": 0, "duplicate": 0},
        "predictions": {"read": read, "scored": 0, "unmatched": 1, "duplicate": 1, "rejected": 1},
        "balanced": balanced,
    }
