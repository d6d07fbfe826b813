"""Evaluations on Flink: the bits of the in-process runner, and the work on all TaskManagers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.metrics.registry import benchmark_names
from tests.bench.corpus import Corpus
from tests.flink.cluster import FlinkCluster, Vertex
from tests.flink.conftest import evaluate_corpus, evaluate_well, sides_of, traffic_rules
from tests.runs import Run, write_lines
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
    here = evaluate_well(folder / "here", benchmark, sides, "--slice", column)
    there = evaluate_well(folder / "there", benchmark, sides, "--slice", column, *cluster.options())
    assert there.bytes() == here.bytes()
    return here, there


def assert_work_was_shared(vertices: list[Vertex]) -> None:
    """Each vertex that moves more than a few blocks of records moves them in both of its subtasks.

    The few samples that report.html shows are grouped by few keys.
    """
    assert {len(vertex.moved) for vertex in vertices} == {2}
    busy = [vertex for vertex in vertices if sum(vertex.moved) > MANY_BLOCKS and "Pick/Once" not in vertex.name]
    shares = {vertex.name: vertex.least_share() for vertex in busy}
    assert {name: share for name, share in shares.items() if share < 0.3} == {}
    reading = [vertex.least_share() for vertex in vertices if "{Read," in vertex.name]
    assert reading, "a stage that reads has the name of the step"
    assert min(reading) >= 0.3


def assert_records_travel_compressed(vertices: list[Vertex], corpus: Corpus) -> None:
    """What groupings move is a small part of the input, and the most of what vertices read never leaves its subtask."""
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
    truths, predictions = (Path(os.path.relpath(path)) for path in sides_of(benchmark))
    here, there = here_and_there(cluster, Path(), (truths, predictions), "source", benchmark)
    assert there.samples == here.samples


def test_the_metrics_are_reported_there_too(cluster: FlinkCluster, tmp_path: Path) -> None:
    sides = sides_of("formula")
    metrics = metrics_of("formula", *sides, tmp_path, *cluster.options())
    assert metrics["records_read"] == sum(len(path.read_bytes().splitlines()) for path in sides)
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
    vertices = cluster.vertices()
    assert_work_was_shared(vertices)
    assert_records_travel_compressed(vertices, traffic_rules(COUNT))


def test_so_does_one_file_of_parquet(cluster: FlinkCluster, here: Run, tmp_path: Path) -> None:
    corpus = traffic_rules(COUNT)
    truth = to_parquet(corpus.ground_truth, tmp_path / "truth.parquet")
    predictions = to_parquet(corpus.predictions, tmp_path / "predictions.parquet")
    there = evaluate_corpus(tmp_path / "out", Corpus(COUNT, truth, predictions), *cluster.options())
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
    assert_work_was_shared(cluster.vertices())


def to_parquet(lines: Path, path: Path) -> Path:
    """Writes JSONL as one file of Parquet, the rules as JSON text."""
    records = [json.loads(line) for line in lines.read_bytes().splitlines()]
    texts = [{**record, "rules": json.dumps(record["rules"])} for record in records]
    schema = pa.schema([(name, pa.list_(pa.string()) if name == "tags" else pa.string()) for name in texts[0]])
    pq.write_table(pa.Table.from_pylist(texts, schema=schema), path, row_group_size=ROWS_PER_GROUP)
    return path
