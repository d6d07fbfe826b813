"""Pages of evaluations, made from the result of the command and from the samples, which are scored here once more."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from metrics.benchmark import Benchmark, Pair
from metrics.registry import benchmark_class
from metrics.scoring import Outcome, score_pairs
from pipelines.results.page.build import PageSources, build_page
from pipelines.results.page.cards import PickedSample, make_card
from pipelines.results.page.document import Card, Page
from pipelines.results.page.rows import SLICE_PREFIX, sample_table
from tests.runs import command

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "tests" / "corpora"


def records(path: Path) -> dict[str, bytes]:
    """Returns the lines of a file by sample_id, the first of each."""
    found: dict[str, bytes] = {}
    for line in path.read_bytes().splitlines():
        found.setdefault(str(json.loads(line)["sample_id"]), line)
    return found


def picked_samples(
    benchmark: Benchmark[Any, Any, Any], truths: Mapping[str, bytes], predictions: Sequence[Mapping[str, bytes]]
) -> list[PickedSample]:
    """Scores every sample of every system, and picks all of them."""
    picked = []
    for system, given in enumerate(predictions):
        pairs = [
            Pair(
                sample_id,
                msgspec.json.decode(truth, type=benchmark.truth_type),
                msgspec.json.decode(given[sample_id], type=benchmark.prediction_type) if sample_id in given else None,
            )
            for sample_id, truth in truths.items()
        ]
        picked += [
            _picked(pair.sample_id, system, outcome, truths[pair.sample_id], given.get(pair.sample_id))
            for pair, outcome in zip(pairs, score_pairs(benchmark, pairs), strict=True)
        ]
    return picked


def _picked(sample_id: str, system: int, outcome: Outcome, truth: bytes, prediction: bytes | None) -> PickedSample:
    score = outcome.score
    metrics = dict(score.metrics) if score else {}
    details = msgspec.json.encode(score.details) if score else b"null"
    return PickedSample(sample_id, system, outcome.status, "worst", metrics, details, truth, prediction)


def sample_rows(picked: Sequence[PickedSample], systems: Sequence[str], names: Sequence[str], column: str) -> Any:
    """Returns samples as the table that a run writes, sliced by one column."""
    columns: dict[str, list[Any]] = {
        "sample_id": [each.sample_id for each in picked],
        "system": [systems[each.system] for each in picked],
        "status": [each.status for each in picked],
        SLICE_PREFIX + column: [json.dumps(json.loads(each.truth).get(column)) for each in picked],
    }
    columns |= {name: [each.metrics.get(name) for each in picked] for name in names}
    types = {name: pa.float64() if name in names else pa.string() for name in columns}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def evaluated(
    name: str, truth: Path, predictions: Mapping[str, Path], output: Path, *more: str, column: str = "source"
) -> Page:
    """Evaluates files with the command, and returns the page of the result, in which every sample has a card."""
    sides = [f"--predictions={system}={path}" for system, path in predictions.items()]
    inputs = [str(ROOT / "configs" / f"{name}.yaml"), "--ground-truth", str(truth), *sides]
    command("evaluate", *inputs, "--output", str(output), "--quiet", f"--slice={column}", *more)
    summary = json.loads((output / "summary.json").read_bytes())
    kind = benchmark_class(name)
    benchmark: Benchmark[Any, Any, Any] = kind(kind.options_type())
    benchmark.setup()
    try:
        picked = picked_samples(benchmark, records(truth), [records(path) for path in predictions.values()])
        cards: list[Card] = [make_card(benchmark, each) for each in picked]
    finally:
        benchmark.teardown()
    rows = sample_rows(picked, list(predictions), kind.sample_metric_names(), column)
    table = sample_table(rows, list(predictions), kind.sample_metrics)
    return build_page(PageSources(summary, kind, samples=table, cards=cards))


@functools.cache
def corpus_page(name: str, output: Path) -> Page:
    """Returns the page of a sample corpus."""
    folder = CORPORA / name
    return evaluated(name, folder / "ground_truth.jsonl", {"predictions": folder / "predictions.jsonl"}, output)
