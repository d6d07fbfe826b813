"""Ctrl-C and SIGTERM: the exit code, one line, and nothing left behind, neither files nor processes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.attacks

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "corpora" / "chart"
SAMPLES = 20_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that takes much longer than the test waits."""
    folder = tmp_path_factory.mktemp("interrupt")
    for name in ("ground_truth.jsonl", "predictions.jsonl"):
        records = [json.loads(line) for line in (CORPUS / name).read_bytes().splitlines()]
        with (folder / name).open("w") as file:
            for number, record in enumerate(itertools.islice(itertools.cycle(records), SAMPLES)):
                file.write(json.dumps({**record, "sample_id": str(number)}) + "\n")
    return folder


def group_is_empty(group: int) -> bool:
    """Tells whether the processes of a group have ended; those that nobody has waited for yet have, too."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    return not any(row.split()[0] == str(group) and not row.split()[1].startswith("Z") for row in listed.splitlines())


@pytest.mark.parametrize(
    ("number", "flags", "everyone", "wait_s"),
    [
        # While it writes blocks of records to the temporary folder.
        (signal.SIGTERM, (), False, 0),
        # Ctrl-C reaches every process of the terminal.
        (signal.SIGINT, ("--direct_running_mode=multi_processing", "--direct_num_workers=2"), True, 0),
        (signal.SIGTERM, ("--processes", "2"), False, 1),
    ],
)
def test_an_interrupted_run_leaves_nothing_behind(
    corpus: Path, tmp_path: Path, number: signal.Signals, flags: tuple[str, ...], everyone: bool, wait_s: float
) -> None:
    output, temporary = tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    inputs = [f"--ground-truth={corpus}/ground_truth.jsonl", f"--predictions={corpus}/predictions.jsonl"]
    program = [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", "chart"]
    process = subprocess.Popen(
        [*program, *inputs, f"--output={output}", *flags],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while not list(temporary.glob("*/*/*.blocks")) or (flags and not list(temporary.glob("*/beamscore-workers-*"))):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(wait_s)
        assert process.poll() is None
        (os.killpg if everyone else os.kill)(process.pid, number)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout, stderr) == (130, "", "beamscore: interrupted\n")
        assert list(output.iterdir()) == []
        while not group_is_empty(process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert list(temporary.iterdir()) == []
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


WHILE_IMPORTING = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "apache_beam":
            os.kill(os.getpid(), signal.SIGINT)

# What runs in the background of a shell may be started with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from beamscore.pipelines.commands.main import main
sys.argv[1:] = ["evaluate", "chart", "--ground-truth", "t.jsonl", "--predictions", "p.jsonl", "--output", "o"]
sys.exit(main())
"""


def test_an_interrupt_while_packages_are_imported_is_one_line_too() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IMPORTING], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "beamscore: interrupted\n")
