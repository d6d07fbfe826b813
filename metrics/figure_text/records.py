"""The records of figure text: what a figure says and where, as annotated and as a system found it.

A location is a `box` [x1, y1, x2, y2] (either corner first) or `points` [[x, y], ...], at least three of them, in
pixels; where both are given, `points` count. Coordinates are finite and at most ten million in magnitude. Optional
fields may be absent or null.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import msgspec

MAX_COORDINATE = 1e7
MAX_REGIONS = 10_000
MAX_POINTS = 1_000

Coordinate = Annotated[float, msgspec.Meta(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]
Point = tuple[Coordinate, Coordinate]
Points = Annotated[list[Point], msgspec.Meta(min_length=3, max_length=MAX_POINTS)]
Box = tuple[Coordinate, Coordinate, Coordinate, Coordinate]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
RegionId = Annotated[str, msgspec.Meta(max_length=256)] | int

DIFFICULTIES = ("normal", "small", "blurry", "color", "short", "complex_background", "complex_symbol", "specific_text")
"""The categories of text regions in the order of the DeTEXT paper's tables; other labels may be used too."""


class TruthRegion(msgspec.Struct, frozen=True, kw_only=True):
    """One annotated text region.

    A region may go without a location where only its text is read (it then needs an `id`). `ignore` makes it a
    don't-care region. An empty `difficulty` means "normal"; an absent one, that nothing was said.
    """

    id: RegionId | None = None
    points: Points | None = None
    box: Box | None = None
    text: str | None = None
    ignore: bool | None = None
    difficulty: Annotated[list[Label], msgspec.Meta(max_length=16)] | Label | None = None
    orientation: Label | None = None
    important: bool | None = None

    def difficulties(self) -> tuple[str, ...]:
        """The labels of difficulty, each once, in order of the paper's tables and then of the alphabet."""
        if self.difficulty is None:
            return ()
        if isinstance(self.difficulty, str):
            return (self.difficulty,)
        return ordered_difficulties(self.difficulty)


class FigureTruth(msgspec.Struct, frozen=True, kw_only=True):
    """The annotated regions of one figure, with the type of the figure and the article that it comes from."""

    regions: Annotated[list[TruthRegion], msgspec.Meta(max_length=MAX_REGIONS)] | None = None
    figure_type: Label | None = None
    article: str | int | None = None


class PredictedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """One region that a system found; or, where `id` names a ground-truth region, its reading of that region."""

    id: RegionId | None = None
    points: Points | None = None
    box: Box | None = None
    text: str | None = None
    confidence: float | None = None


class FigurePrediction(msgspec.Struct, frozen=True, kw_only=True):
    """The regions that a system found in one figure."""

    regions: Annotated[list[PredictedRegion], msgspec.Meta(max_length=MAX_REGIONS)] | None = None


def ordered_difficulties(labels: Collection[str]) -> tuple[str, ...]:
    """Returns the labels of a list, as `TruthRegion.difficulties` does."""
    return tuple(sorted(set(labels), key=_difficulty_order)) if labels else ("normal",)


def _difficulty_order(label: str) -> tuple[int, str]:
    return (DIFFICULTIES.index(label) if label in DIFFICULTIES else len(DIFFICULTIES), label)
