"""The options of the chart benchmark, with the published numbers as defaults (sources: configs/chart.yaml)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Protocol = Literal["published", "released"]
TaskName = Literal["task1", "task2", "task3", "task4", "task5", "task6a", "task6b", "task7"]
ALL_TASKS: tuple[TaskName, ...] = ("task1", "task2", "task3", "task4", "task5", "task6a", "task6b", "task7")

CHART_CLASSES = (
    "pie",
    "donut",
    "vertical box",
    "horizontal box",
    "grouped vertical bar",
    "grouped horizontal bar",
    "stacked vertical bar",
    "stacked horizontal bar",
    "line",
    "scatter",
)
TEXT_ROLES = ("chart_title", "axis_title", "tick_label", "legend_label")

Share = Annotated[float, Meta(ge=0, le=1)]
Distance = Annotated[float, Meta(gt=0, le=10)]
Weight = Annotated[float, Meta(gt=0, le=1000)]
Limit = Annotated[int, Meta(ge=1, le=100_000)]


class ChartOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How charts are scored.

    protocol: `published`, or `released` for the metrics of the released scripts.
    tasks: the tasks that are scored.
    classes: the chart classes that a prediction may name; any other predicted class counts as "(other)".
    text_iou: IoU from which two text blocks match.
    split_part, split_cover: predictions belong to a split ground truth above this share of their own area, if they
        cover that share of it; merge_part and merge_cover: likewise ground truths and a merged prediction.
    scattered_weight: what the IoU of a split or merge is multiplied by.
    tick_close, tick_far: tick distances, in image diagonals, up to which a tick scores 1 and from which it scores 0.
    element_distance: the distance at which an element scores 0, in shorter image sides.
    alpha, beta, gamma: exponent of name distances, divisor of a series score without its name, unit of distances.
    max_text_blocks, max_points, max_series, max_characters: a record with more is rejected.
    max_steps: a sample that takes more work is rejected.
    """

    protocol: Protocol = "published"
    tasks: tuple[TaskName, ...] = ALL_TASKS
    classes: tuple[str, ...] = CHART_CLASSES
    text_iou: Share = 0.5
    split_part: Share = 0.4
    split_cover: Share = 0.8
    merge_part: Share = 0.8
    merge_cover: Share = 0.4
    scattered_weight: Share = 0.8
    tick_close: Distance = 0.01
    tick_far: Distance = 0.02
    element_distance: Distance = 0.05
    alpha: Weight = 1.0
    beta: Annotated[float, Meta(ge=1, le=1000)] = 2.0
    gamma: Weight = 1.0
    max_text_blocks: Limit = 2000
    max_points: Limit = 2000
    max_series: Limit = 200
    max_characters: Annotated[int, Meta(ge=1, le=10_000_000)] = 50_000
    max_steps: Annotated[int, Meta(ge=1)] = 4_000_000

    def __post_init__(self) -> None:
        """Refuses tick distances that leave no room between close and far."""
        if self.tick_close >= self.tick_far:
            raise ValueError(f"tick_close ({self.tick_close}) must be smaller than tick_far ({self.tick_far})")
