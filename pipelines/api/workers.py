"""Worker processes that score batches for the Python API.

They are started as programs of their own, not forked or spawned: a notebook or training loop need not be importable,
and its threads and devices are not copied.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from metrics.benchmark import Benchmark, Pair
from metrics.scoring import Missing, Outcome, score_pairs

PAIRS_PER_TASK = 64

Task = Sequence[Pair[Any, Any]]


def score_in_processes(
    benchmark: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]], missing: Missing, processes: int
) -> list[Outcome]:
    """Returns the outcome of each pair, in order, as `metrics.scoring.score_pairs` does, from several processes.

    Raises RuntimeError where a process ends early.
    """
    size = max(PAIRS_PER_TASK, benchmark.batch_size)
    tasks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    with contextlib.ExitStack() as stack:
        idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for _ in range(min(processes, len(tasks))):
            idle.put(stack.enter_context(_worker(benchmark, missing)))

        def score(task: Task) -> list[Outcome]:
            worker = idle.get()
            try:
                return _ask(worker, task)
            finally:
                idle.put(worker)

        with ThreadPoolExecutor(processes) as threads:
            return [outcome for outcomes in threads.map(score, tasks) for outcome in outcomes]


@contextlib.contextmanager
def _worker(benchmark: Benchmark[Any, Any, Any], missing: Missing) -> Iterator[subprocess.Popen[bytes]]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from pipelines.api.workers import serve; serve()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        try:
            _send(_pipe(worker.stdin), (benchmark, missing))
            yield worker
        finally:
            # Its input ends, and so does the worker; one that hangs is ended.
            with contextlib.suppress(OSError):
                _pipe(worker.stdin).close()
            try:
                worker.wait(timeout=10)
            except subprocess.TimeoutExpired:
                worker.kill()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("the worker has no pipe")
    return stream


def _send(stream: IO[bytes], message: Any) -> None:
    pickle.dump(message, stream, protocol=5)
    stream.flush()


def _ask(worker: subprocess.Popen[bytes], task: Task) -> list[Outcome]:
    try:
        _send(_pipe(worker.stdin), task)
        outcomes: list[Outcome] = pickle.load(_pipe(worker.stdout))
    except (OSError, EOFError) as error:
        raise RuntimeError(f"a worker process ended early with exit code {worker.poll()}") from error
    return outcomes


def serve() -> None:
    """Scores the tasks that come in on standard input, until it ends."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    # Whatever a benchmark prints must not get between the results.
    sys.stdout = sys.stderr
    benchmark, missing = pickle.load(tasks)
    benchmark.setup()
    try:
        while True:
            try:
                task = pickle.load(tasks)
            except EOFError:
                return
            _send(results, score_pairs(benchmark, task, missing))
    finally:
        benchmark.teardown()
