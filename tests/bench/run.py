"""One measured run: `python -m tests.bench.run loop|evaluate|score BENCHMARK TRUTH PREDICTIONS [PROCESSES]`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from beamscore.metrics.benchmark import Benchmark, Pair, SampleScore
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.intervals import intervals
from beamscore.metrics.statistics.measured import measure
from beamscore.pipelines.commands import main
from beamscore.pipelines.commands.messages import use_format
from beamscore.transforms.process import one_blas_thread
from tests.bench.measure import Cost, cost_of
from tests.plain_loop import decoded_pairs, make_benchmark, read_records

CHUNK = 1000


class _Key(msgspec.Struct):
    sample_id: str


def loop(benchmark: str, truth: str, predictions: str) -> Cost:
    """What a user would write instead: one process that holds the corpus, without checks, slices or a page.

    It reads both files, decodes, joins by a dictionary, scores in batches, adds the sums up with 200 replicates,
    computes the metrics with their intervals, and writes a row for each sample, with its details, as Parquet.
    """
    made = make_benchmark(benchmark)

    def work() -> None:
        made.setup()
        with one_blas_thread, tempfile.TemporaryDirectory() as folder:
            bootstrap = Bootstrap()
            sums = BootstrapSums(bootstrap)
            predicted = dict(_decoded(predictions, made.prediction_type))
            pairs = [Pair(key, record, predicted.get(key)) for key, record in _decoded(truth, made.truth_type)]
            rows = []
            for start in range(0, len(pairs), made.batch_size):
                batch = pairs[start : start + made.batch_size]
                for pair, score in zip(batch, made.score(batch), strict=True):
                    if isinstance(score, SampleScore):
                        sums.add(bootstrap.unit_hash(pair.sample_id), score.statistics)
                        details = msgspec.json.encode(score.details)
                        rows.append({"sample_id": pair.sample_id, **score.metrics, "details": details})
            corpus = sums.sums()
            intervals(made, measure(made, corpus, sums.table()), 0.95)
            pq.write_table(pa.Table.from_pylist(rows), Path(folder) / "samples.parquet", compression="zstd")
        made.teardown()

    return cost_of(work)


def _decoded(path: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    key, record = msgspec.json.Decoder(_Key), msgspec.json.Decoder(kind)
    with open(path, "rb") as lines:
        for line in lines:
            yield key.decode(line).sample_id, record.decode(line)


def evaluate(benchmark: str, truth: str, predictions: str, processes: str = "1") -> Cost:
    """The whole evaluation, with intervals, samples and report."""
    with tempfile.TemporaryDirectory() as output:
        arguments = ["evaluate", benchmark, "--ground-truth", truth, "--predictions", predictions, "--output", output]
        codes: list[int] = []
        cost = cost_of(lambda: codes.append(main.main([*arguments, "--quiet", "--processes", processes])))
        if codes != [0]:
            raise RuntimeError(f"the evaluation exits with code {codes[0]}")
    return cost


def score(benchmark: str, truth: str, predictions: str) -> Cost:
    """The scoring functions alone, on records that have been decoded."""
    made = make_benchmark(benchmark)
    truths, predicted = read_records(Path(truth)), read_records(Path(predictions))
    samples, seconds = list(truths), 0.0
    made.setup()
    one_blas_thread.__enter__()
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
    cost = {"loop": loop, "evaluate": evaluate, "score": score}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(asdict(cost)))
