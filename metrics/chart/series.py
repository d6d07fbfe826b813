"""Tasks 6b and 7: data extraction.

Series of ground truth and prediction are paired to the largest sum of

    max(s / beta, (1 - L^alpha) s)

with s the similarity of the two series and L the edit distance of their names over the longer name (at least 1); the
score is that sum over max(ground truths, predictions). Where every true name is empty, names do not count (published;
the released metric6b.py compares them all the same). The kind of the chart says how series are compared: box plots by
their five numbers, bars by label and value, scatter plots as point sets, line charts as functions, and lines and
scatter plots by label and value as well where an x of the ground truth is not a number.

A ground truth whose series have another layout than its chart class is rejected; a predicted series of another layout
is wrong. A predicted value that is no number matches nothing; on a line it is left out.

Released: an all-zero line scores 0, and scatter points take the covariance as it is inverted. The script stops on bar
charts whose labels are all numbers and on degenerate series; such charts are scored as published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from metrics.benchmark import RejectedRecord
from metrics.chart.names import label, number
from metrics.chart.options import ChartOptions, TaskName
from metrics.chart.records import BoxSummary, ChartData, DataPoint, DataSeries, Scalar, Task, is_empty
from metrics.chart.sample import ChartSample, TaskResults, without_class
from metrics.chart.similarity import (
    continuous_similarity,
    matched_share,
    point_set_scores,
    released_point_set_scores,
    value_scores,
    value_spread,
)
from metrics.chart.task_score import TaskScore, listed, mean_score, shortened
from metrics.chart.work import PAIR_OF_SERIES, assignment_steps, edit_distance_steps, pair_steps
from metrics.common.assignment import best_assignment
from metrics.common.budget import Budget
from metrics.common.geometry import Array
from metrics.common.text import normalised_edit_distances

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
    well_formed: whether its data have the layout of the chart class; if not, it has no points and is like no other.
    """

    name: str
    points: Array
    labels: Sequence[str]
    count: int
    well_formed: bool = True


def score_series(task: TaskName, samples: Iterable[ChartSample], options: ChartOptions) -> TaskResults:
    """Scores task 6b or 7 of the charts that have it."""
    for sample in samples:
        series = series_of(sample.truth.task6)
        if series is None:
            continue
        rejected = without_class(task, sample.chart_class)
        if rejected is not None:
            yield sample, rejected
        elif sample.chart_class.has_data:
            prediction = sample.prediction
            given = None
            if prediction is not None:
                given = series_of(prediction.task7 if task == "task7" else prediction.task6)
            try:
                yield sample, _score_series(task, series, given, sample.chart_class.name, options, sample.budget)
            except RejectedRecord as error:
                yield sample, error


def series_of(task: Task[ChartData] | None) -> list[DataSeries] | None:
    """Returns the data series of an output; None where it has none."""
    return None if task is None or task.output is None else task.output.data_series


def _score_series(
    task: str,
    truth: Sequence[DataSeries],
    prediction: Sequence[DataSeries] | None,
    chart_class: str,
    options: ChartOptions,
    budget: Budget,
) -> TaskScore:
    """Scores task 6b or 7 of one chart; no prediction scores 0, no series on both sides 1.

    Raises RejectedRecord where a series of the ground truth has not the layout of the chart class, or a y in it is not
    a number.
    """
    for series in truth:
        _require_layout(series, chart_class)
    kind = series_kind(truth, chart_class)
    truths = [_series(series, kind, chart_class) for series in truth]
    for made in truths:
        _require_numbers(made)
    predictions = [_series(series, kind, chart_class) for series in prediction or ()]
    similarities = _similarities(truths, predictions, kind, options, budget)
    scores = _named(similarities, truths, predictions, options, budget)
    budget.spend(assignment_steps(*scores.shape))
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
    return mean_score(task, score, details, prediction is not None)


def series_kind(truth: Sequence[DataSeries], chart_class: str) -> SeriesKind:
    """Returns how the series of a chart are compared, by its class and the ground truth's x."""
    if "scatter" not in chart_class and "line" not in chart_class:
        return SeriesKind.LABELLED
    for series in truth:
        if isinstance(series.data, list) and any(number(point.x) is None for point in series.data):
            return SeriesKind.LABELLED
    return SeriesKind.POINTS if "scatter" in chart_class else SeriesKind.FUNCTION


def _has_layout(series: DataSeries, chart_class: str) -> bool:
    """Tells whether the data are what the chart class has: points, or at least one of the numbers of a box plot."""
    if "box" in chart_class:
        return isinstance(series.data, BoxSummary) and not is_empty(series.data)
    return isinstance(series.data, list)


def _require_layout(series: DataSeries, chart_class: str) -> None:
    if _has_layout(series, chart_class):
        return
    wanted = "an object of " + ", ".join(SUMMARY) if "box" in chart_class else "a list of points with x and y"
    found = "an object"
    if isinstance(series.data, list):
        found = "a list of points"
    elif series.data is None:
        found = "absent"
    elif is_empty(series.data):
        found = "an object with none of " + ", ".join(SUMMARY)
    name = shortened(label(series.name))
    raise RejectedRecord(
        "ground_truth",
        f"task6: the data of the data series {name!r} of a {chart_class} chart must be {wanted}, not {found}",
    )


def _series(series: DataSeries, kind: SeriesKind, chart_class: str) -> Series:
    """Returns a series made ready."""
    name = label(series.name)
    if not _has_layout(series, chart_class):
        return Series(name, np.zeros((0, 2)), (), 0, well_formed=False)
    if "box" in chart_class:
        return _labelled(name, [(part, value) for part in SUMMARY if (value := getattr(series.data, part)) is not None])
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
    truths: Sequence[Series], predictions: Sequence[Series], kind: SeriesKind, options: ChartOptions, budget: Budget
) -> Array:
    """Returns the similarity of each true series to each predicted one, `[N, M]`; two without points have 1."""
    similarities = np.zeros((len(truths), len(predictions)))
    labels = _LabelScores(truths, predictions, options, budget) if kind is SeriesKind.LABELLED else None
    for row, truth in enumerate(truths):
        spread = value_spread(truth.points[:, 1]) if labels is not None else 0.0
        for column, prediction in enumerate(predictions):
            budget.spend(PAIR_OF_SERIES)
            if not truth.count or not prediction.count:
                similarities[row, column] = prediction.well_formed and truth.count == prediction.count
            elif kind is SeriesKind.FUNCTION:
                budget.spend(truth.count + prediction.count)
                released = options.protocol == "released"
                similarities[row, column] = continuous_similarity(truth.points, prediction.points, released)
            else:
                budget.spend(pair_steps(truth.count, prediction.count))
                if labels is None:
                    scores = _point_scores(truth.points, prediction.points, options)
                else:
                    values = value_scores(truth.points[:, 1], prediction.points[:, 1], spread, options.gamma)
                    scores = labels.of(row, column) * values
                similarities[row, column] = matched_share(scores, truth.count, prediction.count, budget)
    return similarities


def _point_scores(truth: Array, prediction: Array, options: ChartOptions) -> Array:
    """Returns the scores of two point sets; released, as published where the script stops."""
    released = released_point_set_scores(truth, prediction, options.gamma) if options.protocol == "released" else None
    return point_set_scores(truth, prediction, options.gamma) if released is None else released


class _LabelScores:
    """1 - L^alpha of the labels of series; each pair of distinct labels of a chart is compared once."""

    def __init__(
        self, truths: Sequence[Series], predictions: Sequence[Series], options: ChartOptions, budget: Budget
    ) -> None:
        true_labels, self._rows = _indexed(truths)
        predicted_labels, self._columns = _indexed(predictions)
        budget.spend(edit_distance_steps(true_labels, predicted_labels))
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
    similarities: Array, truths: Sequence[Series], predictions: Sequence[Series], options: ChartOptions, budget: Budget
) -> Array:
    """Returns the similarities with the names of the series counted in."""
    if options.protocol == "published" and not any(series.name for series in truths):
        return similarities
    true_names, predicted_names = [one.name for one in truths], [one.name for one in predictions]
    budget.spend(edit_distance_steps(true_names, predicted_names))
    distances = normalised_edit_distances(true_names, predicted_names)
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
    return len(label(value))
