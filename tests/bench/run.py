"""One measured run: `python -m tests.bench.run floor|evaluate|score BENCHMARK TRUTH PREDICTIONS`."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions

from metrics.benchmark import Benchmark, Pair
from metrics.registry import benchmark_class
from pipelines.cli import main
from pipelines.cli.messages import use_format
from pipelines.runtime import launch
from tests.bench.measure import Cost, cost_of
from tests.plain_loop import decoded_pairs, make_benchmark, read_records
from transforms.blas import one_blas_thread

CHUNK = 1000


class _Key(msgspec.Struct):
    sample_id: str


def _keyed(line: bytes) -> tuple[str, bytes]:
    return msgspec.json.decode(line, type=_Key).sample_id, line


def floor(benchmark: str, truth: str, predictions: str) -> Cost:
    """Beam's own floor: reads both sides, keys them, groups them, counts the groups; scores nothing."""

    def build(pipeline: beam.Pipeline) -> None:
        sides = {
            name: pipeline
            | f"Read {name}" >> beam.io.ReadFromText(path, coder=beam.coders.BytesCoder())
            | f"Key {name}" >> beam.Map(_keyed).with_output_types(tuple[str, bytes])
            for name, path in [("truth", truth), ("prediction", predictions)]
        }
        _ = (
            sides
            | beam.CoGroupByKey()
            | beam.Map(lambda group: sum(1 for side in group[1].values() for _ in side))
            | beam.combiners.Count.Globally()
        )

    return cost_of(lambda: launch.run(PipelineOptions([]), build))


def evaluate(benchmark: str, truth: str, predictions: str) -> Cost:
    """The whole evaluation, with intervals, samples and report; and what of it the scoring functions took."""
    scoring = _watch_scoring(benchmark_class(benchmark))
    with tempfile.TemporaryDirectory() as output:
        arguments = ["evaluate", benchmark, "--ground-truth", truth, "--predictions", predictions, "--output", output]
        cost = cost_of(lambda: main.main([*arguments, "--quiet", "--processes", "1"]))
    return replace(cost, scoring_seconds=scoring[0])


def _watch_scoring(kind: type[Benchmark[Any, Any, Any]]) -> list[float]:
    """Adds up the processor time of `kind.score`, where it is called in this process; returns the running sum."""
    total = [0.0]
    score = kind.score

    def watched(self: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]]) -> Any:
        started = time.thread_time()
        try:
            return score(self, pairs)
        finally:
            total[0] += time.thread_time() - started

    kind.score = watched  # type: ignore[method-assign]
    return total


def score(benchmark: str, truth: str, predictions: str) -> Cost:
    """The scoring functions alone, on records that have been decoded."""
    made = make_benchmark(benchmark)
    truths, predicted = read_records(Path(truth)), read_records(Path(predictions))
    samples, seconds = list(truths), 0.0
    made.setup()
    one_blas_thread()
    for start in range(0, len(samples), CHUNK):
        pairs = decoded_pairs(made, {key: truths[key] for key in samples[start : start + CHUNK]}, predicted)
        seconds += cost_of(lambda pairs=pairs: score_in_batches(made, pairs)).seconds  # type: ignore[misc]
    made.teardown()
    return Cost(seconds, 0)


def score_in_batches(benchmark: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]]) -> None:
    """Scores pairs as the pipeline does, a batch at a time."""
    for start in range(0, len(pairs), benchmark.batch_size):
        benchmark.score(pairs[start : start + benchmark.batch_size])


if __name__ == "__main__":
    use_format("text", False)
    cost = {"floor": floor, "evaluate": evaluate, "score": score}[sys.argv[1]](*sys.argv[2:5])
    print(json.dumps(asdict(cost)))
