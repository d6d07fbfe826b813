"""What the worker processes of a cluster use, as Linux tells it while they run."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

POLL_INTERVAL_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: int) -> float:
    """Returns the processor time of a process, and of those that it started and that have ended.

    Raises OSError where there is no such process.
    """
    # After the name in brackets, the fields 14 to 17 of proc(5) are times: own and of children, user and system.
    fields = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


class WatchWorkers:
    """Looks at the workers that start within the block, by the logs that carry their process ids.

    peak_mebibytes: the largest resident memory that any of them ever had. processor_seconds: of all together, with
    the processes that they started and that have ended, as of the last look.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._peaks: dict[int, float] = {}
        self._seconds: dict[int, float] = {}

    def __enter__(self) -> WatchWorkers:
        self._others = self._workers()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def peak_mebibytes(self) -> float:
        """The peak of the worker that had the largest."""
        return max(self._peaks.values(), default=0.0)

    @property
    def processor_seconds(self) -> float:
        """The processor time of all workers."""
        return sum(self._seconds.values())

    def _workers(self) -> set[int]:
        return {int(log.stem.partition("-")[2]) for log in self._logs.glob("worker-*.log")}

    def _watch(self) -> None:
        while not self._ended.wait(POLL_INTERVAL_S):
            for worker in self._workers() - self._others:
                try:
                    self._look(worker)
                except OSError:
                    continue

    def _look(self, worker: int) -> None:
        status = Path("/proc", str(worker), "status").read_text()
        peak = next((line for line in status.splitlines() if line.startswith("VmHWM")), None)
        if peak is None:
            return
        self._peaks[worker] = int(peak.split()[1]) / 1024
        self._seconds[worker] = processor_seconds(worker)
