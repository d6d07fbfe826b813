"""`make bench-flink`: how an evaluation on Flink grows with slots, samples and slices, as ratios from one run.

python -m tests.flink.bench [SECTION ...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import msgspec
from tabulate import tabulate

from tests.bench.corpus import Corpus, generated
from tests.flink.cluster import FlinkCluster
from tests.flink.rest import Vertex
from tests.flink.watch import WatchWorkers
from tests.flink.workers import PROJECT

BENCHMARK = "traffic_rules"
MANY = 1000


@dataclass(frozen=True)
class Measured:
    """What one evaluation took, on the clock, and of its workers; and the vertices of its job."""

    samples: int
    seconds: float
    worker_seconds: float
    worker_mebibytes: float
    vertices: list[Vertex]


def main() -> None:
    """Runs the sections that are asked for, all by default, each on a fresh cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the smaller corpus")
    parsed = parser.parse_args()
    for name in parsed.sections or SECTIONS:
        SECTIONS[name](parsed.samples)


def slots(samples: int) -> None:
    """One and two slots on two corpora, where a slot has one processor for its TaskManager and its worker.

    The last lines are the difference of the corpora: without what starting a job takes.
    """
    processors = [["taskset", "--cpu-list", str(number)] for number in sorted(os.sched_getaffinity(0))]
    with FlinkCluster(prefixes=processors) as cluster:
        runs = [[evaluate(cluster, _corpus(count), slots) for slots in (1, 2)] for count in (samples, 4 * samples)]
    measured = [[(run.samples, run.seconds) for run in pair] for pair in runs]
    more = [(large.samples - small.samples, large.seconds - small.seconds) for small, large in zip(*runs, strict=True)]
    rows = []
    for pair in [*measured, more]:
        rates = [count / seconds for count, seconds in pair]
        for slots, (count, seconds), rate in zip((1, 2), pair, rates, strict=True):
            rows.append([str(count), str(slots), f"{seconds:.1f}", f"{rate:.0f}", f"{rate / rates[0]:.2f}"])
    _print("Slots, with one processor each", ["samples", "slots", "s", "samples a second", "of one slot"], rows)


def growth(samples: int) -> None:
    """A corpus and one four times as large."""
    with FlinkCluster() as cluster:
        runs = [evaluate(cluster, _corpus(count), 2) for count in (samples, 4 * samples)]
    rows = [
        [
            str(run.samples),
            f"{run.seconds:.1f}",
            f"{run.worker_seconds:.1f}",
            f"{run.worker_seconds / run.samples * 1e6:.0f}",
            f"{run.worker_mebibytes:.0f}",
            f"{run.worker_mebibytes / runs[0].worker_mebibytes:.2f}",
            f"{sum(vertex.bytes_read for vertex in run.vertices) / run.samples:.0f}",
        ]
        for run in runs
    ]
    header = [
        "samples",
        "s",
        "processor s of the workers",
        "µs a sample",
        "peak MiB of a worker",
        "of the smaller",
        "bytes shuffled a sample",
    ]
    _print("Growth, on two slots", header, rows)


def hot_key(samples: int) -> None:
    """One slice that holds all samples, and as many slice memberships over many slices."""
    corpus = with_columns(_corpus(samples))
    with FlinkCluster() as cluster:
        runs = {
            name: evaluate(cluster, corpus, 2, "--slice", column)
            for name, column in (("1 slice", "one"), (f"{MANY} slices", "many"))
        }
    rows = []
    for name, run in runs.items():
        (grouped,) = [
            vertex for vertex in run.vertices if vertex.name.startswith("GroupReduce") and "Combine/" in vertex.name
        ]
        partial = sum(read for read, _ in grouped.moved)
        rows.append(
            [name, f"{run.seconds:.1f}", f"{run.worker_seconds:.1f}", str(partial), f"{run.worker_mebibytes:.0f}"]
        )
    header = ["", "s", "processor s of the workers", "partial sums sent to the combine", "peak MiB of a worker"]
    _print(f"A hot key: {samples} samples on two slots", header, rows)


def evaluate(cluster: FlinkCluster, corpus: Corpus, parallelism: int, *more: str) -> Measured:
    """Evaluates a corpus on the cluster.

    Raises CalledProcessError where the evaluation fails.
    """
    with tempfile.TemporaryDirectory() as output, WatchWorkers(cluster.logs) as watched:
        started = time.monotonic()
        subprocess.run(
            [
                *(sys.executable, "-m", "pipelines.cli.main", "evaluate", BENCHMARK, "--quiet", "--output", output),
                *("--ground-truth", str(corpus.ground_truth), "--predictions", str(corpus.predictions)),
                *(*more, *cluster.options(parallelism)),
            ],
            cwd=PROJECT,
            check=True,
        )
        seconds = time.monotonic() - started
    vertices = cluster.rest.vertices(next(iter(cluster.rest.jobs())))
    return Measured(corpus.count, seconds, watched.processor_seconds, watched.peak_mebibytes, vertices)


def with_columns(corpus: Corpus) -> Corpus:
    """Returns the corpus with two columns more: `one`, the same for all samples, and `many`, of MANY values."""
    truth = corpus.ground_truth.with_name(f"{corpus.ground_truth.stem}-columns.jsonl")
    if not truth.exists():
        part = truth.with_suffix(".part")
        with corpus.ground_truth.open("rb") as lines, part.open("wb") as written:
            for index, line in enumerate(lines):
                record = {**msgspec.json.decode(line), "one": "all", "many": index % MANY}
                written.write(msgspec.json.encode(record) + b"\n")
        part.rename(truth)
    return Corpus(corpus.count, truth, corpus.predictions)


def _corpus(count: int) -> Corpus:
    return generated(BENCHMARK, count, PROJECT / "out" / "bench")


def _print(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = tabulate(rows, header, tablefmt="pipe", disable_numparse=True, colalign=["right"] * len(header))
    print(f"\n{title}\n\n{table}", flush=True)


SECTIONS = {"slots": slots, "growth": growth, "hot_key": hot_key}

if __name__ == "__main__":
    main()
