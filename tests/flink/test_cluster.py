"""A small pipeline on a real Flink cluster, and the cluster itself."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from tests.flink.cluster import FlinkCluster

WORDS = 97
LINES = 200


def count_words(cluster: FlinkCluster, output: Path, seconds: float) -> beam.runners.runner.PipelineResult:
    """Starts a count of 10,000 words that are said by `LINES` lines, `seconds` for each line."""

    def words(line: int) -> list[str]:
        time.sleep(seconds)
        return [f"word{(line * 7919 + place) % 97}" for place in range(50)]

    def counted(group: tuple[str, Any]) -> str:
        return f"{group[0]} {sum(group[1])} {sys.prefix} {os.getpid()}"

    pipeline = beam.Pipeline(options=PipelineOptions(cluster.options()))
    _ = (
        pipeline
        | beam.Create(range(LINES))
        | "words" >> beam.FlatMap(words)
        | "one" >> beam.Map(lambda word: (word, 1))
        | beam.GroupByKey()
        | "counted" >> beam.Map(counted)
        | beam.io.WriteToText(str(output / "counts"))
    )
    return pipeline.run()


def read_counts(output: Path) -> list[tuple[str, int, str, str]]:
    lines = [line.split() for file in sorted(output.glob("counts-*")) for line in file.read_text().splitlines()]
    return [(word, int(count), prefix, pid) for word, count, prefix, pid in lines]


def assert_counted(output: Path) -> None:
    expected = Counter(f"word{(line * 7919 + place) % WORDS}" for line in range(LINES) for place in range(50))
    assert {word: count for word, count, _, _ in read_counts(output)} == expected
    assert len(read_counts(output)) == WORDS, "a word was written twice"


def await_true(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.3)


def test_the_work_is_shared_by_two_task_managers_and_their_workers(cluster: FlinkCluster, tmp_path: Path) -> None:
    assert count_words(cluster, tmp_path, 0).wait_until_finish() == "DONE"
    assert_counted(tmp_path)
    prefixes = {prefix for _, _, prefix, _ in read_counts(tmp_path)}
    assert len(prefixes) == 1
    assert prefixes != {sys.prefix}, "the workers did not run in an environment of their own"
    assert len({pid for _, _, _, pid in read_counts(tmp_path)}) == 2
    job = next(iter(cluster.rest.jobs()))
    vertices = cluster.rest.vertices(job)
    assert {vertex.parallelism for vertex in vertices} == {2}
    counting = [vertex for vertex in vertices if "counted" in vertex.name]
    assert {vertex.task_managers for vertex in counting} == {frozenset(cluster.rest.task_managers())}
    assert {vertex.attempts for vertex in vertices} == {1}
    assert cluster.rest.failures(job) == []


def _reads_lines(cluster: FlinkCluster, job: str) -> bool:
    return any("words" in vertex.name and vertex.status == "RUNNING" for vertex in cluster.rest.vertices(job))


def test_every_process_ends_with_the_cluster(tmp_path: Path) -> None:
    with FlinkCluster(tmp_path / "flink") as cluster:
        count_words(cluster, tmp_path, 0.15)
        await_true(lambda: any(_reads_lines(cluster, job) for job in cluster.rest.jobs()), 180)
        assert _processes(cluster) == 4 + 2, "JobManager, two TaskManagers, job server, and two workers"
    await_true(lambda: _processes(cluster) == 0, 60)


def _processes(cluster: FlinkCluster) -> int:
    """Counts the processes that run in the folder of the cluster."""
    found = 0
    for process in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            found += process.readlink() == cluster.folder
    return found
