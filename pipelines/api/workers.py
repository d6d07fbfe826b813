"""Worker processes that score for the Python API.

They are started as separate programs, not forked or spawned: a notebook or training loop need not be importable, and
its threads and devices are not copied.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from ...metrics.benchmark import Benchmark, Pair
from ...metrics.scoring import Missing, Outcome, score_pairs

MIN_PAIRS = 64
"""The minimum number of pairs per process."""


def score_in_processes(
    benchmark: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]], missing: Missing, processes: int
) -> list[Outcome]:
    """Returns the outcome of each pair, in order, like `metrics.scoring.score_pairs`, but in several processes.

    Raises what `score_pairs` raises, and BrokenProcessPool if a process ends early.
    """
    count = max(1, min(processes, len(pairs) // MIN_PAIRS))
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(_started()) for _ in range(count)]
        threads = stack.enter_context(ThreadPoolExecutor(count))
        try:
            shares = [pickle.dumps((benchmark, missing, pairs[n::count]), protocol=5) for n in range(count)]
            outcomes = list(threads.map(_ask, workers, shares))
        except BaseException:
            # Their results are no longer needed, least of all after Ctrl-C.
            for worker in workers:
                worker.terminate()
            raise
    return [outcomes[number % count][number // count] for number in range(len(pairs))]


def _started() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from beamscore.pipelines.api.workers import serve; serve()"
    # Ctrl-C reaches every process of a terminal, but not one in its own session: this process ends its workers.
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )


def _ask(worker: subprocess.Popen[bytes], share: bytes) -> list[Outcome]:
    content, _ = worker.communicate(share)
    if worker.returncode:
        raise BrokenProcessPool(f"a worker process ended early with exit code {worker.returncode}")
    answer: list[Outcome] | Exception = pickle.loads(content)
    if isinstance(answer, Exception):
        raise answer
    return answer


def serve() -> None:
    """Scores the pairs on standard input, and writes the outcome of each, or an error, on standard output."""
    results = os.fdopen(os.dup(1), "wb")
    # What a benchmark, or a program that it runs, prints must not mix with the results.
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    # The exit runs the teardown of the benchmark.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    benchmark, missing, pairs = pickle.load(sys.stdin.buffer)
    try:
        benchmark.setup()
        try:
            answer: list[Outcome] | Exception = score_pairs(benchmark, pairs, missing)
        finally:
            benchmark.teardown()
    except Exception as error:  # noqa: BLE001 - it is returned to the parent process
        answer = error
    pickle.dump(answer, results, protocol=5)
    results.flush()
