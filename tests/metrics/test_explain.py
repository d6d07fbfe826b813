"""Every benchmark says in words what matched what, from the details of its own scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import Benchmark, Pair
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.scoring import score_pairs

CORPORA = Path(__file__).parents[1] / "corpora"
SAMPLES = 6


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CORPORA.iterdir() if (path / "predictions.jsonl").exists())
)
def test_words_for_every_scored_sample(name: str) -> None:
    kind = benchmark_class(name)
    benchmark: Benchmark[Any, Any, Any] = kind(kind.options_type())
    sides = []
    for side in ("ground_truth", "predictions"):
        lines = (CORPORA / name / f"{side}.jsonl").read_bytes().splitlines()
        sides.append({json.loads(line)["sample_id"]: line for line in lines})
    benchmark.setup()
    try:
        pairs = [
            Pair(
                sample_id,
                msgspec.json.decode(line, type=kind.truth_type),
                msgspec.json.decode(sides[1][sample_id], type=kind.prediction_type) if sample_id in sides[1] else None,
            )
            for sample_id, line in list(sides[0].items())[:SAMPLES]
        ]
        outcomes = score_pairs(benchmark, pairs)
    finally:
        benchmark.teardown()
    for outcome in outcomes:
        assert outcome.score is not None
        details = msgspec.json.decode(msgspec.json.encode(outcome.score.details))
        lines_of_sample = benchmark.explain(details)
        assert lines_of_sample
        assert all(line and "None" not in line for line in lines_of_sample)
