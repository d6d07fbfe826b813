"""Runs of the toy benchmark that are interrupted in the middle of their scoring."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.runs import without_progress

ROOT = Path(__file__).parents[1]
SCORED_BEFORE, BATCH = 80, 9
WRITTEN_BEFORE = SCORED_BEFORE // BATCH * BATCH
"""80 samples are scored before the signal comes; 72, eight batches of 9, are in files, and the rest is lost."""

_COMMAND = f"""
import itertools, os, sys
from beamscore.transforms.process import quiet_root_logger

# What follows imports Beam before the command does, which keeps it quiet meanwhile.
quiet_root_logger.__enter__()
from beamscore.pipelines import evaluate
from beamscore.pipelines.commands import main
from tests import toy
from beamscore.transforms import pair

numbers = itertools.count(1)
score = toy.ToyBenchmark.score_sample

def counted(self, truth, prediction):
    if next(numbers) > {SCORED_BEFORE}:
        os.kill(os.getpid(), int(sys.argv[1]))
    return score(self, truth, prediction)

toy.register()
toy.ToyBenchmark.score_sample = counted
pair.SAMPLES_PER_BATCH = {BATCH}
evaluate.ROWS_FILE_S = 0.0
sys.exit(main.main(sys.argv[2:]))
"""


def interrupted(number: signal.Signals, arguments: Sequence[str]) -> tuple[int, str]:
    """Runs a command until a signal amid its scoring; returns its code, and standard error without progress."""
    command = [sys.executable, "-c", _COMMAND, str(int(number)), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, without_progress(done.stderr)
