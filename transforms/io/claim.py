"""The claim of a run on its output folder: of all runs that want to write there, one goes on."""

from __future__ import annotations

import contextlib
import os
import posixpath
import time
from collections.abc import Callable

import msgspec

from ..process import repeated
from ..records import InputProblem
from .storage import delete_files, list_folder, output_problem, read_bytes, write_file

RUNS = ".runs"
"""The folder of an output where each run writes to a folder of its own, with its claim beside it."""
CLAIM, HEARTBEAT = ".claim", ".heartbeat"

HEARTBEAT_INTERVAL_S = 30.0
LEASE_S = 600.0
DETACHED_LEASE_S = 86_400.0
POLL_INTERVAL_S = 0.2
MAX_POLLS = 25


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
    """What a run says of itself beside the folder that it writes to.

    process: the command. is_job: whether the work goes on elsewhere when the command has ended. lease_s: how long
    after its last sign of life the run counts as alive. detached: whether the command does not wait for the job.
    """

    run_id: str
    process: Process
    is_job: bool = False
    detached: bool = False
    lease_s: float = LEASE_S


def _path(output: str, run_id: str, ending: str) -> str:
    return posixpath.join(output, RUNS, run_id + ending)


def acquire(output: str, claim: Claim, sleep: Callable[[float], None] = time.sleep) -> list[str]:
    """Makes a run the owner of an output, and returns the ids of the other runs there, none of which is alive.

    It needs no more of a filesystem than that what was written is listed: a run writes its claim, and owns the output
    once it sees no other. Where it sees one, that with the smaller id waits for the other to withdraw, which it does
    unless it is the owner. Times are those of the filesystem, so clocks need not agree.

    Raises InputProblem where another run owns the output, or it cannot be written.
    """
    try:
        write_file(_path(output, claim.run_id, CLAIM), msgspec.json.encode(claim))
        for _ in range(MAX_POLLS):
            living, dead = _others(output, claim.run_id)
            if not living:
                return dead
            if living[0].run_id < claim.run_id:
                break
            sleep(POLL_INTERVAL_S)
        raise _owned(output, living[0])
    except BaseException as error:
        with contextlib.suppress(OSError):
            release(output, claim.run_id)
        if isinstance(error, OSError):
            raise output_problem(output, error) from error
        raise


def _others(output: str, run_id: str) -> tuple[list[Claim], list[str]]:
    """Returns the claims of the living runs, in order of their ids, and the ids of all that are not alive."""
    times = list_folder(posixpath.join(output, RUNS))
    now = times.get(run_id + CLAIM, max(times.values(), default=0.0))
    living, dead = [], []
    for other in sorted({name.partition(".")[0] for name in times} - {run_id}):
        claim = _read(output, other) if other + CLAIM in times else None
        silence_s = now - max(changed for name, changed in times.items() if name.partition(".")[0] == other)
        if claim is not None and is_alive(claim, silence_s):
            living.append(claim)
        elif other in times or other + CLAIM in times or silence_s > LEASE_S:
            # Else it is about to write its claim, or has just withdrawn it.
            dead.append(other)
    return living, dead


def _owned(output: str, claim: Claim) -> InputProblem:
    where = " on this machine" if claim.process.is_running() is not None else ""
    who = f"job {claim.run_id}" if claim.detached else f"run {claim.run_id}, process {claim.process.pid}{where},"
    return InputProblem(
        f"--output {output}: {who} is writing there; wait until it ends, give another --output, or, if it has ended, "
        f"delete {_path(output, claim.run_id, CLAIM)}"
    )


def is_alive(claim: Claim, silence_s: float) -> bool:
    """Returns whether the run of a claim may still publish, `silence_s` after its last sign of life."""
    running = claim.process.is_running()
    if not claim.is_job and running is not None:
        return running
    return bool(running and not claim.detached) or silence_s <= claim.lease_s


def _read(output: str, run_id: str) -> Claim | None:
    """Returns a claim; None if it has been withdrawn, or is damaged."""
    try:
        return msgspec.json.decode(read_bytes(_path(output, run_id, CLAIM)), type=Claim)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def held_claim(output: str, run_id: str) -> Claim | None:
    """Returns the claim of a run, None if it has none any more and must not publish."""
    return _read(output, run_id) if run_id + CLAIM in list_folder(posixpath.join(output, RUNS)) else None


def release(output: str, run_id: str) -> None:
    """Withdraws the claim of a run, which can publish nothing from then on."""
    delete_files([_path(output, run_id, CLAIM)])
    delete_files([_path(output, run_id, HEARTBEAT)])


def beat(output: str, run_id: str) -> None:
    """Shows that a run is alive, by a file of its own: a claim that was withdrawn does not come back by it."""
    with contextlib.suppress(OSError):
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
