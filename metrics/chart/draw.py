"""A picture of one chart: text blocks, ticks, legend boxes and plot elements of both sides over each other.

The ground truth has solid lines and its text above its boxes; the prediction has dashes, crosses and text below. The
data series, whose values have no place in the image, are drawn in a panel of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..common.svg import PREDICTED, SOFT, TRUE, Drawing, Style
from .names import numbers
from .records import (
    NO_AXES,
    NO_ELEMENTS,
    Box,
    BoxSummary,
    ChartPrediction,
    ChartTruth,
    DataSeries,
    axes_of,
    chart_type_of,
    elements_of,
    legend_pairs_of,
    series_of,
    text_blocks_of,
)

WIDTH, MAX_HEIGHT, MARGIN, HEAD = 860.0, 1200.0, 20.0, 62.0
PANEL_HEIGHT = 260.0
MAX_PARTS = 400
"""Of one kind and side are drawn."""
FAR = 0.05
"""What lies further outside of the image than this part of its size is not drawn, but counted."""

TRUTH = Style("ground truth", TRUE)
PREDICTION = Style("prediction", PREDICTED, "5 3")


class _View:
    """Places pixels of the image in the picture, and counts what lies too far outside."""

    def __init__(self, width: float, height: float) -> None:
        self._size = (width, height)
        self.scale = min(WIDTH / width, MAX_HEIGHT / height)
        self.height = height * self.scale
        self.far = 0

    def sees(self, *points: tuple[float, float]) -> bool:
        """Tells whether all points are near the image; counts one part more where not."""
        width, height = self._size
        near = all(
            -FAR * width <= x <= (1 + FAR) * width and -FAR * height <= y <= (1 + FAR) * height for x, y in points
        )
        self.far += not near
        return near

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Returns a point of the image as one of the picture."""
        return MARGIN + x * self.scale, HEAD + y * self.scale


def draw_chart(truth: ChartTruth, prediction: ChartPrediction | None) -> str:
    """Returns an SVG document; without a prediction, of the ground truth alone."""
    drawing = Drawing()
    sides: list[tuple[ChartTruth | ChartPrediction, Style]] = [(truth, TRUTH)]
    if prediction is not None:
        sides.append((prediction, PREDICTION))
    view = _View(*_size(truth, prediction))
    drawing.legend(MARGIN, 20, [style for _, style in sides])
    classes = [f"{style.label}: {chart_type_of(record.task1) or 'no class'}" for record, style in sides]
    drawing.text(MARGIN, 44, "; ".join(classes), limit=120)
    drawing.box(MARGIN, HEAD, MARGIN + WIDTH, HEAD + view.height, Style("image", "#c5cad1", "", 1.0))
    for record, style in sides:
        _draw_record(drawing, view, record, style)
    bottom = HEAD + view.height + 14
    if view.far:
        lying = "1 part lies" if view.far == 1 else f"{view.far} parts lie"
        drawing.text(MARGIN, bottom + 12, f"{lying} far outside of the image, not drawn", SOFT)
        bottom += 22
    task6, task7 = (prediction.task6, prediction.task7) if prediction else (None, None)
    predicted = series_of(task6)
    both = [(series_of(truth.task6), TRUTH), (series_of(task7) if predicted is None else predicted, PREDICTION)]
    bottom = _draw_series(drawing, [(series, style) for series, style in both if series], bottom)
    return drawing.document(WIDTH + 2 * MARGIN, bottom + MARGIN)


def _size(truth: ChartTruth, prediction: ChartPrediction | None) -> tuple[float, float]:
    """Returns the size of the image; where it is not told, one that holds the boxes of all text."""
    if truth.image is not None:
        return truth.image.width, truth.image.height
    texts = [text_blocks_of(record.task2) or () for record in (truth, prediction) if record is not None]
    boxes = [block.bb.corners() for blocks in texts for block in blocks]
    return max(100.0, *(box[2] for box in boxes), 0.0), max(100.0, *(box[3] for box in boxes), 0.0)


def _draw_box(drawing: Drawing, view: _View, box: Box, style: Style, title: str) -> bool:
    x0, y0, x1, y1 = box.corners()
    if not view.sees((x0, y0), (x1, y1)):
        return False
    drawing.box(*view.place(x0, y0), *view.place(x1, y1), style, title)
    return True


def _draw_record(drawing: Drawing, view: _View, record: ChartTruth | ChartPrediction, style: Style) -> None:
    """Draws the plot elements, ticks, legend and text of one side, at most 400 parts of each kind."""
    elements, axes = elements_of(record.task6) or NO_ELEMENTS, axes_of(record.task4) or NO_AXES
    for bar in (elements.bars or ())[:MAX_PARTS]:
        _draw_box(drawing, view, bar, style, f"{style.label}: bar")
    for line in (elements.lines or ())[:MAX_PARTS]:
        points = [(point.x, point.y) for point in line[:MAX_PARTS]]
        if points and view.sees(*points):
            drawing.polygon([view.place(*point) for point in points], style, f"{style.label}: line", closed=False)
    for plot in (elements.boxplots or ())[:MAX_PARTS]:
        for part in (plot.min, plot.first_quartile, plot.median, plot.third_quartile, plot.max):
            if part is not None and view.sees((part.x, part.y)):
                x, y = view.place(part.x, part.y)
                drawing.line(x - 8, y, x + 8, y, style, f"{style.label}: part of a box plot")
    ticks = [*(axes.x_axis or ()), *(axes.y_axis or ())][:MAX_PARTS]
    marks = [(point, "point") for point in elements.points()[:MAX_PARTS]]
    for point, what in [*marks, *((tick.tick_pt, f"tick of {tick.id}") for tick in ticks)]:
        if view.sees((point.x, point.y)):
            drawing.mark(*view.place(point.x, point.y), style, f"{style.label}: {what}")
    for pair in (legend_pairs_of(record.task5) or ())[:MAX_PARTS]:
        _draw_box(drawing, view, pair.bb, style, f"{style.label}: legend of {pair.id}")
    for block in (text_blocks_of(record.task2) or ())[:MAX_PARTS]:
        if _draw_box(drawing, view, block.bb, style, f"{style.label}: {block.text or ''}"):
            x, top = view.place(block.bb.x0, block.bb.y0)
            bottom = view.place(0, block.bb.y0 + block.bb.height)[1]
            drawing.text(x, bottom + 10 if style.dashes else top - 3, block.text or "", style.color, 10, 40)


def _draw_series(drawing: Drawing, sides: Sequence[tuple[Sequence[DataSeries], Style]], top: float) -> float:
    """Draws the values of the series of both sides in one panel, by their place in the series; returns its bottom."""
    drawn = [(f"{one.name}", _values(one), style) for found, style in sides for one in found[:MAX_PARTS]]
    finite = [value for _, values, _ in drawn for value in values if math.isfinite(value)]
    if not finite:
        return top
    low, high = min(*finite, 0.0), max(finite)
    words = f"data series, {low:g} to {high:g}, each point at its place in the series"
    drawing.text(MARGIN, top + 14, words, SOFT, limit=120)
    top, height = top + 26, PANEL_HEIGHT - 40
    drawing.box(MARGIN, top, MARGIN + WIDTH, top + height, Style("panel", "#c5cad1", "", 1.0))
    across = (WIDTH - 110) / max(1, *(len(values) - 1 for _, values, _ in drawn))
    for name, values, style in drawn:
        points = []
        for number, value in enumerate(values[:MAX_PARTS]):
            if math.isfinite(value):
                share = (value - low) / (high - low) if high > low else 0.5
                points.append((MARGIN + 12 + across * number, top + height - 6 - (height - 18) * share))
                drawing.mark(*points[-1], style)
        drawing.polygon(points, style, f"{style.label}: {name}", closed=False)
        if points:
            x, y = points[-1]
            drawing.text(x + 6, y + (11 if style.dashes else -3), name, style.color, 10, 14)
    return top + height


def _values(series: DataSeries) -> list[float]:
    """Returns the values of a series, NaN for one that is no number."""
    data = series.data
    if isinstance(data, BoxSummary):
        return numbers([data.min, data.first_quartile, data.median, data.third_quartile, data.max])
    return numbers([point.y for point in data or ()])
