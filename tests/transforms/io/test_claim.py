"""One run owns an output: others say so and stop, and what a dead run has left is taken over."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamscore.transforms.io import publication
from beamscore.transforms.io.publication import (
    DETACHED_LEASE_S,
    LEASE_S,
    Claim,
    Layout,
    Process,
    beat,
    held_claim,
    is_alive,
    own_output,
    release,
)
from beamscore.transforms.io.storage import list_folder, write_file
from beamscore.transforms.records import InputProblem
from tests.memory_files import FolderStore, ObjectStore
from tests.transforms.samples import problem_of

ELSEWHERE = Process("another machine", 1, "1")
LAYOUT = Layout("toy", ("summary.json",), ("samples",))


@pytest.fixture(params=["disk", "objects", "folders"])
def output(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(publication, "POLL_INTERVAL_S", 0)
    yield {"objects": "mem://bucket", "folders": "folders://bucket/out"}.get(request.param, str(tmp_path / "out"))
    ObjectStore.clear()
    FolderStore.clear()


def pass_time(output: str, seconds: float) -> None:
    ObjectStore.now += seconds
    if "://" not in output:
        for entry in Path(output, ".runs").iterdir():
            changed = entry.stat().st_mtime - seconds
            os.utime(entry, (changed, changed))


def own(output: str, run_id: str, process: Process = ELSEWHERE, **more: Any) -> None:
    own_output(output, Claim(run_id, process, **more), LAYOUT)


def names(output: str) -> list[str]:
    return sorted(list_folder(f"{output}/.runs"))


def test_one_run_owns_an_output_until_it_releases_it(output: str) -> None:
    own(output, "a1")
    for other in ("00", "b1"):
        assert problem_of(own, output, other) == (
            f"--output {output}: run a1, process 1, is writing there; wait until it ends, give another --output, or, "
            f"if it has ended, delete {output}/.runs/a1.claim"
        )
    assert (names(output), held_claim(output, "a1")) == (["a1.claim"], Claim("a1", ELSEWHERE))
    release(output, "a1")
    assert held_claim(output, "a1") is None
    beat(output, "a1")
    assert names(output) == [], "a heartbeat does not bring a claim back"
    own(output, "b1")
    assert names(output) == ["b1.claim"]


def test_a_claim_is_dead_after_its_lease_without_a_heartbeat(output: str) -> None:
    own(output, "a1")
    for _ in range(3):
        pass_time(output, LEASE_S - 60)
        beat(output, "a1")
    pass_time(output, LEASE_S - 60)
    assert "run a1" in problem_of(own, output, "b1")
    pass_time(output, 120)
    # A job that runs without its command has a longer lease.
    own(output, "c1", Process.of(os.getpid()), is_job=True, detached=True, lease_s=DETACHED_LEASE_S)
    assert names(output) == ["c1.claim"]
    pass_time(output, DETACHED_LEASE_S - 60)
    assert "job c1 is writing there" in problem_of(own, output, "b1")
    pass_time(output, 120)
    own(output, "d1")
    assert names(output) == ["d1.claim"]


@pytest.mark.parametrize(
    ("is_job", "detached", "silence_s", "alive", "alive_where_it_has_ended"),
    [
        (False, False, 0.0, True, False),
        (False, False, LEASE_S + 1, True, False),
        (True, False, LEASE_S, True, True),
        (True, False, LEASE_S + 1, True, False),
        (True, True, LEASE_S + 1, True, True),
        (True, True, DETACHED_LEASE_S, True, True),
        (True, True, DETACHED_LEASE_S + 1, False, False),
    ],
)
def test_the_process_of_a_command_tells_more_than_its_silence(
    is_job: bool, detached: bool, silence_s: float, alive: bool, alive_where_it_has_ended: bool
) -> None:
    lease = DETACHED_LEASE_S if detached else LEASE_S
    here = Process.of(os.getpid())
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone = Process.of(ended.pid)
    ended.wait()
    for process, expected in ((here, alive), (gone, alive_where_it_has_ended)):
        assert is_alive(Claim("a1", process, is_job, detached, lease), silence_s) is expected


def test_a_number_that_another_process_has_now_is_not_the_process() -> None:
    here = Process.of(os.getpid())
    others = [here, Process(here.machine, here.pid, "1"), Process("elsewhere", here.pid, here.started)]
    found = [each.is_running() for each in (*others, Process("", here.pid, here.started))]
    assert found == [True, False, None, None]


def test_of_runs_that_ask_at_the_same_time_one_goes_on(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every order of the steps of two runs: asking, looking, and, for the first, waiting for the other."""
    for number, ((first, second), at) in enumerate(itertools.product((("a", "b"), ("b", "a")), range(1, 12))):
        place = f"{output}/{number}"
        owners: list[str] = []
        refused: list[str] = []
        calls = itertools.count(1)

        def ask(run_id: str, place: str = place, owners: list[str] = owners, refused: list[str] = refused) -> None:
            try:
                own(place, run_id)
                owners.append(run_id)
            except InputProblem:
                refused.append(run_id)

        def between(
            real: Callable[..., Any], at: int = at, calls: Iterator[int] = calls, ask: Any = ask, other: str = second
        ) -> Callable[..., Any]:
            def call(*arguments: object) -> Any:
                if next(calls) == at:
                    ask(other)
                return real(*arguments)

            return call

        with monkeypatch.context() as patch:
            for name in ("write_file", "list_folder", "read_bytes"):
                patch.setattr(publication, name, between(getattr(publication, name)))
            ask(first)
        if next(calls) > at:
            assert (len(owners), len(refused)) == (1, 1), (first, at, owners, refused)


def test_what_has_no_claim_is_nobodys_but_that_of_a_run_that_is_about_to_ask(output: str) -> None:
    write_file(f"{output}/.runs/a1/samples/samples-0.parquet", b"rows of a run that was abandoned")
    write_file(f"{output}/.runs/b2.claim", b"no claim")
    write_file(f"{output}/.runs/c2.claim.1234.part", b"")
    own(output, "c3")
    assert names(output) == ["c2.claim.1234.part", "c3.claim"]
    release(output, "c3")
    pass_time(output, LEASE_S + 1)
    own(output, "d4")
    assert names(output) == ["d4.claim"]
