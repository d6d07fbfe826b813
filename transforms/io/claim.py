"""The claim of a run on its output folder: of all runs that want to write there, one goes on."""

from __future__ import annotations

import contextlib
import os
import posixpath
import time
from collections.abc import Callable

import msgspec

from ..records import InputProblem
from ..repeat import repeated
from .storage import STORAGE_ERRORS, delete_files, list_folder, output_problem, read_bytes, write_file

STAGING = ".staging"
CLAIM, HELD, HEARTBEAT = ".claim", ".held", ".heartbeat"

HEARTBEAT_INTERVAL_S = 30.0
LEASE_S = 600.0
DETACHED_LEASE_S = 86_400.0
POLL_INTERVAL_S = 0.2
MAX_POLLS = 100


class Process(msgspec.Struct, frozen=True):
    """A process and the machine it runs on; `machine` is empty where processes cannot be told apart for certain."""

    machine: str
    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Process:
        """Returns the process of this machine with this number."""
        return cls(_machine(), pid, _start_time(pid))

    def is_running(self) -> bool | None:
        """Returns whether the process runs; None where that cannot be known, as on another machine."""
        if not self.machine or self.machine != _machine():
            return None
        return bool(self.started) and _start_time(self.pid) == self.started


def _machine() -> str:
    """Returns a name of this start of this machine and of the set of processes that this one sees."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Returns when a process started, in the clock of the kernel; empty where there is none or it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class Claim(msgspec.Struct, frozen=True):
    """What a run says of itself beside what it stages.

    process: the command. is_job: whether the work goes on elsewhere when the command has ended. lease_s: how long
    after its last sign of life the run counts as alive. detached: whether the command does not wait for the job.
    """

    run_id: str
    process: Process
    is_job: bool = False
    detached: bool = False
    lease_s: float = LEASE_S


def _path(output: str, run_id: str, ending: str) -> str:
    return posixpath.join(output, STAGING, run_id + ending)


def acquire(
    output: str, claim: Claim, published: Callable[[], str | None], sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """Makes a run the owner of an output, and returns the ids of the runs whose staged files it may remove.

    published: returns the id of the run whose result is in place.

    It needs no more of a filesystem than that what was written is listed. A run asks, then looks who else does. Of
    two that ask, the one with the smaller id goes on, when the other has seen that and withdrawn; where another
    owns the output already, this one withdraws. Times are those of the filesystem, so clocks need not agree.

    Raises InputProblem where another run owns the output, or it cannot be written.
    """
    try:
        write_file(_path(output, claim.run_id, CLAIM), msgspec.json.encode(claim))
        for _ in range(MAX_POLLS):
            asking, dead = _others(output, claim.run_id, published())
            if not asking:
                write_file(_path(output, claim.run_id, HELD), b"\n")
                return dead
            sleep(POLL_INTERVAL_S)
        raise _owned(output, asking[0])
    except BaseException as error:
        with contextlib.suppress(*STORAGE_ERRORS):
            release(output, claim.run_id)
        if isinstance(error, STORAGE_ERRORS):
            raise output_problem(output, error) from error
        raise


def _others(output: str, run_id: str, published: str | None) -> tuple[list[Claim], list[str]]:
    """Returns the living claims that still ask and have to withdraw, and the runs that are dead.

    Raises InputProblem where another run owns the output, or will.
    """
    times = list_folder(posixpath.join(output, STAGING))
    now = times.get(run_id + CLAIM, max(times.values(), default=0.0))
    asking, dead = [], []
    for other in sorted({name.partition(".")[0] for name in times} - {run_id}):
        claim = _read(output, other) if other + CLAIM in times else None
        last = max(changed for name, changed in times.items() if name.partition(".")[0] == other)
        if other not in times and other + CLAIM not in times and now - last <= LEASE_S:
            # It is about to ask, or has just withdrawn.
            continue
        if claim is None or not is_alive(claim, now - last, published == other):
            dead.append(other)
        elif other + HELD in times or other < run_id:
            raise _owned(output, claim)
        else:
            asking.append(claim)
    return asking, dead


def _owned(output: str, claim: Claim) -> InputProblem:
    where = " on this machine" if claim.process.is_running() is not None else ""
    who = f"job {claim.run_id}" if claim.detached else f"run {claim.run_id}, process {claim.process.pid}{where},"
    return InputProblem(
        f"--output {output}: {who} is writing there; wait until it ends, give another --output, or, if it has ended, "
        f"delete {_path(output, claim.run_id, CLAIM)}"
    )


def is_alive(claim: Claim, silence_s: float, is_published: bool) -> bool:
    """Returns whether the run of a claim may still publish, `silence_s` after its last sign of life."""
    running = claim.process.is_running()
    if not claim.is_job and running is not None:
        return running
    if running and not claim.detached:
        return True
    return silence_s <= (LEASE_S if is_published else claim.lease_s)


def _read(output: str, run_id: str) -> Claim | None:
    """Returns a claim; None where it has been withdrawn, or is none."""
    try:
        return msgspec.json.decode(read_bytes(_path(output, run_id, CLAIM)), type=Claim)
    except (*STORAGE_ERRORS, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def held_claim(output: str, run_id: str) -> Claim | None:
    """Returns the claim of a run, None where it has none any more and must not publish."""
    return _read(output, run_id) if run_id + CLAIM in list_folder(posixpath.join(output, STAGING)) else None


def release(output: str, run_id: str) -> None:
    """Withdraws the claim of a run, which can publish nothing from then on."""
    delete_files([_path(output, run_id, CLAIM)])
    delete_files([_path(output, run_id, end) for end in (HELD, HEARTBEAT)])


def beat(output: str, run_id: str) -> None:
    """Shows that a run is alive, by a file of its own: a claim that was withdrawn does not come back by it."""
    with contextlib.suppress(*STORAGE_ERRORS):
        if held_claim(output, run_id):
            write_file(_path(output, run_id, HEARTBEAT), b"\n")


_last_beats: dict[tuple[str, str], float] = {}


def beat_from_worker(output: str, run_id: str) -> None:
    """Shows that a run is alive, at most once in HEARTBEAT_INTERVAL_S from each process."""
    now = time.monotonic()
    if now - _last_beats.get((output, run_id), -HEARTBEAT_INTERVAL_S) >= HEARTBEAT_INTERVAL_S:
        _last_beats[output, run_id] = now
        beat(output, run_id)


def heartbeat(output: str, run_id: str) -> contextlib.AbstractContextManager[None]:
    """Shows that a run is alive for as long as this block lasts."""
    return repeated(HEARTBEAT_INTERVAL_S, lambda _: beat(output, run_id))
