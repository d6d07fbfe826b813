"""`make bench-flink`: what each further sample costs on a Flink cluster with two slots.

python -m tests.flink.bench [SAMPLES]

One corpus and one four times as large are evaluated in one cluster; their difference leaves out what starting a job
takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tabulate import tabulate

from tests.flink.cluster import FlinkCluster
from tests.flink.conftest import traffic_rules
from tests.flink.workers import PROJECT

TIMES = 4
POLL_INTERVAL_S = 0.5
HEADER = ["samples", "s", "processor µs of the workers, a sample", "bytes read, a sample", "bytes regrouped, a sample",
          "peak MiB of a worker"]  # fmt: skip


@dataclass
class Usage:
    """What an evaluation took: by worker process the processor seconds and the peak of its memory in MiB."""

    seconds: float = 0.0
    bytes_read: int = 0
    bytes_regrouped: int = 0
    processor_seconds: dict[str, float] = field(default_factory=dict)
    mebibytes: dict[str, float] = field(default_factory=dict)

    @property
    def totals(self) -> list[float]:
        """The columns of the table that add up over samples."""
        return [self.seconds, sum(self.processor_seconds.values()) * 1e6, self.bytes_read, self.bytes_regrouped]

    def look(self, worker: str) -> None:
        """Reads what Linux knows of a process and of its children that have ended."""
        process = Path("/proc", worker)
        # After the name in brackets, the fields 14 to 17 of proc(5) are times: own and of children, user and system.
        times = (process / "stat").read_text().rpartition(")")[2].split()[11:15]
        peaks = [line.split()[1] for line in (process / "status").read_text().splitlines() if line.startswith("VmHWM")]
        if peaks:
            self.processor_seconds[worker] = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
            self.mebibytes[worker] = int(peaks[0]) / 1024


def main(samples: int) -> None:
    """Prints a table with a row for each corpus, and one for their difference."""
    with FlinkCluster() as cluster:
        small, large = (evaluate(cluster, count) for count in (samples, TIMES * samples))
    more = [after - before for before, after in zip(small.totals, large.totals, strict=True)]
    rows = [
        [str(count), f"{seconds:.1f}", *(f"{each / count:.0f}" for each in totals), peak]
        for count, (seconds, *totals), peak in (
            (samples, small.totals, f"{max(small.mebibytes.values()):.0f}"),
            (TIMES * samples, large.totals, f"{max(large.mebibytes.values()):.0f}"),
            ((TIMES - 1) * samples, more, ""),
        )
    ]
    print(tabulate(rows, HEADER, tablefmt="pipe", disable_numparse=True, colalign=["right"] * len(HEADER)))


def evaluate(cluster: FlinkCluster, count: int) -> Usage:
    """Evaluates a corpus on the cluster, and looks at its workers meanwhile; RuntimeError where that fails."""
    corpus, usage = traffic_rules(count), Usage()
    command = [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", "--quiet",
               f"--ground-truth={corpus.ground_truth}", f"--predictions={corpus.predictions}",
               *cluster.options()]  # fmt: skip
    before = workers(cluster)
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as output,
        subprocess.Popen([*command, f"--output={output}"], cwd=PROJECT) as process,
    ):
        while process.poll() is None:
            time.sleep(POLL_INTERVAL_S)
            for worker in workers(cluster) - before:
                try:
                    usage.look(worker)
                except OSError:
                    continue
    usage.seconds = time.monotonic() - started
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    vertices = cluster.rest.vertices(next(iter(cluster.rest.jobs())))
    usage.bytes_read = sum(vertex.bytes_read for vertex in vertices)
    usage.bytes_regrouped = sum(vertex.bytes_read for vertex in vertices if vertex.regroups)
    return usage


def workers(cluster: FlinkCluster) -> set[str]:
    """Returns the process ids of all workers that were started so far, by the names of their logs."""
    return {log.stem.partition("-")[2] for log in cluster.logs.glob("worker-*.log")}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
