"""Text in figures, after DeTEXT: detection, word recognition, end-to-end reading, annotator agreement.

Yin X-C, Yang C, Pei W-Y, Man H, Zhang J, Learned-Miller E, et al. (2015) DeTEXT: A Database for Evaluating Text
Extraction from Biomedical Literature Figures. PLoS ONE 10(5): e0126200.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import shapely

from metrics.benchmark import Benchmark, RejectedRecord, SampleScore
from metrics.common.budget import Budget
from metrics.converter import Converter
from metrics.description import Description
from metrics.figure_text.converter import FigureTextConverter
from metrics.figure_text.description import FigureTextDescription
from metrics.figure_text.details import describe_matches
from metrics.figure_text.deteval import Matching, Rules, match
from metrics.figure_text.draw import draw_regions
from metrics.figure_text.figure import Figure, classify_regions, equal_text, subsets
from metrics.figure_text.metric_specs import METRICS, SAMPLE_METRICS
from metrics.figure_text.options import FigureTextOptions
from metrics.figure_text.overlaps import Overlaps, TooManyOverlaps, measure
from metrics.figure_text.records import FigurePrediction, FigureTruth
from metrics.figure_text.regions import MAX_SIDES_TRIED, BoolArray, Located, locate
from metrics.figure_text.spotting import PairList, agree, spot, text_numbers
from metrics.figure_text.tables import match_table, subset_names, subset_table
from metrics.figure_text.values import headline_values, subset_values
from metrics.statistics.sums import Sums
from metrics.table import Table

ALL_REGIONS = ""
NO_REGIONS = "(none)"


class FigureTextBenchmark(Benchmark[FigureTruth, FigurePrediction, FigureTextOptions]):
    """Scores the text regions found in figures and what was read in them."""

    name = "figure_text"
    summary = "text in figures: detection, word recognition, end-to-end reading (DeTEXT)"
    truth_type = FigureTruth
    prediction_type = FigurePrediction
    options_type = FigureTextOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    converter: ClassVar[Converter | None] = FigureTextConverter()
    description: ClassVar[Description[FigureTruth] | None] = FigureTextDescription()

    def __init__(self, options: FigureTextOptions) -> None:
        super().__init__(options)
        self._rules = Rules(options.sigma_threshold, options.tau_threshold, strict=options.protocol == "published")

    def score_sample(self, truth: FigureTruth, prediction: FigurePrediction | None) -> SampleScore:
        """Scores one figure; without a prediction every annotated region is missed.

        Raises RejectedRecord where a region has neither location nor id, an id is used twice, or the regions
        overlap too often to be measured; OutOfBudget where the work is above `max_steps`.
        """
        budget = Budget(self.options.max_steps)
        figure = classify_regions(truth, prediction, self.options.min_confidence)
        members = subsets(figure.truths)
        overlaps = self._overlaps(figure, budget)
        counts = _counting(figure, overlaps, members)
        budget.spend(len(counts) * (len(overlaps) // 8 + len(figure.truths) // 8 + len(figure.predictions) // 8))
        names = [ALL_REGIONS, NO_REGIONS, *members]
        matchings = list(match(overlaps, counts, self._rules))
        covered = np.stack([matching.covered for matching in matchings])
        texts = text_numbers(
            [figure.truths[position].text for position in overlaps.truths.positions.tolist()],
            [figure.predictions[position].text for position in overlaps.detections.positions.tolist()],
            self.options.case_sensitive,
        )
        spotted = spot(overlaps, texts, self.options.end_to_end_overlap, counts, covered, budget)
        location, text = agree(overlaps, texts, self.options.agreement_overlap, counts[:1], covered[:1], budget)
        right = self._right_readings(figure)

        statistics = _prediction_statistics(figure)
        for name, matching, pairs in zip(names, matchings, spotted, strict=True):
            _add_detection(statistics, name, matching, pairs)
        _relate_to_outside(statistics, members)
        _add_words(statistics, figure, members, right)
        statistics["agreement.location"] = len(location)
        statistics["agreement.text"] = len(text)
        statistics = {name: value for name, value in statistics.items() if value}
        return SampleScore(
            statistics=statistics,
            metrics=headline_values(lambda name: statistics.get(name, 0), self.options),
            details=describe_matches(figure, overlaps, matchings[0], spotted[0], right),
            coverage=_coverage(figure, overlaps),
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
            found = Counter(entry["match"].replace("_", " ") for entry in details[side])
            counts = ", ".join(f"{count} {match}" for match, count in sorted(found.items()))
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

    def _overlaps(self, figure: Figure, budget: Budget) -> Overlaps:
        with budget.reading("ground_truth"):
            budget.spend(self._steps_to_locate(figure.truths, figure.located))
        with budget.reading("prediction"):
            budget.spend(self._steps_to_locate(figure.predictions, figure.detections))
        truths = locate(figure.truths, figure.located, self.options.geometry)
        detections = locate(figure.predictions, figure.detections, self.options.geometry)
        try:
            return measure(truths, detections, budget)
        except TooManyOverlaps as error:
            raise RejectedRecord("prediction", f"the predicted regions overlap too often: {error}") from error
        except shapely.errors.GEOSException as error:
            raise RejectedRecord("prediction", f"the polygons cannot be intersected: {error}") from error

    def _steps_to_locate(self, regions: Sequence[Located], positions: Sequence[int]) -> int:
        corners = [4 if (points := regions[position].points) is None else len(points) for position in positions]
        many = sum(count > MAX_SIDES_TRIED for count in corners)
        return sum(corners) * (4 if self.options.geometry == "polygon" else 3) + 100 * many

    def _right_readings(self, figure: Figure) -> set[int]:
        """Returns the ground-truth regions that are read right."""
        return {
            truth
            for truth, reading in figure.readings.items()
            if equal_text(figure.truths[truth].text, figure.predictions[reading].text, self.options.case_sensitive)
        }


def _counting(figure: Figure, overlaps: Overlaps, members: Mapping[str, list[int]]) -> BoolArray:
    """Returns which located regions count, bool [2 + subsets, G]: all that are cared for, none, each subset."""
    rows = {position: row for row, position in enumerate(overlaps.truths.positions.tolist())}
    cared_for = [position for position in figure.located if not figure.truths[position].ignore]
    counts = np.zeros((2 + len(members), len(rows)), dtype=np.bool_)
    for choice, positions in zip(counts, (cared_for, [], *members.values()), strict=True):
        choice[[rows[position] for position in positions if position in rows]] = True
    return counts


def _prediction_statistics(figure: Figure) -> dict[str, int]:
    """Counts what kinds of region a system gives, by which it is known what it is measured by."""
    located = len(figure.detections) + len(figure.unconfident)
    return {
        "prediction.located": located,
        "prediction.texts": sum(figure.predictions[position].text is not None for position in figure.detections),
        "prediction.readings": len(figure.readings) + len(figure.unknown_readings),
    }


def _add_detection(statistics: dict[str, int], subset: str, matching: Matching, spotted: PairList) -> None:
    suffix = f"[{subset}]" if subset else ""
    one_to_one = len(matching.pairs)
    split_regions = split_detections = merged_regions = merged_detections = 0
    for group in matching.groups:
        if len(group.truths) == len(group.detections):
            one_to_one += 1
        elif len(group.truths) == 1:
            split_regions += 1
            split_detections += len(group.detections)
        else:
            merged_regions += len(group.truths)
            merged_detections += 1
    statistics[f"detection.regions{suffix}"] = matching.regions
    statistics[f"detection.detections{suffix}"] = matching.detections
    statistics[f"detection.one_to_one{suffix}"] = one_to_one
    statistics[f"detection.split_regions{suffix}"] = split_regions
    statistics[f"detection.split_detections{suffix}"] = split_detections
    statistics[f"detection.merged_regions{suffix}"] = merged_regions
    statistics[f"detection.merged_detections{suffix}"] = merged_detections
    statistics[f"end_to_end.matches{suffix}"] = len(spotted)


def _relate_to_outside(statistics: dict[str, int], members: Mapping[str, list[int]]) -> None:
    """Counts the detections outside of all regions once, and those of each subset on top of them."""
    outside = statistics.pop(f"detection.detections[{NO_REGIONS}]")
    statistics["detection.outside"] = outside
    for subset in members:
        statistics[f"detection.detections[{subset}]"] -= outside


def _add_words(statistics: dict[str, int], figure: Figure, members: Mapping[str, list[int]], right: set[int]) -> None:
    everything = [position for position, region in enumerate(figure.truths) if not region.ignore]
    for suffix, positions in (("", everything), *((f"[{name}]", positions) for name, positions in members.items())):
        words = [position for position in positions if figure.truths[position].id is not None]
        statistics[f"word_recognition.words{suffix}"] = len(words)
        statistics[f"word_recognition.correct{suffix}"] = sum(position in right for position in words)


def _coverage(figure: Figure, overlaps: Overlaps) -> dict[str, int]:
    counts = {
        "ground_truth_regions_dropped": len(overlaps.truths.dropped),
        "prediction_regions_dropped": len(overlaps.detections.dropped),
        "prediction_regions_below_confidence": len(figure.unconfident),
        "prediction_readings_of_unknown_regions": len(figure.unknown_readings),
    }
    return {name: count for name, count in counts.items() if count}
