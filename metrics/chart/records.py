"""The records of the chart benchmark: the outputs of tasks 1 to 7 as CHART-Infographics writes them; and the options.

Boxes and points are in pixels, the values of data series in the units of the chart. Null is the same as absent.
Records without lists cannot be part of a cycle, so the garbage collector does not look at them (gc=False).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ..common.boxes import Corners
from ..common.plain import set_plain
from ..common.wrong_names import wrong_names

Coordinate = Annotated[float, Meta(ge=-1e9, le=1e9)]
Size = Annotated[float, Meta(gt=0, le=1e9)]
Identifier = int | str | float | None
Scalar = str | float | int | None

OutputT = TypeVar("OutputT")
LineT = TypeVar("LineT")


class ImageSize(Struct, frozen=True, gc=False):
    """Width and height of the chart image in pixels; the object may name its file alone."""

    width: Size | None = None
    height: Size | None = None


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


_OUTPUTS = ("chart_type", "text_blocks", "text_roles", "axes", "legend_pairs", "visual elements", "data series")


@wrong_names({"output": _OUTPUTS})
class Task(Struct, Generic[OutputT], frozen=True):
    """One task of one chart; its inputs are not read. A member of an output in place of `output` is refused."""

    output: OutputT | None = None


@wrong_names({"chart_type": ("chart type", "chartType", "type", "class")})
class ChartClass(Struct, frozen=True, gc=False):
    """Task 1: the class of the chart."""

    chart_type: str | None = None


class Identified:
    """What has an id: 7.0 is 7."""

    __slots__ = ()
    id: Identifier

    def __post_init__(self) -> None:
        """Sets the id in its plain form."""
        if isinstance(self.id, float):
            set_plain(self, "id")


class TextBlock(Identified, Struct, frozen=True, gc=False):
    """A block of text; its id links it to roles, ticks and legend pairs."""

    bb: Box
    text: str | None = None
    id: Identifier = None


@wrong_names({"text_blocks": ("text blocks",)})
class TextBlocks(Struct, frozen=True):
    """Task 2: the blocks of text."""

    text_blocks: list[TextBlock] | None = None


class TextRole(Identified, Struct, frozen=True, gc=False):
    """The role of the text block `id`."""

    id: Identifier = None
    role: str | None = None


@wrong_names({"text_roles": ("text roles", "roles", "text_blocks")})
class TextRoles(Struct, frozen=True):
    """Task 3: the roles of the text blocks."""

    text_roles: list[TextRole] | None = None


@wrong_names({"text_roles": ("text roles", "roles")})
class PredictedTextRoles(Struct, frozen=True):
    """Task 3 of a prediction. The released script reads `text_blocks` where a file has no `text_roles`."""

    text_roles: list[TextRole] | None = None
    text_blocks: Any = None

    def __post_init__(self) -> None:
        """Sets the blocks in their plain form."""
        if self.text_blocks is not None:
            set_plain(self, "text_blocks")


class Tick(Identified, Struct, frozen=True, gc=False):
    """A tick mark, and the id of the text block that is its label."""

    tick_pt: Point
    id: Identifier = None


@wrong_names({"x-axis": ("x_axis", "x axis", "x"), "y-axis": ("y_axis", "y axis", "y")})
class Axes(Struct, frozen=True):
    """The ticks of the axis of the independent variable (x) and of the dependent one (y)."""

    x_axis: list[Tick] | None = msgspec.field(name="x-axis", default=None)
    y_axis: list[Tick] | None = msgspec.field(name="y-axis", default=None)


NO_AXES = Axes()


@wrong_names({"axes": ("axis", "x-axis", "y-axis", "x_axis", "y_axis")})
class AxisAnalysis(Struct, frozen=True):
    """Task 4: the axes."""

    axes: Axes | None = None


class LegendPair(Identified, Struct, frozen=True, gc=False):
    """The box of the graphical sample that the legend label `id` stands beside."""

    bb: Box
    id: Identifier = None


@wrong_names({"legend_pairs": ("legend pairs", "legend")})
class Legend(Struct, frozen=True):
    """Task 5: the legend."""

    legend_pairs: list[LegendPair] | None = None


class BoxPlotElement(Point, frozen=True, gc=False):
    """A line of a box plot, by a point on it; `_bb` has its extent."""

    bb: Box | None = msgspec.field(name="_bb", default=None)


class BoxPlot(Struct, Generic[LineT], frozen=True, gc=False):
    """The five lines of a box plot: elements in the image, or the numbers that they show (BoxPlotSummary)."""

    first_quartile: LineT | None = None
    max: LineT | None = None
    min: LineT | None = None
    median: LineT | None = None
    third_quartile: LineT | None = None


BOX_PLOT_LINES = BoxPlot.__struct_fields__


class BoxPlotSummary(BoxPlot[Scalar], frozen=True, gc=False):
    """The numbers that the lines of a box plot show."""

    def __post_init__(self) -> None:
        """Sets the numbers in their plain form."""
        set_plain(self, *self.__struct_fields__)


@wrong_names(
    {
        "bars": ("bar",),
        "boxplots": ("box plots", "box_plots", "boxplot"),
        "lines": ("line",),
        "scatter points": ("scatter_points", "scatter", "points"),
    }
)
class VisualElements(Struct, frozen=True):
    """Task 6a: what is drawn in the plot area. Scatter points may be grouped by series."""

    bars: list[Box] | None = None
    boxplots: list[BoxPlot[BoxPlotElement]] | None = None
    lines: list[list[Point]] | None = None
    scatter_points: list[Point | list[Point]] | None = msgspec.field(name="scatter points", default=None)

    def points(self) -> Sequence[Point]:
        """Returns the scatter points as one list."""
        points: list[Point] = []
        for entry in self.scatter_points or ():
            if isinstance(entry, list):
                points += entry
            else:
                points.append(entry)
        return points


NO_ELEMENTS = VisualElements()


@wrong_names({"x": ("label", "category", "X")})
class DataPoint(Struct, frozen=True, gc=False):
    """A point of a data series: numbers, or text that holds a number; x may be a label."""

    x: Scalar = None
    y: Scalar = None

    def __post_init__(self) -> None:
        """Sets the numbers in their plain form."""
        if (isinstance(self.x, float) and self.x.is_integer()) or (isinstance(self.y, float) and self.y.is_integer()):
            set_plain(self, "x", "y")


@wrong_names({"name": ("label", "series_name")})
class DataSeries(Struct, frozen=True):
    """A named data series: points, or the summary that a box plot shows."""

    name: Scalar = None
    data: list[DataPoint] | BoxPlotSummary | None = None

    def __post_init__(self) -> None:
        """Sets the name in its plain form."""
        if isinstance(self.name, float):
            set_plain(self, "name")


@wrong_names({"visual elements": ("visual_elements",), "data series": ("data_series",)})
class ChartData(Struct, frozen=True):
    """Tasks 6 and 7: visual elements and data series."""

    visual_elements: VisualElements | None = msgspec.field(name="visual elements", default=None)
    data_series: list[DataSeries] | None = msgspec.field(name="data series", default=None)


class Chart:
    """The outputs of the tasks of one chart, of either side; those that are absent are None."""

    __slots__ = ()

    task1: Task[ChartClass | str] | None
    task2: Task[TextBlocks] | None
    task3: Task[TextRoles] | Task[PredictedTextRoles] | None
    task4: Task[AxisAnalysis] | None
    task5: Task[Legend] | None
    task6: Task[ChartData] | None

    @property
    def chart_type(self) -> str | None:
        """The class of the chart, as it is written."""
        output = self.task1.output if self.task1 else None
        return output.chart_type if isinstance(output, ChartClass) else output

    @property
    def text_blocks(self) -> list[TextBlock] | None:
        """The blocks of text."""
        return self.task2.output.text_blocks if self.task2 and self.task2.output else None

    @property
    def axes(self) -> Axes | None:
        """The axes; None if neither is given. An empty list of ticks is given."""
        axes = self.task4.output.axes if self.task4 and self.task4.output else None
        return None if axes == NO_AXES else axes

    @property
    def legend_pairs(self) -> list[LegendPair] | None:
        """The pairs of the legend."""
        return self.task5.output.legend_pairs if self.task5 and self.task5.output else None


class ChartTruth(Chart, Struct, frozen=True):
    """What is true of one chart. A task that is absent is not scored.

    The size of the image is needed by tasks 4 and 6a, task1 by tasks 6a to 7, whose measure depends on the class of
    the chart. ambiguous: the chart counts as grouped and as stacked, whatever its data series say.
    """

    image: ImageSize | None = None
    ambiguous: bool | None = None
    task1: Task[ChartClass | str] | None = None
    task2: Task[TextBlocks] | None = None
    task3: Task[TextRoles] | None = None
    task4: Task[AxisAnalysis] | None = None
    task5: Task[Legend] | None = None
    task6: Task[ChartData] | None = None

    @property
    def size(self) -> tuple[float, float] | None:
        """Width and height of the image; None if one of them is not known."""
        width, height = (self.image.width, self.image.height) if self.image else (None, None)
        return None if width is None or height is None else (width, height)


class ChartPrediction(Chart, Struct, frozen=True):
    """What a system says of one chart."""

    task1: Task[ChartClass | str] | None = None
    task2: Task[TextBlocks] | None = None
    task3: Task[PredictedTextRoles] | None = None
    task4: Task[AxisAnalysis] | None = None
    task5: Task[Legend] | None = None
    task6: Task[ChartData] | None = None
    task7: Task[ChartData] | None = None


def elements_of(task: Task[ChartData] | None) -> VisualElements | None:
    """Returns the visual elements of a task; None if it has none, or only groups that are absent."""
    elements = task.output.visual_elements if task and task.output else None
    return None if elements == NO_ELEMENTS else elements


def series_of(task: Task[ChartData] | None) -> list[DataSeries] | None:
    """Returns the data series of a task."""
    return task.output.data_series if task and task.output else None


def identifier_text(identifier: Identifier) -> str | None:
    """Returns an id, name or label of a record as text, so that 5, 5.0 and "5" are the same; None has no text."""
    return str(identifier) if isinstance(identifier, (int, float)) else identifier


Protocol = Literal["published", "released"]
TaskName = Literal["task1", "task2", "task3", "task4", "task5", "task6a", "task6b", "task7"]
ALL_TASKS: tuple[TaskName, ...] = get_args(TaskName)


class Edition(NamedTuple):
    """What a contest has of its own.

    classes, text_roles, element_distance: the defaults of these options. squared_error: an element at the distance D
    scores 1 - (D / T)^2 with D Euclidean, not 1 - D / T with D Manhattan.
    """

    classes: tuple[str, ...]
    text_roles: tuple[str, ...]
    element_distance: float
    squared_error: bool


_ADOBE_SYNTH = (
    *("pie", "donut", "vertical box", "horizontal box", "grouped vertical bar", "grouped horizontal bar"),
    *("stacked vertical bar", "stacked horizontal bar", "line", "scatter"),
)
_UB_PMC = (
    *("area", "heatmap", "horizontal bar", "horizontal interval", "line", "manhattan", "map", "pie", "scatter"),
    *("scatter-line", "surface", "venn", "vertical bar", "vertical box", "vertical interval"),
)
_ROLES = ("chart_title", "axis_title", "tick_label", "legend_label")
_ROLES_2020 = (*_ROLES, "legend_title", "value_label", "other")
_ROLES_2022 = (*_ROLES_2020, "tick_grouping", "mark_label")

EditionYear = Literal[2019, 2020, 2022]
FIRST_EDITION: EditionYear = 2019
EDITIONS: Mapping[EditionYear, Edition] = {
    2019: Edition(_ADOBE_SYNTH, _ROLES, 0.05, squared_error=False),
    2020: Edition(_UB_PMC, _ROLES_2020, 0.01, squared_error=True),
    2022: Edition(_UB_PMC, _ROLES_2022, 0.01, squared_error=True),
}

Share = Annotated[float, Meta(ge=0, le=1)]
Distance = Annotated[float, Meta(gt=0, le=10)]
Weight = Annotated[float, Meta(gt=0, le=1000)]
Limit = Annotated[int, Meta(ge=1, le=100_000)]


class ChartOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How charts are scored.

    protocol: `published`, or `released` for the metrics of the released scripts, which are those of 2019.
    edition: the contest; what it says holds of classes, text_roles and element_distance that are empty or 0. The
        first edition, and roles that are empty, are left out of the configuration of a run, as before the later ones.
    tasks: the tasks that are scored.
    classes: the chart classes of the ground truth; a predicted class of neither these nor an edition is "(other)".
    text_roles: the text roles that are scored; a text whose true role is another one is left out.
    text_iou: IoU from which two text blocks match.
    split_part, split_cover: predictions belong to a split ground truth above this share of their own area, if they
        cover that share of it; merge_part and merge_cover: likewise ground truths and a merged prediction.
    scattered_weight: what the IoU of a split or merge is multiplied by.
    tick_close, tick_far: tick distances, in image diagonals, up to which a tick scores 1 and from which it scores 0.
    element_distance: the distance at which an element scores 0, in shorter image sides.
    alpha, beta, gamma: exponent of name distances, divisor of a series score without its name, unit of distances.
    max_text_blocks, max_points, max_series, max_characters: a record with more, in a scored task, is rejected.
    max_steps: a sample that takes more work is rejected.
    """

    protocol: Protocol = "published"
    edition: EditionYear | UnsetType = UNSET
    tasks: Annotated[tuple[TaskName, ...], Meta(min_length=1)] = ALL_TASKS
    classes: tuple[str, ...] = ()
    text_roles: tuple[str, ...] | UnsetType = UNSET
    text_iou: Share = 0.5
    split_part: Share = 0.4
    split_cover: Share = 0.8
    merge_part: Share = 0.8
    merge_cover: Share = 0.4
    scattered_weight: Share = 0.8
    tick_close: Distance = 0.01
    tick_far: Distance = 0.02
    element_distance: Annotated[float, Meta(ge=0, le=10)] = 0.0
    alpha: Weight = 1.0
    beta: Annotated[float, Meta(ge=1, le=1000)] = 2.0
    gamma: Weight = 1.0
    max_text_blocks: Limit = 2000
    max_points: Limit = 2000
    max_series: Limit = 200
    max_characters: Annotated[int, Meta(ge=1, le=10_000_000)] = 50_000
    max_steps: Annotated[int, Meta(ge=1)] = 4_000_000

    def __post_init__(self) -> None:
        """Sets what the edition says.

        Refuses tick distances that leave no room between close and far, and `released` of a later edition.
        """
        if self.tick_close >= self.tick_far:
            raise ValueError(f"tick_close ({self.tick_close}) must be smaller than tick_far ({self.tick_far})")
        if self.protocol == "released" and self.rules is not EDITIONS[FIRST_EDITION]:
            message = f"protocol: released does not go with edition: {self.edition}: the released scripts are those of"
            raise ValueError(f"{message} {FIRST_EDITION}, with which classes and text_roles may be set")
        for name, value in (
            ("edition", UNSET if self.edition == FIRST_EDITION else self.edition),
            ("classes", self.classes or self.rules.classes),
            ("text_roles", self.text_roles or UNSET),
            ("element_distance", self.element_distance or self.rules.element_distance),
        ):
            msgspec.structs.force_setattr(self, name, value)

    @property
    def rules(self) -> Edition:
        """What the edition says."""
        return EDITIONS[self.edition or FIRST_EDITION]

    @property
    def scored_roles(self) -> tuple[str, ...]:
        """The text roles that are scored."""
        return self.text_roles or self.rules.text_roles
