"""The folder for the temporary files of a command.

All temporary files of a command are in one folder beside a lock that the system takes back when the process ends,
however it ends. So the next command can tell what a killed one has left, and removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .worker_processes import POLL_INTERVAL_S, REMOVALS

_OF_JOB_SERVER = "beam-temp*"
_PREFIX, _LOCK, _NEW_LOCK = "beamscore-run-", ".lock", "lock"


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[None]:
    """Makes a folder for all temporary files of this process until the block ends; removes those of killed ones.

    Where no folder can be made, nothing changes: whoever needs it says so.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            shared = tempfile.gettempdir()
            _remove_abandoned(shared)
            folder = tempfile.mkdtemp(prefix=_PREFIX, dir=shared)
            atexit.register(_remove, folder)
            stack.callback(_leave, folder)
            lock = stack.enter_context(open(os.path.join(folder, _NEW_LOCK), "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Only now do others see it.
            os.rename(lock.name, folder + _LOCK)
            stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = folder
        yield


def _leave(folder: str) -> None:
    """Removes a folder, but for one with files of a job server, which Beam stops and removes when Python ends."""
    if not any(Path(folder).glob(_OF_JOB_SERVER)):
        _remove(folder)


def _remove(folder: str) -> None:
    """Removes a folder, in which workers that are about to end may still write, then its lock."""
    for _ in range(REMOVALS):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            with contextlib.suppress(OSError):
                os.remove(folder + _LOCK)
            return
        time.sleep(POLL_INTERVAL_S)


def _remove_abandoned(shared: str) -> None:
    """Removes the folders of processes that have ended: their locks can be taken."""
    for path in Path(shared).glob(f"{_PREFIX}*{_LOCK}"):
        # Those of other people cannot be opened, those of living processes not be locked.
        with contextlib.suppress(OSError), open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(str(path).removesuffix(_LOCK))
