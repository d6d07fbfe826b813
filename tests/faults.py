"""Faults at every single step of what writes to a filesystem: it fails, or the process stops; and full disks."""

import contextlib
import errno
import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from apache_beam.io.filesystems import FileSystems

from beamscore.transforms.io import storage
from tests.memory_files import FolderStore, ObjectStore

STEPS = [
    *((os, name) for name in ("rename", "link", "symlink", "unlink", "rmdir", "mkdir")),
    *((FileSystems, name) for name in ("rename", "delete", "mkdirs")),
    *((ObjectStore, name) for name in ("copy", "delete")),
    (FolderStore, "delete"),
    (storage, "create_file"),
]
CREATE = storage.create_file


class Stopped(BaseException):
    """The process has ended: whatever it still tries does nothing."""


@dataclass
class Faults:
    """Counts the steps, and makes the one with the number `at` go wrong.

    stops: nothing works from that step on, as after SIGKILL; otherwise that step alone fails, as on a full disk, or
    with `lasts` all later ones too. watch: called before each step after that, as a reader does who looks all the
    time; the steps before it are those of a run without any fault, which is watched from the first one, with at=0.
    """

    at: int
    stops: bool = False
    lasts: bool = False
    watch: Callable[[], None] = lambda: None
    steps: int = 0
    is_watched: bool = False

    @property
    def happened(self) -> bool:
        return 0 < self.at <= self.steps

    def step(self) -> None:
        if self.is_watched:
            return
        if not self.at or (self.happened and not self.stops):
            with patch.object(self, "is_watched", True):
                self.watch()
        self.steps += 1
        if self.happened and (self.steps == self.at or self.stops or self.lasts):
            raise Stopped if self.stops else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.step()
            result = call(*arguments, **options)
            return _Stream(result, self) if call is CREATE else result

        return counted


class _Stream(contextlib.AbstractContextManager[Any]):
    def __init__(self, stream: Any, faults: Faults) -> None:
        self._stream, self._faults = stream, faults

    def write(self, content: bytes) -> Any:
        self._step()
        return self._stream.write(content)

    def close(self) -> None:
        self._step()
        self._stream.close()

    def _step(self) -> None:
        try:
            self._faults.step()
        except BaseException:
            # What was written of a file stays on a disk, and never becomes an object.
            (io.BytesIO if isinstance(self._stream, io.BytesIO) else type(self._stream)).close(self._stream)
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[Path]:
    """Mounts a disk of this size; skips the test where that is not allowed."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
