"""Worker processes live as long as the command that started them, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

WORKER = """
import pathlib, sys, tempfile, time
from beamscore.pipelines.runners.worker_processes import end_with, temporary_folder

with temporary_folder(sys.argv[2]) as temporary:
    end_with(sys.argv[1], temporary, int(sys.argv[3]))
    pathlib.Path(tempfile.mkdtemp(), "scratch").write_text("")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_worker_that_is_ended_leaves_no_temporary_files(tmp_path: Path) -> None:
    lifeline, temporary = tmp_path / "lifeline", tmp_path / "temporary"
    lifeline.mkdir()
    temporary.mkdir()
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(lifeline), str(temporary), str(os.getpid())],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        assert len(list(temporary.rglob("scratch"))) == 1
        lifeline.rmdir()
        assert worker.wait(timeout=30) == 0
        assert list(temporary.iterdir()) == []
    finally:
        worker.kill()
        worker.communicate()
