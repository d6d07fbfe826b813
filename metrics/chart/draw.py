"""A picture of one chart: what all seven tasks found, both sides over each other and over the real picture.

The class is written above, text blocks, roles, ticks, legend boxes and plot elements lie where they are in the image,
and the data series, whose values have no place in the image, have axes of their own below. The ground truth has thick
lines and its text above its boxes; the prediction has thin lines and text below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..common.svg import (
    EXTRA,
    FRAME,
    IGNORED,
    LINE_HEIGHT,
    MATCHED,
    MISSED,
    SOFT,
    UNJUDGED,
    WRONG,
    Drawing,
    ImageSize,
    Style,
    judged,
)
from ..common.svg import WIDTH as DRAWING_WIDTH
from .names import compared_text, label, numbers, read_text
from .records import (
    NO_AXES,
    NO_ELEMENTS,
    Box,
    BoxSummary,
    ChartOptions,
    ChartPrediction,
    ChartTruth,
    DataSeries,
    TextBlock,
    axes_of,
    chart_type_of,
    elements_of,
    identifier_text,
    legend_pairs_of,
    series_of,
    text_blocks_of,
)
from .task_score import shortened

MARGIN = 20.0
WIDTH, MAX_HEIGHT, HEAD = DRAWING_WIDTH - 2 * MARGIN, 900.0, 62.0
MAX_PARTS = 400
"""Of one kind and side are drawn."""
MAX_ROLES = 6
"""Wrong roles of texts without a place are listed."""
FAR = 0.05
"""What lies further outside of the image than this part of its size is not drawn, but counted."""
PANEL_HEIGHT, AXIS_WIDTH, NAME_WIDTH, TICKS = 200.0, 60.0, 90.0, 5

Key = str | tuple[str, str] | None
Pool = dict[Key, list[Style]]
"""How the parts of one key are drawn, in their order."""


def draw_chart(
    truth: ChartTruth,
    prediction: ChartPrediction | None,
    details: Mapping[str, Any],
    options: ChartOptions,
    image: ImageSize | None = None,
) -> str:
    """Returns an SVG document; without a prediction, of the ground truth alone.

    details: those of the score. image: the size of the real picture, over which both sides lie.
    """
    drawing = Drawing()
    view = _View(*_size(truth, prediction, image))
    drawing.legend(MARGIN, 20, prediction is not None, IGNORED)
    if image is not None:
        drawing.picture(MARGIN, HEAD, WIDTH, view.height)
    drawing.box(MARGIN, HEAD, MARGIN + view.width, HEAD + view.height, FRAME)
    classes = [chart_type_of(record.task1) or "no class" for record in (truth, prediction) if record is not None]
    style = UNJUDGED if prediction is None else MATCHED
    if prediction is not None and "task1" in details and details["task1"]["truth"] != details["task1"]["predicted"]:
        style = WRONG
    drawing.text(MARGIN, 44, "class: " + ", predicted ".join(classes), style.color, limit=92)
    side = _Side(drawing, view, truth, details if prediction is not None else None, options, image is not None)
    side.draw(False)
    if prediction is not None:
        _Side(drawing, view, prediction, details, options, image is not None).draw(True)
    bottom = HEAD + view.height + 14
    for line in side.roles[:MAX_ROLES]:
        drawing.text(MARGIN, bottom + 12, line, WRONG.color, limit=92)
        bottom += LINE_HEIGHT
    if view.far:
        lying = "1 part lies" if view.far == 1 else f"{view.far} parts lie"
        drawing.text(MARGIN, bottom + 12, f"{lying} far outside of the image, not drawn", SOFT)
        bottom += 22
    bottom = _draw_panels(drawing, truth, prediction, details, options, bottom)
    return drawing.document(DRAWING_WIDTH, bottom + MARGIN)


class _View:
    """Places pixels of the image in the picture, and counts what lies too far outside."""

    def __init__(self, width: float, height: float) -> None:
        self._size = (width, height)
        self.scale = min(WIDTH / width, MAX_HEIGHT / height)
        self.width, self.height = width * self.scale, height * self.scale
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


def _size(truth: ChartTruth, prediction: ChartPrediction | None, image: ImageSize | None) -> tuple[float, float]:
    """Returns the size of the image, the record's first; where it is not told, one that holds the boxes of all text."""
    if truth.image is not None:
        return truth.image.width, truth.image.height
    if image is not None:
        return image
    texts = [text_blocks_of(record.task2) or () for record in (truth, prediction) if record is not None]
    boxes = [block.bb.corners() for blocks in texts for block in blocks]
    return max(100.0, *(box[2] for box in boxes), 0.0), max(100.0, *(box[3] for box in boxes), 0.0)


class _Side:
    """Draws one side of a chart, each part by what became of it; at most 400 parts of each kind.

    details: None where nothing is judged. roles: the wrong roles of texts that have no place.
    """

    def __init__(
        self,
        drawing: Drawing,
        view: _View,
        record: ChartTruth | ChartPrediction,
        details: Mapping[str, Any] | None,
        options: ChartOptions,
        has_picture: bool,
    ) -> None:
        self._drawing, self._view, self._record, self._details = drawing, view, record, details
        self._options, self._has_picture = options, has_picture
        self.roles: list[str] = []

    def draw(self, is_predicted: bool) -> None:
        """Draws plot elements, ticks and the legend, then texts over them."""
        self._name = "prediction" if is_predicted else "ground truth"
        self._is_predicted, self._left = is_predicted, EXTRA if is_predicted else MISSED
        self._draw_elements()
        axes = axes_of(self._record.task4) or NO_AXES
        for name, ticks in (("x-axis", axes.x_axis or ()), ("y-axis", axes.y_axis or ())):
            entries = self._entries("task4", lambda found, name=name: found[name])  # type: ignore[misc]
            pool = self._pool((each["id"], each["kind"], each.get("score", 0.0)) for each in entries)
            for tick in ticks[:MAX_PARTS]:
                style = self._taken("task4", pool, identifier_text(tick.id))
                self._mark(tick.tick_pt.x, tick.tick_pt.y, style, f"tick of {tick.id}")
        entries = self._entries("task5", lambda found: found["pairs"])
        pool = self._pool((each["id"], each["kind"], each["iou"] or 0.0) for each in entries)
        for pair in (legend_pairs_of(self._record.task5) or ())[:MAX_PARTS]:
            self._box(pair.bb, self._taken("task5", pool, identifier_text(pair.id)), f"legend of {pair.id}")
        self._draw_texts()

    def _entries(self, task: str, of: Callable[[Any], Iterable[Any]]) -> Iterable[Any]:
        return of(self._details[task]) if self._details is not None and task in self._details else ()

    def _pool(self, entries: Iterable[tuple[Key, str, float]]) -> Pool:
        """Returns the styles of the parts that are in a match, or missed, of triples (key, kind, score)."""
        pool: Pool = {}
        for key, kind, score in entries:
            if kind == "matched":
                pool.setdefault(key, []).append(judged(score).of(self._is_predicted))
            elif kind == "missed" and not self._is_predicted:
                pool.setdefault(key, []).append(MISSED)
        return pool

    def _taken(self, task: str, pool: Pool, key: Key) -> Style:
        """Returns the style of the next part of a key; what the score does not know is extra, or does not count."""
        if self._details is None:
            return UNJUDGED
        if task not in self._details:
            return IGNORED
        found = pool.get(key)
        return found.pop(0) if found else EXTRA if self._is_predicted else IGNORED

    def _draw_elements(self) -> None:
        elements = elements_of(self._record.task6) or NO_ELEMENTS
        for bar, style in self._matched("bars", elements.bars or ()):
            self._box(bar, style, "bar")
        for line, style in self._matched("lines", elements.lines or ()):
            points = [(point.x, point.y) for point in line[:MAX_PARTS]]
            if points and self._view.sees(*points):
                places = [self._view.place(*point) for point in points]
                self._drawing.polygon(places, style, f"{self._name}: line", closed=False)
        for name in ("min", "first_quartile", "median", "third_quartile", "max"):
            parts = [part for plot in elements.boxplots or () if (part := getattr(plot, name)) is not None]
            for part, style in self._matched(name, parts):
                if self._view.sees((part.x, part.y)):
                    x, y = self._view.place(part.x, part.y)
                    self._drawing.line(x - 8, y, x + 8, y, style, f"{self._name}: {name.replace('_', ' ')}")
        for point, style in self._matched("points", elements.points()):
            self._mark(point.x, point.y, style, "point")

    def _matched(self, name: str, parts: Sequence[Any]) -> Iterable[tuple[Any, Style]]:
        """Returns the elements of a class, which the details have by position; a pair that scores 0 is none."""
        found = (self._details or {}).get("task6a", {}).get(name)
        if found is None:
            return [(part, UNJUDGED if self._details is None else IGNORED) for part in parts[:MAX_PARTS]]
        pairs = {int(pair[self._is_predicted]): pair[2] for pair in found["pairs"]}
        styles = (
            judged(pairs[place]).of(self._is_predicted) if pairs.get(place) else self._left
            for place in range(len(parts))
        )
        return list(zip(parts, styles, strict=True))[:MAX_PARTS]

    def _draw_texts(self) -> None:
        pool: Pool = {}
        details = (self._details or {}).get("task2", {})
        side, kind = ("prediction_ids", "extra") if self._is_predicted else ("truth_ids", "missed")
        for unit in details.get("matched", ()):
            style = (MATCHED if unit["text_score"] >= 1 else WRONG).of(self._is_predicted)
            for name in unit[side]:
                key = name if name is not None else ("text", unit["predicted" if self._is_predicted else "truth"])
                pool.setdefault(key, []).append(style)
        for block in details.get(kind, ()):
            key = block["id"] if block["id"] is not None else ("text", block["text"])
            pool.setdefault(key, []).append(self._left)
        roles = {} if self._is_predicted else {
            each["id"]: f"role {each['predicted']} instead of {each['truth'] or 'none'}"
            for each in self._entries("task3", lambda found: found["errors"])
            if each["predicted"] is not None
        }  # fmt: skip
        for block in (text_blocks_of(self._record.task2) or ())[:MAX_PARTS]:
            style = self._text_style(pool, block)
            role = roles.pop(identifier_text(block.id), "")
            if not self._box(block.bb, style, f"{block.text or ''}{role and f' ({role})'}"):
                continue
            x, top = self._view.place(block.bb.x0, block.bb.y0)
            y = self._view.place(0, block.bb.y0 + block.bb.height)[1] + 12 if self._is_predicted else top - 3
            # The real picture has the text itself.
            is_said = not self._has_picture or style.label in (MISSED.label, EXTRA.label, WRONG.label)
            if is_said and not (self._is_predicted and style.label == MATCHED.label):
                self._drawing.text(x, y, block.text or "", style.color, 40)
            if role:
                self._drawing.text(x, top - 3 - LINE_HEIGHT * is_said, role, WRONG.color, 60)
        self.roles = [f"text {name}: {role}" for name, role in roles.items()]

    def _text_style(self, pool: Pool, block: TextBlock) -> Style:
        if self._details is None or "task2" not in self._details:
            return UNJUDGED if self._details is None else IGNORED
        text = read_text(block.text or "", self._options.protocol)
        name = identifier_text(block.id)
        found = pool.get(name if name is not None else ("text", shortened(text)))
        # Task 2 leaves out texts with "__"; the parts of a split or merged text without ids have no key.
        return found.pop(0) if found else IGNORED if "__" in text else WRONG.of(self._is_predicted)

    def _box(self, box: Box, style: Style, title: str) -> bool:
        x0, y0, x1, y1 = box.corners()
        if not self._view.sees((x0, y0), (x1, y1)):
            return False
        self._drawing.box(*self._view.place(x0, y0), *self._view.place(x1, y1), style, f"{self._name}: {title}")
        return True

    def _mark(self, x: float, y: float, style: Style, title: str) -> None:
        if self._view.sees((x, y)):
            self._drawing.mark(*self._view.place(x, y), style, f"{self._name}: {title}")


def _draw_panels(
    drawing: Drawing,
    truth: ChartTruth,
    prediction: ChartPrediction | None,
    details: Mapping[str, Any],
    options: ChartOptions,
    top: float,
) -> float:
    """Draws the data series of tasks 6b and 7, each in axes of its own; returns the bottom of the last."""
    true = series_of(truth.task6) or ()
    if prediction is None:
        return _draw_panel(drawing, "data series", [(each, UNJUDGED) for each in true], False, top)
    for task, title, record in (("task6b", "task 6b", prediction.task6), ("task7", "task 7", prediction.task7)):
        predicted = series_of(record) or ()
        if task not in details or not (true and (predicted or task == "task6b")):
            continue
        found = details[task]

        def named(text: str) -> str:
            return shortened(compared_text(text, options.protocol))

        sides = []
        for series, key, other, is_predicted in (
            (true, "truth", "missed", False),
            (predicted, "predicted", "extra", True),
        ):
            pool: Pool = {}
            for pair in found["pairs"]:
                pool.setdefault(named(pair[key]), []).append(judged(pair["score"]).of(is_predicted))
            left = EXTRA if is_predicted else MISSED
            for name in found[other]:
                pool.setdefault(named(name), []).append(left)
            sides += [
                (each, styles.pop(0) if (styles := pool.get(named(label(each.name)))) else left) for each in series
            ]
        words = f"data series of {title}, scored {details_score(found):.3g}"
        top = _draw_panel(drawing, words, sides, found["kind"] == "labelled", top)
    return top


def details_score(found: Mapping[str, Any]) -> float:
    """Returns the score of the data series of a chart from its details: the scores of pairs over the larger side."""
    larger = len(found["pairs"]) + max(len(found["missed"]), len(found["extra"]))
    return min(1.0, sum(pair["score"] for pair in found["pairs"]) / larger) if larger else 1.0


def _draw_panel(
    drawing: Drawing, title: str, drawn: Sequence[tuple[DataSeries, Style]], is_labelled: bool, top: float
) -> float:
    """Draws series by the values of x, or by their labels in the order of their first series; returns the bottom."""
    found = [(label(one.name), *_values(one), style) for one, style in drawn[:MAX_PARTS]]
    ys = [y for _, _, values, _ in found for y in values if math.isfinite(y)]
    if not ys:
        return top
    numeric = [numbers(xs) for _, xs, _, _ in found]
    labels: dict[str, float] = {}
    if is_labelled or not all(math.isfinite(x) for xs in numeric for x in xs):
        for _, xs, _, _ in found:
            for x in xs:
                labels.setdefault(label(x), float(len(labels)))
        numeric = [[labels[label(x)] for x in xs] for _, xs, _, _ in found]
    places = [x for xs in numeric for x in xs]
    across, up = _axis(min(places), max(places)), _axis(min(*ys, 0.0), max(ys))
    left, right = MARGIN + AXIS_WIDTH, MARGIN + WIDTH - NAME_WIDTH
    drawing.text(MARGIN, top + 16, title, SOFT, limit=92)
    top, bottom = top + 30, top + 30 + PANEL_HEIGHT
    drawing.box(left, top, right, bottom, FRAME)

    def place(x: float, y: float) -> tuple[float, float]:
        return left + 10 + across(x) * (right - left - 20), bottom - 8 - up(y) * (bottom - top - 16)

    for number in range(TICKS):
        share = number / (TICKS - 1)
        y = min(*ys, 0.0) + share * (max(ys) - min(*ys, 0.0))
        drawing.line(left - 4, place(0, y)[1], left, place(0, y)[1], FRAME)
        drawing.text(MARGIN, place(0, y)[1] + 4, f"{y:.4g}", SOFT, limit=9)
    shown = list(labels.items()) or [(f"{x:.4g}", x) for x in sorted(set(places))]
    step = max(1, math.ceil(len(shown) / TICKS))
    for text, x in shown[::step]:
        drawing.line(place(x, 0)[0], bottom, place(x, 0)[0], bottom + 4, FRAME)
        drawing.text(place(x, 0)[0] - 10, bottom + 17, text, SOFT, limit=14)
    for (name, _, values, style), xs in zip(found, numeric, strict=True):
        points = [place(x, y) for x, y in zip(xs[:MAX_PARTS], values, strict=False) if math.isfinite(y)]
        drawing.polygon(points, style, name, closed=False)
        for x, y in points:
            drawing.mark(x, y, style)
        if points:
            x, y = points[-1]
            drawing.text(x + 8, y + (12 if style.width < MATCHED.width else -4), name, style.color, 14)
    return bottom + 26


def _axis(low: float, high: float) -> Callable[[float], float]:
    """Returns what maps a value of a range to its share of it; the middle where the range is a single value."""
    return lambda value: (value - low) / (high - low) if high > low else 0.5


def _values(series: DataSeries) -> tuple[list[Any], list[float]]:
    """Returns x and y of a series; y is NaN where it is no number."""
    data = series.data
    if isinstance(data, BoxSummary):
        names = ("min", "first_quartile", "median", "third_quartile", "max")
        return list(names), numbers([getattr(data, name) for name in names])
    return [point.x for point in data or ()], numbers([point.y for point in data or ()])
