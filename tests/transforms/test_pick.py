"""Which samples are picked to be looked at: the same ones, however the samples were cut into bundles."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.scoring import Status
from beamscore.transforms.blocks import IN_PIPELINE, ToBlocks
from beamscore.transforms.earlier_rows import EarlierRows
from beamscore.transforms.pair import PairBySample
from beamscore.transforms.pick import (
    Key,
    PickedSample,
    PickSamples,
    SelectCandidates,
    Selection,
    is_flip,
    order_of_picked,
)
from beamscore.transforms.read import ReadRowBlocks
from beamscore.transforms.records import EARLIER_ROWS, GROUND_TRUTH, JSON, EncodedRecord, Origin
from beamscore.transforms.scored import PairedSample, ScoredSample

METRIC = MetricSpec("score", "", main=1)
SELECTION = Selection(METRIC, worst=3, flips=2, random=4, listed=5)

Batch = tuple[list[PairedSample], list[ScoredSample]]


def candidates(selection: Selection, batch: Batch) -> list[tuple[Key, PickedSample]]:
    """What one bundle of one batch yields."""
    bundle = SelectCandidates(selection)
    bundle.start_bundle()
    return [(key, sample) for key, [sample] in bundle.process(batch)]


def batch_of(made: Sequence[tuple[PairedSample, list[ScoredSample]]]) -> Batch:
    return [paired for paired, _ in made], [row for _, rows in made for row in rows]


def record(side: int, text: str) -> EncodedRecord:
    return EncodedRecord.of(Origin(side, 0, 0, 1, "f"), JSON, text.encode())


def sample(number: int, scores: tuple[float | None, ...]) -> tuple[PairedSample, list[ScoredSample]]:
    name = f"s{number}"
    paired = PairedSample(name, record(GROUND_TRUTH, f'{{"n": {number}}}'), tuple(record(i, "{}") for i in (0, 1)))
    scored = [
        ScoredSample(name, system, "scored", "scored", name, {}, metrics={"score": score})
        for system, score in enumerate(scores)
    ]
    return paired, scored


def chosen(batches: list[list[int]], scores: dict[int, tuple[float | None, ...]]) -> dict[Key, list[str]]:
    """What is picked where each batch is a bundle of its own, with the combiner as a plain sort."""
    offered: dict[Key, list[tuple[tuple[float, int], str]]] = {}
    for batch in batches:
        made = [sample(number, scores[number]) for number in batch]
        for key, found in candidates(SELECTION, batch_of(made)):
            offered.setdefault(key, []).append((found.rank, found.sample_id))
    return {
        key: [name for _, name in sorted(found)[: SELECTION.count(key[0])]] for key, found in sorted(offered.items())
    }


def test_the_choice_does_not_depend_on_the_bundles() -> None:
    rng = random.Random(4)
    scores: dict[int, tuple[float | None, ...]] = {n: (rng.choice([0, 0.2, 0.5, 1]), rng.random()) for n in range(60)}
    numbers = list(range(60))
    whole = chosen([numbers], scores)
    for _ in range(20):
        rng.shuffle(numbers)
        size = rng.randrange(1, 61)
        assert chosen([numbers[start : start + size] for start in range(0, 60, size)], scores) == whole
    by_score = [name for _, name in sorted((scores[number][1], f"s{number}") for number in range(60))]
    assert (whole["worst", 1, ""], whole["listed", 1, ""]) == (by_score[:3], by_score[:5])
    assert len(whole["random", 0, ""]) == 4
    assert whole["flip", 0, ""] == whole["flip", 1, ""]


def test_systems_that_agree_have_no_flips_and_no_value_is_not_worst() -> None:
    found = chosen([[0, 1]], {0: (0.5, 0.9), 1: (None, 1.0)})
    assert ("flip", 0, "") not in found
    assert found["worst", 0, ""] == ["s0"]


def test_picked_samples_are_ordered_by_reason_and_rank() -> None:
    offers = sorted(
        (found for _, found in candidates(SELECTION, batch_of([sample(1, (0.1, 0.9))]))), key=order_of_picked
    )
    assert [(offer.why, offer.system) for offer in offers] == [
        (why, system) for why in ("flip", "worst", "random", "listed") for system in (0, 1)
    ]
    assert offers[0].truth == b'{"n": 1}'


def test_what_is_listed_may_be_more_than_is_shown() -> None:
    """report.md names the worst: it may name more than the page shows."""
    made = [sample(number, (number / 10, None)) for number in range(9)]
    selection = Selection(METRIC, worst=2, listed=4)
    with test_pipeline.TestPipeline() as pipeline:
        kept = pipeline | beam.Create([batch_of(made[4:]), batch_of(made[:4])]) | PickSamples(selection)
        shown = kept.shown | beam.Map(lambda each: (each.whys, each.sample_id))
        assert_that(kept.listed, equal_to([(0, [(n / 10, f"s{n}", "scored") for n in range(4)])]), label="listed")
        assert_that(shown, equal_to([(("worst",), "s0"), (("worst",), "s1")]), label="shown")


def test_a_sample_has_all_its_reasons_and_one_without_a_prediction_is_only_listed() -> None:
    """The worst of each value of a column and by each other metric are shown too."""
    made = []
    for number, (kind, score, other) in enumerate([("a", 0.0, 0.9), ("a", 0.5, 0.1), ("b", 0.9, 0.5), ("b", 0.0, 0.0)]):
        paired, _ = sample(number, ())
        status: Status = "scored" if number < 3 else "missing_prediction"
        metrics = {"score": score, "other": other}
        made.append((paired, [ScoredSample(f"s{number}", 0, status, None, "", {}, (), (kind,), {}, metrics)]))
    selection = Selection(METRIC, worst=1, listed=2, others=(MetricSpec("other", ""),))
    with test_pipeline.TestPipeline() as pipeline:
        kept = pipeline | beam.Create([batch_of(made)]) | PickSamples(selection)
        shown = kept.shown | beam.Map(lambda each: (each.sample_id, each.whys))
        expected = [("s0", ("worst", "slice")), ("s1", ("worst by other",)), ("s2", ("slice",))]
        assert_that(shown, equal_to(expected), label="shown")
        listed = kept.listed | beam.Map(lambda each: {name for _, name, _ in each[1]})
        assert_that(listed, equal_to([{"s0", "s3"}]), label="listed")


def test_of_equal_samples_their_hashes_decide_and_few_are_offered() -> None:
    """Where all are wrong, a bundle offers few of them, and not the first by name."""
    made = [sample(number, (0.0,)) for number in range(1000)]
    offered = [found for key, found in candidates(Selection(METRIC, worst=5), batch_of(made)) if key[0] == "worst"]
    assert len(offered) < 100
    assert sorted(each.sample_id for each in sorted(offered, key=order_of_picked)[:5]) != [f"s{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("before", "value", "expected"),
    [
        (1.0, 0.9, True),
        (0.9, 1.0, True),
        (0.25, 0.75, True),
        (0.2, 0.7, True),
        (0.2, 0.6, False),
        (1.0, 1.0, False),
        (0.0, 0.0, False),
    ],
)
def test_a_flip_is_to_right_or_wrong_or_far(before: float, value: float, expected: bool) -> None:
    metric = MetricSpec("score", "", main=1, bounds=(0.0, 1.0))
    assert is_flip(metric, before, value) == expected


Rows = Sequence[tuple[str, str, str, float | None]]


def earlier(path: Path, rows: Rows) -> EarlierRows:
    names = ("system", "sample_id", "truth_hash", "score")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    pq.write_table(pa.table(columns), path)
    return EarlierRows((str(path),), "score", ("old", None))


def joined(rows: EarlierRows, names: Sequence[str]) -> list[PairedSample]:
    """The samples of these names, each with the rows that are of it."""
    with test_pipeline.TestPipeline() as pipeline:
        truths = [(name.encode(), record(GROUND_TRUTH, "{}").encoded) for name in names]
        answers = [(name.encode(), record(system, "{}").encoded) for name in names for system in (0, 1)]
        blocks = (
            pipeline | ReadRowBlocks({EARLIER_ROWS: rows}, 2, IN_PIPELINE),
            pipeline | beam.Create([*truths, *answers]) | beam.ParDo(ToBlocks(2, IN_PIPELINE)),
        )
        paired = blocks | beam.Flatten() | PairBySample(("ours", "theirs"))
        _ = paired.batches | beam.combiners.ToList() | beam.Map(collect)
    found = [sample for batch in COLLECTED.pop() for sample in batch]
    assert sorted(sample.sample_id for sample in found) == sorted(names)
    return found


COLLECTED: list[list[list[PairedSample]]] = []


def collect(batches: list[list[PairedSample]]) -> None:
    COLLECTED.append(batches)


def scored_now(name: str, system: int, score: float) -> ScoredSample:
    return ScoredSample(name, system, "scored", "scored", name, {}, metrics={"score": score}, truth_hash="t")


def test_samples_that_changed_since_an_earlier_run_are_picked_by_how_much(tmp_path: Path) -> None:
    before = {"a": 1.0, "b": 0.9, "c": 0.0, "d": 0.3, "e": 0.5, "other": 1.0}
    rows: list[tuple[str, str, str, float | None]] = [
        ("old", name, "changed" if name == "other" else "t", value) for name, value in before.items()
    ]
    rows += [("another", "a", "t", 0.0), ("old", "unmeasured", "t", None), ("old", "gone", "t", 1.0)]
    now = {"a": 0.25, "b": 0.0, "c": 1.0, "d": 0.2, "e": 0.5, "other": 0.0, "unmeasured": 0.0, "new": 0.0}
    source = earlier(tmp_path / "rows.parquet", rows)
    selection = Selection(METRIC, flips=5, random=20, earlier=source)
    scored = [scored_now(name, system, value) for name, value in now.items() for system in (0, 1)]
    found = [sample for _, sample in candidates(selection, (joined(source, list(now)), scored))]
    changed = {why: [(each.sample_id, each.system) for each in found if each.why == why] for why in ("lost", "won")}
    # b lost 0.9 and a 0.75; c won. Less than that is no flip, another ground truth is not compared, nor is system 1.
    assert changed == {"lost": [("a", 0), ("b", 0)], "won": [("c", 0)]}
    assert {each.sample_id: each.rank[0] for each in found if each.why == "lost"} == {"a": -0.75, "b": -0.9}
    known: dict[str, Any] = {each.sample_id: each.before for each in found if each.why == "random" and not each.system}
    assert known == {**before, "other": None, "unmeasured": None, "new": None}
    assert json.loads(found[0].truth) == {}


def test_rows_that_are_gone_meanwhile_cost_the_changes_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "beamscore.transforms.earlier_rows")
    rows = earlier(tmp_path / "rows.parquet", [("old", "a", "t", 1.0)])
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    selection = Selection(METRIC, flips=5, random=20, earlier=rows)
    found = [each.why for _, each in candidates(selection, (joined(rows, ["a"]), [scored_now("a", 0, 0.0)]))]
    assert found == ["random"]
    assert "report.html does not show all samples that changed since the baseline" in caplog.text
