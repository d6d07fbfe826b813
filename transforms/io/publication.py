"""The result in an output folder: finding it, publishing a new one, and cleaning up after runs that did not finish.

OUTPUT/.runs/ID/             all files of a run; the last document of the result, written last, is its commit
OUTPUT/.runs/ID/LAST.files   which of them belong to the result, as JSON
OUTPUT/.runs/ID.claim        says that the run owns the output: at most one of the runs that want to write there goes on
OUTPUT/summary.json, ...     the files of the latest commit under plain names, for people and their tools
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ..process import repeated
from ..records import InputProblem
from .storage import (
    PART,
    copy_file,
    delete_files,
    delete_folder,
    is_on_disk,
    list_folder,
    make_folder,
    open_file,
    output_problem,
    place_of,
    read_bytes,
    write_file,
)

RUNS = ".runs"
"""The folder of an output in which each run has a folder of its own, with its claim next to it."""
CLAIM, HEARTBEAT = ".claim", ".heartbeat"

HEARTBEAT_INTERVAL_S = 30.0
LEASE_S = 600.0
DETACHED_LEASE_S = 86_400.0
"""How long after its last sign of life a run counts as alive, unless its process tells; also one that is detached."""

LISTED = ".files"
START = "start.json"
"""In the folder of a run: what it scores with. If the run is interrupted, its rows are kept because of this file."""
FILES_AT_ONCE = 16

_committing = threading.RLock()
"""Makes the commit and the abandonment of a run of this process exclude each other."""


@dataclass(frozen=True)
class Layout:
    """The names of a result: its `files`, the last of which is written last, and its `folders`.

    The files of a folder are called FOLDER-*.parquet or FOLDER-*.jsonl; any other file in it is not part of the result.
    main: the file that identifies a result under plain names alone, if it is not the last one.
    """

    files: tuple[str, ...]
    folders: tuple[str, ...]
    main: str = ""

    @property
    def last(self) -> str:
        """The file whose presence commits a run."""
        return self.files[-1]

    def owns(self, folder: str, name: str) -> bool:
        """Returns whether a file in one of the folders has a name that a run gives its files."""
        return name.startswith(f"{folder}-") and name.endswith((".parquet", ".jsonl"))


@dataclass(frozen=True)
class Published:
    """A published result.

    run_id: the run; empty if that is not known. files: the path of each file, by its name in the result.
    """

    run_id: str
    files: Mapping[str, str]

    def read(self, name: str) -> bytes:
        """Returns the content of a file; raises OSError if it cannot be read."""
        return read_bytes(self.files[name])

    def folder(self, name: str) -> list[str]:
        """Returns the paths of the files of a folder, in order of their names."""
        return [self.files[each] for each in sorted(self.files) if each.startswith(f"{name}/")]


class LostClaim(InputProblem):
    """A run may no longer publish, because its claim is gone."""

    def __init__(self, output: str) -> None:
        super().__init__(
            f"--output {output}: this run does not own it any more, and published nothing: it was interrupted, "
            "or another run took it over; evaluate again"
        )


def run_folder(output: str, run_id: str) -> str:
    """Returns the folder to which a run writes all its files."""
    return posixpath.join(output, RUNS, run_id)


def files_of_result(output: str, layout: Layout, paths: Iterable[str]) -> Iterator[str]:
    """Yields those of the files that a run writes to `output`."""
    root = place_of(output)
    own = {*layout.files, *layout.folders, RUNS}
    for path in paths:
        place = place_of(path)
        if place.startswith(f"{root}/") and place.removeprefix(f"{root}/").partition("/")[0] in own:
            yield path


def check_not_replaced(output: str, layout: Layout, paths: Iterable[str]) -> None:
    """Raises InputProblem if the result of a run would replace or remove a file that it reads."""
    for path in files_of_result(output, layout, paths):
        raise InputProblem(f"--output {output}: its result would replace the input {path}; give another --output")


def committed_runs(output: str, layout: Layout) -> list[str]:
    """Returns the ids of the committed runs of an output; the last one counts."""
    names = list_folder(posixpath.join(output, RUNS))
    while True:
        folders = [(name, list_folder(run_folder(output, name))) for name in names if "." not in name]
        committed = sorted((times[layout.last], run_id) for run_id, times in folders if layout.last in times)
        # An earlier run may have been removed before a later one was listed.
        if committed or not names or names.keys() == (names := list_folder(posixpath.join(output, RUNS))).keys():
            return [run_id for _, run_id in committed]


def find_published(output: str, layout: Layout) -> Published | None:
    """Returns the result that an output holds, None if it holds none.

    It is the result of the run committed last; without such a run, as in a copy, the files under the plain names.

    Raises OSError if the output cannot be read, or the list of its files is damaged.
    """
    while committed := committed_runs(output, layout):
        try:
            return _published(output, committed[-1], layout)
        except OSError:
            # A run that published in the meantime has removed it.
            if committed_runs(output, layout)[-1:] == committed[-1:]:
                raise
    plain = {name: posixpath.join(output, name) for name in _plain_names(output, layout)}
    return Published("", plain) if (layout.main or layout.last) in plain else None


def _published(output: str, run_id: str, layout: Layout) -> Published:
    folder = run_folder(output, run_id)
    path = posixpath.join(folder, layout.last + LISTED)
    try:
        names = msgspec.json.decode(read_bytes(path), type=list[str])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise OSError(f"{path} is damaged ({error})") from error
    return Published(run_id, {name: posixpath.join(folder, name) for name in names})


def own_output(output: str, claim: Claim, layout: Layout) -> None:
    """Makes a run the owner of an output, and removes what dead runs have left in it.

    Raises InputProblem if another run owns the output, it cannot be written, or files of others would be replaced.
    """
    try:
        check_foreign(output, layout)
        dead = _acquire(output, claim)
        for run_id in dead:
            cancel_run(output, run_id)
        if dead:
            refresh_plain_names(output, layout)
    except BaseException as error:
        with contextlib.suppress(OSError):
            cancel_run(output, claim.run_id)
        if isinstance(error, OSError):
            raise output_problem(output, error) from error
        raise


def check_foreign(output: str, layout: Layout) -> None:
    """Raises InputProblem if a folder without a result has a file that the result would replace or remove.

    A run may have staged files in it already. Raises OSError if the output cannot be read.
    """
    # The first is enough: the folders of a result may hold thousands of files.
    foreign = next(_plain_names(output, layout), None)
    if foreign is not None and find_published(output, layout) is None:
        raise InputProblem(
            f"--output {output}: holds no result, but a {foreign} that it would replace; give another --output"
        )


def _plain_names(output: str, layout: Layout) -> Iterator[str]:
    """Yields the files in an output that have plain names of a result: the next one replaces or removes them."""
    names = list_folder(output)
    yield from (name for name in layout.files if name in names)
    for folder in layout.folders:
        below = sorted(list_folder(posixpath.join(output, folder))) if folder in names else []
        yield from (f"{folder}/{name}" for name in below if layout.owns(folder, name))


@contextlib.contextmanager
def owned_output(output: str, claim: Claim, layout: Layout) -> Iterator[None]:
    """Makes a run the owner of an output while this block runs; if the block fails, nothing of the run remains.

    A job that continues after an interrupt, until its runner has cancelled it, publishes nothing.
    Raises InputProblem if another run owns the output, or it cannot be written.
    """
    own_output(output, claim, layout)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            cancel_run(output, claim.run_id)
            refresh_plain_names(output, layout)
        raise
    with contextlib.suppress(OSError):
        cancel_run(output, claim.run_id)


def cancel_run(output: str, run_id: str) -> None:
    """Withdraws the claim of a run, and removes what it has written, unless it is committed or START keeps it."""
    with _committing:
        release(output, run_id)
    folder = run_folder(output, run_id)
    siblings = [name for name in list_folder(posixpath.dirname(folder)) if name.startswith(f"{run_id}.")]
    delete_files([posixpath.join(output, RUNS, name) for name in siblings if name.endswith(PART)])
    names = list_folder(folder)
    if START in names or _is_committed(names):
        return
    if is_on_disk(output):
        # Once the folder is renamed, no process can commit the run any more.
        removed = f"{folder}.removed"
        delete_folder(removed)
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, removed)
        if _is_committed(list_folder(removed)):
            os.rename(removed, folder)
        delete_folder(removed)
        with contextlib.suppress(OSError):
            os.rmdir(posixpath.dirname(folder))
    else:
        delete_folder(folder)


def _is_committed(names: Collection[str]) -> bool:
    """Returns whether the folder of a run, with files of these names, holds a result of any layout."""
    return any(name + LISTED in names for name in names)


def publish(
    output: str, run_id: str, layout: Layout, files: Mapping[str, bytes], staged: Mapping[str, Sequence[str]]
) -> None:
    """Publishes the result of a run: the content of `files`, and the files in each folder that workers have written.

    If anything fails before the last document is written, the earlier result remains. A second attempt repeats only
    what the first one has not finished.

    Raises LostClaim if the run has lost its claim or a staged file, InputProblem if the output cannot be written, or
    the run has published another result there, as a pipeline may that runs twice.
    """

    def may_publish() -> None:
        if held_claim(output, run_id) is None:
            raise LostClaim(output)

    may_publish()
    beat(output, run_id)
    folder = run_folder(output, run_id)
    try:
        if layout.last not in list_folder(folder):
            names = [f"{part}/{name}" for part in staged for name in staged[part]]
            for part in staged:
                present = list_folder(posixpath.join(folder, part))
                if not present.keys() >= set(staged[part]):
                    # Another run has cleaned up: files without a claim are those of a dead run.
                    raise LostClaim(output)
                # Files of bundles that failed.
                delete_files([posixpath.join(folder, part, name) for name in present if name not in staged[part]])
            documents = {**files, layout.last + LISTED: msgspec.json.encode(sorted({*names, *files}))}
            last = documents.pop(layout.last)
            for name, content in documents.items():
                write_file(posixpath.join(folder, name), content)
            with _committing:
                write_file(posixpath.join(folder, layout.last), last, may_publish)
        elif read_bytes(posixpath.join(folder, layout.main or layout.last)) != files[layout.main or layout.last]:
            # A second attempt makes the same, unless what it reads changes, as predictions do that it samples anew.
            advice = "build and run it again, or write sampled predictions to files first"
            raise InputProblem(f"--output {output}: this pipeline has published another result there; {advice}")
    except OSError as error:
        may_publish()
        raise output_problem(output, error) from error
    try:
        claim = held_claim(output, run_id)
        # Without a claim, another run has since taken over the output and its plain names.
        if claim is not None:
            refresh_plain_names(output, layout, run_id)
            if claim.work == "detached":
                release(output, run_id)
    except OSError as error:
        with contextlib.suppress(OSError):
            if held_claim(output, run_id) is None:
                # A run that took over in the meantime removed these files; the plain names must be those of that run.
                refresh_plain_names(output, layout)
                return
        problem = output_problem(output, error).message
        raise InputProblem(f"{problem}; the new result is in place, but not under all of its plain names") from error


def refresh_plain_names(output: str, layout: Layout, run_id: str | None = None) -> None:
    """Updates the plain names to the run committed last, `run_id` if it is known, and removes earlier runs.

    Meanwhile the files that identify a result are absent from the plain names, so a partial copy is no result.
    """
    committed = committed_runs(output, layout)
    if not committed:
        return
    published = _published(output, run_id or committed[-1], layout)
    plain = {name: posixpath.join(output, name) for name in (*layout.files, *published.files)}
    present = list_folder(output)
    # The last file is read first: it differs between runs, while those of two comparisons may differ in the page alone.
    shown = [name for name in reversed(layout.files) if name in present or name in published.files]
    if not all(
        name in present and name in published.files and read_bytes(plain[name]) == published.read(name)
        for name in shown
    ):
        delete_files([plain[name] for name in (layout.last, layout.main) if name in present])
        old = [name for name in _plain_names(output, layout) if name not in published.files]
        delete_files([posixpath.join(output, name) for name in old])
        for folder in layout.folders:
            make_folder(posixpath.join(output, folder))
        rows = [name for name in published.files if name not in layout.files]
        # On an object store each copy waits for a response, and there may be thousands.
        with ThreadPoolExecutor(1 if is_on_disk(output) else FILES_AT_ONCE) as pool:
            list(pool.map(lambda name: copy_file(published.files[name], plain[name]), rows))
        for name in layout.files:
            if name in published.files:
                copy_file(published.files[name], plain[name])
    # Leftovers do no harm: the next run removes them.
    with contextlib.suppress(OSError):
        claimed = list_folder(posixpath.join(output, RUNS))
        for earlier in committed:
            if earlier != published.run_id and earlier + CLAIM not in claimed:
                delete_files([posixpath.join(run_folder(output, earlier), layout.last)])
                delete_folder(run_folder(output, earlier))


@dataclass(frozen=True)
class KeptRun:
    """An interrupted run: its id, the content of START, and its complete files of rows."""

    run_id: str
    start: bytes
    files: tuple[str, ...]


def ask_to_keep(output: str, run_id: str, start: bytes) -> None:
    """Marks the rows of a run to be kept if it is interrupted, so it can be resumed. start: what it scores with."""
    write_file(posixpath.join(run_folder(output, run_id), START), start)


def kept_runs(output: str) -> Iterator[KeptRun]:
    """Yields the interrupted runs of an output, in order of their ids, with the files that they had finished."""
    for run_id in _kept(output):
        with contextlib.suppress(OSError):
            folder = run_folder(output, run_id)
            start = read_bytes(posixpath.join(folder, START))
            samples = posixpath.join(folder, "samples")
            files = [posixpath.join(samples, each) for each in sorted(list_folder(samples))]
            with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
                whole = list(pool.map(_is_whole, files))
            yield KeptRun(run_id, start, tuple(file for file, is_whole in zip(files, whole, strict=True) if is_whole))


def remove_kept(output: str) -> None:
    """Removes the kept rows of the interrupted runs of an output, which the caller must own."""
    for run_id in _kept(output):
        # Leftovers do no harm: the next run that resumes removes them.
        with contextlib.suppress(OSError):
            delete_folder(run_folder(output, run_id))


def _kept(output: str) -> list[str]:
    with contextlib.suppress(OSError):
        names = list_folder(posixpath.join(output, RUNS))
        free = [name for name in sorted(names) if "." not in name and name + CLAIM not in names]
        folders = {name: list_folder(run_folder(output, name)) for name in free}
        return [name for name, content in folders.items() if START in content and not _is_committed(content)]
    return []


def _is_whole(path: str) -> bool:
    """Returns whether a file was finished: its footer comes last."""
    with contextlib.suppress(OSError, pa.ArrowException), open_file(path) as stream:
        pq.read_metadata(stream)
        return True
    return False


class Process(msgspec.Struct, frozen=True):
    """A process and the machine it runs on; `machine` is empty if processes cannot be distinguished reliably."""

    machine: str
    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Process:
        """Returns the process of this machine with this number."""
        return cls(_machine(), pid, _start_time(pid))

    def is_running(self) -> bool | None:
        """Returns whether the process runs; None if that cannot be determined, as on a different machine."""
        if not self.machine or self.machine != _machine():
            return None
        return bool(self.started) and _start_time(self.pid) == self.started


def _machine() -> str:
    """Returns an id of this boot of the machine and of the PID namespace of this process."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Returns when a process started, in clock ticks of the kernel; empty if it does not exist or has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


class Claim(msgspec.Struct, frozen=True):
    """The claim of a run, stored next to the folder that it writes to.

    process: the command. work: `local` if it ends with the command, `job` if it continues elsewhere, `detached` if
    the command does not even wait for it.
    """

    run_id: str
    process: Process
    work: Literal["local", "job", "detached"] = "local"


def _acquire(output: str, claim: Claim) -> list[str]:
    """Makes a run the owner of an output, and returns the ids of its other runs, all of them dead.

    The filesystem need only list files once they are written: a run writes its claim, and owns the output if it then
    sees no other claim. Of two that see each other, none does. Times come from the filesystem, so clocks need not
    agree.

    Raises InputProblem if another run owns the output; the caller then withdraws the claim.
    """
    write_file(run_folder(output, claim.run_id) + CLAIM, msgspec.json.encode(claim))
    living, dead = _others(output, claim.run_id)
    if living:
        raise _owner_problem(output, living[0])
    return dead


def _others(output: str, run_id: str) -> tuple[list[Claim], list[str]]:
    """Returns the claims of the other living runs, in order of their ids, and the ids of the dead ones."""
    times = list_folder(posixpath.join(output, RUNS))
    now = times.get(run_id + CLAIM, max(times.values(), default=0.0))
    living, dead = [], []
    # A name that begins with a dot belongs to no run: `.DS_Store`, or `.nfs` of a file deleted while open.
    for other in sorted({name.partition(".")[0] for name in times} - {run_id, ""}):
        claim = held_claim(output, other) if other + CLAIM in times else None
        silence_s = now - max(changed for name, changed in times.items() if name.partition(".")[0] == other)
        if claim is not None and is_alive(claim, silence_s):
            living.append(claim)
        elif other in times or other + CLAIM in times or silence_s > LEASE_S:
            # Otherwise it is about to write its claim, or has just withdrawn it.
            dead.append(other)
    return living, dead


def _owner_problem(output: str, claim: Claim) -> InputProblem:
    who = f"job {claim.run_id}"
    if claim.work != "detached":
        location = " on this machine" if claim.process.is_running() is not None else ""
        who = f"run {claim.run_id}, process {claim.process.pid}{location},"
    return InputProblem(
        f"--output {output}: {who} is writing there; wait until it ends, give another --output, or, if it has ended, "
        f"delete {run_folder(output, claim.run_id) + CLAIM}"
    )


def is_alive(claim: Claim, silence_s: float) -> bool:
    """Returns whether the run of a claim may still publish, `silence_s` after its last sign of life."""
    if claim.work == "detached":
        return silence_s <= DETACHED_LEASE_S
    running = claim.process.is_running()
    if claim.work == "local" and running is not None:
        return running
    return bool(running) or silence_s <= LEASE_S


def held_claim(output: str, run_id: str) -> Claim | None:
    """Returns the claim of a run; None if it is damaged or withdrawn, and the run must not publish."""
    try:
        return msgspec.json.decode(read_bytes(run_folder(output, run_id) + CLAIM), type=Claim)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def release(output: str, run_id: str) -> None:
    """Withdraws the claim of a run, which can no longer publish anything."""
    delete_files([run_folder(output, run_id) + CLAIM, run_folder(output, run_id) + HEARTBEAT])


def beat(output: str, run_id: str) -> None:
    """Shows that a run is alive, in a separate file, so that a withdrawn claim does not come back."""
    with contextlib.suppress(OSError):
        if held_claim(output, run_id):
            write_file(run_folder(output, run_id) + HEARTBEAT, b"\n")


_last_beats: dict[tuple[str, str], float] = {}


def beat_from_worker(output: str, run_id: str) -> None:
    """Shows that a run is alive, at most once in HEARTBEAT_INTERVAL_S from each process."""
    now = time.monotonic()
    if now - _last_beats.get((output, run_id), -HEARTBEAT_INTERVAL_S) >= HEARTBEAT_INTERVAL_S:
        _last_beats[output, run_id] = now
        beat(output, run_id)


def heartbeat(output: str, run_id: str) -> contextlib.AbstractContextManager[None]:
    """Shows that a run is alive while this block runs."""
    return repeated(HEARTBEAT_INTERVAL_S, lambda _: beat(output, run_id))
