"""Scoring functions alone, a row for each kind of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from metrics.benchmark import Pair
from tests.bench.measure import cost_of
from tests.generate import chart
from tests.plain_loop import make_benchmark

SAMPLES = 1000


@dataclass(frozen=True)
class Row:
    """What one sample of a kind of work costs, in processor microseconds."""

    what: str
    microseconds: float


def chart_tasks() -> list[Row]:
    """Each task of the chart benchmark alone, on the samples that have it, and all together."""
    benchmark = make_benchmark("chart")
    samples = [chart.sample(index, seed=1) for index in range(SAMPLES)]
    rows = []
    for task in ("task1", "task2", "task3", "task4", "task5", "task6"):
        # Task 1 says what kind of chart it is, which the others need to know.
        keys = {"sample_id", "image", "task1", task}
        pairs = [
            _pair(benchmark, _only(truth, keys), _only(prediction, {task}))
            for truth, prediction in samples
            if task in truth
        ]
        rows.append(Row(f"{task} (of {len(pairs)} charts that have it)", _cost(benchmark, pairs)))
    pairs = [_pair(benchmark, truth, prediction) for truth, prediction in samples]
    rows.append(Row("all tasks", _cost(benchmark, pairs)))
    return rows


def _only(record: dict[str, Any] | None, keys: set[str]) -> dict[str, Any] | None:
    return None if record is None else {key: record[key] for key in record if key in keys}


def _pair(benchmark: Any, truth: dict[str, Any] | None, prediction: dict[str, Any] | None) -> Pair[Any, Any]:
    made = None if prediction is None else msgspec.convert(prediction, benchmark.prediction_type)
    return Pair("", msgspec.convert(truth, benchmark.truth_type), made)


def _cost(benchmark: Any, pairs: list[Pair[Any, Any]]) -> float:
    return cost_of(lambda: benchmark.score(pairs)).microseconds(len(pairs))
