"""Generated corpora on disk, made once and kept, and what is measured of them."""

import hashlib
import importlib
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from beamscore.metrics.benchmark import Pair, SampleScore
from beamscore.metrics.statistics.bootstrap import Bootstrap, BootstrapSums
from beamscore.metrics.statistics.intervals import intervals
from beamscore.metrics.statistics.measured import measure
from beamscore.pipelines.commands.main import main
from beamscore.pipelines.commands.messages import show_log
from tests.plain_loop import make_benchmark, ready

FOLDER = Path(__file__).parents[2] / "out" / "bench"


@dataclass(frozen=True)
class Corpus:
    count: int
    ground_truth: Path
    predictions: Path

    @property
    def benchmark(self) -> str:
        """The benchmark, as the names of the files tell."""
        return self.ground_truth.name.partition("-")[0]

    @property
    def bytes(self) -> int:
        return self.ground_truth.stat().st_size + self.predictions.stat().st_size


def generated(benchmark: str, count: int) -> Corpus:
    """Returns a corpus of tests.generate.BENCHMARK, made where it is missing; one of other code is removed."""
    module = importlib.import_module(f"tests.generate.{benchmark}")
    digest = hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:12]
    paths = [FOLDER / f"{benchmark}-{count}-{digest}-{side}.jsonl" for side in ("truth", "prediction")]
    if not paths[1].exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        for path in FOLDER.glob(f"{benchmark}-{count}-*"):
            path.unlink()
        print(f"generating {count} samples of {benchmark}", file=sys.stderr)
        parts = [path.with_suffix(".part") for path in paths]
        with ProcessPoolExecutor() as pool, parts[0].open("wb") as truths, parts[1].open("wb") as answers:
            for truth, answer in pool.map(module.sample, range(count), repeat(1), chunksize=1000):
                truths.write(msgspec.json.encode(truth) + b"\n")
                if answer is not None:
                    answers.write(msgspec.json.encode(answer) + b"\n")
        for part, path in zip(parts, paths, strict=True):
            part.rename(path)
    return Corpus(count, *paths)


class _Key(msgspec.Struct):
    sample_id: str


def _decoded(path: Path, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    key, record = msgspec.json.Decoder(_Key), msgspec.json.Decoder(kind)
    with path.open("rb") as lines:
        for line in lines:
            yield key.decode(line).sample_id, record.decode(line)


def loop(corpus: Corpus) -> None:
    """What a user would write instead: one process that holds the corpus, without checks, slices or a page.

    It joins by a dictionary, scores in batches, and writes metrics, intervals of 200 replicates, and rows as Parquet.
    """
    bootstrap = Bootstrap(200, 0)
    sums, rows = BootstrapSums(bootstrap), []
    with ready(make_benchmark(corpus.benchmark)) as made, tempfile.TemporaryFile() as file:
        predicted = dict(_decoded(corpus.predictions, made.prediction_type))
        truths = _decoded(corpus.ground_truth, made.truth_type)
        pairs = [Pair(key, record, predicted.get(key)) for key, record in truths]
        for start in range(0, len(pairs), made.batch_size):
            batch = pairs[start : start + made.batch_size]
            for pair, score in zip(batch, made.score(batch), strict=True):
                if isinstance(score, SampleScore):
                    sums.add(bootstrap.unit_hash(pair.sample_id), score.statistics)
                    details = msgspec.json.encode(score.details)
                    rows.append({"sample_id": pair.sample_id, **score.metrics, "details": details})
        intervals(made, measure(made, sums.sums(), sums.table()), 0.95)
        pq.write_table(pa.Table.from_pylist(rows), file, compression="zstd")


def evaluate(corpus: Corpus, processes: int) -> None:
    show_log(verbose=False)
    with tempfile.TemporaryDirectory() as output:
        inputs = [f"--ground-truth={corpus.ground_truth}", f"--predictions={corpus.predictions}"]
        flags = ["--output", output, "--quiet", f"--processes={processes}"]
        if code := main(["evaluate", corpus.benchmark, *inputs, *flags]):
            raise RuntimeError(f"the evaluation exits with code {code}")
