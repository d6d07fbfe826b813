"""Which night becomes the baseline, and how many runs were judged against it, by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.statistics.measured import Measured
from beamscore.pipelines.config.gates import Gate
from beamscore.pipelines.runs.history import median_night, recent_nights
from beamscore.pipelines.runs.looks import count_look, looks_path, mean_of, start_looks, too_many_looks
from beamscore.pipelines.runs.named import age_warnings, luck_warnings
from beamscore.pipelines.runs.provenance import utc
from beamscore.pipelines.runs.run import Run
from tests.pipelines.runs.test_gates import baseline, part, run_of
from tests.pipelines.runs.test_history import history, row

METRIC = "exact_match"


@given(st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_of_one_metric_it_is_the_median_and_of_equal_nights_the_last(values: list[int]) -> None:
    found = history([row(day, value / 100) for day, value in enumerate(values)])
    median = sorted(values)[(len(values) - 1) // 2]
    last = max(day for day, value in enumerate(values) if value == median)
    assert median_night(found.nights, [METRIC]) is found.nights[last]


def test_of_several_metrics_it_is_the_night_that_is_far_in_none() -> None:
    # In similarity night 1, which has the median of exact_match, is 3 standard errors above the median.
    values = {METRIC: (0.88, 0.90, 0.905, 0.93, 0.85), "similarity": (0.95, 0.98, 0.951, 0.949, 0.94)}
    rows = [row(day, of_night[day], metric=name) for day in range(5) for name, of_night in values.items()]
    # The errors are those of the last night.
    rows[1]["error"] = 9.0
    found = history(rows)
    assert median_night(found.nights, [METRIC]) is found.nights[1]
    assert median_night(found.nights, list(values)) is found.nights[2]


def test_a_metric_without_a_standard_error_is_measured_by_its_own_unit() -> None:
    # From the medians 0.90 and 0.50, night 0 is 0.03 away in exact_match, night 1 is 0.02 errors of 1 in similarity.
    values = {METRIC: (0.93, 0.90, 0.80), "similarity": (0.50, 0.52, 0.40)}
    errors = {METRIC: None, "similarity": 1.0}
    found = history(
        [row(day, values[name][day], metric=name, error=errors[name]) for day in range(3) for name in values]
    )
    assert median_night(found.nights, [METRIC, "similarity"]) is found.nights[1]


def test_recent_nights_compare_with_the_last_and_come_after_the_last_change() -> None:
    days = range(10)
    found = history([row(day, 0.9, ground_truth="9:cd" if day < 4 else "9:ab") for day in days])
    assert recent_nights(found) == list(found.nights[4:])
    assert recent_nights(found, 2) == list(found.nights[8:])
    changed = history([row(day, 0.9 if day < 7 else 0.8) for day in days])
    assert [change.night for change in changed.changes] == [changed.nights[7]]
    assert recent_nights(changed) == list(changed.nights[7:])
    by_another_formula = [row(day, 0.9, derived='{"a": "mean(b)"}' if day < 5 else '{"a": "mean(c)"}') for day in days]
    assert len(recent_nights(history(by_another_formula))) == 5


@pytest.mark.parametrize(("right", "errors"), [(380, None), (382, "1.5"), (390, "3.3"), (360, None)])
def test_a_baseline_a_standard_error_above_a_median_night_is_told(right: int, errors: str | None) -> None:
    """One standard error of a difference of k of 400 samples, all gained, is about sqrt(k) / 400 by 200 replicates."""
    told = f"the baseline last is better than the median of recent nights by {errors} standard errors in {METRIC} of "
    told += "ours: gates that compare with it fail more often than promised"
    assert list(luck_warnings([METRIC], baseline(right), baseline(380))) == ([told] if errors else [])


def test_an_old_baseline_and_one_that_failed_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.pipelines.runs.named.time", SimpleNamespace(time=lambda: 86400 * 40.4))
    old, new, unknown = (baseline(380, provenance={"ended": utc(86400 * day)}) for day in (9, 10.4, 40))
    unknown.provenance = {}
    failed = new.changed(
        gates=[{"gate": word, "verdict": word} for word in ("fail", "invalid", "pass", "inconclusive")]
    )
    assert [age_warnings(run) for run in (old, new, unknown, failed)] == [
        ["the baseline last is 31 days old; bless a newer run if this one is outdated"],
        [],
        ["the baseline last has no run.json that says when it was made"],
        ["the baseline last did not pass its own gates: fail, invalid"],
    ]


def test_only_systems_that_the_baseline_has_are_told() -> None:
    ours, theirs = (baseline(right, systems=names) for right, names in ((390, ("a", "b")), (380, ("new", "b", "a"))))
    assert [each.split(" of ")[-1][:2] for each in luck_warnings([METRIC], ours, theirs)] == ["b:", "a:"]


def run_from(run_id: str, *predictions: str | None) -> Run:
    """Returns a run with 380 right, with a system for each fingerprint of predictions."""
    systems = {f"system {number}": {"": part(380, predictions=each)} for number, each in enumerate(predictions)}
    return run_of(systems, provenance={"run_id": run_id})


def test_a_look_is_a_run_with_new_predictions_since_the_last_blessing(tmp_path: Path) -> None:
    path, blessed = str(tmp_path / "blessed.txt"), run_from("first", "of the baseline")

    def counts(*predictions: str, against: Run = blessed) -> list[int]:
        return [count_look(path, against, run_from("", each)) for each in predictions]

    assert counts("a", "b", "a", "b", "of the baseline") == [1, 2, 2, 2, 2]
    # Where the fingerprint of a run is not known, each run counts.
    assert count_look(path, blessed, run_from("one", None)) == 3
    assert count_look(path, blessed, run_from("two", "a", None)) == 4
    start_looks(path, blessed)
    assert counts("b") == [1]
    # A person who writes the file starts anew, too.
    assert counts("c", "d", against=run_from("second", "x")) == [1, 2]
    Path(looks_path(path)).write_text("damaged")
    assert counts("d") == [1]


def test_the_mean_of_runs_counts_as_many_units_as_the_fewest_of_them() -> None:
    one = Measured({"x": 0.5}, {"x": np.array([0.4, 0.6])}, {"x": 9.0}, sizes={"x": 4.0})
    other = Measured({"x": 0.7}, {"x": np.array([0.8, np.nan])}, {"x": 5.0})
    found = mean_of([one, other], "x")
    assert (found.values, found.units, found.sizes) == ({"x": 0.6}, {"x": 5.0}, {"x": 4.0})
    assert found.replicates["x"].tolist() == pytest.approx([0.6, np.nan], nan_ok=True)


def test_a_gate_is_told_that_has_judged_more_runs_than_its_looks() -> None:
    gates = {
        METRIC: Gate(not_worse_than="baseline", looks=30),
        "similarity": Gate(not_worse_than="baseline", looks=365),
        "once": Gate(not_worse_than="baseline"),
        "bound": Gate(minimum=0.5, looks=30),
    }
    assert too_many_looks(gates, 30, "night") == []
    (line,) = too_many_looks(gates, 31, "night")
    assert line.startswith("gate exact_match: 31 runs were judged against night, more than its looks: 30; ")
