"""One run owns an output: others say so and stop, and what a dead run has left is taken over."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


def names(output: str) -> list[str]:
    return sorted(list_folder(f"{output}/.runs"))


def test_one_run_owns_an_output_until_it_releases_it(output: str) -> None:
    own_output(output, Claim("a1", ELSEWHERE), LAYOUT)
    assert names(output) == ["a1.claim"]
    for other in ("00", "b1"):
        with pytest.raises(InputProblem) as caught:
            own_output(output, Claim(other, ELSEWHERE), LAYOUT)
        assert caught.value.message == (
            f"--output {output}: run a1, process 1, is writing there; wait until it ends, give another --output, or, "
            f"if it has ended, delete {output}/.runs/a1.claim"
        )
    assert names(output) == ["a1.claim"]
    assert held_claim(output, "a1") == Claim("a1", ELSEWHERE)
    release(output, "a1")
    assert held_claim(output, "a1") is None
    own_output(output, Claim("b1", ELSEWHERE), LAYOUT)
    assert names(output) == ["b1.claim"]


def test_a_claim_is_dead_after_its_lease_without_a_heartbeat(output: str) -> None:
    own_output(output, Claim("a1", ELSEWHERE), LAYOUT)
    for _ in range(3):
        pass_time(output, LEASE_S - 60)
        beat(output, "a1")
    pass_time(output, LEASE_S - 60)
    with pytest.raises(InputProblem, match="run a1"):
        own_output(output, Claim("b1", ELSEWHERE), LAYOUT)
    pass_time(output, 120)
    own_output(output, Claim("c1", ELSEWHERE), LAYOUT)
    assert names(output) == ["c1.claim"]


def test_a_heartbeat_does_not_bring_a_claim_back(output: str) -> None:
    own_output(output, Claim("a1", ELSEWHERE), LAYOUT)
    release(output, "a1")
    beat(output, "a1")
    assert names(output) == []


def test_a_job_that_runs_without_its_command_has_a_longer_lease(output: str) -> None:
    lasting = Claim("a1", Process.of(os.getpid()), is_job=True, detached=True, lease_s=DETACHED_LEASE_S)
    own_output(output, lasting, LAYOUT)
    pass_time(output, DETACHED_LEASE_S - 60)
    with pytest.raises(InputProblem, match="job a1 is writing there"):
        own_output(output, Claim("b1", ELSEWHERE), LAYOUT)
    pass_time(output, 120)
    own_output(output, Claim("c1", ELSEWHERE), LAYOUT)
    assert names(output) == ["c1.claim"]


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
    ended = subprocess.Popen([sys.executable, "-c", ""])
    gone = Process.of(ended.pid)
    ended.wait()
    for process, expected in ((here, alive), (gone, alive_where_it_has_ended)):
        assert is_alive(Claim("a1", process, is_job, detached, lease), silence_s) is expected


def test_a_number_that_another_process_has_now_is_not_the_process() -> None:
    here = Process.of(os.getpid())
    assert here.is_running() is True
    assert Process(here.machine, here.pid, "1").is_running() is False
    assert Process("elsewhere", here.pid, here.started).is_running() is None
    assert Process("", here.pid, here.started).is_running() is None


def test_of_runs_that_ask_at_the_same_time_one_goes_on(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every order of the steps of two runs: asking, looking, and, for the first, waiting for the other."""
    for number, (first, second, at) in enumerate(itertools.product("ab", "ab", range(1, 12))):
        if first == second:
            continue
        place = f"{output}/{number}"
        owners: list[str] = []
        refused: list[str] = []

        def ask(run_id: str, place: str = place, owners: list[str] = owners, refused: list[str] = refused) -> None:
            try:
                own_output(place, Claim(run_id, ELSEWHERE), LAYOUT)
                owners.append(run_id)
            except InputProblem:
                refused.append(run_id)

        steps = 0

        def between(real: object, at: int = at, second: str = second) -> object:
            def call(*arguments: object) -> object:
                nonlocal steps
                steps += 1
                if steps == at:
                    ask(second)
                return real(*arguments)  # type: ignore[operator]

            return call

        with monkeypatch.context() as patch:
            for name in ("write_file", "list_folder", "read_bytes"):
                patch.setattr(publication, name, between(getattr(publication, name)))
            ask(first)
        if steps < at:
            continue
        assert len(owners) == 1, (first, at, owners, refused)
        assert len(refused) == 1


def test_what_has_no_claim_is_nobodys(output: str) -> None:
    write_file(f"{output}/.runs/a1/samples/samples-0.parquet", b"rows of a run that was abandoned")
    write_file(f"{output}/.runs/b2.claim", b"no claim")
    own_output(output, Claim("c3", ELSEWHERE), LAYOUT)
    assert names(output) == ["c3.claim"]


def test_a_run_that_is_about_to_ask_is_left_alone(output: str) -> None:
    write_file(f"{output}/.runs/a1.claim.1234.part", b"")
    own_output(output, Claim("c3", ELSEWHERE), LAYOUT)
    assert names(output) == ["a1.claim.1234.part", "c3.claim"]
    release(output, "c3")
    pass_time(output, LEASE_S + 1)
    own_output(output, Claim("d4", ELSEWHERE), LAYOUT)
    assert names(output) == ["d4.claim"]
