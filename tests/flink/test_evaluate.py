"""Evaluations on Flink: the bits of the in-process runner, and the work on all TaskManagers, of which some are lost."""

import gzip
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.metrics.registry import benchmark_names
from tests.bench.corpus import Corpus, generated
from tests.flink.cluster import FlinkCluster
from tests.flink.conftest import evaluate_well, sides_of
from tests.flink.install import PROJECT
from tests.runs import RESULT_NAMES, Run, evaluate, without_progress, write_lines
from tests.servers import wait_until
from tests.transforms.test_counters import metric_names, metrics_of

COUNT = 60_000
"""As many samples make a file that several workers read in parts."""
FEWER = 20_000
"""As many samples take long enough to be stopped midway."""
MANY_BLOCKS = 200
MANY_SLICES = 1000
COUNT_OF_SLICED = 10_000
ROWS_PER_GROUP = 4000
SLICES = ("--slice", "source", "--slice", "tags")
STAGED = ".runs/*/samples/*.parquet"
SECONDS = 240
SHIPPED = [name for name in benchmark_names() if name != "toy"]


def evaluate_corpus(output: Path, corpus: Corpus, *more: str) -> Run:
    return evaluate_well(output, "traffic_rules", (corpus.ground_truth, corpus.predictions), *SLICES, *more)


def here_and_there(
    cluster: FlinkCluster, folder: Path, sides: tuple[Path, Path], column: str, benchmark: str
) -> tuple[Run, Run]:
    """Evaluates in this process and on the cluster, which give the same bytes."""
    here = evaluate_well(folder / "here", benchmark, sides, "--slice", column)
    there = evaluate_well(folder / "there", benchmark, sides, "--slice", column, *cluster.options())
    assert there.bytes() == here.bytes()
    return here, there


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


def test_figures_of_many_slices_are_more_than_a_shuffle_sorts_at_once(cluster: FlinkCluster, tmp_path: Path) -> None:
    """A thousand slices with 200 replicates each: under one key they would be one record of Flink's, too large."""
    corpus = generated("traffic_rules", COUNT_OF_SLICED)
    records = [json.loads(line) for line in corpus.ground_truth.read_bytes().splitlines()]
    sliced = [{**record, "many": index % MANY_SLICES} for index, record in enumerate(records)]
    truths = write_lines(tmp_path / "truths.jsonl", sliced)
    _, there = here_and_there(cluster, tmp_path, (truths, corpus.predictions), "many", "traffic_rules")
    assert len(there.summary["systems"]["predictions"]["slices"]) == MANY_SLICES


def test_one_large_file_a_side_is_shared_and_gives_the_same_result(cluster: FlinkCluster, tmp_path: Path) -> None:
    """The ground truth is JSONL, the predictions are Parquet: the rules are JSON text."""
    corpus, table = generated("traffic_rules", COUNT), tmp_path / "predictions.parquet"
    here = evaluate_corpus(tmp_path / "here", corpus, "--processes", "2")
    records = [json.loads(line) for line in corpus.predictions.read_bytes().splitlines()]
    texts = [{"sample_id": each["sample_id"], "rules": json.dumps(each["rules"])} for each in records]
    pq.write_table(pa.Table.from_pylist(texts), table, row_group_size=ROWS_PER_GROUP)
    there = evaluate_corpus(tmp_path / "there", Corpus(COUNT, corpus.ground_truth, table), *cluster.options())
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
    assert_each_sample_has_one_row(there, COUNT)
    vertices = cluster.vertices()
    assert {len(vertex.moved) for vertex in vertices} == {2}
    # Each vertex that moves more than a few blocks of records moves them in both of its subtasks. The few samples that
    # report.html shows are grouped by few keys.
    busy = [vertex for vertex in vertices if sum(vertex.moved) > MANY_BLOCKS and "Pick/Once" not in vertex.name]
    shares = {vertex.name: vertex.least_share() for vertex in busy}
    assert {name: share for name, share in shares.items() if share < 0.3} == {}
    reading = [vertex.least_share() for vertex in vertices if "{Read," in vertex.name]
    assert reading, "a stage that reads has the name of the step"
    assert min(reading) >= 0.3
    # What groupings move is a small part of the input, and the most of what vertices read never leaves its subtask.
    grouped = sum(vertex.bytes_read for vertex in vertices if vertex.regroups)
    assert 0 < grouped < corpus.bytes / 4
    assert grouped < sum(vertex.bytes_read for vertex in vertices) / 2


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The corpus that is stopped midway, evaluated in this process."""
    return evaluate_corpus(tmp_path_factory.mktemp("here"), generated("traffic_rules", FEWER))


@contextmanager
def evaluation(cluster: FlinkCluster, output: Path, moment: Callable[[], bool], *more: str) -> Iterator[Popen[str]]:
    """Evaluates the corpus on the cluster by a command, which runs until its block ends, from the `moment` on."""
    corpus = generated("traffic_rules", FEWER)
    command = [
        *(sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *SLICES, *more),
        *(f"--output={output}", f"--ground-truth={corpus.ground_truth}", f"--predictions={corpus.predictions}"),
    ]
    with Popen([*command, *cluster.options()], stdout=PIPE, stderr=PIPE, cwd=PROJECT, text=True) as process:
        while not moment():
            assert process.poll() is None, "it ended before the moment"
        yield process


@contextmanager
def evaluate_with_a_fault(
    cluster: FlinkCluster, here: Run, output: Path, moment: Callable[[], bool], victims: int
) -> Iterator[None]:
    """Kills TaskManagers as soon as it is the `moment`, and starts as many new ones after the block."""
    with evaluation(cluster, output, moment) as process:
        cluster.kill_task_managers(victims)
        yield
        for _ in range(victims):
            cluster.start_task_manager()
        stdout, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, stderr
    run = Run(0, stdout, stderr, output)
    assert max(vertex.attempts for vertex in cluster.vertices()) > 1
    assert run.bytes() == here.bytes()
    assert_each_sample_has_one_row(run, FEWER)
    assert {path.name for path in output.iterdir()} == RESULT_NAMES


def test_a_task_manager_is_lost_while_samples_are_written(cluster: FlinkCluster, here: Run, tmp_path: Path) -> None:
    left_behind: set[str] = set()

    def rows_are_being_written() -> bool:
        time.sleep(0.2)
        begun = [path for path in tmp_path.glob(STAGED) if path.stat().st_size > 100_000]
        left_behind.update(path.name for path in begun)
        return len(begun) == 2

    with evaluate_with_a_fault(cluster, here, tmp_path, rows_are_being_written, victims=1):
        pass
    assert left_behind.isdisjoint(path.name for path in tmp_path.glob("samples/*"))


@pytest.mark.parametrize("known", [True, False])
def test_an_interrupted_evaluation_publishes_nothing(cluster: FlinkCluster, tmp_path: Path, known: bool) -> None:
    """Where the command knows the cluster, it cancels the job there too."""
    earlier = set(cluster.jobs())

    def state() -> str:
        time.sleep(0.2)
        return next((state for job, state in cluster.jobs().items() if job not in earlier), "")

    master = [f"--flink_master={cluster.master}"] if known else []
    with evaluation(cluster, tmp_path, lambda: state() == "RUNNING", *master) as process:
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=SECONDS)
    assert (process.returncode, stdout, without_progress(stderr)) == (130, "", "beamscore: interrupted\n")
    wait_until(lambda: state() in ("CANCELED", "FINISHED", "FAILED"), SECONDS)
    assert state() == ("CANCELED" if known else "FINISHED")
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_an_input_that_cannot_be_read_is_told_in_one_line(cluster: FlinkCluster, tmp_path: Path) -> None:
    """Flink tries again first, as it cannot tell such a fault from others."""
    broken = tmp_path / "truth.jsonl.gz"
    broken.write_bytes(gzip.compress(b'{"sample_id": "a"}\n' * 1000)[:-20])
    _, predictions = sides_of("traffic_rules")
    run = evaluate(tmp_path / "out", broken, predictions, *cluster.options(), config="traffic_rules")
    assert (run.code, run.stdout) == (2, "")
    assert run.stderr.startswith(f"beamscore: {broken}: cannot be read as jsonl: ")
    assert run.stderr.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_all_task_managers_are_lost_while_it_publishes(cluster: FlinkCluster, here: Run, tmp_path: Path) -> None:
    obstacle = tmp_path / "run.json"

    def it_is_publishing() -> bool:
        time.sleep(0.01)
        if not obstacle.exists() and any(tmp_path.glob(STAGED)):
            # A pipe that nobody writes to: whoever reads it waits, so nothing is published before the fault.
            os.mkfifo(obstacle)
        return any(tmp_path.glob(".runs/*/run.json"))

    with evaluate_with_a_fault(cluster, here, tmp_path, it_is_publishing, victims=2):
        obstacle.unlink()
