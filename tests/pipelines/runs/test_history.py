"""What a series of nights tells, by hand, on tables of made-up runs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamscore.pipelines.reports import history as report
from beamscore.pipelines.reports.document import Document, GateLine, Link
from beamscore.pipelines.reports.history import HistorySources, build_history, history_reports
from beamscore.pipelines.runs.history import Change, History, histories, median_night, recent_nights
from beamscore.pipelines.runs.history_index import SCHEMA, run_path
from beamscore.pipelines.runs.provenance import seconds, utc
from tests.finished_runs import row as finished_row, write, write_run

FIRST = seconds("2026-01-01T02:00:00Z")
ERROR = 0.01


def row(day: float, value: float | None, **changes: Any) -> dict[str, Any]:
    known = {"run": f"night-{day:05.1f}", "started": utc(FIRST + 86400 * day), "benchmark": "toy", "system": "ours"}
    known |= {"slice": "", "metric": "exact_match", "version": "0.2.0", "scoring": "a f0", "ground_truth": "9:ab"}
    return {**known, "scored": 9, "value": value, "low": 0.0, "high": 1.0, "error": ERROR, **changes}


def history(rows: Sequence[dict[str, Any]]) -> History:
    (found,) = histories(pa.Table.from_pylist(list(rows), SCHEMA))
    return found


def runs_of(found: Sequence[Any]) -> list[str]:
    return [(getattr(each, "night", each)).run for each in found]


def nights(*days: float) -> list[str]:
    return [f"night-{day:05.1f}" for day in days]


def text_of(found: History) -> str:
    """Returns history.md with single spaces."""
    sources = HistorySources("nowhere", "nowhere", [found], SCHEMA.empty_table())
    report = history_reports(sources, with_page=False).files["history.md"]
    return "\n".join(" ".join(line.split()) for line in report.decode().splitlines())


def document_of(found: History) -> Document:
    return build_history(HistorySources("nowhere", "nowhere", [found], SCHEMA.empty_table()), found)


@pytest.mark.parametrize(
    ("values", "changed"), [([0.9] * 7 + [0.8] * 3 + [0.6] * 5, [7, 10]), ([0.9] * 10 + [None, 0.9], [])]
)
def test_a_change_that_persists_is_told_with_its_night(
    values: list[float | None], changed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which nights are changes is in metrics/statistics/test_intervals."""
    rows = [row(day, value) for day, value in enumerate(values)]
    found = history(rows)
    assert runs_of(found.changes) == nights(*changed)
    told = [(change.metric, round(change.before, 9), change.after) for change in found.changes]
    assert told == [("exact_match", 0.9, 0.8), ("exact_match", 0.8, 0.6)][: len(changed)]
    assert (found.breaks, found.gaps, found.drops) == ((), (), ())
    assert [len(night.points) for night in found.nights] == [int(value is not None) for value in values]
    # A page has no system of earlier nights alone.
    monkeypatch.setattr(report, "MAX_NIGHTS", 2)
    assert document_of(history([*rows, *(row(day, 0.9, system="theirs") for day in (20, 21))])).systems == ("theirs",)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ground_truth": "9:cd"}, "the ground truth changed"),
        ({"ground_truth": None}, "the ground truth is not known"),
        ({"version": "0.3.0"}, "beamscore 0.2.0 became 0.3.0"),
        ({"version": "0.2.9"}, None),
        ({"scoring": "b f0"}, "the options of scoring changed"),
        ({"scoring": "a"}, None),
        ({"scoring": "a f1"}, "the code of the benchmark changed"),
        ({"scoring": "b f0", "ground_truth": "1:cd"}, "the ground truth changed; the options of scoring changed"),
    ],
)
def test_a_break_parts_what_cannot_be_compared(changes: dict[str, Any], reason: str | None) -> None:
    """The value falls with the break: that is no change of the system."""
    found = history([*(row(day, 0.9) for day in range(5)), row(5, 0.5, **changes), row(6, 0.5, **changes)])
    if reason is None:
        assert (found.breaks, runs_of(found.changes)) == ((), nights(5))
    else:
        assert {each.night.run: each.reason for each in found.breaks}["night-005.0"] == reason
        assert found.changes == ()
        assert len(found.before("ours")) <= 1
        # On the night itself it is a reason of the verdict, and a line among the nights.
        text = text_of(replace(found, nights=found.nights[:-1], breaks=found.breaks[:1]))
        assert f"\n- the latest run cannot be compared with the runs before: {reason}\n" in text.replace("`", "")
        assert text.count("—— break ——") == 1


def test_a_metric_that_rests_on_another_formula_starts_a_new_series() -> None:
    """Its own formula is the same but for blanks, and so are the predictions."""
    formulas = [f'{{"overall": "mean(sub,  similarity)", "sub": "{each}exact_match"}}' for each in ("", "0.1 * ")]
    days = [(day, int(day >= 10)) for day in range(15)]
    values = [(day, (0.9, 0.3)[new], formulas[new].replace("  ", " " * (day % 3))) for day, new in days]
    found = history([row(day, value, metric="overall", derived=derived) for day, value, derived in values])
    assert [(each.night.run, each.reason) for each in found.breaks] == [("night-010.0", "the formula of sub changed")]
    assert runs_of(found.changes) == []
    for last, medians in ((9, 2), (10, 0)):
        until = [night for night in found.nights if night.run <= f"night-{last:05.1f}"]
        line = next(line for line in text_of(replace(found, nights=tuple(until))).splitlines() if "| `overall`" in line)
        assert (line.count(" 0.0000 "), line.count("–")) == (medians, 4 - medians)


@pytest.mark.parametrize(
    ("days", "gaps"),
    [
        ([0, 1, 2, 3], []),
        ([0, 1, 2, 4], [("night-002.0", "night-004.0", 1)]),
        ([0, 1, 2, 3, 6.1, 7.1], [("night-003.0", "night-006.1", 2)]),
        ([0, 7, 14, 28], [("night-014.0", "night-028.0", 1)]),
        ([0, 1, 2, 3, 4.5, 5.9], [("night-003.0", "night-004.5", 1)]),
        ([0, 0.01, 0.02, 0.3], []),  # not nightly
        ([0, 5], []),  # nothing tells what is usual
    ],
)
def test_missing_nights_are_told(days: list[float], gaps: list[tuple[str, str, int]]) -> None:
    found = history([row(day, 0.9) for day in days])
    assert [(gap.before.run, gap.after.run, gap.count) for gap in found.gaps] == gaps


def test_a_night_with_another_ground_truth_does_not_part_the_nights_around_it() -> None:
    """Nights 0 to 5 and 7 have the same ground truth; the value is another one from night 4 on."""
    days = [*((day, 0.9 if day < 4 else 0.8, "9:ab") for day in range(6)), (6, 0.3, "7:cd"), (7, 0.8, "9:ab")]
    found = history([row(day, value, ground_truth=truth) for day, value, truth in days])
    assert (runs_of(found.before("ours")), runs_of(found.changes)) == (nights(*range(6)), nights(4))
    earlier = [(each.night.run, each.earlier and each.earlier.run) for each in found.breaks]
    assert earlier == [("night-006.0", None), ("night-007.0", "night-005.0")]
    text = text_of(found)
    (head,) = [line for line in text.splitlines() if line.startswith("| metric") and "latest run" in line]
    assert "against night-005.0" in head
    # The median of six nights, four of 0.9 and two of 0.8; the night of another ground truth is none of them.
    (line,) = [line for line in text.splitlines() if line.startswith("| `exact_match` | 0.8000")]
    assert line.split(" | ")[3:5] == ["-0.1000", "-0.1000"]
    document = document_of(found)
    (reason,) = [str(reason.text) for reason in document.verdict.reasons if "compared" in str(reason.text)]
    assert reason.startswith("the latest run is compared with night-005.0, not with the run before: the ground truth")
    assert document.title == "toy: 8 runs, 2026-01-01 to 2026-01-08"


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_nights_of_other_ground_truths_change_nothing_of_the_rest(truths: list[str], random: Random) -> None:
    """Each ground truth has the change points that it has where its nights stand alone."""
    values = [random.choice([0.5, 0.9]) for _ in truths]
    days = enumerate(zip(values, truths, strict=True))
    rows = [row(day, value, ground_truth=None if truth == "c" else truth) for day, (value, truth) in days]
    found = history(rows)
    alone: list[Change] = []
    for truth in {*truths} - {"c"}:
        alone += history([each for each in rows if each["ground_truth"] == truth]).changes
    told, expected = ([(each.night.run, each.before, each.after) for each in side] for side in (found.changes, alone))
    assert told == sorted(expected)
    before = [each["run"] for each, truth in zip(rows, truths[:-1], strict=False) if truth == truths[-1] != "c"]
    assert runs_of(found.before("ours")) == before


def covered(missing: Sequence[int]) -> History:
    counts = enumerate(missing)
    return history([row(day, 0.9, scored=396 - n, missing=n, gates="pass", ground_truth=f"{day}") for day, n in counts])


@pytest.mark.parametrize(
    ("missing", "flagged"),
    [
        ([0, 0, 225], [2]),
        ([225, 0, 225], [0, 2]),  # the median of the two nights before is half of it
        ([225, 225, 225], [0]),
        ([0, 3, 0, 4], [3]),  # 3 of 396 are 0.8 %, 4 are 1.01 %
        ([396], [0]),
        ([0] * 3, []),
    ],
)
def test_a_night_that_scored_fewer_samples_than_usual_is_flagged(missing: list[int], flagged: list[int]) -> None:
    found, last = covered(missing), missing[-1]
    # So is one whose samples lack one of three repeats each.
    counts = [{"scored": 390, "rejected": 6, "repeats": 3 * 390, "missing_repeats": n} for n in missing]
    repeated = history([row(day, 0.9, **each) for day, each in enumerate(counts)])
    assert [night.coverage["ours"].unscored for night in repeated.nights] == [(n / 3 + 6) / 396 for n in missing]
    assert runs_of(found.drops) == nights(*flagged)
    text = text_of(found)
    assert (f"{396 - last} of 396 samples scored, {last} without a prediction." in text) == (last > 0)
    for day, count in enumerate(missing):
        (line,) = [line for line in text.split("## Nights")[1].splitlines() if f"night-{day:05.1f}" in line]
        assert f"| {'**' * (day in flagged)}{396 - count} of 396{'**' * (day in flagged)} |" in line
    for each, filters in ((found, {"status": "missing_prediction"}), (repeated, {})):
        warned = runs_of(each.drops)[-1:] == runs_of(each.nights[-1:])
        told = [one.filters for one in document_of(each).verdict.reasons if "were not scored" in str(one.text)]
        assert told == [filters] * warned


def test_what_is_usual_is_the_median_of_thirty_nights() -> None:
    """Of 30 nights before night 56 there are 16 with 99 of 396 missing: from then on that is usual."""
    assert runs_of(covered([0] * 40 + [99] * 30).drops) == nights(*range(40, 56))


def test_benchmarks_and_systems_have_histories_of_their_own() -> None:
    rows = [row(0, 0.9), row(1, 0.9, benchmark="chart", metric="task1.f1"), row(2, 0.8, system="theirs"), row(2, 0.9)]
    found = histories(pa.Table.from_pylist([*rows, row(3, 0.9)], SCHEMA))
    told = [(each.benchmark, each.metrics, len(each.nights)) for each in found]
    assert told == [("chart", ("task1.f1",), 1), ("toy", ("exact_match",), 3)]
    assert runs_of(found[1].before("ours")) == nights(0, 2)
    # A system is compared with the last night that ran it.
    again = history([*rows[::2], row(3, 0.9), row(4, 0.9, system="theirs")])
    assert runs_of(again.before("theirs")) == nights(2)


def test_the_report_says_what_the_latest_run_lacks_and_what_all_gates_come_to() -> None:
    """A metric without a value, a system that is gone and a gate on a slice: none may vanish from the report."""
    rows = [row(0, 0.9), row(0, 0.9, system="theirs"), row(1, 0.9, gates="pass"), row(1, None, system="theirs")]
    rows += [row(2, None, verdict="invalid", gates="fail"), row(2, 0.9, metric="similarity", gates="fail")]
    found = history(rows)
    text = text_of(found)
    assert "Gates **fail**" in text
    assert "| `exact_match` | not measured | – | – | – | **invalid** |" in text
    assert "| night-001.0 | theirs | – |" in text
    assert "**Warning:** the latest run has no system theirs, which the run before has." in text
    told = [line for line in text.split("## Nights")[1].splitlines() if "night-" in line]
    assert [line.split("|")[-2].strip() for line in told] == ["fail", "pass", "pass", "", ""]
    headline = document_of(found).verdict
    assert (headline.judgement, headline.reasons) == ("fail", (Link("the gates of the run say fail"),))


def test_gates_of_the_last_night_are_reasons_and_lines_of_its_metrics(tmp_path: Path) -> None:
    """Those of slices and other metrics are no lines; the bounds of two systems differ against a baseline alone."""
    against: dict[str, Any] = {"system": "ours", "not_worse_than": "baseline", "reference": 0.75}
    fails: dict[str, Any] = {"verdict": "fail", "minimum": 0.5}
    gates = [{**fails, "tier": "advisory"}, {"maximum": 0.875}, {**against, "margin": 0.25}, against]
    gates += [{**fails, "slice": "a=1", "blocks": True}, {"metric": "similarity", "minimum": 0}]
    gates.append({**against, "metric": "exact_match.spread", "margin": 0.25})  # the lower, the better
    known: dict[str, Any] = {"gate": "g", "tier": "blocking", "system": None, "metric": "exact_match", "slice": None}
    known |= {"judge": "interval", "verdict": "pass", "blocks": False, "reason": "low"}
    run = write_run(tmp_path / "night-000.0", [finished_row("s", 1.0)]) / "summary.json"
    write(run, {**json.loads(run.read_bytes()), "gates": [known | each for each in gates]})
    values = {"exact_match": 0.9, "exact_match.spread": 0.1, "repeats": 3.0}
    rows = [row(0, value, metric=name, verdict="fail", gates="fail") for name, value in values.items()]
    found = history([*rows, row(0, 0.9, system="theirs", gates="fail")])
    document = build_history(HistorySources(str(tmp_path), str(tmp_path), [found], SCHEMA.empty_table()), found)
    assert document.verdict.reasons == (Link("g (fail, advisory): low", {}), Link("g (fail): low", {"slice.a": "1"}))
    nights = document.history
    assert nights is not None
    against_baseline = " of ours: not worse than baseline, margin"
    lines = [(0, 0.5, ": at least 0.5"), (0, 0.875, ": at most 0.875"), (0, 0.5, f"{against_baseline} 0.25")]
    lines += [(0, 0.75, f"{against_baseline} 0"), (1, 1.0, f"{against_baseline} 0.25")]
    assert nights.gates == tuple(GateLine(metric, value, f"gate{text}") for metric, value, text in lines)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=9))
def test_of_one_metric_it_is_the_median_and_of_equal_nights_the_last(values: list[int]) -> None:
    found = history([row(day, value / 100) for day, value in enumerate(values)])
    median = sorted(values)[(len(values) - 1) // 2]
    last = max(day for day, value in enumerate(values) if value == median)
    assert median_night(found.nights, ["exact_match"]) is found.nights[last]


@pytest.mark.parametrize(
    ("values", "errors", "nearest"),
    [
        # In similarity night 1, which has the median of exact_match, is 3 standard errors above the median.
        ([(0.88, 0.95), (0.90, 0.98), (0.905, 0.951), (0.93, 0.949), (0.85, 0.94)], (ERROR, ERROR), 2),
        # Without an error the unit is 1: from the medians 0.90 and 0.50, night 0 is 0.03 away, night 1 is 0.02 errors.
        ([(0.93, 0.50), (0.90, 0.52), (0.80, 0.40)], (None, 1.0), 1),
    ],
)
def test_of_several_metrics_it_is_the_night_that_is_far_in_none(values: Any, errors: Any, nearest: int) -> None:
    metrics = ("exact_match", "similarity")
    days = enumerate(zip(metrics, of_night, errors, strict=True) for of_night in values)
    rows = [row(day, value, metric=name, error=error) for day, of_night in days for name, value, error in of_night]
    # The errors are those of the last night.
    rows[1]["error"] = 9.0
    found = history(rows)
    medians = [median_night(found.nights, each) for each in (metrics[:1], metrics)]
    assert medians == [found.nights[1], found.nights[nearest]]


def test_recent_nights_compare_with_the_last_and_come_after_the_last_change() -> None:
    days = range(10)
    found = history([row(day, 0.9, ground_truth="9:cd" if day < 4 else "9:ab") for day in days])
    assert recent_nights(found) == list(found.nights[4:])
    assert recent_nights(found, 2) == list(found.nights[8:])
    changed = history([row(day, 0.9 if day < 7 else 0.8) for day in days])
    assert [change.night for change in changed.changes] == [changed.nights[7]]
    assert recent_nights(changed) == list(changed.nights[7:])
    for of_another in ({"ground_truth": "2:cd"}, {"system": "theirs"}):
        others = [row(day + 0.1, 0.9 if day < 7 else 0.5, **of_another) for day in range(9)]
        both = history(sorted([*others, *(row(day, 0.9) for day in days)], key=lambda each: each["started"]))
        assert runs_of(recent_nights(both)) == nights(*range(3, 10))
    # By another formula, or with replicates that gates cannot pair.
    for key, earlier, later in (("derived", '{"a": "mean(b)"}', '{"a": "mean(c)"}'), ("drawn", "b", "c")):
        changed = history([row(day, 0.9, **{key: earlier if day < 5 else later}) for day in days])
        assert runs_of(recent_nights(changed)) == nights(*range(5, 10))
    # A night that scored nothing, or has no value.
    failed = [row(10, 0.0, scored=0), row(11, None)]
    assert runs_of(recent_nights(history([*(row(day, 0.9) for day in days), *failed]), 3)) == nights(7, 8, 9)


def test_the_folder_of_a_history_may_be_a_run() -> None:
    for folder in ("s3://b/nights/", "s3://b/nights"):
        assert [run_path(folder, run) for run in (".", "n/1")] == ["s3://b/nights", "s3://b/nights/n/1"]
    assert [run_path("nights/", run) for run in (".", "n/1", "../n")] == ["nights", "nights/n/1", "n"]
