"""Worker processes that score batches for the Python API.

They are started as programs of their own, not forked or spawned: a notebook or training loop need not be importable,
and its threads and devices are not copied.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import IO, Any

from ...metrics.benchmark import Benchmark, Pair
from ...metrics.scoring import Missing, Outcome, score_pairs

PAIRS_PER_TASK = 64

Task = Sequence[Pair[Any, Any]]


def score_in_processes(
    benchmark: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]], missing: Missing, processes: int
) -> list[Outcome]:
    """Returns the outcome of each pair, in order, as `metrics.scoring.score_pairs` does, from several processes.

    Raises what `score_pairs` raises, and BrokenProcessPool where a process ends early.
    """
    size = max(PAIRS_PER_TASK, benchmark.batch_size)
    tasks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    if not tasks:
        return []
    with contextlib.ExitStack() as stack:
        count = min(processes, len(tasks))
        workers = [stack.enter_context(_worker(benchmark, missing)) for _ in range(count)]
        idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for each in workers:
            idle.put(each)

        def score(task: Task) -> list[Outcome]:
            worker = idle.get()
            try:
                return _ask(worker, task)
            finally:
                idle.put(worker)

        threads = ThreadPoolExecutor(count)
        try:
            return [outcome for outcomes in threads.map(score, tasks) for outcome in outcomes]
        except BaseException:
            # Nobody waits for what they are doing, least of all after Ctrl-C.
            for each in workers:
                each.terminate()
            raise
        finally:
            threads.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _worker(benchmark: Benchmark[Any, Any, Any], missing: Missing) -> Iterator[subprocess.Popen[bytes]]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from beamscore.pipelines.api.workers import serve; serve()"
    # Ctrl-C reaches every process of a terminal, but not one of a session of its own: this process ends its workers.
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as worker:
        try:
            with contextlib.suppress(BrokenPipeError):
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
        answer: list[Outcome] | Exception = pickle.load(_pipe(worker.stdout))
    except (OSError, EOFError, pickle.UnpicklingError) as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(timeout=1)
        raise BrokenProcessPool(f"a worker process ended early with exit code {worker.poll()}") from error
    if isinstance(answer, Exception):
        raise answer
    return answer


def _problem_of(call: Callable[[], None]) -> Exception | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whoever gives a task gets it
        return error
    return None


def _answer(benchmark: Benchmark[Any, Any, Any], task: Task, missing: Missing) -> list[Outcome] | Exception:
    try:
        return score_pairs(benchmark, task, missing)
    except Exception as error:  # noqa: BLE001 - whoever gave the task gets it
        return error


def serve() -> None:
    """Scores the tasks that come in on standard input, until it ends; answers with an error where one fails."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    # Whatever a benchmark prints must not get between the results.
    sys.stdout = sys.stderr
    # What the benchmark has made is removed then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    benchmark, missing = pickle.load(tasks)
    problem = _problem_of(benchmark.setup)
    try:
        while True:
            try:
                task = pickle.load(tasks)
            except EOFError:
                return
            _send(results, problem or _answer(benchmark, task, missing))
    finally:
        benchmark.teardown()
