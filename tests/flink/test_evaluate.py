"""Evaluations on Flink: the bits of the in-process runner, and the work on all TaskManagers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.metrics.registry import benchmark_names
from tests.bench.corpus import Corpus
from tests.flink.cluster import FlinkCluster
from tests.flink.conftest import evaluate_corpus, traffic_rules
from tests.flink.install import PROJECT
from tests.flink.rest import Vertex
from tests.runs import Run, evaluate, write_lines
from tests.transforms.test_counters import metric_names, metrics_of

COUNT = 60_000
"""As many samples make a file that several workers read in parts."""
MANY_BLOCKS = 200
MANY_SLICES = 1000
COUNT_OF_SLICED = 10_000
ROWS_PER_GROUP = 4000
SHIPPED = [name for name in benchmark_names() if name != "toy"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The large corpus, evaluated on this machine."""
    return evaluate_corpus(tmp_path_factory.mktemp("here"), traffic_rules(COUNT), "--processes", "2")


def here_and_there(
    cluster: FlinkCluster, folder: Path, sides: tuple[Path, Path], column: str, benchmark: str
) -> tuple[Run, Run]:
    """Evaluates in this process and on the cluster, which give the same bytes."""
    here = evaluate(folder / "here", *sides, "--slice", column, config=benchmark)
    there = evaluate(folder / "there", *sides, "--slice", column, *cluster.options(), config=benchmark)
    assert (there.code, there.stderr) == (here.code, here.stderr) == (0, "")
    assert there.bytes() == here.bytes()
    return here, there


def assert_work_was_shared(vertices: Iterable[Vertex]) -> None:
    """Each vertex that moves more than a few blocks of records moves them in both of its subtasks.

    The few samples that report.html shows are grouped by few keys.
    """
    vertices = list(vertices)
    assert {vertex.parallelism for vertex in vertices} == {2}
    busy = [vertex for vertex in vertices if vertex.records > MANY_BLOCKS and "Pick/Once" not in vertex.name]
    shares = {vertex.name: vertex.least_share() for vertex in busy}
    assert {name: share for name, share in shares.items() if share < 0.3} == {}
    reading = [vertex.least_share() for vertex in vertices if "{Read," in vertex.name]
    assert reading, "a stage that reads has the name of the step"
    assert min(reading) >= 0.3


def assert_records_travel_compressed(vertices: Iterable[Vertex], corpus: Corpus) -> None:
    """What groupings move is a small part of the input, and the most of what vertices read never leaves its subtask."""
    vertices = list(vertices)
    grouped = sum(vertex.bytes_read for vertex in vertices if vertex.regroups)
    assert 0 < grouped < corpus.bytes / 4
    assert grouped < sum(vertex.bytes_read for vertex in vertices) / 2


def assert_each_sample_has_one_row(run: Run, count: int) -> None:
    ids = [row["sample_id"] for row in run.samples]
    assert (len(ids), len(set(ids))) == (count, count)


@pytest.mark.parametrize("benchmark", SHIPPED)
def test_sample_corpora_give_the_same_bytes(
    cluster: FlinkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str
) -> None:
    """The paths are given from the current folder, which is not that of the workers."""
    monkeypatch.chdir(tmp_path)
    corpus = Path(os.path.relpath(PROJECT / "tests" / "corpora" / benchmark))
    sides = corpus / "ground_truth.jsonl", corpus / "predictions.jsonl"
    here, there = here_and_there(cluster, Path(), sides, "source", benchmark)
    assert there.samples == here.samples


def test_the_metrics_are_reported_there_too(cluster: FlinkCluster, tmp_path: Path) -> None:
    corpus = PROJECT / "tests" / "corpora" / "formula"
    truths, predictions = corpus / "ground_truth.jsonl", corpus / "predictions.jsonl"
    metrics = metrics_of("formula", truths, predictions, tmp_path, *cluster.options())
    lines = [line for path in (truths, predictions) for line in path.read_bytes().splitlines()]
    assert metrics["records_read"] == len(lines)
    assert metrics["tex_microseconds"].sum > 0
    assert {"samples_scored", "batch_size", "sample_microseconds"} <= set(metrics) <= metric_names(["tex"])


def test_the_figures_of_many_slices_are_more_than_a_shuffle_sorts_at_once(
    cluster: FlinkCluster, tmp_path: Path
) -> None:
    """A thousand slices with 200 replicates each: under one key they would be one record of Flink's, too large."""
    corpus = traffic_rules(COUNT_OF_SLICED)
    records = [json.loads(line) for line in corpus.ground_truth.read_bytes().splitlines()]
    sliced = [{**record, "many": index % MANY_SLICES} for index, record in enumerate(records)]
    truths = write_lines(tmp_path / "truths.jsonl", sliced)
    _, there = here_and_there(cluster, tmp_path, (truths, corpus.predictions), "many", "traffic_rules")
    assert len(there.summary["systems"]["predictions"]["slices"]) == MANY_SLICES


def test_a_large_corpus_in_one_file_is_shared_and_gives_the_same_bytes(
    cluster: FlinkCluster, here: Run, tmp_path: Path
) -> None:
    there = evaluate_corpus(tmp_path, traffic_rules(COUNT), *cluster.options())
    assert there.bytes() == here.bytes()
    assert_each_sample_has_one_row(there, COUNT)
    vertices = cluster.rest.vertices(next(iter(cluster.rest.jobs())))
    assert_work_was_shared(vertices)
    assert_records_travel_compressed(vertices, traffic_rules(COUNT))


def test_so_does_one_file_of_parquet(cluster: FlinkCluster, here: Run, tmp_path: Path) -> None:
    corpus = traffic_rules(COUNT)
    truth = to_parquet(corpus.ground_truth, tmp_path / "truth.parquet")
    predictions = to_parquet(corpus.predictions, tmp_path / "predictions.parquet")
    there = evaluate_corpus(tmp_path / "out", Corpus(COUNT, truth, predictions), *cluster.options())
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
    assert_work_was_shared(cluster.rest.vertices(next(iter(cluster.rest.jobs()))))


def to_parquet(lines: Path, path: Path) -> Path:
    """Writes JSONL as one file of Parquet, the rules as JSON text."""
    records = [json.loads(line) for line in lines.read_bytes().splitlines()]
    columns = {
        name: [json.dumps(record[name]) if name == "rules" else record[name] for record in records]
        for name in records[0]
    }
    schema = pa.schema([(name, pa.list_(pa.string()) if name == "tags" else pa.string()) for name in columns])
    pq.write_table(pa.table(columns, schema=schema), path, row_group_size=ROWS_PER_GROUP)
    return path
