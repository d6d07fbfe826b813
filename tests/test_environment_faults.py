"""A fault of the machine is never one of the data: every benchmark, in the pipeline and in the Python API."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from apache_beam.pvalue import TaggedOutput

import beamscore
from beamscore.metrics.benchmark import ENVIRONMENT_FAULTS, MissingTool, Pair
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.api import workers
from beamscore.transforms.evaluate import ScoreBatch
from beamscore.transforms.records import GROUND_TRUTH, InputProblem, Quarantined
from beamscore.transforms.scored import PairedSample, ScoringPlan
from tests import toy
from tests.runs import evaluate, write_lines
from tests.transforms.samples import encoded

CORPORA = Path(__file__).parent / "corpora"
OF_THE_MACHINE: list[Exception] = [
    *(OSError(number, os.strerror(number)) for number in (errno.ENOSPC, errno.EACCES)),
    *(MemoryError(), MissingTool("install it"), BrokenProcessPool("a process died")),
    *(subprocess.TimeoutExpired("latex", 5), ModuleNotFoundError("no module")),
]
OF_A_RECORD = [RecursionError("deep"), ValueError("bad"), KeyError("absent"), RuntimeError("odd"), ZeroDivisionError()]
SAMPLES = 5


def first_records(name: str, side: str) -> list[dict[str, Any]]:
    if name == "toy":
        pairs = [toy.sample(index, 0) for index in range(SAMPLES)]
        return [each for each in (pair[side == "predictions"] for pair in pairs) if each]
    return [json.loads(line) for line in (CORPORA / name / f"{side}.jsonl").read_text().splitlines()[:SAMPLES]]


@dataclass
class Victim:
    """The sample whose scoring raises the error, alone and in a batch, as soon as there is one."""

    sample_id: str
    error: Exception | None = None


@pytest.fixture(params=benchmark_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def victim(name: str, monkeypatch: pytest.MonkeyPatch) -> Victim:
    kind, found = benchmark_class(name), Victim(first_records(name, "ground_truth")[1]["sample_id"])
    score = kind.score

    def scored(benchmark: Any, pairs: Sequence[Pair[Any, Any]]) -> Any:
        if found.error is not None and any(pair.sample_id == found.sample_id for pair in pairs):
            raise found.error
        return score(benchmark, pairs)

    monkeypatch.setattr(kind, "score", scored)
    return found


def test_the_python_api_raises_the_fault_and_keeps_nothing(name: str, victim: Victim) -> None:
    truths, predictions = (first_records(name, side) for side in ("ground_truth", "predictions"))
    with beamscore.Scorer(name, replicates=0) as scorer:
        scorer.update(truths, predictions)
        clean = rows(scorer)
        for error in OF_THE_MACHINE:
            scorer.reset()
            victim.error = error
            with pytest.raises(type(error)):
                scorer.update(truths, predictions)
            victim.error = None
            assert repr(scorer) == f"Scorer({name}: 0 samples)"
            scorer.update(truths, predictions)
            assert rows(scorer) == clean
        for error in OF_A_RECORD:
            scorer.reset()
            victim.error = error
            scorer.update(truths, predictions)
            assert victim.sample_id in {each.sample_id for each in scorer.compute().rejected}
            found = rows(scorer)
            assert found.pop(victim.sample_id)["status"] == "rejected"
            assert found == {sample_id: row for sample_id, row in clean.items() if sample_id != victim.sample_id}


def rows(scorer: beamscore.Scorer) -> dict[str, Any]:
    return {row["sample_id"]: row for row in scorer.compute().samples.to_pylist()}


def paired(truths: Sequence[dict[str, Any]], predictions: Sequence[dict[str, Any]]) -> Iterator[PairedSample]:
    given = {each["sample_id"]: encoded(text=each) for each in predictions}
    for truth in truths:
        yield PairedSample(truth["sample_id"], encoded(GROUND_TRUTH, truth), (given.get(truth["sample_id"]),))


def test_the_pipeline_ends_the_bundle_for_the_machine_and_rejects_for_a_record(name: str, victim: Victim) -> None:
    samples = list(paired(first_records(name, "ground_truth"), first_records(name, "predictions")))
    do_fn = ScoreBatch(ScoringPlan(benchmark_class(name)(benchmark_class(name).options_type()), "wrong", ("system",)))
    do_fn.setup()
    try:
        for error in [*OF_THE_MACHINE, *OF_A_RECORD]:
            victim.error = error
            do_fn.start_bundle()
            if isinstance(error, ENVIRONMENT_FAULTS):
                with pytest.raises(InputProblem):
                    list(do_fn.process(samples))
                continue
            found = list(do_fn.process(samples))
            entries = [each.value for each in found if isinstance(each, TaggedOutput)]
            assert {entry.sample_id for entry in entries if isinstance(entry, Quarantined)} == {victim.sample_id}
    finally:
        do_fn.teardown()


@pytest.mark.parametrize("name", ["toy"])
def test_a_run_says_in_one_line_that_the_machine_failed(victim: Victim, tmp_path: Path) -> None:
    sides = ("ground_truth", "predictions")
    files = [write_lines(tmp_path / f"{side}.jsonl", first_records("toy", side)) for side in sides]
    victim.error = OF_THE_MACHINE[0]
    run = evaluate(tmp_path / "run", files[0], files[1])
    assert run.code == 2
    line = "scoring failed because of this machine, not of a record: OSError: [Errno 28] No space left on device"
    assert f"{line}; fix that and run again\n" in run.stderr
    assert not (run.output / "summary.json").exists()
    with pytest.raises(OSError, match="scoring failed because of this machine"):
        beamscore.evaluate("toy", str(files[0]), str(files[1]))


def test_a_worker_of_the_python_api_hands_the_fault_over(tmp_path: Path) -> None:
    """The worker imports the benchmark anew, so the fault is one that a record makes it raise there."""
    with pytest.raises(OSError, match="No space left"):
        beamscore.evaluate("toy", [{"sample_id": "a", "text": "disk is full"}], [], processes=2)
    with pytest.raises(BrokenProcessPool, match="a worker process ended early with exit code 7"):
        beamscore.evaluate("toy", [{"sample_id": "a", "text": "process ends"}], [], processes=2)


def test_workers_of_the_python_api_end_with_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Mock()
    monkeypatch.setattr(workers, "MIN_PAIRS", 1)
    monkeypatch.setattr(workers, "_started", lambda: contextlib.nullcontext(worker))
    monkeypatch.setattr(workers, "_ask", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        beamscore.evaluate("toy", [{"sample_id": name, "text": ""} for name in "abc"], [], processes=2)
    assert worker.terminate.call_count == 2


def test_a_worker_process_that_ends_ends_the_run(tmp_path: Path) -> None:
    """Beam's runner would wait for it for ever."""
    truths = write_lines(tmp_path / "t.jsonl", [{"sample_id": "a", "text": "process ends"}])
    run = evaluate(tmp_path / "run", truths, truths, "--processes", "2")
    assert (run.code, run.stdout) == (2, "")
    assert run.stderr == (
        "beamscore: the run failed because of this machine, not of a record: a worker process ended early with exit "
        "code 7; the system may have ended it for lack of memory: use fewer processes, or more memory, and run again\n"
    )
    assert list(run.output.iterdir()) == []
