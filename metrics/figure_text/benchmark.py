"""Text in figures, after DeTEXT: detection, word recognition, end-to-end reading, annotator agreement.

Yin X-C, Yang C, Pei W-Y, Man H, Zhang J, Learned-Miller E, et al. (2015) DeTEXT: A Database for Evaluating Text
Extraction from Biomedical Literature Figures. PLoS ONE 10(5): e0126200.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import shapely

from ..benchmark import Benchmark, Pair, RejectedRecord, SampleScore
from ..common.budget import Budget
from ..converter import Converter
from ..statistics.sums import Sums
from ..table import Table
from .converter import FigureTextConverter
from .details import describe_matches
from .deteval import Rules
from .draw import draw_regions
from .figure import Figure, classify_regions, compared_text, subsets
from .group import COUNTS, Job, Outcome, groups, score_group
from .metrics import METRICS, SAMPLE_METRICS, headline_values, match_table, subset_names, subset_table, subset_values
from .records import FigurePrediction, FigureTextOptions, FigureTruth

REGION_KINDS = ("prediction.located", "prediction.texts", "prediction.readings")
"""Count the predicted regions of each kind; they tell what a system does: it is measured by that alone."""


class FigureTextBenchmark(Benchmark[FigureTruth, FigurePrediction, FigureTextOptions]):
    """Scores the text regions found in figures and what was read in them."""

    name = "figure_text"
    summary = "text in figures: detection, word recognition, end-to-end reading (DeTEXT)"
    truth_type = FigureTruth
    prediction_type = FigurePrediction
    options_type = FigureTextOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    corpus_statistics = REGION_KINDS
    takes_columns = True
    batch_size = 64
    converter: ClassVar[Converter | None] = FigureTextConverter()

    def __init__(self, options: FigureTextOptions) -> None:
        super().__init__(options)
        self._rules = Rules(options.sigma_threshold, options.tau_threshold, strict=options.protocol == "published")

    def score_sample(self, truth: FigureTruth, prediction: FigurePrediction | None) -> SampleScore:
        """Scores one figure; without a prediction every annotated region is missed.

        Raises RejectedRecord where a region has neither location nor id, an id is used twice, or the regions
        overlap too often to be measured; OutOfBudget where the work is above `max_steps`.
        """
        (score,) = self._score_group([self._job(truth, prediction)])
        return score

    def score(self, pairs: Sequence[Pair[FigureTruth, FigurePrediction]]) -> list[SampleScore | RejectedRecord]:
        """Scores a batch, small figures together; the results are those of `score_sample`."""
        results: dict[int, SampleScore | RejectedRecord] = {}
        jobs: dict[int, Job] = {}
        for number, pair in enumerate(pairs):
            try:
                jobs[number] = self._job(pair.truth, pair.prediction)
            except RejectedRecord as rejected:
                results[number] = rejected
        numbers = list(jobs)
        for group in groups([*jobs.values()]):
            mine = [numbers[place] for place in group]
            try:
                results.update(zip(mine, self._score_group([jobs[number] for number in mine]), strict=True))
            except RejectedRecord:
                results.update(zip(mine, super().score([pairs[number] for number in mine]), strict=True))
        return [results[number] for number in range(len(pairs))]

    def _score_group(self, jobs: Sequence[Job]) -> list[SampleScore]:
        try:
            outcomes = score_group(jobs, self.options, self._rules)
        except shapely.errors.GEOSException as error:
            if "bad_alloc" in str(error):
                raise MemoryError(str(error)) from error
            raise RejectedRecord("prediction", f"the polygons cannot be intersected: {error}") from error
        return [self._scored(job, outcome) for job, outcome in zip(jobs, outcomes, strict=True)]

    def _job(self, truth: FigureTruth, prediction: FigurePrediction | None) -> Job:
        figure = classify_regions(truth, prediction, self.options.min_confidence)
        return Job(figure, subsets(figure.truths), Budget(self.options.max_steps))

    def _scored(self, job: Job, outcome: Outcome) -> SampleScore:
        figure = job.figure
        right = self._right_readings(figure)
        statistics = _prediction_statistics(figure)
        _add_detection(statistics, job.members, outcome.counts)
        _add_words(statistics, figure, job.members, right)
        _add(statistics, ("agreement.location", "agreement.text"), outcome.agreed)
        return SampleScore(
            statistics=statistics,
            metrics=headline_values(lambda name: statistics.get(name, 0), self.options),
            details=describe_matches(figure, outcome, right),
            coverage=_coverage(figure, outcome),
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the figures of a set of figures: ratios of sums, not means over figures."""
        values = headline_values(sums.__getitem__, self.options)
        for subset in subset_names(sums):
            values.update(subset_values(sums.__getitem__, subset, self.options))
        return values

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the subsets side by side and how their regions were matched."""
        return [subset_table(sums, self.values(sums)), match_table(sums)]

    def explain(self, details: Any) -> list[str]:
        """Returns how many regions of each side were matched in which way."""
        lines = []
        for side, words in (("ground_truth", "regions of the ground truth"), ("prediction", "predicted regions")):
            matches = Counter(entry["match"].replace("_", " ") for entry in details[side])
            counts = ", ".join(f"{count} {match}" for match, count in sorted(matches.items()))
            lines.append(f"{len(details[side])} {words}: {counts}" if counts else f"no {words}")
        return lines

    def draw(self, truth: FigureTruth, prediction: FigurePrediction | None) -> str:
        """Returns a picture of the regions of both sides and how they were matched.

        Raises RejectedRecord where the sample cannot be scored.
        """
        details = self.score_sample(truth, prediction).details
        return draw_regions(
            truth.regions or [], (prediction.regions if prediction else None) or [], details, prediction is None
        )

    def _right_readings(self, figure: Figure) -> set[int]:
        """Returns the ground-truth regions that are read right."""
        return {
            truth
            for truth, reading in figure.readings.items()
            if self._equal_text(figure.truths[truth].text, figure.predictions[reading].text)
        }

    def _equal_text(self, one: str | None, other: str | None) -> bool:
        """Says whether both are the same text; a text that is not given equals nothing."""
        if one is None or other is None:
            return False
        if one == other:
            return True
        case_sensitive, nfc = self.options.case_sensitive, self.options.nfc
        return compared_text(one, case_sensitive, nfc) == compared_text(other, case_sensitive, nfc)


def _prediction_statistics(figure: Figure) -> dict[str, int]:
    """Counts what kinds of region a system gives, by which it is known what it is measured by."""
    statistics: dict[str, int] = {}
    located = len(figure.detections) + len(figure.unconfident)
    texts = len([position for position in figure.detections if figure.predictions[position].text is not None])
    readings = len(figure.readings) + len(figure.unknown_readings)
    # The kinds are those of the whole corpus where `values` reads them; `detection.located` tells of the samples alone.
    _add(statistics, (*REGION_KINDS, "detection.located"), (located, texts, readings, located))
    return statistics


def _add(statistics: dict[str, int], names: Sequence[str], numbers: Sequence[int]) -> None:
    """Adds the numbers that are not 0."""
    statistics.update(zip(itertools.compress(names, numbers), filter(None, numbers), strict=True))


def _add_detection(
    statistics: dict[str, int], members: Mapping[str, list[int]], counts: Sequence[Sequence[int]]
) -> None:
    """Adds what was counted for all regions and each subset.

    The detections outside of all regions are counted once, and those of each subset on top of them.
    """
    everything, nothing, *of_subsets = map(list, counts)
    outside = nothing[COUNTS.index("detection.detections")]
    names = [*COUNTS]
    for subset, numbers in zip(members, of_subsets, strict=True):
        numbers[COUNTS.index("detection.detections")] -= outside
        names += _names_of(COUNTS, subset)
        everything += numbers
    _add(statistics, [*names, "detection.outside"], [*everything, outside])


@lru_cache(maxsize=1_000)
def _names_of(statistics: tuple[str, ...], subset: str) -> tuple[str, ...]:
    return tuple(f"{name}[{subset}]" if subset else name for name in statistics)


def _add_words(statistics: dict[str, int], figure: Figure, members: Mapping[str, list[int]], right: set[int]) -> None:
    # A region without a text is no word to read: no reading of it could be right.
    words = {
        position for position, region in enumerate(figure.truths) if region.id is not None and region.text is not None
    }
    everything = [position for position, region in enumerate(figure.truths) if not region.ignore]
    names: list[str] = []
    numbers: list[int] = []
    for subset, positions in (("", everything), *members.items()):
        names += _names_of(("word_recognition.words", "word_recognition.correct"), subset)
        numbers += len(words.intersection(positions)), len(right.intersection(positions))
    _add(statistics, names, numbers)


def _coverage(figure: Figure, outcome: Outcome) -> dict[str, int]:
    dropped, prediction_dropped = outcome.dropped
    counts = {
        "ground_truth_regions_dropped": len(dropped),
        "prediction_regions_dropped": len(prediction_dropped),
        "prediction_regions_below_confidence": len(figure.unconfident),
        "prediction_readings_of_unknown_regions": len(figure.unknown_readings),
    }
    return {name: count for name, count in counts.items() if count}
