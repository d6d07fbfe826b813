"""Which samples are picked to be looked at, and which that changed are listed: the same, however bundles are cut."""

import json
import math
import random
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.transforms import sample_changes
from beamscore.transforms.blocks import IN_PIPELINE
from beamscore.transforms.pick import Key, PickSamples, SelectCandidates, Selection, is_flip, order_of_picked
from beamscore.transforms.publish import StagedFolder
from beamscore.transforms.records import EARLIER_ROWS, GROUND_TRUTH, REUSED_ROWS
from beamscore.transforms.rows import EarlierRows, SampleRow
from beamscore.transforms.sample_changes import ChangeCounter, ChangePlan, WriteChanges
from beamscore.transforms.scored import PairedSample, ScoredSample
from tests.transforms.samples import by_tag, encoded

METRIC = MetricSpec("score", "", main=1)
SELECTION = Selection(METRIC, worst=3, flips=2, random=4, listed=5)

Batch = tuple[list[PairedSample], list[ScoredSample]]


def candidates(selection: Selection, batch: Batch) -> list[tuple[Key, Any]]:
    """What one bundle of one batch yields."""
    do_fn = SelectCandidates(selection)
    do_fn.start_bundle()
    return [(key, sample) for key, [sample] in do_fn.process(batch)]


def batch_of(scores: dict[int, tuple[float | None, ...]]) -> Batch:
    """The samples of these numbers with the score of each system."""
    sides = [[encoded(GROUND_TRUTH, {"n": n}), *(encoded(i) for i in (0, 1))] for n in scores]
    paired = [PairedSample(f"s{n}", truth, tuple(rest)) for n, (truth, *rest) in zip(scores, sides, strict=True)]
    return paired, [
        ScoredSample(f"s{n}", system, "scored", "scored", f"s{n}", {}, metrics={"score": score})
        for n, each in scores.items()
        for system, score in enumerate(each)
    ]


def chosen(batches: Sequence[dict[int, tuple[float | None, ...]]]) -> dict[Key, list[str]]:
    """What is picked where each batch is a bundle of its own, with the combiner as a plain sort."""
    offered: dict[Key, list[tuple[tuple[float, int], str]]] = {}
    for batch in batches:
        for key, found in candidates(SELECTION, batch_of(batch)):
            offered.setdefault(key, []).append((found.rank, found.sample_id))
    return {key: [name for _, name in sorted(found)[: SELECTION.count(key[0])]] for key, found in offered.items()}


def test_the_choice_does_not_depend_on_the_bundles() -> None:
    rng = random.Random(4)
    scores: dict[int, tuple[float | None, ...]] = {n: (rng.choice([0, 0.2, 0.5, 1]), rng.random()) for n in range(60)}
    numbers, whole = list(range(60)), chosen([scores])
    for _ in range(10):
        rng.shuffle(numbers)
        size = rng.randrange(1, 61)
        parts = [numbers[start : start + size] for start in range(0, 60, size)]
        assert chosen([{n: scores[n] for n in part} for part in parts]) == whole
    by_score = [name for _, name in sorted((scores[number][1], f"s{number}") for number in range(60))]
    assert (whole["worst", 1, ""], whole["listed", 1, ""]) == (by_score[:3], by_score[:5])
    assert len(whole["random", 0, ""]) == 4
    apart = sorted((-abs((first or 0.0) - (other or 0.0)), f"s{n}") for n, (first, other) in scores.items())
    assert whole["flip", 0, ""] == whole["flip", 1, ""] == [name for _, name in apart[:2]]
    # Systems that agree have no flips, and no value is not worst.
    found = chosen([{0: (0.5, 0.9), 1: (None, 1.0)}])
    assert ("flip", 0, "") not in found
    assert found["worst", 0, ""] == ["s0"]
    assert Selection(METRIC).count("listed") == 0
    # Systems that are exactly 0.5 apart, whatever floats make of it, have a flip, which is shown first.
    offers = sorted((found for _, found in candidates(SELECTION, batch_of({1: (0.2, 0.7)}))), key=order_of_picked)
    assert [offer.why for offer in offers[::2]] == ["flip", "worst", "random", "listed"]
    # Of equal samples their hashes decide, not their names, and few are offered.
    offered = candidates(Selection(METRIC, worst=5, listed=5), batch_of(dict.fromkeys(range(1000), (0.0,))))
    worst = sorted((found for key, found in offered if key[0] == "worst"), key=order_of_picked)
    assert len(offered) < 100
    assert sorted(each.sample_id for each in worst[:5]) != [f"s{n}" for n in range(5)]


def test_a_sample_has_all_its_reasons_and_one_without_a_prediction_is_only_listed() -> None:
    """The worst of each value of a column and by each other metric are shown too; report.md names more."""
    paired, _ = batch_of(dict.fromkeys(range(4), (0.0,)))
    table = [("a", 0.0, 0.9), ("a", 0.5, 0.1), ("b", 0.9, 0.5), ("b", 0.0, 0.0)]
    scored = [
        ScoredSample(
            *(f"s{n}", 0, "scored" if n < 3 else "missing_prediction", None, "", {}),
            slice_values=(kind,),
            metrics={"score": score, "other": other},
        )
        for n, (kind, score, other) in enumerate(table)
    ]
    selection = Selection(METRIC, worst=1, listed=3, others=(MetricSpec("other", ""),))
    with test_pipeline.TestPipeline() as pipeline:
        batches = [(paired[:2], scored[:2]), (paired[2:], scored[2:])]
        kept = pipeline | beam.Create(batches) | PickSamples(selection)
        expected = [("s0", ("worst", "slice")), ("s1", ("worst by other",)), ("s2", ("slice",))]
        assert_that(kept.shown | beam.Map(lambda each: (each.sample_id, each.whys)), equal_to(expected), label="shown")
        listed = [(0.0, "s0", "scored"), (0.0, "s3", "missing_prediction"), (0.5, "s1", "scored")]
        assert_that(kept.listed, equal_to([(0, listed)]), label="listed")


def test_a_flip_is_to_right_or_wrong_or_far() -> None:
    changes = {(1.0, 0.9): True, (0.9, 1.0): True, (0.25, 0.75): True, (0.2, 0.7): True}
    changes |= {(0.2, 0.6): False, (1.0, 1.0): False, (0.0, 0.0): False}
    assert {change: is_flip(METRIC, *change) for change in changes} == changes


def test_samples_that_changed_since_an_earlier_run_are_picked_by_how_much() -> None:
    before = {"a": 1.0, "b": 0.9, "c": 0.0, "d": 0.3, "e": 0.5, "other": 1.0}
    rows: dict[str, Any] = {name: [["old", "t", value], ["another", "t", 0.0]] for name, value in before.items()}
    rows["other"][0][1] = "changed"
    now = {"a": 0.25, "b": 0.0, "c": 1.0, "d": 0.2, "e": 0.5, "other": 0.0, "new": 0.0}
    # Rows whose scores are taken may have joined a sample too.
    joined = {name: [encoded(EARLIER_ROWS, row) for row in rows.get(name, ())] for name in now}
    joined["a"].append(encoded(REUSED_ROWS, []))
    sides = encoded(GROUND_TRUTH), (encoded(0), encoded(1))
    paired = [PairedSample(name, *sides, tuple(joined[name])) for name in now]
    source = EarlierRows((), "score", ("old", None))
    scored = [
        ScoredSample(name, system, "scored", "scored", name, {}, metrics={"score": value}, truth_hash="t")
        for name, value in now.items()
        for system in (0, 1)
    ]
    found = [each for _, each in candidates(Selection(METRIC, flips=5, random=20, earlier=source), (paired, scored))]
    changed = {why: [(x.sample_id, x.system, x.rank[0]) for x in found if x.why == why] for why in ("lost", "won")}
    # b lost 0.9 and a 0.75; c won. Less than that is no flip, another ground truth is not compared, nor is system 1.
    assert changed == {"lost": [("a", 0, -0.75), ("b", 0, -0.9)], "won": [("c", 0, -1.0)]}
    shown = [(each.why, each.sample_id) for each in sorted(found, key=order_of_picked)]
    assert shown[:3] == [("lost", "b"), ("lost", "a"), ("won", "c")], "the largest change first"
    known: dict[str, Any] = {each.sample_id: each.before for each in found if each.why == "random" and not each.system}
    assert known == {**before, "other": None, "new": None}


@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), min_size=1, max_size=60), st.integers(1, 9))
def test_those_that_changed_most_are_kept_in_blocks(values: list[float], most: int) -> None:
    """By the change of the main metric, then by the changes of all, and then by sample_id."""
    kinds = {0.0: "worse", 0.1: "worse", 0.2: "worse", 0.5: "other", 1.0: "wrong_to_right"}
    plan = ChangePlan((MetricSpec("other", "", False), METRIC), 1, 0.1, most)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample_changes, "SAMPLES_PER_BLOCK", 3)
        patched.setattr(sample_changes, "SAMPLES_BETWEEN_CUTS", 2)
        counter, rows = ChangeCounter(plan), []
        for number, value in enumerate(values):
            before = SampleRow(f"{number}", "rejected" if value == 0.5 else "scored", "", (), (0.0, 0.5), "{}", "h")
            after = SampleRow(f"{number}", "scored", "", (), (number % 3, value), "{}", "h")
            counter.add(before, after)
            row = {"sample_id": f"{number}", "change": value - 0.5, "kind": kinds[value]}
            row |= {"baseline.status": before.status, "baseline.other": 0.0, "baseline.score": 0.5}
            row |= {"candidate.status": "scored", "candidate.other": number % 3, "candidate.score": value}
            rows.append((-abs(value - 0.5), -abs(value - 0.5) - number % 3, f"{number}", row))
        blocks = list(counter.blocks())
    expected = [row for *_, row in sorted(rows, key=itemgetter(0, 1, 2))]
    assert [json.loads(row) for block in blocks for _, row in block] == expected[:most]
    assert [len(block) for block in blocks[:-1]] == [3] * (len(blocks) - 1)


def test_the_lists_of_all_bundles_are_sorted_and_cut_together(tmp_path: Path) -> None:
    blocks = [IN_PIPELINE.write([(b"%d" % n, b'{"n":%d}' % n) for n in numbers]) for numbers in ((1, 4), (2, 3))]
    written = by_tag(WriteChanges(StagedFolder(str(tmp_path), "id", "changes"), 3)._write((None, [None, *blocks])))
    (name,) = written["files"]
    assert (tmp_path / ".runs/id/changes" / name).read_text() == '{"n":1}\n{"n":2}\n{"n":3}\n'
    assert written["first"] == [[{"n": 1}, {"n": 2}, {"n": 3}]]


def counted(old: float | None, new: float | None, higher_is_better: bool = True) -> set[str]:
    """The ways in which one sample changed, with a threshold of 0.1."""
    counter = ChangeCounter(ChangePlan((MetricSpec("score", "", higher_is_better, main=1),), 0, 0.1, 9))
    before, after = (SampleRow("a", "scored", "a", (), (value,), "{}", "h") for value in (old, new))
    counter.add(before, after)
    ((_, counts),) = counter.counts.items()
    return {kind for kind, count in counts.items() if count}


def test_the_ways_in_which_a_sample_changes() -> None:
    """A change of exactly the threshold is not beyond it, whatever floats make of it: 0.4 - 0.3 > 0.1 > 0.9 - 0.8."""
    for tenths in range(1, 9):
        low, high = tenths / 10, (tenths + 1) / 10
        assert (counted(low, high), counted(high, low)) == ({"better"}, {"worse"})
        assert counted(low, math.nextafter(high, 2) + 1e-9) == {"better", "better_beyond"}
    # Right is the best value in the direction of the metric.
    assert counted(0.0, 1.0) == {"better", "wrong_to_right", "better_beyond"}
    assert counted(0.0, 1.0, higher_is_better=False) == {"worse", "right_to_wrong", "worse_beyond"}
    assert (counted(None, 1.0), counted(1.0, None)) == ({"appeared"}, {"vanished"})
    assert counted(0.5, 0.5) == counted(None, None) == set()
