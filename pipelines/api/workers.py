"""Worker processes that score for the Python API.

They are started as programs of their own, not forked or spawned: a notebook or training loop need not be importable,
and its threads and devices are not copied.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ...metrics.benchmark import Benchmark, Pair
from ...metrics.scoring import Missing, Outcome, score_pairs

PAIRS_PER_TASK = 64

Pairs = Sequence[Pair[Any, Any]]


def score_in_processes(
    benchmark: Benchmark[Any, Any, Any], pairs: Pairs, missing: Missing, processes: int
) -> list[Outcome]:
    """Returns the outcome of each pair, in order, as `metrics.scoring.score_pairs` does, from several processes.

    Raises what `score_pairs` raises, and BrokenProcessPool where a process ends early.
    """
    size = max(PAIRS_PER_TASK, benchmark.batch_size)
    tasks = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    count = min(processes, len(tasks))
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(_started()) for _ in range(count)]
        threads = stack.enter_context(ThreadPoolExecutor(max(1, count)))
        try:
            messages = [
                pickle.dumps((benchmark, missing, tasks[n::count], os.getpid()), protocol=5) for n in range(count)
            ]
            answers = [threads.submit(_ask, *each) for each in zip(workers, messages, strict=True)]
            for done in wait(answers, return_when=FIRST_EXCEPTION).done:
                done.result()
        except BaseException:
            # Nobody waits for what they are doing, least of all after Ctrl-C.
            for worker in workers:
                worker.terminate()
            for worker in workers:
                try:
                    worker.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    worker.kill()
            raise
        shares = [iter(each.result()) for each in answers]
        return [outcome for number in range(len(tasks)) for outcome in next(shares[number % count])]


def _started() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from beamscore.pipelines.api.workers import serve; serve()"
    # Ctrl-C reaches every process of a terminal, but not one of a session of its own: this process ends its workers.
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def _ask(worker: subprocess.Popen[bytes], message: bytes) -> list[list[Outcome]]:
    content, _ = worker.communicate(message)
    if worker.returncode:
        raise BrokenProcessPool(f"a worker process ended early with exit code {worker.returncode}")
    answer: list[list[Outcome]] | Exception = pickle.loads(content)
    if isinstance(answer, Exception):
        raise answer
    return answer


def serve() -> None:
    """Scores the tasks on standard input, and writes the outcomes of each, or the error of one, on standard output."""
    results = sys.stdout.buffer
    # Whatever a benchmark prints must not get between the results.
    sys.stdout = sys.stderr
    # What the benchmark has made is removed then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    benchmark, missing, tasks, parent = pickle.load(sys.stdin.buffer)
    try:
        benchmark.setup()
        try:
            answer: list[list[Outcome]] | Exception = [_scored(benchmark, task, missing, parent) for task in tasks]
        finally:
            benchmark.teardown()
    except Exception as error:  # noqa: BLE001 - whoever gave the tasks gets it
        answer = error
    pickle.dump(answer, results, protocol=5)
    results.flush()


def _scored(benchmark: Benchmark[Any, Any, Any], task: Pairs, missing: Missing, parent: int) -> list[Outcome]:
    if os.getppid() != parent:
        sys.exit("whoever gave the tasks is gone")
    return score_pairs(benchmark, task, missing)
