"""The records of figure_text, with the text regions of a figure as annotated and as a system found them; the options.

A location is a `box` [x1, y1, x2, y2] (either corner first) or `points` [[x, y], ...], at least three of them, in
pixels; if both are given, `points` is used. Coordinates are finite and at most ten million in magnitude. Optional
fields may be absent or null.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ..common.text import normalized
from ..common.wrong_names import wrong_names

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

_of_other_tools = wrong_names(
    {
        "text": ("transcription",),
        ("box", "points"): ("bbox", "bb", "polygon", "poly", "quad", "segmentation"),
    },
    "; rename it, or remove it if it is not to be scored; `box` is [x1, y1, x2, y2], `points` are [[x, y], ...]",
)


@_of_other_tools
class TruthRegion(msgspec.Struct, frozen=True, kw_only=True):
    """One annotated text region.

    The location may be absent if only the text is read; the region then needs an `id`. `ignore` makes it a
    don't-care region. An empty `difficulty` means "normal"; an absent one means that none was annotated.
    """

    id: RegionId | None = None
    points: Points | None = None
    box: Box | None = None
    text: str | None = None
    ignore: bool | None = None
    difficulty: Annotated[list[Label], msgspec.Meta(max_length=16)] | Label | None = None
    orientation: Label | None = None
    important: bool | None = None


class FigureTruth(msgspec.Struct, frozen=True, kw_only=True):
    """The annotated regions of one figure, with the type of the figure and the article that it comes from."""

    regions: Annotated[list[TruthRegion], msgspec.Meta(max_length=MAX_REGIONS)] | None = None
    figure_type: Label | None = None
    article: str | int | None = None

    def __post_init__(self) -> None:
        """Sets an article that is a number as text, as CSV has it."""
        if isinstance(self.article, int):
            msgspec.structs.force_setattr(self, "article", str(self.article))


@_of_other_tools
class PredictedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """One region that a system found or, if `id` names a ground-truth region, its reading of that region."""

    id: RegionId | None = None
    points: Points | None = None
    box: Box | None = None
    text: str | None = None
    confidence: float | None = None


class FigurePrediction(msgspec.Struct, frozen=True, kw_only=True):
    """The regions that a system found in one figure."""

    regions: Annotated[list[PredictedRegion], msgspec.Meta(max_length=MAX_REGIONS)] | None = None


MAX_SHARE_IN_DONT_CARE = 0.5
"""Under `iou`; AREA_PRECISION_CONSTRAINT in the script."""

Geometry = Literal["rectangle", "polygon"]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
ShareBelowOne = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class FigureTextOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How regions are compared; the defaults are the DeTEXT paper's (Yin et al. 2015).

    protocol: under `published`, shares must exceed the thresholds, and all scattered matches score `scatter_factor`;
        under `icdar2013`, as in the competition's script, reaching a threshold is enough, and a many-to-one match
        scores 1 for each of its regions. `iou` is the protocol of the later competitions, on exact polygons; the
        next five options do not apply to it.
    geometry: `rectangle` compares rectangles turned upright, `polygon` the exact polygons.
    sigma_threshold, tau_threshold: the shares of a ground-truth region and of a detection that must be covered.
    scatter_factor: the score of each region in a scattered match (one to many or many to one).
    end_to_end_overlap: a spotted word's (area in common) / (smallest rectangle that holds both) must exceed this.
    agreement_overlap: two annotators' regions agree if 2 common / (sum of areas) is at least this.
    case_sensitive: whether "dna" is a wrong reading of "DNA".
    min_confidence: detections with a lower confidence are left out; null keeps all.
    max_steps: a sample that takes more work is rejected; see metrics.common.budget.
    """

    protocol: Literal["published", "icdar2013", "iou"] = "published"
    geometry: Geometry = "rectangle"
    sigma_threshold: ShareBelowOne = 0.8
    tau_threshold: ShareBelowOne = 0.4
    scatter_factor: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.8
    end_to_end_overlap: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.5
    agreement_overlap: Share = 0.85
    case_sensitive: bool = True
    min_confidence: float | None = None
    max_steps: Annotated[int, msgspec.Meta(ge=1)] = 4_000_000

    @property
    def dont_care_share(self) -> float:
        """A detection with more than this share of its area in one don't-care region is excluded from the counts."""
        return MAX_SHARE_IN_DONT_CARE if self.protocol == "iou" else self.tau_threshold

    @property
    def counts_unmeasurable(self) -> bool:
        """Whether a detection that cannot be measured counts, as a false one."""
        return self.protocol != "icdar2013"

    def compared(self, text: str) -> str:
        """Returns the form of a text that is compared: casefolded unless `case_sensitive`.

        Under `published` it is also in Unicode normalization form C; the competitions' scripts compare code points.
        """
        nfc = self.protocol == "published"
        text = normalized(text) if nfc else text
        if self.case_sensitive:
            return text
        return normalized(text.casefold()) if nfc else text.casefold()
