"""Runs that are killed at random moments: nothing outlives them, and the next run gives the bytes of one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from beamscore.transforms.io.publication import CLAIM
from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, assert_same, rng_of, written
from tests.runs import evaluate

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[2]


def killed_after(moment_s: float, temporary: Path, arguments: list[str]) -> None:
    """Starts a command and kills it, alone, some time after it began to shuffle; its workers see to themselves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "beamscore.pipelines.commands", *arguments],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until(lambda: process.poll() is not None or any(temporary.glob("*/*")))
    time.sleep(moment_s)
    process.kill()
    process.wait()
    wait_until(lambda: not living(process.pid))


def wait_until(done: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def living(group: int) -> list[str]:
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [row.split() for row in listed.splitlines()]
    return [stat for pgid, stat in rows if int(pgid) == group and not stat.startswith("Z")]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_run_leaves_nothing_that_the_next_one_would_not_remove(
    tmp_path: Path, processes: int, seed: int
) -> None:
    rng = rng_of("killed", processes, seed)
    name = BENCHMARKS[seed % len(BENCHMARKS)]
    inputs = written(tmp_path / "in", name, 60, seed)
    changed = written(tmp_path / "changed", name, 60, seed + 1) if rng.random() < 0.5 else inputs
    temporary, out = tmp_path / "tmp", tmp_path / "out"
    temporary.mkdir()
    given = [f"--ground-truth={inputs[0]}", f"--predictions={inputs[1]}", f"--output={out}", *FLAGS, "--resume"]
    for _ in range(2):
        moment_s = rng.choice([0.0, 0.1, 0.5, 1.5]) + rng.random()
        killed_after(moment_s, temporary, ["evaluate", name, *given, f"--processes={processes}"])
    for unfinished in (out / ".runs").glob(f"*{CLAIM}.*"):
        # A claim that is being written counts as that of a living run for as long as a run may be silent.
        os.utime(unfinished, (0, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", None)
        resumed = evaluate(out, *changed, "--resume", *FLAGS, config=name)
    assert list(temporary.iterdir()) == []
    whole = evaluate(tmp_path / "whole", *changed, *FLAGS, config=name)
    assert_same(resumed, whole)
    assert resumed.stderr == ""
    assert len(list((out / ".runs").iterdir())) == 1
