"""Tasks 6b and 7: data extraction.

Series of ground truth and prediction are paired to the largest sum of

    max(s / beta, (1 - L^alpha) s)

with s the similarity of the two series and L the edit distance of their names over the longer name (at least 1); the
score is that sum over max(ground truths, predictions). Where every true name is empty, names do not count (published;
the released metric6b.py compares them all the same). The kind of the chart says how series are compared: box plots by
their five numbers, bars by label and value, scatter plots as point sets, line charts as functions, and lines and
scatter plots by label and value as well where an x of the ground truth is not a number.

A predicted value that is no number matches nothing; on a line it is left out. The released script stops on bar charts
whose labels are all numbers and on degenerate series; such charts are scored as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from metrics.assignment import best_assignment
from metrics.benchmark import RejectedRecord
from metrics.chart.names import label, number
from metrics.chart.options import ChartOptions
from metrics.chart.records import BoxSummary, ChartData, DataPoint, DataSeries, Scalar
from metrics.chart.similarity import continuous_similarity, matched_share, point_set_scores, value_scores, value_spread
from metrics.chart.task_score import TaskScore, listed, mean_score, shortened
from metrics.geometry import Array
from metrics.text import normalised_edit_distances

SUMMARY = ("first_quartile", "max", "min", "median", "third_quartile")


class SeriesKind(Enum):
    """How the data series of a chart are compared."""

    LABELLED = "labelled"
    POINTS = "points"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Series:
    """A data series made ready to compare.

    points: x and y `[N, 2]`; of labelled values x is 0, and y is NaN where it is no number.
    labels: the x of labelled values, else empty.
    count: how many points the series has, those that cannot be compared too.
    """

    name: str
    points: Array
    labels: Sequence[str]
    count: int


def score_series(
    task: str, truth: ChartData, prediction: ChartData | None, chart_class: str, options: ChartOptions
) -> TaskScore:
    """Scores task 6b or 7 of one chart; no prediction scores 0, no series on both sides 1.

    Raises RejectedRecord where a y of the ground truth is not a number.
    """
    kind = series_kind(truth, chart_class)
    truths = [_series(series, kind, chart_class) for series in truth.data_series or ()]
    for series in truths:
        _require_numbers(series)
    predictions = [
        _series(series, kind, chart_class) for series in (prediction.data_series if prediction else None) or ()
    ]
    similarities = _similarities(truths, predictions, kind, options)
    scores = _named(similarities, truths, predictions, options)
    rows, columns = best_assignment(scores)
    larger = max(len(truths), len(predictions))
    score = min(1.0, float(scores[rows, columns].sum()) / larger) if larger else 1.0
    if prediction is None:
        score = 0.0
    pairs = [
        {
            "truth": shortened(truths[row].name),
            "predicted": shortened(predictions[column].name),
            "similarity": float(similarities[row, column]),
            "score": float(scores[row, column]),
        }
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    details = {
        "kind": kind.value,
        "pairs": listed(pairs),
        "missed": listed(_others(truths, rows)),
        "extra": listed(_others(predictions, columns)),
    }
    return mean_score(task, score, details)


def series_kind(truth: ChartData, chart_class: str) -> SeriesKind:
    """Returns how the series of a chart are compared, by its class and the ground truth's x."""
    if "scatter" not in chart_class and "line" not in chart_class:
        return SeriesKind.LABELLED
    for series in truth.data_series or ():
        if isinstance(series.data, list) and any(number(point.x) is None for point in series.data):
            return SeriesKind.LABELLED
    return SeriesKind.POINTS if "scatter" in chart_class else SeriesKind.FUNCTION


def _series(series: DataSeries, kind: SeriesKind, chart_class: str) -> Series:
    """Returns a series made ready; data of another layout than the chart's class has leaves it empty."""
    name = label(series.name)
    if "box" in chart_class:
        summary = series.data if isinstance(series.data, BoxSummary) else BoxSummary()
        return _labelled(name, [(part, value) for part in SUMMARY if (value := getattr(summary, part)) is not None])
    points: Sequence[DataPoint] = series.data if isinstance(series.data, list) else ()
    if kind is SeriesKind.LABELLED:
        return _labelled(name, [(label(point.x), point.y) for point in points])
    placed = [
        (x, y) for x, y in ((number(point.x), number(point.y)) for point in points) if x is not None and y is not None
    ]
    if kind is SeriesKind.FUNCTION:
        placed.sort(key=lambda point: point[0])
    return Series(name, np.array(placed, dtype=np.float64).reshape(-1, 2), (), len(points))


def _labelled(name: str, items: Sequence[tuple[str, Scalar]]) -> Series:
    labels = []
    points = []
    for text, value in items:
        held = number(value)
        labels.append(text)
        points.append((0.0, np.nan if held is None else held))
    return Series(name, np.array(points, dtype=np.float64).reshape(-1, 2), labels, len(labels))


def _require_numbers(series: Series) -> None:
    if len(series.points) < series.count or np.isnan(series.points).any():
        raise RejectedRecord(
            "ground_truth",
            f"task6: a y of the data series {shortened(series.name)!r} is not a number within +-1e100",
        )


def _similarities(
    truths: Sequence[Series], predictions: Sequence[Series], kind: SeriesKind, options: ChartOptions
) -> Array:
    """Returns the similarity of each true series to each predicted one, `[N, M]`."""
    similarities = np.zeros((len(truths), len(predictions)))
    labels = _LabelScores(truths, predictions, options) if kind is SeriesKind.LABELLED else None
    for row, truth in enumerate(truths):
        spread = value_spread(truth.points[:, 1]) if labels is not None else 0.0
        for column, prediction in enumerate(predictions):
            if kind is SeriesKind.FUNCTION:
                similarities[row, column] = continuous_similarity(truth.points, prediction.points)
                continue
            if labels is None:
                scores = point_set_scores(truth.points, prediction.points, options.gamma)
            else:
                values = value_scores(truth.points[:, 1], prediction.points[:, 1], spread, options.gamma)
                scores = labels.of(row, column) * values
            similarities[row, column] = matched_share(scores, truth.count, prediction.count)
    return similarities


class _LabelScores:
    """1 - L^alpha of the labels of series; each pair of distinct labels of a chart is compared once."""

    def __init__(self, truths: Sequence[Series], predictions: Sequence[Series], options: ChartOptions) -> None:
        true_labels, self._rows = _indexed(truths)
        predicted_labels, self._columns = _indexed(predictions)
        self._scores = 1 - normalised_edit_distances(true_labels, predicted_labels) ** options.alpha

    def of(self, row: int, column: int) -> Array:
        """The scores of the labels of true series `row` and predicted series `column`, `[N, M]`."""
        return self._scores[self._rows[row][:, None], self._columns[column][None, :]]


def _indexed(series: Sequence[Series]) -> tuple[list[str], list[npt.NDArray[np.intp]]]:
    """Returns the distinct labels of all series, and for each series the positions of its labels in them."""
    positions: dict[str, int] = {}
    indexes = [
        np.array([positions.setdefault(text, len(positions)) for text in one.labels], dtype=np.intp) for one in series
    ]
    return list(positions), indexes


def _named(
    similarities: Array, truths: Sequence[Series], predictions: Sequence[Series], options: ChartOptions
) -> Array:
    """Returns the similarities with the names of the series counted in."""
    if options.protocol == "published" and not any(series.name for series in truths):
        return similarities
    distances = normalised_edit_distances([one.name for one in truths], [one.name for one in predictions])
    return np.maximum(similarities / options.beta, (1 - distances**options.alpha) * similarities)


def _others(series: Sequence[Series], matched: npt.NDArray[np.intp]) -> list[str]:
    taken = set(matched.tolist())
    return [shortened(one.name) for index, one in enumerate(series) if index not in taken]


def characters(series: Sequence[DataSeries]) -> int:
    """Returns how many characters the names and labels of the series have."""
    total = 0
    for one in series:
        total += _length(one.name)
        if isinstance(one.data, list):
            total += sum(_length(point.x) for point in one.data)
    return total


def _length(value: Scalar) -> int:
    return len(value) if isinstance(value, str) else 1
