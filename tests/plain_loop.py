"""The oracle of the pipeline: the same scores in one plain loop, without Beam."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord, SampleScore
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.statistics.sums import Sums


def make_benchmark(name: str, **options: Any) -> AnyBenchmark:
    kind = benchmark_class(name)
    return kind(msgspec.convert(options, kind.options_type))


@contextlib.contextmanager
def ready(benchmark: AnyBenchmark) -> Iterator[AnyBenchmark]:
    """Sets a benchmark up, and takes it down at the end."""
    benchmark.setup()
    try:
        yield benchmark
    finally:
        benchmark.teardown()


def read_records(path: Path) -> dict[str, bytes]:
    return {json.loads(line)["sample_id"]: line for line in path.read_bytes().splitlines() if line.strip()}


def decoded_pairs(
    benchmark: AnyBenchmark, truths: Mapping[str, bytes], predictions: Mapping[str, bytes]
) -> list[Pair[Any, Any]]:
    found = {name: msgspec.json.decode(text, type=benchmark.prediction_type) for name, text in predictions.items()}
    kind = benchmark.truth_type
    return [Pair(name, msgspec.json.decode(text, type=kind), found.get(name)) for name, text in truths.items()]


def score_records(
    benchmark: AnyBenchmark, truths: Mapping[str, bytes], predictions: Mapping[str, bytes]
) -> dict[str, SampleScore | RejectedRecord]:
    """Scores every ground truth with its prediction, as one batch."""
    with ready(benchmark):
        return dict(zip(truths, benchmark.score(decoded_pairs(benchmark, truths, predictions)), strict=True))


def total(scores: Iterable[SampleScore | RejectedRecord]) -> Sums:
    return Sums.merged(Sums.of(score.statistics) for score in scores if isinstance(score, SampleScore))


def comparable(result: SampleScore | RejectedRecord) -> bytes:
    """A result as bytes: equal for results that are equal to the last bit, in the order of their names too."""
    if isinstance(result, RejectedRecord):
        return msgspec.json.encode(["rejected", result.side, result.message])
    numbers = result.statistics.items()
    statistics = [(name, value.hex() if isinstance(value, float) else value) for name, value in numbers]
    return msgspec.json.encode([statistics, dict(result.metrics), result.details, dict(result.coverage)])
