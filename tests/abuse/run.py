"""One worst case among ordinary samples, scored in a process of its own: `python -m tests.abuse.run JOB`."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore, explain
from beamscore.metrics.statistics.bootstrap import check_statistics
from beamscore.pipelines.config.settings import LimitSettings
from beamscore.transforms.io.readers import deeper_than
from beamscore.transforms.process import gc_paused, one_blas_thread
from tests.abuse.case import Case
from tests.bench.measure import processor_seconds
from tests.plain_loop import comparable, make_benchmark

MAX_SECONDS = 5.0
MAX_BYTES = 1 << 30
FAILED = "failed: "
"""A verdict that starts so ends `make abuse` with 1, whatever it cost."""

_TIMEOUT_S = 60
_ADDRESS_SPACE = 8 << 30
"""Enough to see by how much a case is above MAX_BYTES, and too little to harm the machine."""

_Result = SampleScore | RejectedRecord


class Outcome(msgspec.Struct):
    """What a case cost and how it ended: processor seconds of the process and its children, peak memory, in words."""

    seconds: float
    peak_bytes: int
    verdict: str

    @property
    def failed(self) -> bool:
        """Tells whether the case is above a limit or did harm."""
        return self.seconds > MAX_SECONDS or self.peak_bytes > MAX_BYTES or self.verdict.startswith(FAILED)


class Job(msgspec.Struct):
    """A case with its neighbours, all records as JSON text: what the process of its own reads."""

    benchmark: str
    options: dict[str, Any]
    truth: str
    prediction: str | None
    neighbours: list[tuple[str, str | None]]


def run_case(
    benchmark: str,
    options: dict[str, Any],
    case: Case,
    neighbours: Sequence[tuple[dict[str, Any], dict[str, Any] | None]],
) -> Outcome:
    """Scores `case` in the midst of its neighbours in a fresh process, so that peak memory is its own."""
    job = Job(
        benchmark,
        options,
        _text({"sample_id": "worst case", **case.truth}),
        None if case.prediction is None else _text({"sample_id": "worst case", **case.prediction}),
        [(_text(truth), None if prediction is None else _text(prediction)) for truth, prediction in neighbours],
    )
    limit = LimitSettings().record_bytes
    largest = max(len(text.encode()) for text in (job.truth, job.prediction or ""))
    if largest > limit:
        return Outcome(0.0, 0, f"{FAILED}no case: a record of {largest} bytes is never scored, at most {limit}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        path.write_bytes(msgspec.json.encode(job))
        del job
        return _in_a_process(path)


def _text(record: dict[str, Any]) -> str:
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can only escape
        return json.dumps(record, separators=(",", ":"))
    return text


def _in_a_process(path: Path) -> Outcome:
    command = [sys.executable, "-m", "tests.abuse.run", str(path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        stdout, stderr = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(float(_TIMEOUT_S), 0, f"{FAILED}killed after {_TIMEOUT_S} s")
    if process.returncode:
        return Outcome(0.0, 0, f"{FAILED}the process exited with code {process.returncode}: {stderr[-300:].strip()}")
    return msgspec.json.decode(stdout.splitlines()[-1], type=Outcome)


def score_job(job: Job) -> Outcome:
    """Scores the neighbours alone, then with the case in their midst, which is what is measured."""
    benchmark = make_benchmark(job.benchmark, **job.options)
    with _set_up(benchmark):
        neighbours = [_decoded(benchmark, *texts, f"neighbour {n}") for n, texts in enumerate(job.neighbours)]
        alone = [comparable(result) for result in benchmark.score(neighbours)]
        middle = len(neighbours) // 2
        before = processor_seconds()
        try:
            among, verdict = _score_among(benchmark, job, neighbours[:middle], neighbours[middle:])
        except Exception as error:  # noqa: BLE001 - whatever a case does is a row of the table
            among, verdict = alone, f"{FAILED}{type(error).__name__}: {explain(error)}"
        seconds = processor_seconds() - before
    if among != alone:
        verdict = f"{FAILED}the results of its neighbours change ({verdict})"
    return Outcome(seconds, peak_bytes(), verdict)


@contextmanager
def _set_up(benchmark: Benchmark[Any, Any, Any]) -> Iterator[None]:
    benchmark.setup()
    try:
        yield
    finally:
        benchmark.teardown()


def _score_among(
    benchmark: Benchmark[Any, Any, Any], job: Job, before: list[Pair[Any, Any]], after: list[Pair[Any, Any]]
) -> tuple[list[bytes], str]:
    """Returns the neighbours' results as bytes, and how the case ended; a rejected prediction counts as missing."""
    try:
        pair = _decoded(benchmark, job.truth, job.prediction, "worst case")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return [comparable(result) for result in benchmark.score([*before, *after])], f"rejected: {explain(error)}"
    results = benchmark.score([*before, pair, *after])
    result = results.pop(len(before))
    verdict = _verdict(result)
    if isinstance(result, RejectedRecord) and result.side == "prediction" and pair.prediction is not None:
        [result] = benchmark.score([Pair(pair.sample_id, pair.truth, None)])
        verdict += f"; without a prediction: {_verdict(result)}"
    return [comparable(each) for each in results], verdict


def _decoded(benchmark: Benchmark[Any, Any, Any], truth: str, prediction: str | None, sample_id: str) -> Pair[Any, Any]:
    """Returns a pair as the pipeline makes it of two records; raises msgspec.MsgspecError where one is invalid."""
    depth = LimitSettings().depth
    for text in (truth, prediction or ""):
        if deeper_than(text.encode(), depth):
            raise msgspec.ValidationError(f"nested more than {depth} deep")
    with gc_paused():
        return Pair(
            sample_id,
            msgspec.json.decode(truth, type=benchmark.truth_type),
            None if prediction is None else msgspec.json.decode(prediction, type=benchmark.prediction_type),
        )


def _verdict(result: _Result) -> str:
    if isinstance(result, RejectedRecord):
        return f"rejected ({result.side}): {result.message}"
    check_statistics(result.statistics)
    return f"scored, {len(msgspec.json.encode(result.details))} bytes of details"


def peak_bytes() -> int:
    """Returns the most memory that this process or a child that has ended held at a time.

    The kernel's `ru_maxrss` of a process starts with what its parent held, unlike VmHWM.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    status = Path("/proc/self/status")
    if not status.exists():
        return max(children, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
    return max(children, int(line.split()[1]) * 1024)


def main() -> None:
    """Scores the job in the file that the command line names, and prints its Outcome."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    with one_blas_thread:
        outcome = score_job(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Job))
    print(msgspec.json.encode(outcome).decode())


if __name__ == "__main__":
    main()
