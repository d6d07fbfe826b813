"""The coverage, the ranking with its ties, and the verdict of a run, by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.measured import effective_sample_size
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.settings import Settings, load
from beamscore.pipelines.runs import run as stored_run
from beamscore.pipelines.runs.documents import coverage_text, verdict_lines
from beamscore.pipelines.runs.gates import coverage_failures
from beamscore.pipelines.runs.ranking import rank, rank_with_ties
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.io import publication, storage
from tests import toy
from tests.finished_runs import finished, row, write, write_run
from tests.runs import evaluate_records

VALUES = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0])


def coverage(rejected: int = 0, read: int = 10, missing: int = 0, balanced: bool = True) -> dict[str, Any]:
    """Returns the coverage of the system `ours` of a summary."""
    truths = {"read": read, "scored": read - missing, "missing_prediction": missing, "rejected": 0}
    sides = {"ground_truth": truths, "predictions": {"read": read, "rejected": rejected}}
    return {"ours": {"coverage": {**sides, "balanced": balanced}}}


def test_a_run_replaced_while_it_is_read_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [toy.sample(index, 0)[0] for index in range(4)]
    output = evaluate_records(tmp_path / "out", records, records, "--quiet", "--no-html").output
    opened, moments = stored_run.open_result, iter([True])

    def open_result(path: str) -> Any:
        found = opened(path)
        if next(moments, False):
            evaluate_records(output, records, records[:2], "--quiet", "--no-html")
        return found

    monkeypatch.setattr(stored_run, "open_result", open_result)
    assert Run.read(str(output)).systems["predictions"].values["exact_match"] == 2 / 4
    monkeypatch.setattr(publication, "read_bytes", reads := Mock(wraps=storage.read_bytes))
    Run.read(str(output), sums=True)
    assert len({each.args for each in reads.mock_calls}) == reads.call_count >= 3, "each file is read once"


def test_too_many_rejected_records_or_missing_predictions_fail() -> None:
    settings = Settings(benchmark="toy", max_rejected_fraction=0.1, max_missing_fraction=0.5)
    lost = coverage(rejected=40, read=396, missing=225, balanced=False)
    failures = coverage_failures(lost, settings, ())
    assert [each.text for each in failures] == [
        "ours: 40 of 396 predictions were rejected, more than max_rejected_fraction 0.1 allows; see quarantine/",
        "ours: 225 of 396 samples have no prediction, more than max_missing_fraction 0.5 allows",
        f"ours: the record counts do not add up: {lost['ours']['coverage']}",
    ]
    statuses = ("missing_prediction", "missing_prediction", "")
    assert [(each.system, each.status) for each in failures] == [("ours", status) for status in statuses]
    # Damaged counts may say that nothing was read.
    assert len(coverage_failures(coverage(rejected=1, read=0, balanced=False), settings, ())) == 2


@given(st.integers(1, 400), st.data())
def test_a_limit_holds_as_long_as_the_share_is_not_above_it(read: int, data: st.DataObject) -> None:
    """A share that is the limit passes, one more does not: 7 of 100 are 0.07, though 0.07 * 100 is above 7."""
    allowed = data.draw(st.integers(0, read))
    settings = Settings(benchmark="toy", max_rejected_fraction=allowed / read, max_missing_fraction=allowed / read)
    for count in (allowed, min(allowed + 1, read)):
        assert len(coverage_failures(coverage(count, read, count), settings, ())) == (0 if count == allowed else 2)


@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(VALUES, VALUES)), st.randoms(use_true_random=False))
def test_ranking_is_by_the_metrics_in_order_and_then_by_name_whatever_the_order_of_the_systems(
    metrics: Any, rng: Any
) -> None:
    """Of x more is better, of y less."""
    values = {name: dict(zip("xy", each, strict=True)) for name, each in metrics.items()}
    names = rng.sample(list(values), len(values))
    ranking = [MetricSpec("x", ""), MetricSpec("y", "", higher_is_better=False)]

    def order(name: str) -> tuple[float, float, str]:
        x, y = metrics[name]
        return 2.0 if x is None else -x, 2.0 if y is None else y, name

    assert rank({name: values[name] for name in names}, ranking) == sorted(values, key=order)


def test_coverage_and_verdict_are_told_by_what_is_not_0() -> None:
    truths = {"read": 396, "scored": 171, "missing_prediction": 225, "rejected": 3, "duplicate": 1}
    predictions = {"unmatched": 1, "rejected": 2, "duplicate": 0}
    told = coverage_text({"ground_truth": truths, "predictions": predictions, "repeats": 9, "missing_repeats": 2})
    said = (
        "171 of 396 samples scored, 225 without a prediction, 1 prediction without a sample, 1 duplicate, 5 rejected; "
    )
    assert told == said + "2 of 9 repeats missing"
    nothing = dict.fromkeys(truths, 0)
    told = coverage_text({"ground_truth": nothing, "predictions": {**nothing, "unmatched": 2}})
    assert told == "0 of 0 samples scored, 2 predictions without a sample"
    verdict = {"judgement": "worse", "sentence": "a fell", "lost": ["kind=1", "kind=2"]}
    assert verdict_lines({"verdict": verdict}) == ["WORSE: a fell", "slices that lost most: kind=1; kind=2"]
    assert (verdict_lines({"verdict": {**verdict, "lost": []}}), verdict_lines({})) == (["WORSE: a fell"], [])


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


def test_sums_of_an_earlier_format_are_read_and_those_of_others_and_damaged_ones_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row("a", 1.0)])
    document = json.loads((run / "sums.json").read_bytes())
    for written in (1, 2):
        write(run / "sums.json", {**document, "format": written})
        assert Run.read(str(run), sums=True).sums.systems.keys() == {"predictions"}
    damage: list[tuple[str, Any, str]] = [("format", number, f"is {number}, not 2: another") for number in (0, 3)]
    damage += [("bootstrap", {name: 7}, "missing required") for name in ("seed", "replicates")]
    for name, value, told in damage:
        write(run / "sums.json", {**document, name: value})
        with pytest.raises(UsageError, match=f"sums.json.* {told}"):
            Run.read(str(run), sums=True)


def run_of(systems: Mapping[str, tuple[int, ...]], replicates: int = 100) -> Run:
    """Returns a run of systems: how many of how many samples are right, from which number on; of 0, one is rejected."""
    rows = []
    for name, (right, count, *first) in systems.items():
        values: list[float | None] = [float(place < right) for place in range(count)]
        rows += [row(f"s{place}", value, system=name) for place, value in enumerate(values or [None], sum(first))]
    return finished(rows, {"slices": [], "bootstrap": {"replicates": replicates}})


def test_systems_that_cannot_be_told_apart_share_a_place() -> None:
    """Each is compared with the first one of the place above, or of its own."""
    right = {"best": 50, "close": 49, "far": 20, "further": 19}
    found = rank_with_ties(run_of({name: (count, 60) for name, count in right.items()}))
    assert found is not None
    assert (found.metric, found.warnings) == ("exact_match", [])
    close, far, further = found.places[1:]
    assert found.document() == {
        "metric": "exact_match",
        "places": [
            {"system": "best", "place": 1, "tied": False, "difference": None, "interval": None},
            {"system": "close", "place": 1, "tied": True, "difference": 49 / 60 - 50 / 60, "interval": close.interval},
            {"system": "far", "place": 3, "tied": False, "difference": 20 / 60 - 50 / 60, "interval": far.interval},
            {"system": "further", "place": 3, "tied": True, "difference": 19 / 60 - 20 / 60,
             "interval": further.interval},
        ],
    }  # fmt: skip
    for each in (close, far, further):
        low, high = each.interval or (1.0, -1.0)
        assert low <= (each.difference or 0.0) <= high
        assert (high < 0) == (each is far)


def test_other_samples_are_told_though_they_are_as_many() -> None:
    (warning,) = run_of({"one": (30, 60), "same": (29, 60), "other": (29, 60, 10)}).summary.warnings
    assert warning.startswith("other scored other samples than one: their places rest on different data")


@pytest.mark.parametrize(
    ("lost", "missing", "told"),
    [
        (range(4), "exclude", ["b scored other"]),
        (range(9, 12), "exclude", ["b may have scored other"]),
        (range(9, 12), "wrong", []),
    ],
)
def test_samples_left_out_are_told_where_no_replicate_shows_them(lost: range, missing: str, told: list[str]) -> None:
    """The other system lacks the predictions of three samples; that of one is rejected, of both."""
    rows = [
        row(f"s{place}", None, system=name, status="missing_prediction") if place in gone
        else row(f"s{place}", 1.0, system=name)
        for name, gone in {"a": range(3), "b": lost}.items() for place in range(15)
    ]  # fmt: skip
    rows += [row("bad", None, system=name) for name in "ab"]
    run = finished(rows, {"slices": [], "missing": missing, "bootstrap": {"replicates": 0}})
    assert [line.split(" samples than a")[0] for line in run.summary.warnings] == told


@given(st.lists(st.sampled_from([None, 0, 2, 4]), min_size=1, max_size=8))
def test_without_intervals_only_systems_without_a_value_are_behind(values: list[int | None]) -> None:
    """Without replicates; values: how many of four samples are right, None: nothing was scored."""
    systems = {f"s{n}": (0, 0) if right is None else (right, 4) for n, right in enumerate(values)}
    found = rank_with_ties(run_of(systems, 0))
    if len(values) == 1:
        assert found is None
        return
    scored = sum(right is not None for right in values)
    assert found is not None
    places = {f"s{number}": 1 if right is not None else 1 + scored for number, right in enumerate(values)}
    assert {each.system: each.place for each in found.places} == places


def test_an_interval_on_few_samples_is_rough(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of({"few": (2, 19), "enough": (2, 20)})
    rough = "the effective sample size of a main metric is below 20, so its interval is rough: "
    warnings = [f"{rough}exact_match 19, similarity 19"]
    assert [run.systems[name].warnings for name in ("few", "enough")] == [warnings, []]
    # A metric without a denominator has no interval.
    metrics = (MetricSpec("exact_match", "", main=1, rank=1), toy.ToyBenchmark.metrics[1])
    monkeypatch.setattr(toy, "ToyBenchmark", type("Plain", (toy.ToyBenchmark,), {"metrics": metrics}))
    assert run_of({"few": (2, 19)}).systems["few"].warnings == [f"{rough}similarity 19"]
    # Whatever their names, five clusters of eight samples are few: their number is estimated.
    drawn = Bootstrap(200, 0)
    for first in range(0, 5000, 5):
        weights = drawn.weights([drawn.unit_hash(f"doc{number}") for number in range(first, first + 5)])
        assert round(effective_sample_size(8 * weights.sum(axis=1)[None], None, True)[0]) < stored_run.MIN_CLUSTERS
