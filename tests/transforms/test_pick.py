"""Which samples are picked to be looked at: the same ones, however the samples were cut into bundles."""

from __future__ import annotations

import random

from metrics.benchmark import MetricSpec
from transforms.pair import PairedSample
from transforms.pick import Picker, Picks, Why, order_of_picked
from transforms.records import GROUND_TRUTH, JSON, EncodedRecord, Origin
from transforms.scored_sample import ScoredSample

METRIC = MetricSpec("score", "", main=1)
PICKS = Picks(METRIC, worst=3, flips=2, random=4)


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


def chosen(batches: list[list[int]], scores: dict[int, tuple[float | None, ...]]) -> dict[tuple[Why, int], list[str]]:
    """What is picked where each batch is a bundle of its own, with the combiner as a plain sort."""
    offered: dict[tuple[Why, int], list[tuple[float, str]]] = {}
    for batch in batches:
        picker = Picker(PICKS)
        made = [sample(number, scores[number]) for number in batch]
        for key, found in picker.offers([paired for paired, _ in made], [row for _, rows in made for row in rows]):
            offered.setdefault(key, []).append((found.rank, found.sample_id))
    return {key: [name for _, name in sorted(found)[: PICKS.count(key[0])]] for key, found in sorted(offered.items())}


def test_the_choice_does_not_depend_on_the_bundles() -> None:
    rng = random.Random(4)
    scores: dict[int, tuple[float | None, ...]] = {n: (rng.choice([0, 0.2, 0.5, 1]), rng.random()) for n in range(60)}
    numbers = list(range(60))
    whole = chosen([numbers], scores)
    for _ in range(20):
        rng.shuffle(numbers)
        size = rng.randrange(1, 61)
        assert chosen([numbers[start : start + size] for start in range(0, 60, size)], scores) == whole
    by_score = sorted((scores[number][1], f"s{number}") for number in range(60))
    assert whole["worst", 1] == [name for _, name in by_score[:3]]
    assert len(whole["random", 0]) == 4
    assert whole["flip", 0] == whole["flip", 1]


def test_systems_that_agree_have_no_flips_and_no_value_is_not_worst() -> None:
    found = chosen([[0, 1]], {0: (0.5, 0.9), 1: (None, 1.0)})
    assert ("flip", 0) not in found
    assert found["worst", 0] == ["s0"]


def test_picked_samples_are_ordered_by_reason_and_rank() -> None:
    paired, scored = sample(1, (0.1, 0.9))
    offers = sorted((found for _, found in Picker(PICKS).offers([paired], scored)), key=order_of_picked)
    assert [(offer.why, offer.system) for offer in offers] == [
        *(("flip", 0), ("flip", 1), ("worst", 0), ("worst", 1), ("random", 0), ("random", 1))
    ]
    assert offers[0].truth == b'{"n": 1}'
