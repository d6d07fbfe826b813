"""How much memory a local run needs, and how much there is."""

from __future__ import annotations

from pathlib import Path

BASE_BYTES = 450 << 20
"""What the command takes: the libraries, a reader's records, a batch, the sums, the page of the report."""
WORKER_BYTES = 350 << 20
"""What each worker process takes, where there are several."""

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def needed_bytes(processes: int) -> int:
    """Returns about how many bytes a local run takes in all its processes together, however large its input is.

    A single process works itself; several are workers of the command. The figures are those of docs/performance.md.
    """
    return BASE_BYTES + (WORKER_BYTES * processes if processes > 1 else 0)


def free_bytes() -> int | None:
    """Returns how many bytes of memory this process can still get; None where the system does not tell."""
    found = [_available(), _left_of_cgroup()]
    known = [each for each in found if each is not None]
    return min(known, default=None)


def _available() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _left_of_cgroup() -> int | None:
    """Returns what a container's limit leaves; None where there is none.

    Files that were read lately count as used, but the system gives up those that it has not looked at again.
    """
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return min(int(limit), max(0, int(limit) - int(used) + _given_up()))
    except (OSError, ValueError):
        return None


def _given_up() -> int:
    try:
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0
