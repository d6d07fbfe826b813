"""Generated populations of units: each has a difficulty that two systems share, and each system luck of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import betaincinv, gammaincinv, ndtri

from beamscore.metrics.statistics.measured import Measured, measure
from beamscore.metrics.statistics.sum_table import FloatArray, SumTable
from beamscore.metrics.statistics.sums import UNITS_PER_ONE
from tests.plain_loop import make_benchmark

Statistics = dict[str, FloatArray]

UNITS = 20_000
CLASSES = 10


@dataclass(frozen=True)
class Case:
    """A metric on a population, and what makes the case hard, if anything.

    draw: from (generator, difficulties, gain), where gain makes a system better, to the statistics of each sample by
    name. clusters: how many samples are drawn for a cluster; 0: samples are the units.
    """

    benchmark: str
    metric: str
    hard: str
    draw: Callable[[np.random.Generator, FloatArray, float], Statistics]
    clusters: int = 0

    @property
    def name(self) -> str:
        return f"{self.benchmark} {self.metric}" + (f", {self.hard}" if self.hard else "")

    def drawn(self, rng: np.random.Generator, units: int, *gains: float) -> list[Statistics]:
        """Draws the statistics [units] of systems on the same units; the samples of a cluster share its difficulty."""
        size = self.clusters or 1
        difficulty = np.repeat(rng.random(units), size)
        # What all share, such as the number of regions, follows from the difficulty.
        systems = [self.draw(rng, difficulty, gain) for gain in gains]
        return [{name: values.reshape(units, size).sum(axis=1) for name, values in each.items()} for each in systems]

    def measured(self, sums: SumTable) -> Measured:
        """Returns what the first row, and the replicates below it, say of the metrics."""
        return measure(make_benchmark(self.benchmark), sums.row(0), sums, self.clusters > 0)


def summed(weights: FloatArray, statistics: Statistics) -> SumTable:
    """Returns the sums of units by their weights [rows, units]."""
    names = tuple(sorted(statistics))
    columns = np.stack([weights @ statistics[name] for name in names])
    wholes = np.floor(columns).astype(np.int64)
    return SumTable(names, wholes, ((columns - wholes) * UNITS_PER_ONE).astype(np.int64))


def exact_match(level: float, rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws lines that are right with a chance of about `level`: Beta(3 level, 3 (1 - level)) by the difficulty."""
    chance = np.clip(betaincinv(3 * level, 3 * (1 - level), difficulty) + gain, 0, 1)
    right = (rng.random(len(difficulty)) < chance).astype(float)
    return {"samples": np.ones(len(difficulty)), "exact": right}


def mean_cdm(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws CDM: most formulas are right, the others spread."""
    perfect = rng.random(len(difficulty)) < np.clip(1.2 - difficulty + gain, 0, 1)
    partial = rng.beta(4, 1.5, len(difficulty))
    return {"rendered": np.ones(len(difficulty)), "cdm": np.where(perfect, 1.0, partial)}


def detection(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws figures with few or many regions, of which a system finds a share, with some false ones."""
    regions = 1 + np.floor(-12 * np.log1p(-((difficulty * 997) % 1) * 0.999))
    found = rng.binomial(regions.astype(int), np.clip(0.95 - 0.4 * difficulty + gain, 0, 1)).astype(float)
    false = rng.poisson(0.1 * regions).astype(float)
    located = dict.fromkeys(("detection.detections", "prediction.located", "detection.located"), found + false)
    return {"detection.regions": regions, "detection.one_to_one": found, **located}


def rules(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws signs with one to four rules, right together more often than alone."""
    true = 1 + np.floor(4 * ((difficulty * 991) % 1))
    right = rng.binomial(true.astype(int), np.clip(1.3 * (1 - difficulty) ** 0.5 + gain, 0, 1)).astype(float)
    predicted = np.maximum(right, true + rng.integers(-1, 2, len(difficulty)))
    return {"overall.right": right, "overall.predicted": predicted, "overall.true": true}


def tokens(level: float, rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws lines of 5 to 60 tokens: right with a chance of `level`, else with some edits."""
    count = 5 + np.floor(55 * ((difficulty * 983) % 1))
    wrong = rng.random(len(difficulty)) > np.clip(1 - 2 * (1 - level) * difficulty + gain, 0, 1)
    edits = np.where(wrong, 1 + rng.binomial(count.astype(int), 0.2), 0).astype(float)
    return {"tokens": count, "token_errors": edits}


def word_errors(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws lines of geometric lengths with a Poisson number of edits, at rates Gamma(0.5, 0.4): a few have many."""
    count = 2 + np.floor(np.log1p(-((difficulty * 983) % 1)) / np.log(0.9))
    edits = rng.poisson(count * 0.4 * gammaincinv(0.5, difficulty) * (1 - gain)).astype(float)
    return {"tokens": count, "token_errors": edits}


def traded(rng: np.random.Generator, difficulty: FloatArray, loss: float) -> Statistics:
    """Draws scores around 0.85 / (1 - loss), of which a share of `loss` is 0: their mean is 0.85 whatever the loss."""
    kept = rng.random(len(difficulty)) >= loss
    scores = 0.85 / (1 - loss) + 0.03 * rng.uniform(-1, 1, len(difficulty))
    return {"rendered": np.ones(len(difficulty)), "cdm": np.where(kept, scores, 0.0)}


def classes(weights: FloatArray, rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws charts of ten classes with these shares, 85 % of them right; the others are called alike."""
    bounds = np.cumsum(weights / weights.sum())
    true = np.searchsorted(bounds, (difficulty * 977) % 1, side="right").clip(0, CLASSES - 1)
    right = rng.random(len(difficulty)) < np.clip(1.15 - 0.6 * difficulty + gain, 0, 1)
    predicted = np.where(right, true, (true + 1 + rng.integers(0, 2, len(difficulty))) % CLASSES)
    cells = [(a, b) for a in range(CLASSES) for b in sorted({a, (a + 1) % CLASSES, (a + 2) % CLASSES})]
    return {f"task1.confusion[c{a}|c{b}]": ((true == a) & (predicted == b)).astype(float) for a, b in cells}


def pages(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws pages whose documents are good or bad as wholes: the difficulty is that of the document."""
    return mean_cdm(rng, 0.1 + 0.8 * difficulty, gain)


def documents(rng: np.random.Generator, difficulty: FloatArray, gain: float) -> Statistics:
    """Draws documents that are good or bad as wholes: half have 4 pages or fewer, one of 100 has 46 or more."""
    count = np.maximum(1, np.round(np.exp(1.5 + ndtri((difficulty * 977) % 1))))
    perfect = rng.binomial(count.astype(int), np.clip(1.1 - 0.8 * difficulty + gain, 0, 1))
    return {"rendered": count, "cdm": perfect + (count - perfect) * rng.beta(4, 1.5, len(difficulty))}


EVEN = np.ones(CLASSES)
LONE = np.array([1.0] * 9 + [0.05])
UNEVEN = np.array([30, 20, 14, 10, 8, 6, 5, 3, 2, 2], dtype=float)

CASES = (
    Case("chemistry", "exact_match", "", partial(exact_match, 0.7)),
    Case("chemistry", "exact_match", "near the ceiling (0.98)", partial(exact_match, 0.98)),
    Case("chemistry", "exact_match", "near the floor (0.03)", partial(exact_match, 0.03)),
    Case("chemistry", "token_accuracy", "one bound", partial(tokens, 0.6)),
    Case("chemistry", "token_accuracy", "one bound, near the ceiling", partial(tokens, 0.95)),
    Case("chemistry", "token_accuracy", "one bound, heavy tails", word_errors),
    Case("formula", "cdm", "", mean_cdm),
    Case("figure_text", "detection.f1", "", detection),
    Case("traffic_rules", "overall.f1", "", rules),
    Case("chart", "task1.macro_f1", "ten even classes", partial(classes, EVEN)),
    Case("chart", "task1.macro_f1", "with rare classes", partial(classes, UNEVEN)),
    Case("chart", "task1.macro_f1", "with a class of 0.6 %", partial(classes, LONE)),
    Case("chart", "task1.recall[c3]", "a class of 10 %", partial(classes, UNEVEN)),
    Case("formula", "cdm", "documents of 8 pages", pages, clusters=8),
    Case("formula", "cdm", "documents of uneven length", documents, clusters=1),
)

TRADE = Case("formula", "cdm", "much lost on few, a little won on the others", traded)
"""Not exchangeable: the `gain` of the second system is the share of samples that it loses, and makes up for."""
