"""A result is replaced in one step: whatever fails or stops, at whatever step, a reader sees one run, whole."""

import contextlib
import errno
import itertools
import mmap
import os
import posixpath
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from apache_beam.io.filesystems import FileSystems

from beamscore.transforms.io import publication
from beamscore.transforms.io.publication import LEASE_S, RUNS, Claim, Layout, LostClaim, Process, find_published
from beamscore.transforms.io.storage import delete_files, list_folder, read_bytes, write_file
from beamscore.transforms.publish import StageBundles, StagedFolder
from beamscore.transforms.records import InputProblem
from beamscore.transforms.rows import encode_table, sample_schema
from tests.faults import Faults, Stopped
from tests.memory_files import ObjectStore
from tests.transforms.samples import bundle, problem_of

LAYOUT = Layout(("report.md", "sums.json", "summary.json"), ("samples", "quarantine"))
ELSEWHERE = Process("another machine", 1, "1")
ON_DISK = ["disk", "no hard links"]


@pytest.fixture(params=[*ON_DISK, "objects", "folders"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def output(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if kind == "no hard links":
        refused = PermissionError(errno.EPERM, "this disk knows no second names")
        monkeypatch.setattr(os, "link", Mock(side_effect=refused))
    # A path is no pattern.
    yield {"objects": "mem://bucket", "folders": "folders://bucket"}.get(kind, str(tmp_path)) + "/out [1]*"
    ObjectStore.clear()


def stage(output: str, run_id: str, tag: str) -> dict[str, list[str]]:
    """Stages two bundles of samples and one of the quarantine, and leaves a file of a bundle that failed."""
    staged: dict[str, list[str]] = {}
    for folder, suffix, bundles in (("samples", ".parquet", 2), ("quarantine", ".jsonl", 1)):
        do_fn = StageBundles(StagedFolder(output, run_id, folder), suffix)
        try:
            names = [bundle(do_fn, f"{tag} {number}\n".encode())["main"] for number in range(bundles)]
            if folder == "samples":
                do_fn.process(b"of a bundle that failed")
        finally:
            with contextlib.suppress(Stopped):
                do_fn.teardown()
        staged[folder] = list(itertools.chain(*names))
    return staged


def documents(tag: str) -> dict[str, bytes]:
    return {name: f"{tag}: {name}".encode() for name in LAYOUT.files}


def own(output: str, run_id: str, process: Process = ELSEWHERE, work: Any = "local") -> None:
    publication.own_output(output, Claim(run_id, process, work), LAYOUT)


def evaluate(output: str, run_id: str, tag: str) -> None:
    """Does what a command and its workers do with an output."""
    with publication.owned_output(output, Claim(run_id, ELSEWHERE), LAYOUT):
        publication.publish(output, run_id, LAYOUT, documents(tag), stage(output, run_id, tag))


def run_of(files: dict[str, bytes]) -> str:
    """Returns the run whose files these are, by their names in the result: all of them, and of no other run."""
    tag = files["summary.json"].partition(b":")[0].decode()
    assert {name: content for name, content in files.items() if "/" not in name} == documents(tag)
    rows = sorted(f"{name.partition('/')[0]}: {content.decode()}" for name, content in files.items() if "/" in name)
    assert rows == [f"quarantine: {tag} 0\n", f"samples: {tag} 0\n", f"samples: {tag} 1\n"]
    return tag


def seen(output: str) -> str:
    """Returns the run that a reader sees, after a look at each of its files."""
    found = find_published(output, LAYOUT)
    return "" if found is None else run_of({name: found.read(name) for name in found.files})


def seen_by_plain_names(output: str) -> str:
    """Returns the run that a reader sees who knows nothing but the names of the files."""
    names = [name for name in list_folder(output) if name in LAYOUT.files]
    if "summary.json" not in names:
        assert names == []
        return ""
    for folder in LAYOUT.folders:
        names += [f"{folder}/{name}" for name in list_folder(f"{output}/{folder}") if LAYOUT.owns(folder, name)]
    return run_of({name: read_bytes(f"{output}/{name}") for name in names})


def both(output: str) -> str:
    """Returns the run that both readers see."""
    found = seen(output)
    assert found == seen_by_plain_names(output)
    return found


def grow_old(output: str, seconds: float = LEASE_S + 1) -> None:
    """Lets time pass, by default until the lease of all claims has run out."""
    ObjectStore.now += seconds
    if "://" not in output and os.path.isdir(f"{output}/{RUNS}"):
        for entry in Path(output, RUNS).iterdir():
            changed = entry.stat().st_mtime - seconds
            os.utime(entry, (changed, changed))


def leftovers(output: str) -> list[str]:
    """Returns what is in an output beside one result; what a second attempt finds half written goes with its run."""
    found = find_published(output, LAYOUT)
    assert found
    own = {posixpath.basename(path) for path in found.files.values()} | {"samples", "quarantine", "summary.json.files"}
    folder = publication.run_folder(output, found.run_id)
    below = {name for each in (folder, f"{folder}/samples") for name in list_folder(each) if not name.endswith(".part")}
    names = set(list_folder(output)) - {*LAYOUT.files, *LAYOUT.folders, RUNS}
    return sorted(set(list_folder(posixpath.join(output, RUNS))) - {found.run_id}) + sorted(names | (below - own))


def disturbed(output: str, fault: Callable[[str, int], Faults]) -> Iterator[tuple[str, Callable[[], None], bool, bool]]:
    """Publishes over an earlier run with a fault at each step in turn, of which the last one does not come any more.

    Yields the output, what tries again, whether the first try published, and whether the fault came.
    """
    for at in itertools.count(1):
        place = f"{output}/{at}"
        evaluate(place, "a0", "earlier")
        own(place, "b1")
        staged = stage(place, "b1", "later")
        publish = partial(publication.publish, place, "b1", LAYOUT, documents("later"), staged)
        faults, has_published = fault(place, at), False
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Stopped, InputProblem):
            faults.install(patch)
            publish()
            has_published = True
        yield place, publish, has_published, faults.happened
        ObjectStore.clear()
        if not faults.happened:
            assert at > 5
            return


def call_at(patch: pytest.MonkeyPatch, step: int, action: Callable[[], None], *names: str) -> list[Any]:
    """Does something before one of the calls of functions of the module; returns a list that gets all of them."""
    calls: list[Any] = []
    for name in names:
        real = getattr(publication, name)

        def call(*arguments: Any, real: Callable[..., Any] = real) -> Any:
            calls.append(arguments)
            if len(calls) == step:
                action()
            return real(*arguments)

        patch.setattr(publication, name, call)
    return calls


def test_a_damaged_list_of_files_is_an_error_of_the_storage_that_names_it(output: str) -> None:
    for number, damaged in enumerate((b"", b"{}", b"[1]", b'["\xff"]')):
        place = f"{output}/{number}"
        evaluate(place, "a1", "first")
        write_file(posixpath.join(publication.run_folder(place, "a1"), "summary.json.files"), damaged)
        with pytest.raises(OSError, match=r"summary\.json\.files is damaged"):
            find_published(place, LAYOUT)
        assert "summary.json.files is damaged" in problem_of(evaluate, place, "b2", "second")


@pytest.mark.parametrize("step", range(1, 7))
def test_a_run_that_publishes_while_a_reader_looks_hides_neither_result(output: str, step: int) -> None:
    """The result that a reader has begun to look at may be removed before it has seen all of it."""
    evaluate(output, "a1", "first")
    with pytest.MonkeyPatch.context() as patch:
        call_at(patch, step, lambda: evaluate(output, "b2", "second"), "list_folder", "read_bytes")
        found = find_published(output, LAYOUT)
    assert found is not None
    assert (found.run_id in ("a1", "b2"), len(found.files)) == (True, len(LAYOUT.files) + 3)
    if found.run_id == "b2":
        assert seen(output) == "second"


@pytest.mark.parametrize(
    ("fault", "earlier"), [("fails", True), ("fails from then on", True), ("stops", True), ("stops", False)]
)
def test_a_fault_at_any_step_leaves_one_whole_result(output: str, kind: str, fault: str, earlier: bool) -> None:
    if kind == "no hard links" and (fault, earlier) != ("fails", True):
        pytest.skip("all steps but that of the link are those of a disk")
    outcomes, before = set(), "earlier" if earlier else ""
    # Without a fault at 0, watched from its first step.
    for at in itertools.count():
        place, problem, tags = f"{output}/{at}", "", [before]
        with pytest.MonkeyPatch.context() as patch:
            if earlier:
                evaluate(place, "a0", "earlier")

            def watch(place: str = place, tags: list[str] = tags) -> None:
                tags.append(seen(place))
                if place.endswith("/0") and FileSystems.exists(f"{place}/summary.json"):
                    seen_by_plain_names(place)

            faults = Faults(at, fault == "stops", fault == "fails from then on", watch)
            faults.install(patch)
            try:
                evaluate(place, "b1", "later")
                outcome = "published"
            except Stopped:
                outcome = "stopped"
            except InputProblem as error:
                problem = error.message
                outcome = "counts" if "the new result is in place" in problem else "failed"
        assert not problem or problem.startswith(f"--output {place}: ")
        outcomes.add(outcome)
        tags.append(seen(place))
        assert set(tags) <= {before, "later"}
        assert at or [tag for tag, _ in itertools.groupby(tags)] == [before, "later"]
        # Where nothing works from then on, nobody can look whether the last rename was done.
        if outcome != "stopped" and (outcome != "failed" or fault != "fails from then on"):
            assert tags[-1] == ("later" if outcome in ("published", "counts") else before), (at, outcome)
        if outcome == "published" or (outcome == "failed" and tags[-1] == before):
            assert both(place) == tags[-1], (at, outcome)
        grow_old(place)
        evaluate(place, "c2", "last")
        assert (both(place), leftovers(place)) == ("last", []), (at, outcome)
        ObjectStore.clear()
        if at and not faults.happened:
            break
    assert at > 20
    assert outcomes - {"counts"} == {"published", "stopped" if fault == "stops" else "failed"}


def test_a_detached_job_withdraws_its_claim_and_a_document_that_it_has_not_goes(output: str) -> None:
    evaluate(output, "a1", "first")
    own(output, "b2", work="detached")
    fewer = {name: content for name, content in documents("second").items() if name != "report.md"}
    publication.publish(output, "b2", LAYOUT, fewer, stage(output, "b2", "second"))
    found = find_published(output, LAYOUT)
    assert found
    assert (found.run_id, publication.held_claim(output, "b2")) == ("b2", None)
    assert "report.md" not in list_folder(output)


@pytest.mark.parametrize("stops", [False, True])
def test_a_second_attempt_goes_on_where_the_first_one_stopped(output: str, stops: bool) -> None:
    for place, again, has_published, fault_came in disturbed(output, lambda _, at: Faults(at, stops)):
        assert has_published or fault_came
        again()
        # The same pipeline once more, which has read something else since.
        own(place, "b1")
        others = partial(publication.publish, place, "b1", LAYOUT, documents("next"), stage(place, "b1", "next"))
        assert "build and run it again, or write sampled predictions to files first" in problem_of(others)
        publication.cancel_run(place, "b1")
        assert both(place) == "later"
        evaluate(place, "c2", "last")
        assert (both(place), leftovers(place)) == ("last", [])


def test_a_run_that_was_abandoned_or_has_lost_a_file_publishes_nothing(output: str) -> None:
    evaluate(output, "a0", "earlier")
    own(output, "b1")
    staged = stage(output, "b1", "later")
    delete_files([posixpath.join(publication.run_folder(output, "b1"), "samples", staged["samples"][0])])
    publish_it = partial(publication.publish, output, "b1", LAYOUT, documents("later"), staged)
    for _ in range(2):
        with pytest.raises(LostClaim, match="this run does not own it any more"):
            publish_it()
        publication.cancel_run(output, "b1")
    stage(output, "b1", "still on its way")
    assert both(output) == "earlier"
    evaluate(output, "c2", "last")
    assert leftovers(output) == []


def test_a_run_that_seemed_dead_does_not_spoil_the_result_of_the_one_that_took_over(output: str, kind: str) -> None:
    """It goes on at any of its steps after the other has published; without links, at any before the last look."""

    @dataclass
    class Frozen(Faults):
        place: str = ""

        def step(self) -> None:
            self.steps += 1
            if self.steps == self.at:
                grow_old(self.place)
                evaluate(self.place, "c2", "other")

    for place, _, has_published, other_came in disturbed(output, lambda place, at: Frozen(at, place=place)):
        if kind in ON_DISK:
            assert seen(place) == ("other" if other_came else "later")
            assert has_published or seen_by_plain_names(place) == "other"
        else:
            assert has_published or seen(place) == "other"
        assert "c2" in names(place) or not other_came


def test_a_result_by_plain_names_alone_is_replaced_too_and_what_others_keep_there_stays(output: str) -> None:
    """As somebody has copied it."""
    others = (".runs/.nfs1", "notes.txt", "samples/notes.txt", "samples/samples-notes.txt", "quarantine/more.jsonl")
    files = {**documents("plain"), "samples/samples-0.parquet": b"plain 0\n", "samples/samples-1.parquet": b"plain 1\n"}
    files |= {"quarantine/quarantine-0.jsonl": b"plain 0\n", **{name: name.encode() for name in others}}
    for name, content in files.items():
        write_file(f"{output}/{name}", content)
    assert both(output) == "plain"
    with pytest.raises(ZeroDivisionError), publication.owned_output(output, Claim("b1", ELSEWHERE), LAYOUT):
        raise ZeroDivisionError
    assert both(output) == "plain"
    for run_id in ("c2", "d3"):
        grow_old(output)
        evaluate(output, run_id, f"run {run_id}")
        assert (both(output), leftovers(output)) == (f"run {run_id}", [".nfs1", "notes.txt"])
        assert [read_bytes(f"{output}/{name}").decode() for name in others] == list(others)


@pytest.mark.parametrize("name", ["report.md", "samples/samples-0001.parquet", "quarantine/quarantine-a.jsonl"])
def test_a_file_of_others_is_refused_whether_or_not_the_run_has_staged_files(output: str, name: str) -> None:
    write_file(f"{output}/{name}", b"notes")
    for _ in range(2):
        assert f"holds no result, but a {name} that it would replace" in problem_of(own, output, "b1")
        assert (read_bytes(f"{output}/{name}"), list_folder(f"{output}/{RUNS}/b1")) == (b"notes", {})
        # A run may have staged files before it asks again.
        stage(output, "b1", "later")


def test_results_of_two_layouts_live_in_one_folder(output: str) -> None:
    other = Layout(("comparison.md", "comparison.json"), ("changes",))
    contents = {name: name.encode() for name in other.files}
    for run_id, tag in (("a1", "first"), ("c3", "second")):
        evaluate(output, run_id, tag)
        with publication.owned_output(output, Claim(f"{run_id}b", ELSEWHERE), other):
            publication.publish(output, f"{run_id}b", other, contents, {"changes": []})
        found = find_published(output, other)
        assert found is not None
        assert {name: found.read(name) for name in found.files} == contents
        assert both(output) == tag
    assert set(list_folder(posixpath.join(output, RUNS))) == {"c3", "c3b"}


def test_rows_of_an_interrupted_run_stay_if_it_asked_for_that_and_are_no_result(output: str) -> None:
    evaluate(output, "a0", "earlier")
    own(output, "b1")
    publication.ask_to_keep(output, "b1", b"how it scores")
    stage(output, "b1", "cut off")
    whole = posixpath.join(publication.run_folder(output, "b1"), "samples/samples-a.parquet")
    write_file(whole, encode_table(sample_schema((), ()).empty_table()))
    publication.cancel_run(output, "b1")
    evaluate(output, "c2", "last")
    assert both(output) == "last"
    (kept,) = publication.kept_runs(output)
    assert (kept.run_id, kept.start, kept.files) == ("b1", b"how it scores", (whole,)), "the other files are no Parquet"
    with pytest.raises(LostClaim):
        publication.publish(output, "b1", LAYOUT, documents("cut off"), {})
    publication.remove_kept(output)
    assert (list(publication.kept_runs(output)), leftovers(output)) == ([], [])


# One run owns an output: others say so and stop, and what a dead run has left is taken over.


def names(output: str) -> list[str]:
    return sorted(list_folder(f"{output}/{RUNS}"))


def test_one_run_owns_an_output_until_it_releases_it(output: str) -> None:
    own(output, "a1")
    for other in ("00", "b1"):
        assert problem_of(own, output, other) == (
            f"--output {output}: run a1, process 1, is writing there; wait until it ends, give another --output, or, "
            f"if it has ended, delete {output}/.runs/a1.claim"
        )
    assert (names(output), publication.held_claim(output, "a1")) == (["a1.claim"], Claim("a1", ELSEWHERE))
    publication.release(output, "a1")
    assert publication.held_claim(output, "a1") is None
    publication.beat(output, "a1")
    assert names(output) == [], "a heartbeat does not bring a claim back"
    own(output, "b1")
    assert names(output) == ["b1.claim"]


def test_a_claim_is_dead_after_its_lease_without_a_heartbeat(output: str) -> None:
    own(output, "a1")
    for _ in range(3):
        grow_old(output, LEASE_S - 60)
        publication.beat(output, "a1")
    grow_old(output, LEASE_S - 60)
    assert "run a1" in problem_of(own, output, "b1")
    grow_old(output, 120)
    own(output, "c1", Process.of(os.getpid()), "detached")
    assert names(output) == ["c1.claim"]
    grow_old(output, publication.DETACHED_LEASE_S - 60)
    assert "job c1 is writing there" in problem_of(own, output, "b1")


def test_a_worker_beats_at_most_every_half_minute(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own(output, "a1")
    monkeypatch.setattr(publication, "_last_beats", {})
    for now, beats in ((5.0, True), (34.9, False), (35.0, True)):
        monkeypatch.setattr(publication, "time", SimpleNamespace(monotonic=lambda now=now: now))
        publication.beat_from_worker(output, "a1")
        assert ("a1.heartbeat" in names(output)) == beats
        delete_files([f"{output}/{RUNS}/a1.heartbeat"])


def test_the_process_of_a_command_tells_more_than_its_silence() -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    here, ended = Process.of(os.getpid()), Process.of(child.pid)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, but still listed
    cases: list[tuple[Any, float, bool, bool]] = [
        ("local", 0.0, True, False),
        ("local", LEASE_S + 1, True, False),
        ("job", LEASE_S, True, True),
        ("job", LEASE_S + 1, True, False),
        ("detached", LEASE_S + 1, True, True),
        ("detached", publication.DETACHED_LEASE_S, True, True),
        ("detached", publication.DETACHED_LEASE_S + 1, False, False),
    ]
    for work, silence_s, alive, alive_if_ended in cases:
        claims = [Claim("a1", process, work) for process in (here, ended)]
        assert [publication.is_alive(claim, silence_s) for claim in claims] == [alive, alive_if_ended]
    # A different process may have the number now, and that of a different machine is not known.
    others = [here, Process(here.machine, here.pid, "1"), Process("elsewhere", here.pid, here.started)]
    with mmap.mmap(-1, 1 << 20):  # a process that has grown is the same one
        found = [each.is_running() for each in (*others, Process("", here.pid, here.started))]
    child.wait()
    assert [*found, ended.is_running()] == [True, False, None, None, False]


def test_of_runs_that_ask_at_the_same_time_at_most_one_goes_on(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every order of the steps of two runs: asking and looking."""
    goes_on = set()
    for number, ((first, second), at) in enumerate(itertools.product((("a", "b"), ("b", "a")), range(1, 12))):
        owners: dict[str, bool] = {}

        def ask(run_id: str, place: str = f"{output}/{number}", owners: dict[str, bool] = owners) -> None:
            try:
                own(place, run_id)
                owners[run_id] = True
            except InputProblem:
                owners[run_id] = False

        with monkeypatch.context() as patch:
            calls = call_at(patch, at, partial(ask, second), "write_file", "list_folder", "read_bytes")
            ask(first)
        if len(calls) >= at:
            assert not all(owners.values()), (first, at)
            goes_on |= {run_id for run_id, is_owner in owners.items() if is_owner}
    assert goes_on == {"a", "b"}


def test_what_has_no_claim_is_nobodys_but_that_of_a_run_that_is_about_to_ask(output: str) -> None:
    write_file(f"{output}/.runs/a1/samples/samples-0.parquet", b"rows of a run that was abandoned")
    write_file(f"{output}/.runs/b2.claim", b"no claim")
    write_file(f"{output}/.runs/c2.claim.1234.part", b"")
    own(output, "c3")
    assert names(output) == ["c2.claim.1234.part", "c3.claim"]
    publication.release(output, "c3")
    grow_old(output, LEASE_S + 1)
    own(output, "d4")
    assert names(output) == ["d4.claim"]
