"""Folders that bound the lifetime of a command and its worker processes: neither files nor processes outlive it.

All temporary files of a command are in one folder next to a lock that the system releases when the process ends,
however it ends. So the next command can recognize the leftovers of a killed one, and removes them.

Beam's runner waits for its workers to exit, but a worker that waits for data never does. So a worker exits as soon as
its folder or the command is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ...transforms.process import OF_THE_MACHINE, one_blas_thread, quiet_root_logger
from ...transforms.records import InputProblem

POLL_INTERVAL_S = 0.2
REMOVALS = 10

_OF_JOB_SERVER = "beam-temp*"
_PREFIX, _LOCK, _NEW_LOCK = "beamscore-run-", ".lock", "lock"

# A worker has the import path of its command. `python -m` would search the current folder first, which may hold an
# unrelated package with the name of one of ours.
_WORKER = "import sys; sys.path[:] = {path}; from beamscore.pipelines.runners.lifetime import work; work({parent})"

_READERS = ("read_grpc_client_inputs", "beam_control_read")
"""Threads of Beam that fail if a worker ends, maybe before the thread that waits for it knows."""

_folders: set[str] = set()


def remove_folder(folder: str) -> None:
    """Removes a folder in which processes that are about to end, or their programs, may still create files."""
    removed = _take_name(folder)
    for _ in range(REMOVALS):
        shutil.rmtree(removed, ignore_errors=True)
        if not os.path.exists(removed):
            break
        time.sleep(POLL_INTERVAL_S)


def _take_name(folder: str) -> str:
    """Renames a folder, so that nothing more can be created in it by its name; returns the new name."""
    removed = f"{folder}-removed"
    with contextlib.suppress(OSError):
        os.rename(folder, removed)
    return removed


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[None]:
    """Creates a folder for all temporary files of this process within this block; removes those of killed processes.

    If no folder can be created, nothing changes: the code that needs it reports the error.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            shared = tempfile.gettempdir()
            _remove_abandoned(shared)
            folder = tempfile.mkdtemp(prefix=_PREFIX, dir=shared)
            held = contextlib.ExitStack()
            held.callback(_remove_with_lock, folder)
            atexit.register(held.close)
            stack.callback(_leave, folder, held)
            lock = held.enter_context(open(os.path.join(folder, _NEW_LOCK), "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # It becomes visible to other processes only now.
            os.rename(lock.name, folder + _LOCK)
            stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
            tempfile.tempdir = folder
        yield


def _leave(folder: str, held: contextlib.ExitStack) -> None:
    """Gives up a folder unless it has files of a job server, which Beam stops and removes when Python exits.

    Until then its lock tells other commands that it is in use.
    """
    if not any(Path(folder).glob(_OF_JOB_SERVER)):
        held.close()


def _remove_with_lock(folder: str) -> None:
    remove_folder(folder)
    with contextlib.suppress(OSError):
        os.remove(folder + _LOCK)


def _remove_abandoned(shared: str) -> None:
    """Removes the folders of processes that have ended: their locks can be acquired."""
    for path in Path(shared).glob(f"{_PREFIX}*{_LOCK}"):
        # Files of other users cannot be opened, those of running processes cannot be locked.
        with contextlib.suppress(OSError), open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_with_lock(str(path).removesuffix(_LOCK))


@contextlib.contextmanager
def worker_command() -> Iterator[str]:
    """Yields the command line of a worker process that ends with this block, or before it with `terminate_workers`."""
    folder = tempfile.mkdtemp(prefix="beamscore-workers-")
    _folders.add(folder)
    try:
        # Ctrl-C reaches every process of a terminal; only the command handles it, and ends its workers.
        # exec: the worker replaces the shell that starts it, and is a child of this process.
        worker = [sys.executable, "-c", _WORKER.format(path=ascii(sys.path), parent=os.getpid()), folder]
        yield f"trap '' INT; exec {shlex.join(worker)}"
    finally:
        _folders.discard(folder)
        remove_folder(folder)


def terminate_workers() -> None:
    """Ends all worker processes of this process shortly."""
    for folder in list(_folders):
        _take_name(folder)


@contextlib.contextmanager
def stop_if_worker_ends() -> Iterator[None]:
    """Raises InputProblem within if a worker process ends early: Beam's runner would wait for it, maybe for ever.

    Beam's thread that waits for a worker then raises an error. It interrupts the runner, in the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended: list[str] = []

    def on_error(problem: threading.ExceptHookArgs) -> None:
        message = str(problem.exc_value)
        if message.startswith("Worker subprocess exited with return code "):
            ended.append(message.split()[-1])
            terminate_workers()
            os.kill(os.getpid(), signal.SIGUSR1)
        elif problem.thread is None or problem.thread.name not in _READERS:
            hook(problem)

    def stop(*_: object) -> None:
        raise InputProblem(
            f"the run {OF_THE_MACHINE}: a worker process ended early with exit code {ended[0]}; "
            "the system may have ended it for lack of memory: use fewer processes, or more memory, and run again"
        )

    hook, threading.excepthook = threading.excepthook, on_error
    handler = signal.signal(signal.SIGUSR1, stop)
    try:
        yield
    finally:
        # None: it was not set by Python, which cannot set it again.
        signal.signal(signal.SIGUSR1, handler or signal.SIG_DFL)
        if threading.excepthook is on_error:
            threading.excepthook = hook


def live_by(folder: str, parent: int) -> None:
    """Ends this process and removes the folder as soon as it is renamed or the process `parent` is gone.

    All temporary files of this process are in the folder. The parent may have been killed already, while this process
    imported what it needs.
    """
    tempfile.tempdir = folder
    threading.Thread(target=_watch, args=(folder, parent), daemon=True).start()


def _watch(folder: str, parent: int) -> None:
    while os.path.isdir(folder) and os.getppid() == parent:
        time.sleep(POLL_INTERVAL_S)
    remove_folder(folder)
    os._exit(0)


def work(parent: int) -> None:
    """Runs a worker until the command, the process `parent`, needs no more; sys.argv[1] is the folder for `live_by`.

    It is Beam's own worker, but quiet: its log goes to the command, which may show it.
    """
    # For a fast exit: Python would otherwise collect garbage among all objects of the libraries.
    atexit.register(gc.freeze)
    live_by(sys.argv[1], parent)
    with quiet_root_logger:
        from ...transforms.beam_internals import run_worker, shared_clients

        with one_blas_thread, shared_clients:
            run_worker(sys.argv)
