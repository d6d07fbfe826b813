"""Neither files nor processes outlive a command, also after Ctrl-C or SIGTERM; the next one removes what is left."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from unittest.mock import Mock, call

import pytest

from beamscore.pipelines.runners.lifetime import own_temporary_folder, stop_if_worker_ends, worker_command
from beamscore.transforms.io.publication import CLAIM
from beamscore.transforms.records import InputProblem
from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, rng_of, written
from tests.runs import assert_same, evaluate
from tests.servers import group_is_empty, wait_until

ROOT = Path(__file__).parents[3]

WORKER = """
import pathlib, sys, tempfile, time
from beamscore.pipelines.runners.lifetime import live_by

live_by(sys.argv[1], int(sys.argv[2]))
try:
    pathlib.Path(tempfile.mkdtemp(), "scratch").write_text("")
    print("ready", flush=True)
finally:  # The folder of a worker that ends at once may be gone before.
    time.sleep(60)
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_a_killed_command_left_is_removed_and_what_a_living_one_has_stays(shared: Path) -> None:
    # Nobody holds the lock of a process that has ended.
    (shared / "beamscore-run-dead").mkdir()
    (shared / "beamscore-run-dead" / "file").write_text("x")
    (shared / "beamscore-run-dead.lock").touch()
    (shared / "somebody else's").mkdir()
    with own_temporary_folder():
        living = Path(tempfile.gettempdir())
        assert shared in Path(tempfile.mkdtemp()).parents
        tempfile.tempdir = str(shared)
        with own_temporary_folder():
            assert living.is_dir()
        tempfile.tempdir = str(living)
    assert tempfile.gettempdir() == str(shared)
    assert [path.name for path in shared.iterdir()] == ["somebody else's"]


def test_the_files_of_a_job_server_stay_and_without_a_folder_nothing_changes(shared: Path) -> None:
    """Beam stops the server when Python ends, and complains if they are gone."""
    with own_temporary_folder():
        server = Path(tempfile.mkdtemp(prefix="beam-temp"))
    # Nor does a later command take them for those of a process that has ended.
    with own_temporary_folder():
        assert server.is_dir()
    tempfile.tempdir = str(shared / "gone")
    with own_temporary_folder():
        assert tempfile.gettempdir() == str(shared / "gone")


def test_a_worker_that_ends_stops_the_run_and_only_its_readers_fail_silently(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other errors in threads are reported as before, within and after."""
    reported: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr("threading.excepthook", reported.append)
    before = threading.excepthook, signal.getsignal(signal.SIGUSR1)

    def fails(name: str | None, message: str) -> threading.ExceptHookArgs:
        thread = name and threading.Thread(name=name)
        return threading.ExceptHookArgs((RuntimeError, RuntimeError(message), None, thread or None))

    loud = [fails("another", "broken"), fails(None, "broken")]
    with worker_command(), stop_if_worker_ends():
        for each in (*loud, fails("read_grpc_client_inputs", "broken"), fails("beam_control_read", "broken")):
            threading.excepthook(each)
        [folder] = shared.iterdir()
        with pytest.raises(InputProblem, match="ended early with exit code -9; "):
            threading.excepthook(fails("run_worker", "Worker subprocess exited with return code -9"))
        assert not folder.exists()
    assert reported == loud
    assert (threading.excepthook, signal.getsignal(signal.SIGUSR1)) == before
    # Of a handler that Python has not set, it can only set the default.
    for earlier, restored in ((None, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)):
        monkeypatch.setattr("signal.signal", handlers := Mock(return_value=earlier))
        with stop_if_worker_ends():
            pass
        assert handlers.call_args == call(signal.SIGUSR1, restored)


@pytest.mark.parametrize("ended_by_name", [True, False])
def test_a_worker_that_is_ended_leaves_no_temporary_files(tmp_path: Path, ended_by_name: bool) -> None:
    folder = tmp_path / "workers"
    folder.mkdir()
    # Its parent is another process than the one that it is told of: as if the command had been killed.
    parent = os.getpid() if ended_by_name else 1
    command = [sys.executable, "-c", WORKER, str(folder), str(parent)]
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        if ended_by_name:
            assert worker.stdout.readline() == "ready\n"
            assert len(list(folder.rglob("scratch"))) == 1
            folder.rename(f"{folder}-removed")
        assert worker.wait(timeout=30) == 0
        assert list(tmp_path.iterdir()) == []
    finally:
        worker.kill()
        worker.communicate()


def started(temporary: Path, *arguments: object) -> subprocess.Popen[str]:
    """Starts `beamscore evaluate` with these arguments, in a group of its own, and with this temporary folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", *map(str, arguments)],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus that takes much longer than the test waits."""
    return written(tmp_path_factory.mktemp("interrupt"), "traffic_rules", 40_000, 1)


@pytest.mark.attacks
@pytest.mark.parametrize(
    ("number", "flags", "everyone", "wait_s"),
    [
        # While it writes blocks of records to the temporary folder.
        (signal.SIGTERM, [], False, 0),
        # Ctrl-C reaches every process of the terminal.
        (signal.SIGINT, ["--direct_running_mode=multi_processing", "--direct_num_workers=2"], True, 0),
        (signal.SIGTERM, ["--processes=2"], False, 1),
    ],
)
def test_an_interrupted_run_leaves_nothing_behind(
    corpus: tuple[Path, Path], tmp_path: Path, number: signal.Signals, flags: list[str], everyone: bool, wait_s: float
) -> None:
    output, temporary = tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    given = [f"--ground-truth={corpus[0]}", f"--predictions={corpus[1]}", f"--output={output}", *flags]
    process = started(temporary, "traffic_rules", *given)
    begun = ["*/*/*.blocks", *(["*/beamscore-workers-*"] if flags else [])]
    try:
        wait_until(lambda: process.poll() is not None or all(any(temporary.glob(each)) for each in begun))
        time.sleep(wait_s)
        assert process.poll() is None
        (os.killpg if everyone else os.kill)(process.pid, number)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout, stderr) == (130, "", "beamscore: interrupted\n")
        assert list(output.iterdir()) == []
        wait_until(lambda: group_is_empty(process.pid))
        assert list(temporary.iterdir()) == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def kill_after(moment_s: float, process: subprocess.Popen[str], temporary: Path) -> None:
    """Kills a command, alone, some time after it began to shuffle; its workers see to themselves."""
    wait_until(lambda: process.poll() is not None or any(temporary.glob("*/*")))
    time.sleep(moment_s)
    process.kill()
    process.communicate()
    wait_until(lambda: group_is_empty(process.pid))


@pytest.mark.attacks
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_killed_at_any_moment_goes_on_and_leaves_nothing(tmp_path: Path, processes: int, seed: int) -> None:
    rng = rng_of("killed", processes, seed)
    name = BENCHMARKS[seed % len(BENCHMARKS)]
    inputs = written(tmp_path / "in", name, 60, seed)
    changed = written(tmp_path / "changed", name, 60, seed + 1) if rng.random() < 0.5 else inputs
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    given = [f"--ground-truth={inputs[0]}", f"--predictions={inputs[1]}", f"--output={out}", *FLAGS, "--resume"]
    for _ in range(2):
        moment_s = rng.choice([0.0, 0.1, 0.5, 1.5]) + rng.random()
        kill_after(moment_s, started(temporary, name, *given, f"--processes={processes}"), temporary)
    for unfinished in (out / ".runs").glob(f"*{CLAIM}.*"):
        # A claim that is being written counts as that of a living run for as long as a run may be silent.
        os.utime(unfinished, (0, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", None)
        resumed = evaluate(out, *changed, "--resume", *FLAGS, config=name)
    assert list(temporary.iterdir()) == []
    assert_same(resumed, evaluate(tmp_path / "whole", *changed, *FLAGS, config=name))
    assert resumed.stderr == ""
    assert len(list((out / ".runs").iterdir())) == 1
