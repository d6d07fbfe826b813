"""Ties worker processes to the command that started them: they live as long as a folder does, and no longer.

Beam's runner waits for its workers to end of themselves, which one that waits for data never does. So whoever wants
them gone removes the folder, and they see to it within a moment; they do, too, where the command is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

from ...transforms.process import one_blas_thread, quiet_root_logger

POLL_INTERVAL_S = 0.2
REMOVALS = 10
"""How often a worker that ends tries to remove its temporary files."""

# A worker imports from where its command does. `python -m` would look into the current folder first, where somebody
# else's package may have the name of one of ours.
_WORKER = (
    "import sys; sys.path[:] = {path}; from beamscore.pipelines.runners.worker_processes import main; main({parent})"
)

_folders: set[str] = set()


@contextlib.contextmanager
def lifeline() -> Iterator[str]:
    """Yields the command line of a worker process that ends with this block, or before it with `terminate_workers`."""
    folder = tempfile.mkdtemp(prefix="beamscore-workers-")
    _folders.add(folder)
    try:
        # Ctrl-C reaches every process of a terminal; the command alone answers it, and ends its workers.
        # exec: the worker takes the place of the shell that starts it, and is a child of this process.
        worker = [sys.executable, "-c", _WORKER.format(path=ascii(sys.path), parent=os.getpid()), folder]
        yield f"trap '' INT; exec {shlex.join(worker)}"
    finally:
        _folders.discard(folder)
        shutil.rmtree(folder, ignore_errors=True)


def terminate_workers() -> None:
    """Ends all worker processes of this process within a moment."""
    for folder in list(_folders):
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def temporary_folder(parent: str) -> Iterator[str]:
    """Makes a folder in `parent` for all temporary files of a worker, which has no time to remove them when it ends."""
    with tempfile.TemporaryDirectory(prefix="beamscore-worker-", dir=parent, ignore_cleanup_errors=True) as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


def end_with(folder: str, temporary: str, parent: int) -> None:
    """Ends this process, and removes its temporary files, as soon as `folder` is gone or the process `parent`.

    The parent may have been killed already, while this process imported what it needs.
    """
    threading.Thread(target=_watch, args=(folder, temporary, parent), daemon=True).start()


def _watch(folder: str, temporary: str, parent: int) -> None:
    while os.path.isdir(folder) and os.getppid() == parent:
        time.sleep(POLL_INTERVAL_S)
    for _ in range(REMOVALS):
        shutil.rmtree(temporary, ignore_errors=True)
        if not os.path.exists(temporary):
            break
        # A program that this process has started, such as TeX, may be writing there.
        time.sleep(POLL_INTERVAL_S)
    os._exit(0)


def main(parent: int) -> None:
    """Works until the command, the process `parent`, has no more to do; the argument is the folder that it lives by.

    It is Beam's own worker, but quiet: what it logs goes to the command, which shows it or not.
    """
    # It ends at once: Python would look for garbage among all objects of the libraries once more.
    atexit.register(gc.freeze)
    with quiet_root_logger:
        from ...transforms.beam_internals import run_worker
        from ...transforms.io.s3 import shared_clients

        with one_blas_thread, shared_clients, temporary_folder(os.path.dirname(sys.argv[1])) as temporary:
            end_with(sys.argv[1], temporary, parent)
            run_worker(sys.argv)
