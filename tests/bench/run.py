"""What is measured of a corpus: the whole evaluation, and the loop that a user would write instead."""

import tempfile
from collections.abc import Iterator
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
from beamscore.pipelines.commands.messages import show_log
from tests.bench.corpus import Corpus
from tests.bench.measure import Cost, cost_of
from tests.plain_loop import make_benchmark


class _Key(msgspec.Struct):
    sample_id: str


def loop(corpus: Corpus) -> Cost:
    """What a user would write instead: one process that holds the corpus, without checks, slices or a page.

    It joins by a dictionary, scores in batches, and writes metrics, intervals of 200 replicates, and rows as Parquet.
    """
    made = make_benchmark(corpus.benchmark)

    def work() -> None:
        made.setup()
        with tempfile.TemporaryDirectory() as folder:
            bootstrap = Bootstrap(200, 0)
            sums = BootstrapSums(bootstrap)
            predicted = dict(_decoded(corpus.predictions, made.prediction_type))
            truths = _decoded(corpus.ground_truth, made.truth_type)
            pairs = [Pair(key, record, predicted.get(key)) for key, record in truths]
            rows = []
            for start in range(0, len(pairs), made.batch_size):
                batch = pairs[start : start + made.batch_size]
                for pair, score in zip(batch, made.score(batch), strict=True):
                    if isinstance(score, SampleScore):
                        sums.add(bootstrap.unit_hash(pair.sample_id), score.statistics)
                        details = msgspec.json.encode(score.details)
                        rows.append({"sample_id": pair.sample_id, **score.metrics, "details": details})
            intervals(made, measure(made, sums.sums(), sums.table()), 0.95)
            pq.write_table(pa.Table.from_pylist(rows), Path(folder) / "samples.parquet", compression="zstd")
        made.teardown()

    return cost_of(work)


def _decoded(path: Path, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    key, record = msgspec.json.Decoder(_Key), msgspec.json.Decoder(kind)
    with path.open("rb") as lines:
        for line in lines:
            yield key.decode(line).sample_id, record.decode(line)


def evaluate(corpus: Corpus, processes: int) -> Cost:
    """The whole evaluation, with intervals, samples and report."""
    show_log(verbose=False)
    with tempfile.TemporaryDirectory() as output:
        inputs = [f"--ground-truth={corpus.ground_truth}", f"--predictions={corpus.predictions}"]
        arguments = ["evaluate", corpus.benchmark, *inputs, "--output", output, "--quiet", f"--processes={processes}"]

        def work() -> None:
            if code := main.main(arguments):
                raise RuntimeError(f"the evaluation exits with code {code}")

        return cost_of(work)
