"""Scoring leaves no reference cycles: all that a batch needed is freed with it, without the garbage collector."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import Pair, RejectedRecord
from tests.plain_loop import make_benchmark


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("chart", {}),
        ("chemistry", {"protocol": "released"}),
        # Some of these samples are rejected: an exception must not hold the frames that it went through.
        ("chemistry", {"max_steps": 1500}),
        ("figure_text", {}),
        ("traffic_rules", {}),
    ],
)
def test_a_scored_batch_leaves_no_reference_cycles(name: str, options: dict[str, Any]) -> None:
    benchmark = make_benchmark(name, **options)
    sample = importlib.import_module(f"tests.generate.{name}").sample
    kinds = benchmark.truth_type, benchmark.prediction_type | None
    pairs = [Pair("", *map(msgspec.convert, sample(number, 2), kinds)) for number in range(100)]
    rejected = sum(isinstance(result, RejectedRecord) for result in benchmark.score(pairs))
    assert bool(rejected) == ("max_steps" in options)
    gc.collect()
    gc.disable()
    try:
        benchmark.score(pairs)
        assert gc.collect() == 0
    finally:
        gc.enable()
