"""How much memory a local run needs, and how much there is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from transforms.io.files import SourceFile

BASE_BYTES = 400 << 20
"""What a process takes that holds no records: the libraries, a reader's blocks, a batch, the sums."""

_OF_PLAIN = 0.25
_OF_COMPRESSED = 2.0
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def needed_bytes(files: Iterable[SourceFile]) -> int:
    """Returns about how many bytes a local run on these files takes: a base, and a share of the bytes of input.

    The runner of a local run holds the shuffled records in memory, compressed, for a while twice: at most a quarter of
    the bytes of plain text, twice those of compressed files: estimates on the safe side of docs/performance.md.
    """
    return BASE_BYTES + int(sum(file.size * (_OF_PLAIN if file.is_plain else _OF_COMPRESSED) for file in files))


def free_bytes() -> int | None:
    """Returns how many bytes of memory this process can still get; None where the system does not tell."""
    found = [_available(), _left_of_cgroup()]
    known = [each for each in found if each is not None]
    return min(known, default=None)


def memory_warnings(files: Iterable[SourceFile], free: int | None) -> list[str]:
    """Returns the warning of a local run on these files that needs more than `free` bytes, if it does."""
    needed = needed_bytes(files)
    if free is None or needed <= free:
        return []
    return [
        f"this run needs about {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are free; a run on a "
        "cluster, such as with --runner flink, holds only what it works on"
    ]


def _available() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _left_of_cgroup() -> int | None:
    """Returns what a container's limit leaves; None where there is none."""
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None
