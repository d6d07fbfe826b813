"""A picture of one figure: the regions of both sides, coloured by how they were matched.

Ground truth has solid lines and its text above its regions, detections have dashes and text below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..common.svg import SOFT, Drawing, Style
from .records import Point, PredictedRegion, TruthRegion

MAX_SHOWN_LENGTH = 40
WIDTH, MAX_HEIGHT, MARGIN, HEAD = 960.0, 1400.0, 24.0, 76.0
MAX_SCALE = 3.0
FAR = 30.0
"""A region this many times as far from the middle of all regions as half of them are would make the others tiny."""

_KINDS = {
    "one to one": ("#0b6e4f", ("one_to_one",)),
    "scattered": ("#8a5a00", ("one_to_many", "many_to_one")),
    "missed or false": ("#b3261e", ("missed", "false")),
    "dropped": ("#7a3fb0", ("dropped",)),
    "does not count": ("#6b7280", ()),
}
_KIND_OF = {match: kind for kind, (_, matches) in _KINDS.items() for match in matches}
_DASHES = "5 3"


def draw_regions(
    truths: Sequence[TruthRegion],
    predictions: Sequence[PredictedRegion],
    details: Mapping[str, Any],
    alone: bool = False,
) -> str:
    """Returns an SVG document; regions far away from all others are not drawn, but counted.

    alone: whether there is no prediction; the ground truth is then drawn without a judgement.
    """
    regions: list[TruthRegion | PredictedRegion] = [*truths, *predictions]
    entries: list[Mapping[str, Any]] = [*details["ground_truth"], *details["prediction"]]
    drawn = [
        (outline, region, "does not count" if alone else _KIND_OF.get(entry["match"], "does not count"))
        for region, entry in zip(regions, entries, strict=True)
        if (outline := _outline(region))
    ]
    near = _near([outline for outline, _, _ in drawn])
    left, top, right, bottom = _frame(
        [outline for (outline, _, _), is_near in zip(drawn, near, strict=True) if is_near]
    )
    scale = min(MAX_SCALE, WIDTH / max(1e-9, right - left), MAX_HEIGHT / max(1e-9, bottom - top))
    drawing = Drawing()
    _legend(drawing, {kind for _, _, kind in drawn}, alone)
    for (outline, region, kind), is_near in zip(drawn, near, strict=True):
        if is_near:
            points = [(MARGIN + (x - left) * scale, HEAD + (y - top) * scale) for x, y in outline]
            _draw(drawing, points, region, kind)
    bottom_of_picture = HEAD + (bottom - top) * scale + MARGIN
    if not all(near):
        drawing.text(MARGIN, bottom_of_picture, f"{near.count(False)} regions lie far away and are not drawn", SOFT)
        bottom_of_picture += 16
    return drawing.document(max(560.0, (right - left) * scale) + 2 * MARGIN + 80, bottom_of_picture)


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


def _legend(drawing: Drawing, kinds: set[str], alone: bool) -> None:
    sides = [Style("ground truth (text above)", "#222222")]
    if not alone:
        sides.append(Style("detection (text below)", "#222222", _DASHES))
        drawing.legend(MARGIN, 40, [Style(kind, _KINDS[kind][0], "", 3.0) for kind in _KINDS if kind in kinds])
    drawing.legend(MARGIN, 20, sides)


def _draw(drawing: Drawing, points: list[Point], region: TruthRegion | PredictedRegion, kind: str) -> None:
    is_predicted = isinstance(region, PredictedRegion)
    side = "prediction" if is_predicted else "ground truth"
    style = Style(kind, _KINDS[kind][0], _DASHES if is_predicted else "")
    drawing.polygon(points, style, f"{side}: {kind}: {region.text or ''}")
    y = max(point[1] for point in points) + 11 if is_predicted else min(point[1] for point in points) - 3
    drawing.text(min(point[0] for point in points), y, region.text or "", style.color, 11, MAX_SHOWN_LENGTH)
