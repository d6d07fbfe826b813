"""`beamscore compare` from end to end, against a plain reading of the statistics; what a page shows of its changes."""

import json
import random
import re
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import beamscore
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.comparison import SWAPS, SwapWeights
from beamscore.metrics.statistics.measured import measure
from beamscore.metrics.statistics.paired import paired_differences
from beamscore.metrics.statistics.sum_table import SumTable
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.reports.against import run_differences
from beamscore.pipelines.runs import run as finished
from tests import toy
from tests.finished_runs import SYSTEM, Row, finished as finished_run, row, write, write_run
from tests.page.corpora import page_data
from tests.runs import Run, command, evaluate_records, refused

TOY = toy.ToyBenchmark(toy.Options())


def systems(count: int, seed: int, gain: float, clusters: int | None = None) -> tuple[list[Row], list[Row]]:
    """Returns rows of two systems, of which a fifth differs; clusters: how many there are, None: one a sample."""
    rng = random.Random(seed)
    before, after = [], []
    for number in range(count):
        kind = rng.choice("abc")
        old = 1.0 if rng.random() < 0.6 else round(rng.random(), 2)
        new = old if rng.random() < 0.8 else (1.0 if rng.random() < gain else 0.25)
        unit = None if clusters is None else f"u{number % clusters}"
        before.append(row(f"s{number}", old, kind, unit))
        after.append(row(f"s{number}", new, kind, unit))
    return before, after


def compare(baseline: Path | str, candidate: Path | str, output: Path, *more: str) -> Any:
    code, stdout, stderr = command("compare", baseline, candidate, "--output", output, *more)
    assert code == 0, stdout + stderr
    document = json.loads((output / "comparison.json").read_bytes())
    assert [line.partition(": warning: ")[2] for line in stderr.splitlines()] == document["differences"]
    return document


def changes_of(output: Path) -> list[Any]:
    (path,) = (output / "changes").iterdir()
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def metrics_of(document: Any) -> list[tuple[str, str, Any]]:
    """Returns (label, metric, what is said of it) of all slices."""
    slices = {"": document, **document["slices"]}
    return [(label, name, found) for label, each in slices.items() for name, found in each["metrics"].items()]


def sums_of(rows: Sequence[Row], weights: Sequence[float]) -> Sums:
    counted = zip(rows, weights, strict=True)
    return Sums.merged(_sums(each["statistics"]) for each, weight in counted for _ in range(int(weight)))


@cache
def _sums(statistics: str) -> Sums:
    return Sums.of(json.loads(statistics))


def expected_slice(before: Sequence[Row], after: Sequence[Row]) -> dict[str, tuple[Any, Any, list[str]]]:
    """Returns by metric its paired difference, its difference under each swap of units, and the units that differ."""
    bootstrap, bits = Bootstrap(50, 0), SwapWeights(SWAPS, 0)
    drawn = bootstrap.weights([bootstrap.unit_hash(each["unit"]) for each in before])
    measured = [measure(TOY, Sums(), SumTable.of([sums_of(rows, each) for each in drawn])) for rows in (before, after)]
    pairs, names = list(zip(before, after, strict=True)), ("exact_match", "similarity")
    units = {name: [a["unit"] for a, b in pairs if a[name] != b[name]] for name in names}
    differing = {name: len({*each}) for name, each in units.items()}
    differences = paired_differences(TOY, measured[0], measured[1], 0.95, differing)
    swapped: dict[str, list[float]] = {name: [] for name in differences}
    for chosen in bits.weights([bits.unit_hash(each["unit"]) for each in before])[1:]:
        stay = 1 - chosen
        first = TOY.values(Sums.merged((sums_of(before, stay), sums_of(after, chosen))))
        second = TOY.values(Sums.merged((sums_of(after, stay), sums_of(before, chosen))))
        for name, found in swapped.items():
            found.append((second[name] or 0.0) - (first[name] or 0.0))
    return {name: (differences[name], np.abs(swapped[name]), units[name]) for name in differences}


@pytest.mark.parametrize("clusters", [None, 40])
def test_it_says_what_a_plain_reading_says(tmp_path: Path, clusters: int | None) -> None:
    """In any order of rows; a cluster in several buckets is one. Clusters and slices are those of the baseline."""
    count, gain, some, regrouped = (120, 0.1, 5, {"unit": "z"}) if clusters else (60, 0.9, 60, {"slice.kind": '"z"'})
    before, after = systems(count, 1, gain, clusters)
    rows = [{**each, **regrouped} for each in after[:some]] + after[some:]
    random.Random(1).shuffle(rows)
    runs = write_run(tmp_path / "a", before, files=3), write_run(tmp_path / "b", rows)
    document = compare(*runs, tmp_path / "out", "--no-html", *(["--direct_num_workers=2"] if clusters else []))
    assert document["slices_of_baseline_alone"] == []
    (first,) = document["differences"]
    others = sum(bool(regrouped.items() - each.items()) for each in after[:some])
    assert first.startswith(f"{others} samples have a different cluster or different slice values in the candidate")
    kinds = [json.loads(each["slice.kind"]) for each in before]
    groups = {f"kind={kind}": [n for n, each in enumerate(kinds) if each == kind] for kind in "abc"}
    groups[""] = list(range(count))
    sides = before, after
    expected = {label: expected_slice(*([rows[n] for n in own] for rows in sides)) for label, own in groups.items()}
    tests = [each for found in expected.values() for each in found.values()]
    largest = np.max([t / np.sqrt(np.mean(t**2)) for _, t, units in tests if len({*units}) >= 6], axis=0)
    assert {label for label, _, _ in metrics_of(document)} == set(groups)
    for label, name, found in metrics_of(document):
        paired, swapped, units = expected[label][name]
        told = {name: getattr(paired, name) for name in ("baseline", "candidate", "difference", "detectable")} | {
            "interval": list(paired.interval),
            "p": (1 + sum(swapped >= abs(paired.difference) - 1e-12)) / 1000,
            "units": round(paired.units),
            "differing_samples": len(units),
        }
        if len({*units}) < 6:
            told |= {"verdict": "too few differ" if units else "identical", "simultaneous_p": None}
        else:
            t = abs(paired.difference) / np.sqrt(np.mean(swapped**2))
            p = (1 + int(np.sum(largest >= t - 1e-9))) / 1000
            direction = "better" if paired.difference > 0 else "worse"
            is_shown = p <= 0.05 and not paired.cautious[0] <= 0 <= paired.cautious[1]
            told |= {"verdict": direction if is_shown else "no difference shown", "simultaneous_p": p}
        assert found == told
    assert document["samples"] == {"compared": count}
    samples = [(label, each["samples"]) for label, each in document["slices"].items()]
    assert samples == [(label, len(places)) for label, places in groups.items() if label]


def test_samples_of_one_side_and_of_another_ground_truth_are_told(tmp_path: Path) -> None:
    before, after = systems(40, 5, 0.8)
    before[1], after[0], after[2]["truth_hash"] = row("s1", None), row("s0", None), "aa"
    one = write_run(tmp_path / "a", before[:-1], fingerprint="aa")
    other = write_run(tmp_path / "b", after, {"slices": []})
    told = "the candidate has a different ground truth: 40 samples (ff) instead of 39 (aa)"
    assert told in refused("compare", one, other)
    document = compare(one, other, tmp_path / "out", "--allow-differences")
    assert document["samples"] == {"compared": 36, "only_baseline": 1, "only_candidate": 2, "other_ground_truth": 1}
    assert (len(document["differences"]), document["slices"]) == (1, {})
    said = "1 sample that only the baseline scored, 2 samples that only the candidate scored, 1 sample with another"
    assert document["verdict"]["sentence"].endswith(f" 2 main metrics; not compared: {said} ground truth.")
    # The candidate, of 40 samples, before the baseline.
    assert re.findall(r" n=\d+| against ", document["signature"]) == [" n=40", " against ", " n=39"]
    assert document["slices_of_baseline_alone"] == ["kind=a", "kind=b", "kind=c"]
    assert "Slices of the baseline alone, not compared: kind=a" in (tmp_path / "out" / "comparison.md").read_text()
    back = compare(other, one, tmp_path / "out", "--allow-differences")
    assert back["slices_of_candidate_alone"] == document["slices_of_baseline_alone"]
    # Equal runs are identical, whatever neither scored, but not a run that scored less.
    less = write_run(tmp_path / "c", before[:-2])
    words = [beamscore.compare(str(one), str(each), allow_differences=True).judgement for each in (one, less)]
    assert words == ["identical", "no difference shown"]


def test_the_samples_that_changed_most_come_first(tmp_path: Path) -> None:
    # c +0.8; b and e -0.5, by name; d +0.05; f, whose status alone changed.
    values = {"a": (0.5, 0.5), "b": (1.0, 0.5), "c": (0.2, 1.0), "d": (0.9, 0.95), "e": (1.0, 0.5), "f": (1.0, 1.0)}
    before, after = ([row(name, each[side]) for name, each in values.items()] for side in (0, 1))
    after[-1]["status"] = "x"
    runs = write_run(tmp_path / "a", before), write_run(tmp_path / "b", after[::-1], files=3)
    document = compare(*runs, tmp_path / "out")
    assert (tmp_path / "out" / "comparison.html").exists()
    rows = changes_of(tmp_path / "out")
    assert [(each["sample_id"], each["kind"], round(each["change"], 9)) for each in rows] == [
        ("c", "wrong_to_right", 0.8), ("b", "right_to_wrong", -0.5), ("e", "right_to_wrong", -0.5),
        ("d", "better", 0.05), ("f", "other", 0),
    ]  # fmt: skip
    told = {"better": 2, "worse": 2, "wrong_to_right": 1, "right_to_wrong": 2, "better_beyond": 1, "worse_beyond": 2}
    assert document["changes"]["metrics"]["similarity"] == {**told, "appeared": 0, "vanished": 0}
    report = (tmp_path / "out" / "comparison.md").read_text()
    assert "| c           | 0.2000     | 1.0000      | +0.8000  | wrong to right |" in report
    compare(*runs, tmp_path / "few", "--changes", "2", "--threshold", "0.6")
    assert len(changes_of(tmp_path / "few")) == 2
    # The next comparison into a folder removes the page of this one.
    compare(tmp_path / "a", tmp_path / "a", tmp_path / "out", "--no-html")
    assert not (tmp_path / "out" / "comparison.html").exists()


def test_differences_that_cancel_in_each_cluster_are_not_called_identical(tmp_path: Path) -> None:
    """The two samples of a cluster trade their similarities: every replicate has a difference of 0."""
    before, after = ([row(f"s{n}", (0.25, 0.5)[n % 2 ^ side], unit=f"u{n // 2}") for n in range(20)] for side in (0, 1))
    clustered = {"cluster": "page"}
    runs = write_run(tmp_path / "a", before, clustered), write_run(tmp_path / "b", after, clustered, predictions="bb")
    document = compare(*runs, tmp_path / "out")
    found = {name: [one["interval"], one["differing_samples"], one["verdict"]] for _, name, one in metrics_of(document)}
    assert found == {"exact_match": [[0, 0], 0, "identical"], "similarity": [[0, 0], 20, "no difference shown"]}
    assert beamscore.compare(*map(str, runs)).judgement == "no difference shown"
    # A report of the second run against the first has their sums alone.
    differences, _ = run_differences(finished.Run.read(str(runs[1])), finished.Run.read(str(runs[0])), {SYSTEM: SYSTEM})
    assert differences[SYSTEM, "", "similarity"].difference.verdict == "no difference shown"
    # Nor are the samples the same where each side left out another one of a cluster.
    before[0], after[1] = row("s0", None, unit="u0"), row("s1", None, unit="u0")
    one, other = finished_run(before, clustered), finished_run(after, clustered, predictions="bb")
    assert run_differences(other, one, {SYSTEM: SYSTEM})[1] == ["all samples", "kind=a"]


def test_rows_that_are_damaged_are_told_in_one_line(tmp_path: Path) -> None:
    """What else may be damaged is in attacks/test_finished_runs."""
    one, other = (write_run(tmp_path / name, rows) for name, rows in zip("ab", systems(12, 10, 0.9), strict=True))
    path = other / "samples" / "samples-0.parquet"
    table = pq.read_table(path).drop_columns(["statistics"])
    pq.write_table(table.append_column("statistics", [['{"samples": "many"}'] * 12]), path)
    assert "its statistics cannot be read" in refused("compare", one, other, "--output", tmp_path / "out")
    assert not (tmp_path / "out" / "comparison.json").exists()
    # A column that is missing is told before anything is written.
    pq.write_table(table, path)
    assert refused("compare", one, other, "--output", tmp_path / "none").startswith(f"{path}: ")
    assert not (tmp_path / "none").exists()


def test_runs_that_do_not_compare(tmp_path: Path) -> None:
    before, after = systems(5, 12, 0.9)
    one, other = write_run(tmp_path / "a", before), write_run(tmp_path / "d", after, {"missing": "exclude"})
    apart = write_run(tmp_path / "b", [{**each, "sample_id": f"x{each['sample_id']}"} for each in after])
    for arguments, told in (
        ((one, apart), "have no sample in common that both scored (5 only baseline, 5 only candidate)"),
        ((one, other), 'the candidate used missing: "exclude" instead of "wrong"; give --allow-differences'),
        ((one, one, "--threshold", "nan"), "--threshold nan: must be a number of at least 0"),
        ((one, one, "--threshold=-0.1"), "--threshold -0.1: must be a number of at least 0"),
    ):
        assert told in refused("compare", *arguments)
    assert len(compare(one, other, tmp_path / "out", "--allow-differences", "--quiet")["differences"]) == 1
    next(apart.glob("samples/*")).unlink()
    assert refused("compare", one, apart).startswith(f"{apart}: the rows of the run are missing: ")


FLIPS = 6


def test_a_page_shows_the_changes_that_compare_lists_from_all_samples(tmp_path: Path) -> None:
    """Of the answers of each night another third or so is wrong, and 9 were missing; a baseline without rows shows no
    changes."""
    truths, random_numbers = [toy.sample(index, 0)[0] for index in range(150)], random.Random(0)
    nights = [
        [{**each, "text": each["text"][: random_numbers.randrange(4)]} if random_numbers.random() < 0.33 else each
         for each in truths] for _ in range(2)
    ]  # fmt: skip
    # A column that nothing reads, whose name is in the configuration.
    common = ("--quiet", "--set=fields.ground_truth.größe=kind")
    baseline = evaluate_records(tmp_path / "before", truths, nights[0][9:], *common, "--no-html").output

    def tonight(name: str, *more: str) -> tuple[Run, list[Any], dict[str, float]]:
        """Returns a run, the cards of its page with their sample_ids, and the change of each sample."""
        few = [f"--set=page.{part}={count}" for part, count in (("worst", 2), ("random", 2), ("flips", FLIPS))]
        run = evaluate_records(tmp_path / name, truths, nights[1], *few, *common, *more)
        assert run.code == 0, run.stderr
        data = page_data(run.output / "report.html")
        ids, metrics = (data["samples"][each] for each in ("ids", "metrics"))
        cards = [{**card, "sample_id": ids[card["row"]]} for card in data["cards"]]
        return run, cards, dict(zip(ids, metrics.get("change", ()), strict=False))

    run, cards, changes = tonight("after", f"--baseline={baseline}")
    document = compare(baseline, run.output, tmp_path / "c", "--quiet", "--no-html")
    listed = {each["sample_id"]: each for each in changes_of(tmp_path / "c")}
    assert changes == {
        each: pytest.approx(listed[each]["change"] if each in listed else 0, abs=1e-4) for each in changes
    }
    assert len(changes) == len(truths)
    flips = [each for each in listed.values() if "_to_" in each["kind"]]
    for why, sign in (("lost", -1), ("won", 1)):
        # The order of compare is by the size of the change, then by that of the other metrics; ties may be any of them.
        expected = sorted((abs(each["change"]) for each in flips if each["change"] * sign > 0), reverse=True)
        found = [card for card in cards if why in card["whys"]]
        assert len(expected) > FLIPS
        assert [abs(changes[card["sample_id"]]) for card in found] == pytest.approx(expected[:FLIPS], abs=1e-3)
        assert {card["sample_id"] for card in found} <= {each["sample_id"] for each in flips}
        assert all("text: " in card["truth"] for card in found)
    assert "\\u" not in (run.output / "report.html").read_text().partition("</h1>")[2].partition("<script")[0]
    about = json.loads((run.output / "run.json").read_bytes())
    assert about["verdict"]["judgement"] == document["verdict"]["judgement"]
    about["versions"]["packages"]["numpy"] = "1"
    write(run.output / "run.json", about)
    warned = f"warning: the candidate used different versions of packages: numpy 1, not {np.__version__}\n"
    assert warned in command("compare", baseline, run.output, "--quiet")[2]
    # The scores do not depend on whether changes are looked for. Those of other options, or without rows, show none.
    kept = shutil.copytree(baseline, tmp_path / "kept", ignore=shutil.ignore_patterns(".runs", "samples"))
    others = {"alone": [], "other": [f"--baseline={baseline}", "--set=missing=exclude"], "rows": [f"--baseline={kept}"]}
    for name, more in others.items():
        again, cards, changes = tonight(name, *more)
        assert again.summary["systems"] == run.summary["systems"]
        assert (changes, [card for card in cards if {"lost", "won"} & {*card["whys"]}]) == ({}, [])
        told = "are missing, so it is unknown which samples changed" in (again.output / "report.html").read_text()
        assert told == (name == "rows")
