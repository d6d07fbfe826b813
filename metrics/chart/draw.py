"""A picture of one chart: what all seven tasks found, both sides over each other and over the real picture.

The class is written above, text blocks, roles, ticks, legend boxes and plot elements lie where they are in the image,
and the data series, whose values have no place in the image, have axes of their own below. The ground truth has thick
lines and its text above its boxes; the prediction has thin lines and text below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ..common import svg
from ..common.boxes import corner_points
from .classes import is_right_class
from .names import label, numbers
from .records import (
    NO_AXES,
    NO_ELEMENTS,
    BoxPlot,
    Chart,
    ChartPrediction,
    ChartTruth,
    DataSeries,
    elements_of,
    identifier_text,
    series_of,
)

MARGIN, HEAD, MAX_HEIGHT = 20.0, 62.0, 900.0
MAX_PARTS = 400
"""The maximum that is drawn of one kind and side."""
PANEL_HEIGHT, AXIS_WIDTH, NAME_WIDTH, TICKS = 200.0, 60.0, 90.0, 5
BOX_PLOT_LINES_UPWARDS = ("min", "first_quartile", "median", "third_quartile", "max")
"""The lines of a box plot from the lowest; `records.BOX_PLOT_LINES` has them in the order of the record."""

Key = str | int | None
Judgements = Iterable[tuple[Key, svg.Style]]
"""Keys with the styles of their parts, in order."""


def draw_chart(
    truth: ChartTruth,
    prediction: ChartPrediction | None,
    details: Mapping[str, Any],
    image: svg.ImageSize | None,
) -> str:
    """Returns an SVG document; without a prediction, of the ground truth alone.

    details: of the score. image: the size of the real picture; both sides are drawn over it.
    """
    drawing = svg.Drawing()
    view = svg.View(drawing, (0.0, 0.0, *_size(truth, prediction, image)), MARGIN, HEAD, MAX_HEIGHT)
    drawing.legend(MARGIN, 20, prediction is not None, svg.IGNORED)
    if image is not None:
        view.picture()
    drawing.box(MARGIN, HEAD, *view.end, svg.FRAME)
    records = [truth] if prediction is None else [truth, prediction]
    style = svg.UNJUDGED if prediction is None else svg.MATCHED
    if prediction is not None and "task1" in details and not is_right_class(details["task1"]):
        style = svg.WRONG
    classes = ", predicted ".join(record.chart_type or "no class" for record in records)
    drawing.text(MARGIN, 44, f"class: {classes}", style.color, limit=92)
    for record in records:
        judged_by = None if prediction is None else details
        _Side(drawing, view, record, judged_by, record is prediction, image is not None).draw()
    bottom = _draw_panels(drawing, truth, prediction, details, view.write_far())
    return drawing.document(svg.WIDTH, bottom + MARGIN)


def _size(truth: ChartTruth, prediction: ChartPrediction | None, image: svg.ImageSize | None) -> tuple[float, float]:
    """Returns the size of the image, preferably of the record; if unknown, one that holds the boxes of all text."""
    if truth.size is not None:
        return truth.size
    if image is not None:
        return image
    blocks = chain(truth.text_blocks or (), (prediction and prediction.text_blocks) or ())
    _, _, rights, bottoms = zip((0.0, 0.0, 100.0, 100.0), *(block.bb.corners() for block in blocks), strict=True)
    return max(rights), max(bottoms)


def _styles(keys: Iterable[Key], judgements: Judgements, left: svg.Style) -> list[svg.Style]:
    """Returns the styles of parts by their keys; a judgement applies to one part, `left` to parts without any."""
    styles_by_key: dict[Key, list[svg.Style]] = {}
    for key, style in judgements:
        styles_by_key.setdefault(key, []).append(style)
    return [styles.pop(0) if (styles := styles_by_key.get(key)) else left for key in keys]


@dataclass
class _Side:
    """Draws one side of a chart, at most 400 parts of each kind; details: None if nothing is judged."""

    drawing: svg.Drawing
    view: svg.View
    record: Chart
    details: Mapping[str, Any] | None
    is_predicted: bool
    has_picture: bool

    def draw(self) -> None:
        """Draws plot elements, ticks and the legend, then texts over them."""
        self._draw_elements()
        axes = self.record.axes or NO_AXES
        for name, ticks in (("x-axis", axes.x_axis or ()), ("y-axis", axes.y_axis or ())):
            for tick, style in self._identified("task4", name, "score", ticks):
                self.view.mark((tick.tick_pt.x, tick.tick_pt.y), style, self.is_predicted, f"tick of {tick.id}")
        for pair, style in self._identified("task5", "pairs", "iou", self.record.legend_pairs or ()):
            self.view.outline(corner_points(pair.bb.corners()), style, self.is_predicted, f"legend of {pair.id}")
        self._draw_texts()

    def _judged(
        self, task: str, parts: Sequence[Any], keys: Iterable[Key], judgements: Judgements, left: svg.Style
    ) -> list[tuple[Any, svg.Style]]:
        """Returns the first parts of a kind with their styles; left: of a part without a judgement."""
        if self.details is None or task not in self.details:
            judgements, left = (), svg.UNJUDGED if self.details is None else svg.IGNORED
        return list(zip(parts, _styles(keys, judgements, left), strict=True))[:MAX_PARTS]

    def _details_of(self, task: str) -> Mapping[str, Any]:
        return (self.details or {}).get(task) or {}

    def _identified(self, task: str, name: str, score: str, parts: Sequence[Any]) -> list[tuple[Any, svg.Style]]:
        """Returns ticks or legend pairs with styles; the details list them, and the missed ones, by id."""
        judgements = [
            (each["id"], svg.MISSED if each["kind"] == "missed" else svg.judged(each[score]).of(self.is_predicted))
            for each in self._details_of(task).get(name, ())
            if each["kind"] == "matched" or (each["kind"] == "missed" and not self.is_predicted)
        ]
        left = svg.EXTRA if self.is_predicted else svg.IGNORED
        return self._judged(task, parts, [identifier_text(part.id) for part in parts], judgements, left)

    def _elements(self, name: str, parts: Sequence[Any]) -> list[tuple[Any, svg.Style]]:
        """Returns the elements of a class with styles; the details list them by position. A score of 0 is no match."""
        judged_elements = self._details_of("task6a").get(name)
        pairs = judged_elements["pairs"] if judged_elements else ()
        judgements = [
            (int(pair[self.is_predicted]), svg.judged(pair[2]).of(self.is_predicted)) for pair in pairs if pair[2]
        ]
        left = self._left() if judged_elements else svg.IGNORED
        return self._judged("task6a", parts, range(len(parts)), judgements, left)

    def _draw_elements(self) -> None:
        elements = elements_of(self.record.task6) or NO_ELEMENTS
        for bar, style in self._elements("bars", elements.bars or ()):
            self.view.outline(corner_points(bar.corners()), style, self.is_predicted, "bar")
        for line, style in self._elements("lines", elements.lines or ()):
            points = [(point.x, point.y) for point in line[:MAX_PARTS]]
            self.view.outline(points, style, self.is_predicted, "line", closed=False)
        for name in BOX_PLOT_LINES_UPWARDS:
            parts = [part for plot in elements.boxplots or () if (part := getattr(plot, name)) is not None]
            for part, style in self._elements(name, parts):
                self.view.mark((part.x, part.y), style, self.is_predicted, name.replace("_", " "))
        for point, style in self._elements("points", elements.points()):
            self.view.mark((point.x, point.y), style, self.is_predicted, "point")

    def _draw_texts(self) -> None:
        # Where task 2 is not scored, there may be any number of blocks.
        task2, blocks = self._details_of("task2"), (self.record.text_blocks or ())[:MAX_PARTS]
        units, free = task2.get("matched", ()), task2.get("extra" if self.is_predicted else "missed", ())
        judgements = [
            (position, (svg.MATCHED if unit["text_score"] >= 1 else svg.WRONG).of(self.is_predicted))
            for unit in units
            for position in unit.get("positions", ((), ()))[self.is_predicted]
        ]
        judgements += [(each["position"], self._left()) for each in free if "position" in each]
        roles = {
            each["id"]: f" (role {each['predicted']} instead of {each['truth'] or 'none'})"
            for each in self._details_of("task3").get("errors", ())
            if each["predicted"] is not None and not self.is_predicted
        }
        # A block that holds `__` is not judged, and neither are those that are not listed.
        left = svg.UNJUDGED if "left_out" in task2 or not _have_positions([*units, *free]) else svg.IGNORED
        for block, style in self._judged("task2", blocks, range(len(blocks)), judgements, left):
            title = (block.text or "") + (role := roles.pop(identifier_text(block.id), ""))
            if role and style.label == svg.MATCHED.label:
                style = svg.WRONG.of(self.is_predicted)
            # The real picture shows the text itself, and so does the ground truth that a prediction matches.
            is_shown = style.label in svg.FAULTS or not (
                self.has_picture or (self.is_predicted and style.label == svg.MATCHED.label)
            )
            points, shown_text = corner_points(block.bb.corners()), title if is_shown else ""
            self.view.outline(points, style, self.is_predicted, title, shown_text)

    def _left(self) -> svg.Style:
        return svg.EXTRA if self.is_predicted else svg.MISSED


def _have_positions(judged: Iterable[Mapping[str, Any]]) -> bool:
    """Returns whether judgements of details say to what they apply; those of earlier versions do not."""
    return all("positions" in each or "position" in each for each in judged)


def _draw_panels(
    drawing: svg.Drawing,
    truth: ChartTruth,
    prediction: ChartPrediction | None,
    details: Mapping[str, Any],
    top: float,
) -> float:
    """Draws the data series of tasks 6b and 7, each in its own axes; returns the bottom of the last."""
    true = series_of(truth.task6) or ()
    if prediction is None:
        return _draw_panel(drawing, "data series", [(each, svg.UNJUDGED) for each in true], False, top)
    for task, title, record in (("task6b", "task 6b", prediction.task6), ("task7", "task 7", prediction.task7)):
        predicted = series_of(record) or ()
        if task not in details or not (true and (predicted or task == "task6b")):
            continue
        pairs = details[task]["pairs"]
        drawn: list[tuple[DataSeries, svg.Style]] = []
        for side, series, left in ((0, true, svg.MISSED), (1, predicted, svg.EXTRA)):
            judgements = [
                (pair["positions"][side], svg.judged(pair["score"]).of(bool(side)))
                for pair in pairs
                if "positions" in pair
            ]
            left = left if _have_positions(pairs) else svg.UNJUDGED
            drawn += zip(series, _styles(range(len(series)), judgements, left), strict=True)
        larger = len(pairs) + max(len(details[task]["missed"]), len(details[task]["extra"]))
        score = sum(pair["score"] for pair in pairs) / larger if larger else 1.0
        words = f"data series of {title}, scored {score:.3g}"
        top = _draw_panel(drawing, words, drawn, details[task]["kind"] == "labelled", top)
    return top


def _draw_panel(
    drawing: svg.Drawing, title: str, drawn: Sequence[tuple[DataSeries, svg.Style]], is_labeled: bool, top: float
) -> float:
    """Draws series by the values of x, or by their labels in order of first appearance; returns the bottom."""
    curves = [(label(one.name), *_values(one), style) for one, style in drawn[:MAX_PARTS]]
    ys = [y for _, _, values, _ in curves for y in values if math.isfinite(y)]
    if not ys:
        return top
    numeric = [numbers(xs) for _, xs, _, _ in curves]
    labels: dict[str, float] = {}
    if is_labeled or not all(math.isfinite(x) for xs in numeric for x in xs):
        numeric = [[labels.setdefault(label(x), float(len(labels))) for x in xs] for _, xs, _, _ in curves]
    places = [x for xs in numeric for x in xs]
    frame = min(places), min(*ys, 0.0), max(places), max(ys)
    drawing.text(MARGIN, top + 16, title, svg.SOFT, limit=92)
    left, right, top = MARGIN + AXIS_WIDTH, svg.WIDTH - MARGIN - NAME_WIDTH, top + 30
    bottom = top + PANEL_HEIGHT
    drawing.box(left, top, right, bottom, svg.FRAME)

    def place(x: float, y: float) -> svg.Point:
        across, up = _share(x, frame[0], frame[2]), _share(y, frame[1], frame[3])
        return left + 10 + across * (right - left - 20), bottom - 8 - up * (bottom - top - 16)

    for number in range(TICKS):
        y = frame[1] + number / (TICKS - 1) * (frame[3] - frame[1])
        height = place(0, y)[1]
        drawing.line(left - 4, height, left, height, svg.FRAME)
        drawing.text(MARGIN, height + 4, f"{y:.4g}", svg.SOFT, limit=9)
    shown = list(labels.items()) or [(f"{x:.4g}", x) for x in sorted(set(places))]
    for text, x in shown[:: math.ceil(len(shown) / TICKS)]:
        across = place(x, 0)[0]
        drawing.line(across, bottom, across, bottom + 4, svg.FRAME)
        drawing.text(across - 10, bottom + 17, text, svg.SOFT, limit=14)
    for (name, _, values, style), xs in zip(curves, numeric, strict=True):
        points = [place(x, y) for x, y in zip(xs[:MAX_PARTS], values, strict=False) if math.isfinite(y)]
        drawing.polygon(points, style, name, closed=False)
        for x, y in points:
            drawing.mark(x, y, style)
        if points:
            x, y = points[-1]
            drawing.text(x + 8, y + (12 if style.width < svg.MATCHED.width else -4), name, style.color, 14)
    return bottom + 26


def _share(value: float, low: float, high: float) -> float:
    """Returns the position of a value in a range as a fraction; 0.5 if the range is a single value."""
    return (value - low) / (high - low) if high > low else 0.5


def _values(series: DataSeries) -> tuple[list[Any], list[float]]:
    """Returns x and y of a series; y is NaN if it is not a number."""
    data = series.data
    if isinstance(data, BoxPlot):
        return list(BOX_PLOT_LINES_UPWARDS), numbers([getattr(data, name) for name in BOX_PLOT_LINES_UPWARDS])
    return [point.x for point in data or ()], numbers([point.y for point in data or ()])
