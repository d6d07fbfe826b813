"""What a series of nights tells, by hand, on tables of made-up runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.reports.document import Verdict
from beamscore.pipelines.reports.history import HistorySources, build_history, history_reports
from beamscore.pipelines.runs.history import Change, History, histories
from beamscore.pipelines.runs.history_index import SCHEMA

FIRST = datetime(2026, 1, 1, 2, tzinfo=timezone.utc)
ERROR = 0.01


def row(day: float, value: float | None, **changes: Any) -> dict[str, Any]:
    started = (FIRST + timedelta(days=day)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    known = {
        "run": f"night-{day:05.1f}",
        "run_id": f"id{day}",
        "started": started,
        "benchmark": "toy",
        "version": "0.2.0",
        "scoring": "a",
        "ground_truth": "9:ab",
        "system": "ours",
        "slice": "",
        "metric": "exact_match",
        "value": value,
        "low": 0.0,
        "high": 1.0,
        "error": ERROR,
        "units": 9.0,
        "samples": 9,
        "scored": 9,
        "missing": 0,
        "rejected": 0,
        "verdict": None,
        "gates": None,
        "derived": None,
    }
    return {**known, **changes}


def history(rows: Sequence[dict[str, Any]]) -> History:
    (found,) = histories(pa.Table.from_pylist(list(rows), SCHEMA))
    return found


def history_report(folder: str, found: Sequence[History], unreadable: Sequence[str]) -> str:
    """Returns history.md."""
    sources = HistorySources(folder, folder, found, unreadable=unreadable)
    return history_reports(sources, with_page=False).files["history.md"].decode()


def verdict_of(found: History) -> Verdict:
    return build_history(HistorySources("nowhere", "nowhere", [found]), found).verdict


def test_a_change_that_persists_is_told_with_its_night() -> None:
    found = history([row(day, 0.9 if day < 10 else 0.8) for day in range(15)])
    (change,) = found.changes
    assert (change.night.run, change.metric, change.after) == ("night-010.0", "exact_match", 0.8)
    assert change.before == pytest.approx(0.9)
    assert (found.breaks, found.gaps, found.drops) == ((), (), ())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ground_truth": "9:cd"}, "the ground truth changed"),
        ({"ground_truth": None}, "the ground truth is not known"),
        ({"version": "0.3.0"}, "beamscore 0.2.0 became 0.3.0"),
        ({"version": "0.2.9"}, None),
        ({"scoring": "b"}, "the options of scoring changed"),
        ({"scoring": "b", "ground_truth": "1:cd"}, "the ground truth changed; the options of scoring changed"),
    ],
)
def test_a_break_parts_what_cannot_be_compared(changes: dict[str, Any], reason: str | None) -> None:
    """The value falls with the break: that is no change of the system."""
    found = history([*(row(day, 0.9) for day in range(5)), row(5, 0.5, **changes), row(6, 0.5, **changes)])
    if reason is None:
        assert (found.breaks, [change.night.run for change in found.changes]) == ((), ["night-005.0"])
    else:
        told = {each.night.run: each.reason for each in found.breaks}
        assert told["night-005.0"] == reason
        assert found.changes == ()
        assert len(found.before("ours")) <= 1


@pytest.mark.parametrize(
    ("days", "gaps"),
    [
        ([0, 1, 2, 3], []),
        ([0, 1, 2, 4], [("night-002.0", "night-004.0", 1)]),
        ([0, 1, 2, 3, 6.1, 7.1], [("night-003.0", "night-006.1", 2)]),
        ([0, 7, 14, 28], [("night-014.0", "night-028.0", 1)]),
        ([0, 0.01, 0.02, 0.3], []),  # not nightly
        ([0, 5], []),  # nothing tells what is usual
    ],
)
def test_missing_nights_are_told(days: list[float], gaps: list[tuple[str, str, int]]) -> None:
    found = history([row(day, 0.9) for day in days])
    assert [(gap.before.run, gap.after.run, gap.count) for gap in found.gaps] == gaps


A: dict[str, Any] = {"ground_truth": "9:ab"}
B: dict[str, Any] = {"ground_truth": "7:cd"}


def test_a_night_with_another_ground_truth_does_not_part_the_nights_around_it() -> None:
    """Nights 0 to 5 and 7 have the same ground truth; the value is another one from night 4 on."""
    days = [*((day, 0.9 if day < 4 else 0.8, A) for day in range(6)), (6, 0.3, B), (7, 0.8, A)]
    found = history([row(day, value, **truth) for day, value, truth in days])
    assert [night.run for night in found.before("ours")] == [f"night-{day:05.1f}" for day in range(6)]
    assert [change.night.run for change in found.changes] == ["night-004.0"]
    assert [(each.night.run, each.earlier and each.earlier.run) for each in found.breaks] == [
        ("night-006.0", None),
        ("night-007.0", "night-005.0"),
    ]
    text = history_report("nowhere", [found], [])
    assert "Tonight is compared with `night-005.0`" in text or "Tonight is compared with night-005.0" in text
    (head,) = [line for line in text.splitlines() if line.startswith("| metric") and "tonight" in line]
    assert "against night-005.0" in head
    # The median of six nights, four of 0.9 and two of 0.8; the night of another ground truth is none of them.
    (line,) = [line for line in text.splitlines() if line.startswith("| `exact_match` | 0.8000")]
    assert [cell.strip() for cell in line.strip("|").split("|")][3:5] == ["-0.1000", "-0.1000"]
    (reason,) = [reason.text for reason in verdict_of(found).reasons if "compared" in str(reason.text)]
    assert str(reason).startswith(
        "tonight is compared with night-005.0, not with the run before: the ground truth changed"
    )


def test_a_system_is_compared_with_the_last_night_that_ran_it() -> None:
    rows = [row(0, 0.9), row(0, 0.7, system="theirs"), row(1, 0.9), row(2, 0.9), row(2, 0.7, system="theirs")]
    found = history(rows)
    assert [night.run for night in found.before("theirs")] == ["night-000.0"]
    assert [night.run for night in found.before("ours")] == ["night-000.0", "night-001.0"]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_nights_of_other_ground_truths_change_nothing_of_the_rest(truths: list[str], random: Random) -> None:
    """Each ground truth has the change points that it has where its nights stand alone."""
    rows = [
        row(day, random.choice([0.5, 0.9]), ground_truth=None if truth == "c" else truth)
        for day, truth in enumerate(truths)
    ]
    found = history(rows)
    told = [(change.night.run, change.before, change.after) for change in found.changes]
    alone: list[Change] = []
    for truth in ("a", "b"):
        own = [each for each in rows if each["ground_truth"] == truth]
        alone += history(own).changes if own else []
    assert told == sorted((change.night.run, change.before, change.after) for change in alone)
    latest = rows[-1]["ground_truth"]
    before = [each["run"] for each in rows[:-1] if latest is not None and each["ground_truth"] == latest]
    assert [night.run for night in found.before("ours")] == before


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
    rows = [
        row(day, 0.9, samples=396, scored=396 - count, missing=count, gates="pass", ground_truth=f"{day}")
        for day, count in enumerate(missing)
    ]
    found = history(rows)
    assert [drop.night.run for drop in found.drops] == [f"night-{day:05.1f}" for day in flagged]
    text = history_report("nowhere", [found], [])
    last = missing[-1]
    nights = text.split("## Nights")[1]
    assert (f"{396 - last} of 396 samples scored, {last} without a prediction." in text) == (last > 0)
    assert ("**Warning:** " in text) == (len(missing) - 1 in flagged)
    for day in range(len(missing)):
        scored = f"{396 - missing[day]} of 396"
        (line,) = [line for line in nights.splitlines() if f"night-{day:05.1f}" in line]
        assert f"| {f'**{scored}**' if day in flagged else scored} " in line
    reasons = [reason for reason in verdict_of(found).reasons if "were not scored" in str(reason.text)]
    assert len(reasons) == (len(missing) - 1 in flagged)


def test_a_metric_that_was_not_measured_one_night_is_left_out_of_that_night() -> None:
    found = history([row(day, None if day == 3 else 0.9) for day in range(6)])
    assert [len(night.points) for night in found.nights] == [1, 1, 1, 0, 1, 1]
    assert found.changes == ()


def test_the_report_says_what_tonight_lacks_and_what_all_gates_come_to() -> None:
    """A metric without a value, a system that is gone and a gate on a slice: none may vanish from the report."""
    rows = [row(0, 0.9), row(0, 0.9, system="theirs"), row(1, 0.9, gates="pass"), row(1, 0.9, system="theirs")]
    rows += [row(2, None, verdict="invalid", gates="fail"), row(2, 0.9, metric="similarity", gates="fail")]
    found = history(rows)
    text = history_report("nowhere", [found], [])
    assert "Gates **fail**" in text
    assert "| `exact_match` | not measured |" in " ".join(text.split())
    assert "**Warning:** tonight has no system theirs, which the run before has." in text
    nights = [line for line in text.split("## Nights")[1].splitlines() if "night-" in line]
    assert [line.split("|")[-2].strip() for line in nights] == ["fail", "pass", "pass", "", ""]
    headline = verdict_of(found)
    assert headline.judgement == "fail"
    assert [reason.text for reason in headline.reasons[:2]] == [
        "exact_match of ours: its gate says invalid",
        "a gate on a slice, or on what the run does not have, says fail",
    ]


def test_a_night_on_which_nothing_was_measured_is_in_the_report() -> None:
    text = history_report("nowhere", [history([row(0, 0.9), row(1, None), row(2, 0.9)])], [])
    assert "| night-001.0 | ours | – |" in " ".join(text.split())


def test_benchmarks_and_systems_have_histories_of_their_own() -> None:
    rows = [row(0, 0.9), row(1, 0.9, benchmark="chart", metric="task1.f1"), row(2, 0.8, system="theirs"), row(2, 0.9)]
    found = histories(pa.Table.from_pylist(rows, SCHEMA))
    assert [(each.benchmark, each.metrics, len(each.nights)) for each in found] == [
        ("chart", ("task1.f1",), 1),
        ("toy", ("exact_match",), 2),
    ]


def test_the_report_shows_tonight_first() -> None:
    rows = [row(day, 0.9 if day < 10 else 0.8) for day in [*range(12), 13]]
    rows.append(row(14, 0.8, ground_truth="9:cd", system="<b>|"))
    text = history_report("nowhere", [history(rows)], ["x: this is no run"])
    assert text.startswith("# toy: 14 runs, 2026-01-01 to 2026-01-15\n\n## Tonight\n\n")
    assert "**Break:** the ground truth changed. Tonight cannot be compared" in text
    for part in (
        "## What happened",
        "1 missing night after",
        "night-010.0",
        "—— break ——",
        "## Not read",
        "- x: this is no run",
    ):
        assert part in text
    assert "<b>|" not in text.replace("`b>`", "")


def test_medians_are_of_the_nights_before() -> None:
    values = [0.1, 0.2, *[0.5] * 7, 0.8]
    text = history_report("nowhere", [history([row(day, value) for day, value in enumerate(values)])], [])
    (line,) = [line for line in text.splitlines() if line.startswith("| `exact_match` | 0.8000")]
    # 0.8 - median(0.5 x 7) and 0.8 - median of all nine before.
    assert [cell.strip() for cell in line.strip("|").split("|")][3:5] == ["+0.3000", "+0.3000"]
