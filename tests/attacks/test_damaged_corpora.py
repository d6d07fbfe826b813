"""Corpora that are damaged at random: every count is that of a plain reading, and so are the sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.benchmark import Benchmark
from beamscore.metrics.statistics.sums import Sums
from tests.attacks import SEEDS, rng_of
from tests.attacks.corpora import BENCHMARKS, MAX_DEPTH, corpus, damaged
from tests.attacks.plain_counts import PREDICTIONS, TRUTH, plain_counts
from tests.plain_loop import make_benchmark
from tests.runs import Run, evaluate

pytestmark = pytest.mark.attacks

STATUSES = {
    TRUTH: ("read", "scored", "missing_prediction", "rejected", "duplicate"),
    PREDICTIONS: ("read", "scored", "unmatched", "duplicate", "rejected"),
}
SETTINGS = ("--quiet", "--no-html", "--slice", "source", "--set", "max_rejected_fraction=1")
LIMITS = ("--set", f"limits.depth={MAX_DEPTH}", "--set", "bootstrap.replicates=2")


@pytest.fixture(scope="module", params=BENCHMARKS)
def benchmark(request: pytest.FixtureRequest) -> Iterator[Benchmark[Any, Any, Any]]:
    made = make_benchmark(request.param)
    made.setup()
    yield made
    made.teardown()


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_and_sums_are_those_of_a_plain_reading(
    benchmark: Benchmark[Any, Any, Any], tmp_path: Path, seed: int
) -> None:
    rng = rng_of(benchmark.name, seed)
    truths, predictions = (damaged(rng, side) for side in corpus(benchmark.name, 25, seed))
    expected = plain_counts(benchmark, truths, predictions, MAX_DEPTH)
    for name, lines in (("truths", truths), ("predictions", predictions)):
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(lines))
    found = evaluate(
        tmp_path / "out",
        tmp_path / "truths.jsonl",
        tmp_path / "predictions.jsonl",
        *SETTINGS,
        *LIMITS,
        config=benchmark.name,
    )
    assert found.code == 0, found.stderr
    coverage = found.summary["systems"]["predictions"]["coverage"]
    for side, names in STATUSES.items():
        assert {name: coverage[side][name] for name in names} == {name: expected.sides[side][name] for name in names}
    assert coverage["balanced"]
    assert {row["sample_id"]: row["status"] for row in found.samples} == expected.samples
    assert _quarantined(found) == expected.quarantined
    sums = Sums.merged(Sums.of(score.statistics) for score in expected.scores.values())
    assert found.sums["systems"]["predictions"]["sums"] == sums.units()


def _quarantined(run: Run) -> Counter[tuple[str, int]]:
    return Counter((entry["side"], entry["line"]) for entry in run.quarantine)
