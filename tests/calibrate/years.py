"""`python -m tests.calibrate.years` measures how often gates fail in a year, for docs/how-to/gates_for_a_year.md.

In each year a system answers the same samples every night, each right with a chance of its own. The baseline is the
median of seven nights. A gate fails where the paired interval of a look, or of the mean of a week of looks, lies beyond
the margin, at the confidence of each, and the cautious one of a week below 0: a false failure where the true loss is at
most the margin. A night with the answers of an earlier one is no look. How often change points are found in simulated
nights is measured, too.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.change_points import NIGHTS_A_YEAR, change_points
from beamscore.metrics.statistics.paired import paired_interval, widened_error
from beamscore.metrics.statistics.sum_table import FloatArray
from beamscore.pipelines.runs.history import RECENT
from beamscore.pipelines.runs.looks import WEEK, look_confidence, week_confidence
from tests.calibrate import table, write_measured
from tests.calibrate.rates import CONFIDENCE, REPLICATES, weights_of

NIGHTS, YEARS = NIGHTS_A_YEAR, 400
MARGIN = 0.7
"""In standard errors of the difference of two nights of an unchanged system."""
CHURN = {"low": 0.1, "high": 1.0}
"""The share of the samples that a system answers differently from night to night; it is right on them by a chance that
is uniform in [0, 1], so that a third of them differ between two nights."""
RARE = 0.7
"""How many samples a system with the churn 0 has wrong on a night, each time others: it has no margin."""
SIZES = (50, 400)
LOSSES = (2, 3, 5)
LOOKS = (1, 365)
SERIES = 8
"""Metrics whose change points are looked for."""


class Cell(NamedTuple):
    """A kind of years. churn: see CHURN and RARE. samples: of the corpus."""

    churn: float
    samples: int

    @property
    def error(self) -> float:
        """The standard error of the difference of two nights: a share churn / 3 of the samples differ by 1."""
        return float((self.churn / 3 / self.samples) ** 0.5)


_PLACES = np.arange(NIGHTS)
UNCHANGED = np.zeros(NIGHTS)
HARMLESS: dict[str, FloatArray] = {
    "unchanged": UNCHANGED,
    "drift": MARGIN * _PLACES / (NIGHTS - 1),
    "step": np.where(_PLACES < NIGHTS // 2, 0.0, MARGIN),
}
"""How much a system has lost on each night, in standard errors [NIGHTS]: never more than the margin."""


def first_failures(cell: Cell, losses: FloatArray, years: int, best: bool = False) -> npt.NDArray[np.int64]:
    """Returns the first night of each year on which a gate with each of LOOKS fails, else NIGHTS [years, len(LOOKS)].

    losses: see HARMLESS. best: whether the best of seven nights is the baseline, not the median.
    """
    rng = np.random.default_rng([1, cell.samples, round(100 * cell.churn)])
    return np.array([_first_failures(cell, losses, best, rng) for _ in range(years)])


def _first_failures(cell: Cell, losses: FloatArray, best: bool, rng: np.random.Generator) -> list[int]:
    samples, limit = cell.samples, MARGIN * cell.error
    chances = np.where(
        rng.random(samples) < cell.churn,
        rng.random(samples),
        rng.random(samples) < 0.8 if cell.churn else 1 - RARE / samples,
    )
    earlier = rng.random((RECENT, samples)) < chances
    place = RECENT - 1 if best else RECENT // 2
    baseline = earlier[np.argsort(earlier.mean(axis=1), kind="stable")[place]]
    # Right answers become wrong, so that the mean falls by the loss.
    kept = 1 - losses * cell.error / max(chances.mean(), 1e-9)
    nights = rng.random((NIGHTS, samples)) < chances * kept[:, None]
    _, first = np.unique(np.vstack([baseline, nights]), axis=0, return_index=True)
    new = np.sort(first)[1:] - 1
    weights = weights_of(Bootstrap(REPLICATES, int(rng.integers(1 << 31))), samples)
    means = (weights @ (nights[new].astype(float) - baseline).T) / weights.sum(axis=1, keepdims=True)
    weeks = means[:, : len(new) // WEEK * WEEK].reshape(len(means), -1, WEEK).mean(axis=2)

    def first_failure(found: FloatArray, last_nights: npt.NDArray[np.int64], confidence: float) -> int:
        """Returns the night of the first failure of these differences [1 + R, nights or weeks]."""
        for place in np.flatnonzero(found[0] < -limit).tolist():
            difference, error = float(found[0, place]), float(found[1:, place].std())
            errors = [error, widened_error(error, samples, 1.0, None)] if found is weeks else [error]
            ends = (paired_interval(difference, each, samples, confidence, 1.0) for each in errors)
            if all(each is not None and each[1] < most for each, most in zip(ends, (-limit, 0.0), strict=False)):
                return int(last_nights[place])
        return NIGHTS

    failures = []
    for each in LOOKS:
        weekly = each >= WEEK
        failures.append(first_failure(means, new, look_confidence(CONFIDENCE, each, weekly)))
        if weekly:
            of_weeks = first_failure(weeks, new[WEEK - 1 :: WEEK], week_confidence(CONFIDENCE, each))
            failures[-1] = min(failures[-1], of_weeks)
    return failures


def false_failures(cell: Cell, losses: FloatArray, years: int, best: bool = False) -> list[float]:
    """Returns the share of the years in which a gate with each of LOOKS fails."""
    return list(np.mean(first_failures(cell, losses, years, best) < NIGHTS, axis=0).tolist())


def false_alarms(years: int, seed: int = 0) -> float:
    """Returns false alarms a year, over SERIES unchanged series of normals whose known errors differ by night."""
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(years * SERIES):
        errors = 0.01 * rng.uniform(0.8, 1.25, NIGHTS)
        values = 0.9 + errors * rng.standard_normal(NIGHTS)
        count += len(change_points(values.tolist(), errors.tolist(), SERIES))
    return count / years


def detection_rate(shift: float, trials: int) -> float:
    """Returns how often a shift after 30 nights, in standard errors, is found on its second, dated to its first."""
    return sum(30 in found for found in _found([0.0] * 30 + [shift] * 2, trials)) / trials


def drift_detection_rate(fall: float, trials: int) -> float:
    """Returns how often a value that falls by `fall` standard errors each night has a change point within a year."""
    return sum(map(bool, _found([fall * night for night in range(NIGHTS)], trials))) / trials


def _found(fall: Sequence[float], trials: int) -> Iterator[list[int]]:
    """Yields the change points of simulated nights; fall: how many standard errors each of them has lost."""
    rng = np.random.default_rng(0)
    for _ in range(trials):
        values = rng.standard_normal(len(fall)) - fall
        yield list(change_points(values.tolist(), [1.0] * len(fall), SERIES))


def main() -> None:
    false, delays = [], []
    for churn, samples in itertools.product(CHURN, SIZES):
        name, cell = f"{churn}, {samples}", Cell(CHURN[churn], samples)
        best = false_failures(cell, UNCHANGED, YEARS, best=True)
        found = zip(*(false_failures(cell, losses, YEARS) for losses in HARMLESS.values()), strict=True)
        false.append([name, f"{best[0]:.1%}", *(" / ".join(f"{share:.1%}" for share in shares) for shares in found)])
        nights = [1 + first_failures(cell, UNCHANGED + MARGIN + loss, YEARS // 4) for loss in LOSSES]
        medians = np.median(nights, axis=1).T.tolist()
        told = [["never" if night > NIGHTS else f"{night:.0f}" for night in each] for each in medians]
        delays.append([name, *map(" / ".join, told)])
    best, median = (false_failures(Cell(0.0, SIZES[-1]), UNCHANGED, YEARS, each) for each in (True, False))
    false.append([f"rare, {SIZES[-1]}", *(f"{share:.1%}" for share in (best[0], *median))])
    looks = [f"looks: {each}" for each in LOOKS]
    sections = [
        f"Share of {YEARS} years with a false failure, unchanged / drifting / stepping:",
        table(["churn, samples", "best night, unchanged", *looks], false),
        f"Median first failing night after a loss of the margin + 2 / 3 / 5 standard errors ({YEARS // 4} each):",
        table(["churn, samples", *looks], delays),
    ]
    write_measured("how-to/gates_for_a_year.md", sections)


if __name__ == "__main__":
    main()
