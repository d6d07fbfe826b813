"""Which matches agree on where things are: RANSAC with one scale and one shift.

The model of two matches (a, b) moves a point p of the ground truth to s (p - m) + m + t, where m is the mean of all
points, t the shift between the centres of the two samples and s the ratio of their spreads. The samples come from a
fixed sequence, so that equal input leads to equal matches.

Source: the released CDM tool, which calls scikit-image's `ransac` (M. Fischler and R. Bolles, CACM 24(6), 1981).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ROUNDS = 5
SAMPLE = 2
RESIDUAL = 20.0
TRIALS = 50
SEED = 42
_TINY = 1e-10
_EPSILON = float(np.spacing(1.0))


def consistent(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns which matches are kept, [N], of the centres [N, 2] of both sides in pixels.

    Up to 5 rounds, each on the matches that no round before has kept. Two or fewer matches are all kept, and so are
    those of equal sides, on which nothing has moved. (Of points that coincide the model knows no scale: 400 signs in
    one place and two beside them would not all agree with themselves.)
    """
    count = len(source)
    if count <= SAMPLE or np.array_equal(source, target):
        return np.ones(count, dtype=bool)
    kept = np.zeros(count, dtype=bool)
    for _ in range(ROUNDS):
        rest = np.flatnonzero(~kept)
        if len(rest) <= SAMPLE:
            break
        agreeing = _largest_agreement(source[rest], target[rest])
        if not agreeing.any():
            break
        kept[rest[agreeing]] = True
    return kept


def _largest_agreement(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The matches within 20 pixels of the model that most agree with, [N]; of equals, the least squared residual."""
    count = len(source)
    residuals = _residuals(source, target, _samples(count))
    agreeing = residuals < RESIDUAL
    counts, squares = agreeing.sum(axis=1).tolist(), (residuals**2).sum(axis=1).tolist()
    best, trial, limit = 0, 0, float(TRIALS)
    while trial < limit and squares[best] > 0:
        if (
            trial == 0
            or counts[trial] > counts[best]
            or (counts[trial] == counts[best] and squares[trial] < squares[best])
        ):
            best = trial
            limit = min(limit, _trials_needed(counts[best], count))
        trial += 1
    largest: NDArray[np.bool_] = agreeing[best]
    return largest


def _residuals(
    source: NDArray[np.float64], target: NDArray[np.float64], samples: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Distances [T, N] between the moved source points and the targets under the model of each of T samples."""
    sources, targets = source[samples], target[samples]
    source_centres, target_centres = sources.mean(axis=1), targets.mean(axis=1)
    source_spread = np.linalg.norm(sources - source_centres[:, None], axis=2).mean(axis=1)
    target_spread = np.linalg.norm(targets - target_centres[:, None], axis=2).mean(axis=1)
    scale = target_spread / (source_spread + _TINY)
    mean = source.mean(axis=0)
    moved = scale[:, None, None] * (source - mean)[None] + (mean + target_centres - source_centres)[:, None]
    distances: NDArray[np.float64] = np.sqrt(((moved - target[None]) ** 2).sum(axis=2))
    return distances


@lru_cache(maxsize=4096)
def _trials_needed(agreeing: int, count: int) -> float:
    """How many trials find a sample without an outlier for certain, to the precision of floats."""
    if not agreeing:
        return float("inf")
    miss = min(max(1 - (agreeing / count) ** SAMPLE, _EPSILON), 1 - _EPSILON)
    return float(np.ceil(np.log(_EPSILON) / np.log(miss)))


@lru_cache(maxsize=512)
def _samples(count: int) -> NDArray[np.intp]:
    """The samples [50, 2] of two different matches out of `count`."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    drawn = np.array([generator.choice(count, SAMPLE, replace=False) for _ in range(TRIALS)], dtype=np.intp)
    drawn.flags.writeable = False
    return drawn
