"""What a local run needs of this machine, said before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...transforms.io.files import SourceFile
from ...transforms.io.temporary import temporary_folder
from .memory import free_bytes, needed_bytes
from .temporary_space import block_bytes, free_space, is_in_memory


@dataclass(frozen=True)
class LocalNeeds:
    """What a local run needs, in bytes.

    memory: of all its processes. folder: for temporary files. space: in that folder. in_memory: whether the folder is
    in memory, so that `memory` counts `space`, too.
    """

    memory: int
    space: int
    folder: str
    in_memory: bool

    @classmethod
    def of(cls, files: Sequence[SourceFile], processes: int) -> LocalNeeds:
        """Returns what a run on these files needs; raises InputProblem where there is no temporary folder."""
        folder, space = temporary_folder(), block_bytes(files)
        in_memory = is_in_memory(folder)
        return cls(needed_bytes(processes) + (space if in_memory else 0), space, folder, in_memory)

    def warnings(self) -> list[str]:
        """Returns a warning for each of both that is more than is free."""
        found = []
        memory, space = free_bytes(), free_space(self.folder)
        if memory is not None and self.memory > memory:
            found.append(
                f"this run needs about {_size(self.memory)} of memory, and {_size(memory)} are free; {self._remedy()}"
            )
        if space is not None and self.space > space:
            found.append(
                f"this run needs about {_size(self.space)} in the temporary folder {self.folder}, and {_size(space)} "
                "are free; set the environment variable TMPDIR to a folder with more"
            )
        return found

    def _remedy(self) -> str:
        if self.in_memory:
            return (
                f"the temporary folder {self.folder}, which is in memory, takes {_size(self.space)} of it: set the "
                "environment variable TMPDIR to a folder on a disk"
            )
        return "give fewer --processes, or run on a cluster, such as with --runner flink"


def _size(size: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20)):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f} {unit}"
    return f"{size / 1024:.0f} KiB"
