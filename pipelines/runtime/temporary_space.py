"""How much space the blocks of a local run take in the temporary folder, and how much there is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from transforms.io.files import SourceFile

_OF_PLAIN = 0.5
_OF_COMPRESSED = 3.0
_MOUNTS = Path("/proc/self/mounts")
_IN_MEMORY = ("tmpfs", "ramfs")


def block_bytes(files: Iterable[SourceFile]) -> int:
    """Returns about how many bytes the blocks of a local run on these files take, packed.

    JSON of the benchmarks takes 0.1 to 0.45 of its bytes; this is an estimate on the safe side.
    """
    return int(sum(file.size * (_OF_PLAIN if file.is_plain else _OF_COMPRESSED) for file in files))


def free_space(folder: str) -> int | None:
    """Returns how many bytes can still be written to a folder; None where the system does not tell."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def is_in_memory(folder: str) -> bool:
    """Tells whether what is written to a folder stays in the memory of this machine, as below a tmpfs."""
    try:
        lines = [line.split() for line in _MOUNTS.read_text(errors="surrogateescape").splitlines()]
    except OSError:
        return False
    # Of two filesystems at the same place, the later one is seen.
    mounted = {fields[1].replace("\\040", " "): fields[2] for fields in lines if len(fields) > 2}
    path = Path(os.path.realpath(folder))
    found = next((mounted[str(each)] for each in (path, *path.parents) if str(each) in mounted), None)
    return found in _IN_MEMORY
