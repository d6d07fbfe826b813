"""TaskManagers that are lost in the middle of an evaluation: the result is the same, with each sample once."""

from __future__ import annotations

import gzip
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from tests.flink.cluster import FlinkCluster
from tests.flink.conftest import SLICES, evaluate_corpus, sides_of, traffic_rules
from tests.flink.install import PROJECT
from tests.flink.test_evaluate import assert_each_sample_has_one_row
from tests.runs import RESULT_NAMES, Run, evaluate, without_progress

STAGED = ".runs/*/samples/*.parquet"
SECONDS = 240
COUNT = 20_000
"""As many samples take long enough to be stopped on the way."""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The corpus, evaluated in this process."""
    return evaluate_corpus(tmp_path_factory.mktemp("here"), traffic_rules(COUNT))


@contextmanager
def evaluation(cluster: FlinkCluster, output: Path, moment: Callable[[], bool], *more: str) -> Iterator[Popen[str]]:
    """Evaluates the corpus on the cluster by a command, which runs until its block ends, from the `moment` on."""
    corpus = traffic_rules(COUNT)
    command = [
        *(sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "traffic_rules", *SLICES, *more),
        *(f"--output={output}", f"--ground-truth={corpus.ground_truth}", f"--predictions={corpus.predictions}"),
    ]
    with Popen([*command, *cluster.options()], stdout=PIPE, stderr=PIPE, cwd=PROJECT, text=True) as process:
        while not moment():
            assert process.poll() is None, "it ended before the moment"
        yield process


def evaluate_with_a_fault(
    cluster: FlinkCluster,
    output: Path,
    moment: Callable[[], bool],
    victims: int,
    between: Callable[[], None] = lambda: None,
) -> Run:
    """Kills TaskManagers as soon as it is the `moment`, and starts as many new ones; calls `between` in between."""
    with evaluation(cluster, output, moment) as process:
        cluster.kill_task_managers(victims)
        between()
        for _ in range(victims):
            cluster.start_task_manager()
        stdout, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, stderr
    return Run(0, stdout, stderr, output)


def assert_recovered(cluster: FlinkCluster, run: Run, here: Run) -> None:
    assert max(vertex.attempts for vertex in cluster.vertices()) > 1
    assert run.bytes() == here.bytes()
    assert_each_sample_has_one_row(run, COUNT)
    assert {path.name for path in run.output.iterdir()} == RESULT_NAMES


def test_a_task_manager_is_lost_while_samples_are_scored_and_written(
    cluster: FlinkCluster, here: Run, tmp_path: Path
) -> None:
    left_behind: set[str] = set()

    def rows_are_being_written() -> bool:
        time.sleep(0.2)
        begun = [path for path in tmp_path.glob(STAGED) if path.stat().st_size > 100_000]
        left_behind.update(path.name for path in begun)
        return len(begun) == 2

    run = evaluate_with_a_fault(cluster, tmp_path, rows_are_being_written, victims=1)
    assert_recovered(cluster, run, here)
    assert left_behind.isdisjoint(path.name for path in tmp_path.glob("samples/*"))


@pytest.mark.parametrize("known", [True, False])
def test_an_evaluation_that_is_interrupted_publishes_nothing(
    cluster: FlinkCluster, tmp_path: Path, known: bool
) -> None:
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
    deadline = time.monotonic() + SECONDS
    while (ended := state()) not in ("CANCELED", "FINISHED", "FAILED"):
        assert time.monotonic() < deadline
    assert ended == ("CANCELED" if known else "FINISHED")
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


def test_all_task_managers_are_lost_while_the_result_is_published(
    cluster: FlinkCluster, here: Run, tmp_path: Path
) -> None:
    obstacle = tmp_path / "run.json"

    def it_is_publishing() -> bool:
        time.sleep(0.01)
        if not obstacle.exists() and any(tmp_path.glob(STAGED)):
            # A pipe that nobody writes to: whoever reads it waits, so nothing is published before the fault.
            os.mkfifo(obstacle)
        return any(tmp_path.glob(".runs/*/run.json"))

    run = evaluate_with_a_fault(cluster, tmp_path, it_is_publishing, victims=2, between=obstacle.unlink)
    assert_recovered(cluster, run, here)
