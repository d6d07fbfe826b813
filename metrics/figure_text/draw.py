"""A picture of one figure: the regions of both sides, by how they were matched.

Ground truth has thick lines and its text above its regions, detections have thin lines and text below. Over the real
picture, which has the text itself, only texts that did not match are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..common.svg import EXTRA, IGNORED, MATCHED, MISSED, SOFT, UNJUDGED, WIDTH, WRONG, Drawing, ImageSize, Style
from .records import Point, PredictedRegion, TruthRegion

MAX_SHOWN_LENGTH = 40
MAX_HEIGHT, MARGIN, HEAD = 1400.0, 24.0, 60.0
MAX_SCALE = 3.0
FAR = 30.0
"""A region this many times as far from the middle of all regions as half of them are would make the others tiny."""

_STYLES = {"one_to_one": MATCHED, "one_to_many": WRONG, "many_to_one": WRONG, "missed": MISSED, "false": EXTRA}


def draw_regions(
    truths: Sequence[TruthRegion],
    predictions: Sequence[PredictedRegion],
    details: Mapping[str, Any],
    alone: bool = False,
    image: ImageSize | None = None,
) -> str:
    """Returns an SVG document; regions far away from all others are not drawn, but counted.

    alone: whether there is no prediction; the ground truth is then drawn without a judgement. image: the size of the
    real picture, over which the regions lie.
    """
    regions: list[TruthRegion | PredictedRegion] = [*truths, *predictions]
    entries: list[Mapping[str, Any]] = [*details["ground_truth"], *details["prediction"]]
    misread = _misread(details, regions)
    drawn = [
        (
            outline,
            region,
            entry["match"].replace("_", " "),
            UNJUDGED if alone else _style(entry["match"], number in misread, number >= len(truths)),
        )
        for number, (region, entry) in enumerate(zip(regions, entries, strict=True))
        if (outline := _outline(region))
    ]
    outlines = [outline for outline, *_ in drawn]
    near = _near(outlines) if image is None else [_touches(outline, image) for outline in outlines]
    left, top, right, bottom = (
        _frame([outline for outline, is_near in zip(outlines, near, strict=True) if is_near])
        if image is None
        else (0.0, 0.0, float(image[0]), float(image[1]))
    )
    room = WIDTH - 2 * MARGIN
    scale = min(MAX_SCALE, room / max(1e-9, right - left), MAX_HEIGHT / max(1e-9, bottom - top))
    drawing = Drawing()
    if image is not None:
        drawing.picture(MARGIN, HEAD, right * scale, bottom * scale)
    drawing.legend(MARGIN, 20, not alone, IGNORED)
    for (outline, region, match, style), is_near in zip(drawn, near, strict=True):
        if is_near:
            points = [(MARGIN + (x - left) * scale, HEAD + (y - top) * scale) for x, y in outline]
            _draw(
                drawing,
                points,
                region,
                match,
                style,
                image is None or style.label in (MISSED.label, EXTRA.label, WRONG.label),
            )
    end = HEAD + (bottom - top) * scale + MARGIN
    if not all(near):
        drawing.text(MARGIN, end, f"{near.count(False)} regions lie far away and are not drawn", SOFT)
        end += 16
    return drawing.document(WIDTH, end)


def _misread(details: Mapping[str, Any], regions: Sequence[TruthRegion | PredictedRegion]) -> set[int]:
    """Returns the positions of regions of both sides that were matched, with texts that differ."""
    truths = details["ground_truth"]
    wrong: set[int] = set()
    for number, entry in enumerate(truths):
        partners = [
            position for each in entry.get("with", ()) if regions[position := len(truths) + each].text is not None
        ]
        if partners and regions[number].text is not None and "end_to_end" not in entry:
            wrong |= {number, *partners}
    return wrong


def _style(match: str, is_misread: bool, is_predicted: bool) -> Style:
    style = WRONG if is_misread else _STYLES.get(match, IGNORED)
    return style.of(is_predicted) if style in (MATCHED, WRONG) else style


def _touches(outline: Sequence[Point], image: ImageSize) -> bool:
    """Tells whether a region lies in the picture, at least in a part."""
    left, top, right, bottom = _frame([outline])
    return right >= 0 and bottom >= 0 and left <= image[0] and top <= image[1]


def _outline(region: TruthRegion | PredictedRegion) -> list[Point]:
    if region.points is not None:
        return region.points
    if region.box is None:
        return []
    x1, y1, x2, y2 = region.box
    return [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]


def _frame(outlines: Sequence[Sequence[Point]]) -> tuple[float, float, float, float]:
    corners = [corner for outline in outlines for corner in outline] or [(0.0, 0.0), (1.0, 1.0)]
    columns, rows = zip(*corners, strict=True)
    return min(columns), min(rows), max(columns), max(rows)


def _near(outlines: Sequence[Sequence[Point]]) -> list[bool]:
    """Tells of each region whether it is near the others; of few regions each is."""
    if len(outlines) < 4:
        return [True] * len(outlines)
    near = [True] * len(outlines)
    for axis in (0, 1):
        ends = sorted(corner[axis] for outline in outlines for corner in outline)
        middle = ends[len(ends) // 2]
        spread = sorted(abs(end - middle) for end in ends)[len(ends) // 2] or 1.0
        # Half of all corners lie within `spread`; a page of text has all of them within a few times that.
        reach = FAR * spread
        for number, outline in enumerate(outlines):
            near[number] &= all(abs(corner[axis] - middle) <= reach for corner in outline)
    return near


def _draw(
    drawing: Drawing,
    points: list[Point],
    region: TruthRegion | PredictedRegion,
    match: str,
    style: Style,
    has_text: bool,
) -> None:
    is_predicted = isinstance(region, PredictedRegion)
    side = "prediction" if is_predicted else "ground truth"
    drawing.polygon(points, style, f"{side}: {match}: {region.text or ''}")
    y = max(point[1] for point in points) + 12 if is_predicted else min(point[1] for point in points) - 3
    if has_text:
        drawing.text(min(point[0] for point in points), y, region.text or "", style.color, MAX_SHOWN_LENGTH)
