"""Laws of whole runs under attack, over all benchmarks, drawn by seeds.

`make attacks SEEDS=60` tries as many seeds; each change has to pass two.
"""

from __future__ import annotations

import os
import random

SEEDS = range(int(os.environ.get("BEAMSCORE_SEEDS", "2")))


def rng_of(*parts: object) -> random.Random:
    """Returns a generator of random numbers that depends on `parts` alone."""
    return random.Random(repr(parts))
