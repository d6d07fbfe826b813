"""Scoring functions alone, a row for each kind of work."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Pair
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


def benchmark_row(name: str, samples: int = SAMPLES) -> Callable[[], list[Row]]:
    """Returns the row of one benchmark on its generated samples."""

    def rows() -> list[Row]:
        benchmark = make_benchmark(name)
        module = importlib.import_module(f"tests.generate.{name}")
        pairs = [_pair(benchmark, *module.sample(index, seed=1)) for index in range(samples)]
        return [Row(f"a sample of {name}", _cost(benchmark, pairs))]

    return rows


def detectors() -> list[Row]:
    """DetEval of one image with more and more regions on each side, in both geometries, with all subsets."""
    rows = []
    for geometry in ("rectangle", "polygon"):
        benchmark = make_benchmark("figure_text", geometry=geometry)
        for regions in (10, 100, 1000):
            pairs = [_pair(benchmark, *_figure(regions))] * (1000 // regions)
            rows.append(Row(f"an image with {regions} regions on each side, {geometry}", _cost(benchmark, pairs)))
    return rows


def _figure(regions: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a figure whose words stand in rows, and a detector's output that is off by a few pixels."""
    draw = random.Random(regions)
    difficulties = ("normal", "small", "blurry", "short", "color")
    truths, predictions = [], []
    for index in range(regions):
        x, y = index % 25 * 120.0, index // 25 * 40.0
        width = draw.uniform(40, 100)
        truths.append(
            {
                "id": str(index),
                "points": [[x, y], [x + width, y + 2], [x + width, y + 22], [x, y + 20]],
                "text": f"word{index}",
                "difficulty": [draw.choice(difficulties)],
                "orientation": draw.choice(("horizontal", "oriented")),
            }
        )
        box = [x + draw.uniform(-3, 3), y + draw.uniform(-3, 3), x + width + draw.uniform(-9, 3), y + 21.0]
        predictions.append({"box": box, "text": f"word{index}", "confidence": draw.random()})
    return {"sample_id": "figure", "regions": truths}, {"sample_id": "figure", "regions": predictions}


def _only(record: dict[str, Any] | None, keys: set[str]) -> dict[str, Any] | None:
    return None if record is None else {key: record[key] for key in record if key in keys}


def _pair(benchmark: Any, truth: dict[str, Any] | None, prediction: dict[str, Any] | None) -> Pair[Any, Any]:
    made = None if prediction is None else msgspec.convert(prediction, benchmark.prediction_type)
    return Pair("", msgspec.convert(truth, benchmark.truth_type), made)


def _cost(benchmark: Any, pairs: list[Pair[Any, Any]]) -> float:
    return cost_of(lambda: benchmark.score(pairs)).microseconds(len(pairs))
