"""Text in figures, after DeTEXT: detection, word recognition, end-to-end reading, annotator agreement.

Yin X-C, Yang C, Pei W-Y, Man H, Zhang J, Learned-Miller E, et al. (2015) DeTEXT: A Database for Evaluating Text
Extraction from Biomedical Literature Figures. PLoS ONE 10(5): e0126200.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import shapely

from ..benchmark import Benchmark, RejectedRecord, SampleScore, Table
from ..common.budget import Budget
from ..statistics.sums import Sums
from .converter import FigureTextConverter
from .draw import draw_regions
from .figure import Figure, classify_regions, subsets
from .metrics import METRICS, SAMPLE_METRICS, headline_values, match_table, subset_names, subset_table, subset_values
from .outcome import FigureOutcome, describe_matches, score_figure
from .records import FigurePrediction, FigureTextOptions, FigureTruth
from .regions import lie_apart

REGION_KINDS = ("prediction.located", "prediction.texts", "prediction.readings")
"""Statistics that count the predicted regions of each kind. Only the tasks of the kinds that occur are measured."""

ELSEWHERE = "prediction_readings_elsewhere"
"""Counts them where a figure has two or more, and no more that are in place."""


class FigureTextBenchmark(Benchmark[FigureTruth, FigurePrediction, FigureTextOptions]):
    """Scores the text regions found in figures and the text read in them."""

    name = "figure_text"
    summary = "text in figures: detection, word recognition, end-to-end reading (DeTEXT)"
    truth_type = FigureTruth
    prediction_type = FigurePrediction
    options_type = FigureTextOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    corpus_statistics = REGION_KINDS
    coverage_warnings: ClassVar[Mapping[str, str]] = {
        ELSEWHERE: "in some figures, half or more of the predicted regions whose ids name words lie elsewhere, and "
        "count as readings of the words: a detection should have no id"
    }
    takes_columns = True
    batch_size = 64
    converter = FigureTextConverter()

    def score_sample(self, truth: FigureTruth, prediction: FigurePrediction | None) -> SampleScore:
        """Scores one figure; without a prediction every annotated region is missed.

        Raises RejectedRecord if a record is invalid (see `classify_regions` and `subsets`), or its regions overlap too
        often or cannot be intersected; OutOfBudget if the work exceeds `max_steps`.
        """
        figure = classify_regions(truth, prediction, self.options.min_confidence)
        members = subsets(figure.truths)
        try:
            outcome = score_figure(figure, members, self.options, Budget(self.options.max_steps))
        except shapely.errors.GEOSException as error:
            if "bad_alloc" in str(error):
                raise MemoryError(str(error)) from error
            raise RejectedRecord("prediction", f"the polygons cannot be intersected: {error}") from error
        right = self._right_readings(figure)
        statistics = _prediction_statistics(figure) | outcome.statistics | _word_statistics(figure, members, right)
        return SampleScore(
            statistics=statistics,
            metrics=headline_values(Counter(statistics), self.options),
            details=describe_matches(figure, outcome, right),
            coverage=_coverage(figure, outcome),
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns the metrics of a set of figures: ratios of sums, not means over figures."""
        values = headline_values(sums, self.options)
        for subset in subset_names(sums):
            values.update(subset_values(sums, subset, self.options))
        return values

    def tables(self, sums: Sums) -> list[Table]:
        """Returns two tables of all regions and each subset: the main metrics and, unless the system returned only
        readings, how regions were matched.
        """
        main = subset_table(sums, self.values(sums))
        return [main, match_table(sums)] if sums["prediction.located"] or not sums["prediction.readings"] else [main]

    def explain(self, details: Any) -> list[str]:
        """Returns one line for each side, with the number of its regions by kind of match, and one for readings."""
        lines = []
        for side, words in (("ground_truth", "regions of the ground truth"), ("prediction", "predicted regions")):
            matches = Counter(entry["match"].replace("_", " ") for entry in details[side])
            counts = ", ".join(f"{count} {match}" for match, count in sorted(matches.items()))
            lines.append(f"{len(details[side])} {words}: {counts}" if counts else f"no {words}")
        right = [entry["read_right"] for entry in details["ground_truth"] if "read_right" in entry]
        return [*lines, f"{sum(right)} of {len(right)} readings right"] if right else lines

    def draw(
        self,
        truth: FigureTruth,
        prediction: FigurePrediction | None,
        details: Any = None,
        image: tuple[int, int] | None = None,
    ) -> str:
        """Returns an SVG document of the regions of both sides, styled by how they were matched.

        Scores the sample if `details` is None; raises RejectedRecord if it cannot be scored.
        """
        if details is None:
            details = self.score_sample(truth, prediction).details
        return draw_regions(truth, prediction, details, image)

    def _right_readings(self, figure: Figure) -> set[int]:
        """Returns the positions of the ground-truth regions whose reading has the right text."""
        compared, right = self.options.compared, set()
        for truth, reading in figure.readings.items():
            true, read = figure.truths[truth].text, figure.predictions[reading].text
            if true is not None and read is not None and (true == read or compared(true) == compared(read)):
                right.add(truth)
        return right


def _prediction_statistics(figure: Figure) -> dict[str, int]:
    """Returns the nonzero counts of predicted regions by kind; they decide which metrics are measured."""
    located = [*figure.detections, *figure.unconfident]
    counts = {
        "prediction.located": len(located),
        "prediction.texts": sum([figure.predictions[each].text is not None for each in located]),
        "prediction.readings": len(figure.readings) + len(figure.unknown_readings),
        # In `values`, REGION_KINDS are sums over the whole corpus; this is the count of the samples in question.
        "detection.located": len(located),
    }
    return {name: count for name, count in counts.items() if count}


def _word_statistics(figure: Figure, members: Mapping[str, Sequence[int]], right: set[int]) -> dict[str, int]:
    """Returns the nonzero counts of words and of words read right; a word is a region with both an id and a text."""
    words = {
        position for position, region in enumerate(figure.truths) if region.id is not None and region.text is not None
    }
    everything = [position for position, region in enumerate(figure.truths) if not region.ignore]
    statistics = {}
    for suffix, positions in (("", everything), *((f"[{subset}]", each) for subset, each in members.items())):
        if count := len(words.intersection(positions)):
            statistics[f"word_recognition.words{suffix}"] = count
        if count := len(right.intersection(positions)):
            statistics[f"word_recognition.correct{suffix}"] = count
    return statistics


def _coverage(figure: Figure, outcome: FigureOutcome) -> dict[str, int]:
    dropped, prediction_dropped = outcome.dropped
    words = [(figure.truths[word], figure.predictions[reading]) for word, reading in figure.readings.items()]
    apart = [lie_apart(word, reading) for word, reading in words if not word.ignore]
    elsewhere = apart.count(True)
    counts = {
        "ground_truth_regions_dropped": len(dropped),
        "prediction_regions_dropped": len(prediction_dropped) - len(outcome.unmeasurable),
        "prediction_regions_below_confidence": len(figure.unconfident),
        "prediction_readings_of_unknown_regions": len(figure.unknown_readings),
        ELSEWHERE: elsewhere if elsewhere >= max(2, apart.count(False)) else 0,
    }
    return {name: count for name, count in counts.items() if count}
