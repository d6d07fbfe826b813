"""Which run a text names, whatever colons are in it; and what makes a baseline doubtful: age, luck, and many looks."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from beamscore.metrics.statistics.measured import Measured
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate
from beamscore.pipelines.runs.history import Night, Point
from beamscore.pipelines.runs.looks import count_look, looks_path, mean_of, too_many_looks, write_looks
from beamscore.pipelines.runs.named import age_warnings, find_baseline, luck_warnings, split_system
from beamscore.pipelines.runs.provenance import utc
from beamscore.pipelines.runs.run import Run
from tests.finished_runs import row, write_run
from tests.memory_files import ObjectStore
from tests.pipelines.runs.test_gates import baseline, part, run_of

METRIC = "exact_match"

COLONS = ("nightly-12:30", "a:good", "b:c.txt", "C:")
"""Names of runs of which the last part could be a system."""


def test_a_run_that_is_there_is_meant_whatever_its_colons(tmp_path: Path) -> None:
    ObjectStore.clear()
    for name in COLONS:
        run = write_run(tmp_path / name, [row("a", 1.0)])
        for file in (file for file in run.rglob("*") if file.is_file()):
            ObjectStore.FILES[f"mem://bucket/{name}/{file.relative_to(run)}"] = file.read_bytes()
    for path in (f"{base}/{name}{end}" for base in (tmp_path, "mem://bucket") for name in COLONS for end in ("", "/")):
        assert split_system(path) == find_baseline(path) == (path, None)
        # Behind a run that is there, a colon tells the system, whatever it is called.
        for named in (f"{path}:good", f"{path}:x.txt"):
            assert split_system(named) == find_baseline(named) == (path, named.rpartition(":")[2])
    ObjectStore.clear()
    for text in ("mem://bucket", "mem://bucket/run", "run", "run/x", "a:b/c", "a:", "s p:q r"):
        assert split_system(text) == (text, None)


def test_the_last_line_of_a_file_names_a_run_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "blessed.txt").write_text("old # first\n# nothing\nnightly-12:30:good  # by Ada\n\n")
    assert find_baseline(f"{tmp_path}/blessed.txt") == (f"{tmp_path}/nightly-12:30", "good")
    (tmp_path / "notepad.txt").write_text("\ufeffold")
    assert find_baseline(f"{tmp_path}/notepad.txt") == (f"{tmp_path}/old", None)
    with pytest.raises(UsageError, match=rf"^{tmp_path}/none\.txt: cannot be read: \[Errno 2\] No such"):
        find_baseline(f"{tmp_path}/none.txt")


def test_a_baseline_far_above_the_median_of_recent_nights_is_told_of_systems_that_both_have() -> None:
    """One standard error of a difference of k of 400 samples, all gained, is about sqrt(k) / 400 by 200 replicates, and
    that of the median of three nights is 0.87 of it. 1 - 0.05 / 6 of two metrics of three systems is 2.4 errors.
    """
    told = "the baseline last is better than the median of recent nights by {} standard errors in exact_match of {}: "
    told += "gates that compare with it fail more often than promised"
    rows = ((380, 0.9, 0), (383, 0.9, 0), (385, 0.9, 2.6), (390, 0.9, 3.7), (390, 0.97, 0), (360, 0.9, 0))
    for right, third, errors in rows:
        ours, theirs = baseline(right, systems=("a", "b")), baseline(380, systems=("new", "b", "a"))
        nights = [
            Night("", "", "", "", None, {(name, METRIC): Point(value, None, None, None, None) for name in "ab"})
            for value in (0.95, 0.97, third)
        ]
        expected = [told.format(errors, name) for name in "ba"] if errors else []
        # Of a metric that one of them has not, nothing is known.
        assert list(luck_warnings(["another", METRIC], ours, nights, theirs)) == expected


def test_an_old_baseline_and_one_that_failed_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.pipelines.runs.named.time", SimpleNamespace(time=lambda: 86400 * 40.4))
    old, new, unknown = (baseline(380, provenance={"ended": utc(86400 * day)}) for day in (9, 10.4, 40))
    unknown.provenance = {}
    words = ("fail", "invalid", "pass", "inconclusive", "fail")
    gates = [{"gate": word, "verdict": word, "blocks": word != "pass"} for word in words]
    bad = new.changed(gates=[*gates, {"gate": "advisory", "verdict": "fail", "blocks": False}])
    assert [age_warnings(run) for run in (old, new, unknown, bad)] == [
        ["the baseline last is 31 days old; bless a newer run if this one is outdated"],
        [],
        ["the baseline last has no run.json that says when it was made"],
        ["the baseline last did not pass its own gates: fail, invalid"],
    ]
    # No gate that plans for fewer looks compares with it.
    bound, year, month = Gate(minimum=0.5), *(Gate(not_worse_than="baseline", looks=looks) for looks in (32, 30))
    warned = [age_warnings(old, gates) != [] for gates in ([bound], [year, bound], [year, month])]
    assert warned == [True, False, True]


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
    write_looks(path, blessed, {})
    assert counts("b") == [1]
    # A person who writes the file starts anew, too.
    assert counts("c", "d", against=run_from("second", "x")) == [1, 2]
    Path(looks_path(path)).write_text("damaged")
    assert counts("d") == [1]


def test_the_mean_of_runs_counts_as_many_units_as_the_fewest_of_them() -> None:
    one = Measured({"x": 0.5}, {"x": np.array([0.4, 0.6])}, {"x": 9.0}, sizes={"x": 4.0}, totals={"x": 9.5})
    other = Measured({"x": 0.7}, {"x": np.array([0.8, np.nan])}, {"x": 5.0}, totals={"x": 12.0})
    found = mean_of([one, other], "x")
    assert (found.values, found.units, found.sizes, found.totals) == ({"x": 0.6}, {"x": 5.0}, {"x": 4.0}, {"x": 9.5})
    assert found.replicates["x"].tolist() == pytest.approx([0.6, np.nan], nan_ok=True)


def test_a_gate_is_told_that_has_judged_more_runs_than_its_looks() -> None:
    gates = {name: Gate(not_worse_than="baseline", looks=looks) for name, looks in ((METRIC, 30), ("similarity", 365))}
    gates |= {"once": Gate(not_worse_than="baseline"), "bound": Gate(minimum=0.5, looks=30)}
    assert too_many_looks(gates, 30, "night") == []
    assert too_many_looks(gates, 31, "night") == [
        "gate exact_match: 31 runs were judged against night, more than its looks: 30; false failures are now more "
        "frequent than promised; bless a newer run (beamscore bless)"
    ]
