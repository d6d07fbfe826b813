"""Runs `beamscore evaluate` in this process and reads back what it wrote; corpora to run it on."""

import contextlib
import gzip
import io
import json
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord, SampleScore
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.sum_table import PackedReplicates
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.commands import main
from beamscore.transforms.records import zstd
from tests import pipeline_caches

pipeline_caches.install()

Record = dict[str, Any]
Lines = Iterable[Record | bytes]
Globs = Mapping[str, str | Path] | str | Path
"""By system, or of one system without a name."""

RESULT_NAMES = {"summary.json", "run.json", "sums.json", "report.md", "report.html", "samples", "quarantine", ".runs"}
"""All that stands in the output folder of a run that is done."""


@dataclass(frozen=True)
class Run:
    code: int
    stdout: str
    stderr: str
    output: Path

    @property
    def summary(self) -> Any:
        return json.loads((self.output / "summary.json").read_bytes())

    @property
    def sums(self) -> Any:
        return json.loads((self.output / "sums.json").read_bytes())

    @property
    def report(self) -> str:
        return (self.output / "report.md").read_text(encoding="utf-8")

    @property
    def samples(self) -> list[Record]:
        tables = [pq.ParquetFile(path).read() for path in self.output.glob("samples/*.parquet")]
        return sorted((row for table in tables for row in table.to_pylist()), key=itemgetter("system", "sample_id"))

    @property
    def quarantine(self) -> list[Record]:
        lines = [line for path in self.output.glob("quarantine/*.jsonl") for line in path.read_bytes().splitlines()]
        return sorted(map(json.loads, lines), key=itemgetter("side", "source", "position", "error"))

    def bytes(self) -> dict[str, bytes]:
        """The documents that must not depend on how the run was cut."""
        return {name: (self.output / name).read_bytes() for name in ("summary.json", "sums.json")}


def assert_same(run: Run, whole: Run) -> None:
    """A run that was interrupted, reused or merged says what one evaluation of all says, to the byte."""
    assert run.bytes() == whole.bytes()
    for part in ("code", "samples", "quarantine", "report"):
        assert getattr(run, part) == getattr(whole, part), part


def without_progress(stderr: str) -> str:
    """Returns standard error without the lines of progress of a run that takes more than half a minute."""
    return re.sub(r"^beamscore: (.* after \d+ s|running for \d+ s; .*)\n", "", stderr, flags=re.MULTILINE)


def command(*arguments: str | Path) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = main.main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, handler)
    return code, stdout.getvalue(), stderr.getvalue()


def refused(*arguments: str | Path) -> str:
    """Runs a command line that must end as wrong usage, and returns its one line without `beamscore: `."""
    code, stdout, stderr = command(*arguments)
    assert (code, stdout, stderr.count("\n"), stderr[-1:]) == (2, "", 1, "\n"), stderr
    return stderr.removeprefix("beamscore: ").rstrip("\n")


def evaluate(output: Path, truths: str | Path, predictions: Globs, *more: str, config: str | Path = "toy") -> Run:
    named = predictions.items() if isinstance(predictions, Mapping) else [("", predictions)]
    flags = [flag for name, glob in named for flag in ("--predictions", f"{name}={glob}" if name else glob)]
    code, stdout, stderr = command("evaluate", config, "--ground-truth", truths, *flags, "--output", output, *more)
    return Run(code, stdout, without_progress(stderr), output)


def evaluate_records(
    output: Path, truths: Lines, predictions: Mapping[str, Lines] | Lines, *more: str, config: str | Path = "toy"
) -> Run:
    """Runs `beamscore evaluate` on records, or lines, by system or of one; their files lie beside the output."""
    sides = {"truth": truths, **(predictions if isinstance(predictions, Mapping) else {"predictions": predictions})}
    files = {name: write_lines(output.with_name(f"{output.name}-{name}.jsonl"), each) for name, each in sides.items()}
    return evaluate(output, files.pop("truth"), files, *more, config=config)


def write_lines(path: Path, records: Lines) -> Path:
    """Writes records, or lines as they are, as JSONL, compressed as the end of the name says."""
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in records]
    compress: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstd.compress}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress.get(path.suffix, bytes)(b"".join(line + b"\n" for line in lines)))
    return path


def wrong(records: Sequence[Record], count: int, text: object = "?" * 9) -> list[Record]:
    """Returns predictions that are the records, but for the text of the first `count`."""
    return [*({**each, "text": text} for each in records[:count]), *records[count:]]


def plain_score(benchmark: AnyBenchmark, truth: Record, prediction: Record | None) -> SampleScore | None:
    """Scores one sample on its own, as the rules of missing and rejected records say; None: it is out of the score."""
    read = None if prediction is None else msgspec.convert(prediction, benchmark.prediction_type)
    (result,) = benchmark.score([Pair(truth["sample_id"], msgspec.convert(truth, benchmark.truth_type), read)])
    if not isinstance(result, RejectedRecord):
        return result
    return plain_score(benchmark, truth, None) if result.side == "prediction" and prediction is not None else None


def plain_sums(units_and_scores: Sequence[tuple[str, SampleScore]], bootstrap: Bootstrap) -> list[Sums]:
    """Returns the sums of samples and those of each replicate, added up one by one; a unit is drawn as one."""
    weights = bootstrap.weights([bootstrap.unit_hash(unit) for unit, _ in units_and_scores]).astype(int).tolist()
    scores = [Sums.of(score.statistics) for _, score in units_and_scores]
    return [Sums.merged(each for place, each in enumerate(scores) for _ in range(row[place])) for row in weights]


def unpack_replicates(document: Mapping[str, Any], count: int) -> list[Sums]:
    """Returns the replicates that a `replicates` entry of sums.json holds; raises ValueError where they do not fit."""
    return msgspec.convert(document, PackedReplicates).unpack(count).rows()
