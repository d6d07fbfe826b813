"""The records of the chart benchmark: the outputs of tasks 1 to 7 as CHART-Infographics writes them.

Boxes and points are in pixels, the values of data series in the units of the chart. Null is the same as absent.
Records without lists cannot be part of a cycle, so the garbage collector does not look at them (gc=False).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

Coordinate = Annotated[float, Meta(ge=-1e9, le=1e9)]
Size = Annotated[float, Meta(gt=0, le=1e9)]
Identifier = int | str | float | None
Scalar = str | float | int | None

Corners = tuple[float, float, float, float]
"""A box as (x0, y0, x1, y1)."""

OutputT = TypeVar("OutputT")


class ImageSize(Struct, frozen=True, gc=False):
    """Width and height of the chart image in pixels."""

    width: Size
    height: Size


class Box(Struct, frozen=True, gc=False):
    """An upright box by its corner and its sides."""

    x0: Coordinate
    y0: Coordinate
    width: Coordinate
    height: Coordinate

    def corners(self) -> Corners:
        """Returns the upper left and the lower right corner."""
        left, top = self.x0, self.y0
        return left, top, left + self.width, top + self.height


class Point(Struct, frozen=True, gc=False):
    """A point in the image."""

    x: Coordinate
    y: Coordinate


class Task(Struct, Generic[OutputT], frozen=True):
    """One task of one chart; its inputs are not read."""

    output: OutputT | None = None


class ChartClass(Struct, frozen=True, gc=False):
    """Task 1: the class of the chart."""

    chart_type: str | None = None


class TextBlock(Struct, frozen=True, gc=False):
    """A block of text; its id links it to roles, ticks and legend pairs."""

    bb: Box
    text: str | None = None
    id: Identifier = None


class TextBlocks(Struct, frozen=True):
    """Task 2: the blocks of text."""

    text_blocks: list[TextBlock] | None = None


class TextRole(Struct, frozen=True, gc=False):
    """The role of the text block `id`."""

    id: Identifier = None
    role: str | None = None


class TextRoles(Struct, frozen=True):
    """Task 3: the roles of the text blocks."""

    text_roles: list[TextRole] | None = None


class PredictedTextRoles(TextRoles, frozen=True):
    """Task 3 of a prediction. The released script reads `text_blocks` where a file has no `text_roles`."""

    text_blocks: Any = None


class Tick(Struct, frozen=True, gc=False):
    """A tick mark, and the id of the text block that is its label."""

    tick_pt: Point
    id: Identifier = None


class Axes(Struct, frozen=True):
    """The ticks of the axis of the independent variable (x) and of the dependent one (y)."""

    x_axis: list[Tick] | None = msgspec.field(name="x-axis", default=None)
    y_axis: list[Tick] | None = msgspec.field(name="y-axis", default=None)


class AxisAnalysis(Struct, frozen=True):
    """Task 4: the axes."""

    axes: Axes | None = None


class LegendPair(Struct, frozen=True, gc=False):
    """The box of the graphical sample that the legend label `id` stands beside."""

    bb: Box
    id: Identifier = None


class Legend(Struct, frozen=True):
    """Task 5: the legend."""

    legend_pairs: list[LegendPair] | None = None


class BoxPlotElement(Struct, frozen=True, gc=False):
    """A line of a box plot, by a point on it; `_bb` has its extent."""

    x: Coordinate
    y: Coordinate
    bb: Box | None = msgspec.field(name="_bb", default=None)


class BoxPlot(Struct, frozen=True, gc=False):
    """The five lines of a box plot."""

    first_quartile: BoxPlotElement | None = None
    max: BoxPlotElement | None = None
    min: BoxPlotElement | None = None
    median: BoxPlotElement | None = None
    third_quartile: BoxPlotElement | None = None


class VisualElements(Struct, frozen=True):
    """Task 6a: what is drawn in the plot area. Scatter points may be grouped by series."""

    bars: list[Box] | None = None
    boxplots: list[BoxPlot] | None = None
    lines: list[list[Point]] | None = None
    scatter_points: list[Point | list[Point]] | None = msgspec.field(name="scatter points", default=None)


class DataPoint(Struct, frozen=True, gc=False):
    """A point of a data series: numbers, or text that holds a number; x may be a label."""

    x: Scalar = None
    y: Scalar = None


class BoxSummary(Struct, frozen=True, gc=False):
    """The five numbers of a box plot."""

    first_quartile: Scalar = None
    max: Scalar = None
    min: Scalar = None
    median: Scalar = None
    third_quartile: Scalar = None


class DataSeries(Struct, frozen=True):
    """A named data series: points, or the summary that a box plot shows."""

    name: Scalar = None
    data: list[DataPoint] | BoxSummary | None = None


class ChartData(Struct, frozen=True):
    """Tasks 6 and 7: visual elements and data series."""

    visual_elements: VisualElements | None = msgspec.field(name="visual elements", default=None)
    data_series: list[DataSeries] | None = msgspec.field(name="data series", default=None)


class ChartTruth(Struct, frozen=True):
    """What is true of one chart. A task that is absent is not scored.

    image is needed by tasks 4 and 6a, task1 by tasks 6a to 7, whose measure depends on the class of the chart.
    ambiguous: the chart counts as grouped and as stacked, whatever its data series say.
    """

    image: ImageSize | None = None
    ambiguous: bool | None = None
    task1: Task[ChartClass | str] | None = None
    task2: Task[TextBlocks] | None = None
    task3: Task[TextRoles] | None = None
    task4: Task[AxisAnalysis] | None = None
    task5: Task[Legend] | None = None
    task6: Task[ChartData] | None = None


class ChartPrediction(Struct, frozen=True):
    """What a system says of one chart."""

    task1: Task[ChartClass | str] | None = None
    task2: Task[TextBlocks] | None = None
    task3: Task[PredictedTextRoles] | None = None
    task4: Task[AxisAnalysis] | None = None
    task5: Task[Legend] | None = None
    task6: Task[ChartData] | None = None
    task7: Task[ChartData] | None = None


def output_of(task: Task[OutputT] | None) -> OutputT | None:
    """Returns the output of a task, None where the task or its output is absent, or the output says nothing."""
    return None if task is None or is_empty(task.output) else task.output


def is_empty(value: Any) -> bool:
    """Tells whether a value is absent, or an object of which everything is; an empty list is not empty.

    >>> is_empty(AxisAnalysis(axes=Axes())), is_empty(Legend(legend_pairs=[]))
    (True, False)
    """
    if isinstance(value, Struct):
        return all(is_empty(getattr(value, name)) for name in value.__struct_fields__)
    return value is None


def identifier_text(identifier: Identifier) -> str | None:
    """Returns an id, name or label as text, so that 5, 5.0 and "5" are the same, and 0 and -0.0; None has no text."""
    if isinstance(identifier, str) or identifier is None:
        return identifier
    return str(int(identifier) if isinstance(identifier, float) and identifier.is_integer() else identifier)


class Identified(Protocol):
    """What has an id, such as a tick."""

    @property
    def id(self) -> Identifier:
        """The id of a text block."""


IdentifiedT = TypeVar("IdentifiedT", bound=Identified)


def matched_by_identifier(
    truths: Sequence[IdentifiedT], predictions: Sequence[IdentifiedT]
) -> tuple[list[tuple[str | None, IdentifiedT, IdentifiedT | None]], list[str | None]]:
    """Returns (id, truth, prediction or None) of each truth, and the ids of the predictions that are left.

    Those of the same id are matched in their order, and so are those without an id. What is left is in the order of the
    last prediction of each id, from the last one.
    """
    if [truth.id for truth in truths] == [prediction.id for prediction in predictions]:
        pairs = zip(truths, predictions, strict=True)
        return [(identifier_text(truth.id), truth, prediction) for truth, prediction in pairs], []
    waiting: dict[str | None, list[IdentifiedT]] = {}
    for prediction in reversed(predictions):
        waiting.setdefault(identifier_text(prediction.id), []).append(prediction)
    matched: list[tuple[str | None, IdentifiedT, IdentifiedT | None]] = []
    for truth in truths:
        key = identifier_text(truth.id)
        same = waiting.get(key)
        matched.append((key, truth, same.pop() if same else None))
    return matched, [key for key, same in waiting.items() for _ in same]
