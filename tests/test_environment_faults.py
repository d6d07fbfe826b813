"""A fault of the machine is never one of the data: every benchmark, in the pipeline and in the Python API."""

import contextlib
import errno
import multiprocessing
import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import beamscore
from beamscore.metrics.benchmark import MissingTool, Pair
from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.api import workers
from tests.attacks.corpora import BENCHMARKS, corpus
from tests.runs import evaluate, write_lines

OF_THE_MACHINE: list[Exception] = [
    *(OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EACCES)),
    *(MemoryError(), MissingTool("install it"), BrokenProcessPool("a process died"), multiprocessing.ProcessError()),
    *(subprocess.TimeoutExpired("latex", 5), ModuleNotFoundError("no module")),
]
OF_A_RECORD = [RecursionError("deep"), ValueError("bad"), KeyError("absent"), RuntimeError("odd"), ZeroDivisionError()]


def rows(scorer: beamscore.Scorer) -> dict[str, Any]:
    return {row["sample_id"]: row for row in scorer.compute().samples.to_pylist()}


@pytest.mark.filterwarnings("ignore:1 of . .* were rejected")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_fault_of_the_machine_is_raised_and_one_of_a_record_not(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scoring of one sample raises an error, alone and in a batch; the core of scoring is that of the pipeline."""
    truths, predictions = corpus(name, 5, 3)
    kind, victim, raised = benchmark_class(name), truths[1]["sample_id"], list[Exception]()
    score = kind.score

    def scored(benchmark: Any, pairs: Sequence[Pair[Any, Any]]) -> Any:
        if raised and victim in {pair.sample_id for pair in pairs}:
            raise raised[0]
        return score(benchmark, pairs)

    monkeypatch.setattr(kind, "score", scored)
    with beamscore.Scorer(name, replicates=0) as scorer:
        scorer.update(truths, predictions)
        clean = rows(scorer)
        assert clean[victim]["status"] == "scored"
        for error in OF_THE_MACHINE:
            scorer.reset()
            raised[:] = [error]
            with pytest.raises(type(error)):
                scorer.update(truths, predictions)
            raised.clear()
            assert repr(scorer) == f"Scorer({name}: 0 samples)"
            scorer.update(truths, predictions)
            assert rows(scorer) == clean
        for error in OF_A_RECORD:
            scorer.reset()
            raised[:] = [error]
            scorer.update(truths, predictions)
            assert victim in {each.sample_id for each in scorer.compute().rejected}
            found = rows(scorer)
            assert found.pop(victim)["status"] == "rejected"
            assert found == {sample_id: row for sample_id, row in clean.items() if sample_id != victim}


FULL = "[Errno 28] No space left on device"
FULL_DISK = f"scoring failed because of this machine, not of a record: OSError: {FULL}; fix that and run again"
ENDED = (
    "the run failed because of this machine, not of a record: a worker process ended early with exit code {}; the "
    "system may have ended it for lack of memory: use fewer processes, or more memory, and run again"
)


@pytest.mark.parametrize(
    ("text", "processes", "said", "message"),
    [
        ("disk is full", 1, FULL_DISK, FULL),
        ("disk is full", 2, FULL_DISK, FULL),
        # Beam's runner would wait for the process for ever.
        ("process ends", 2, ENDED.format(7), "a worker process ended early with exit code 7"),
        # A worker of the Python API still runs the teardown of its benchmark.
        ("process is terminated", 2, ENDED.format(-15), "a worker process ended early with exit code 1"),
    ],
)
def test_a_run_says_in_one_line_that_the_machine_failed_and_the_python_api_raises_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, processes: int, said: str, message: str
) -> None:
    """A worker of the Python API imports the benchmark anew, so the fault is one that a record makes it raise there."""
    records = [{"sample_id": "a", "text": text}]
    truths = write_lines(tmp_path / "t.jsonl", records)
    run = evaluate(tmp_path / "run", truths, truths, f"--processes={processes}")
    assert (run.code, run.stdout, run.stderr) == (2, "", f"beamscore: {said}\n")
    # What the worker processes printed.
    assert "Traceback" not in capfd.readouterr().err
    assert list(run.output.iterdir()) == []
    with pytest.raises(OSError if message == FULL else BrokenProcessPool, match=f"^{re.escape(message)}$"):
        beamscore.evaluate("toy", records, [], processes=2)
    if processes == 1:
        with pytest.raises(OSError, match="scoring failed because of this machine"):
            beamscore.evaluate("toy", str(truths), str(truths))


def test_workers_of_the_python_api_end_with_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Mock()
    monkeypatch.setattr(workers, "MIN_PAIRS", 1)
    monkeypatch.setattr(workers, "_started", lambda: contextlib.nullcontext(worker))
    monkeypatch.setattr(workers, "_ask", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        beamscore.evaluate("toy", [{"sample_id": name, "text": ""} for name in "abc"], [], processes=2)
    assert worker.terminate.call_count == 2
