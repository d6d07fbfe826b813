"""Laws of whole runs under attack, over all benchmarks, drawn by seeds.

`make attacks SEEDS=60` tries as many seeds; each change has to pass two.
"""

from __future__ import annotations

import os
import random

from tests.runs import Run

SEEDS = range(int(os.environ.get("BEAMSCORE_SEEDS", "2")))
MAX_DEPTH = 40
_SETTINGS = ("max_rejected_fraction=1", "bootstrap.replicates=5", f"limits.depth={MAX_DEPTH}")
FLAGS = ("--quiet", "--no-html", "--slice", "source", *(f"--set={each}" for each in _SETTINGS))


def rng_of(*parts: object) -> random.Random:
    """Returns a generator of random numbers that depends on `parts` alone."""
    return random.Random(repr(parts))


def assert_same(run: Run, whole: Run) -> None:
    """A run that was interrupted, reused or merged says what one evaluation of all says, to the byte."""
    assert run.code == whole.code
    assert run.bytes() == whole.bytes()
    assert run.samples == whole.samples
    assert run.quarantine == whole.quarantine
    assert run.report == whole.report
