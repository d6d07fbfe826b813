"""One measured run: `python -m tests.bench.run loop|evaluate BENCHMARK TRUTH PREDICTIONS [PROCESSES]`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from beamscore.metrics.benchmark import Pair, SampleScore
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.intervals import intervals
from beamscore.metrics.statistics.measured import measure
from beamscore.pipelines.commands import main
from beamscore.pipelines.commands.messages import use_format
from beamscore.transforms.process import one_blas_thread
from tests.bench.corpus import Corpus
from tests.bench.measure import Cost, cost_of
from tests.plain_loop import make_benchmark


def cost_of_run(what: str, corpus: Corpus, *processes: str) -> Cost:
    """Returns the cost of a `loop` or `evaluate` over a corpus, in a process of its own."""
    given = [what, corpus.benchmark, str(corpus.ground_truth), str(corpus.predictions), *processes]
    done = subprocess.run([sys.executable, "-m", "tests.bench.run", *given], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(given)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


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


if __name__ == "__main__":
    use_format("text", False)
    cost = {"loop": loop, "evaluate": evaluate}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(asdict(cost)))
