"""One evaluation on a cluster, and what it took."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from tests.bench.corpus import Corpus, generated
from tests.flink.cluster import FlinkCluster
from tests.flink.rest import Vertex
from tests.flink.watch import WatchWorkers
from tests.flink.workers import PROJECT

BENCHMARK = "traffic_rules"


@dataclass(frozen=True)
class Measured:
    """What one evaluation took, on the clock and of its workers; and the vertices of its job."""

    samples: int
    seconds: float
    worker_seconds: float
    worker_mebibytes: float
    vertices: list[Vertex]

    @property
    def bytes_read(self) -> int:
        """The bytes that all vertices read from others, whichever way they came."""
        return sum(vertex.bytes_read for vertex in self.vertices)

    @property
    def bytes_regrouped(self) -> int:
        """Those of them that came by a grouping, from all subtasks of the vertex before."""
        return sum(vertex.bytes_read for vertex in self.vertices if vertex.regroups)


def corpus_of(count: int) -> Corpus:
    """Returns a generated corpus of `count` samples, which is kept for the next time."""
    return generated(BENCHMARK, count, PROJECT / "out" / "bench")


def evaluate(cluster: FlinkCluster, corpus: Corpus, parallelism: int, *more: str) -> Measured:
    """Evaluates a corpus on the cluster.

    Raises CalledProcessError where the evaluation fails.
    """
    with tempfile.TemporaryDirectory() as output, WatchWorkers(cluster.logs) as watched:
        started = time.monotonic()
        subprocess.run(
            [
                *(sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", BENCHMARK),
                *("--quiet", "--output", output),
                *("--ground-truth", str(corpus.ground_truth), "--predictions", str(corpus.predictions)),
                *(*more, *cluster.options(parallelism)),
            ],
            cwd=PROJECT,
            check=True,
        )
        seconds = time.monotonic() - started
    vertices = cluster.rest.vertices(next(iter(cluster.rest.jobs())))
    return Measured(corpus.count, seconds, watched.processor_seconds, watched.peak_mebibytes, vertices)
