"""A picture of one figure: the regions of both sides, coloured by how they were matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from metrics.common.text import truncated
from metrics.figure_text.records import Point, PredictedRegion, TruthRegion

MAX_SHOWN_LENGTH = 40

_COLOURS = {
    "one_to_one": "#1a7f37",
    "one_to_many": "#9a6700",
    "many_to_one": "#9a6700",
    "missed": "#cf222e",
    "false": "#cf222e",
    "dropped": "#8250df",
}
_OTHER_COLOUR = "#8c959f"


def draw_regions(
    truths: Sequence[TruthRegion], predictions: Sequence[PredictedRegion], details: Mapping[str, Any]
) -> str:
    """Returns an SVG document: ground truth in solid lines, detections dashed, each with its text and its match.

    Green is one to one, amber scattered, red missed or false, violet dropped; grey does not count.
    """
    shapes: list[str] = []
    corners: list[Point] = []
    regions: list[TruthRegion | PredictedRegion] = [*truths, *predictions]
    entries: list[Mapping[str, Any]] = [*details["ground_truth"], *details["prediction"]]
    for region, entry in zip(regions, entries, strict=True):
        outline = _outline(region)
        if outline:
            corners.extend(outline)
            dashed = isinstance(region, PredictedRegion)
            shapes.append(_shape(outline, region.text or "", entry["match"], dashed))
    left, top = (min((corner[axis] for corner in corners), default=0.0) for axis in (0, 1))
    right, bottom = (max((corner[axis] for corner in corners), default=1.0) for axis in (0, 1))
    view = f"{left - 10:.6g} {top - 20:.6g} {right - left + 20:.6g} {bottom - top + 40:.6g}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" font-family="sans-serif" font-size="9">'
    paper = f'<rect x="{left - 10:.6g}" y="{top - 20:.6g}" width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join((head, paper, *shapes, "</svg>"))


def _outline(region: TruthRegion | PredictedRegion) -> list[Point]:
    if region.points is not None:
        return region.points
    if region.box is None:
        return []
    x1, y1, x2, y2 = region.box
    return [(x1, y1), (x2, y1), (x2, y2), (x1, y2)]


def _shape(outline: list[Point], text: str, match: str, dashed: bool) -> str:
    colour = _COLOURS.get(match, _OTHER_COLOUR)
    points = " ".join(f"{x:.6g},{y:.6g}" for x, y in outline)
    x = min(corner[0] for corner in outline)
    y = max(corner[1] for corner in outline) + 9 if dashed else min(corner[1] for corner in outline) - 2
    dashes = ' stroke-dasharray="4 2"' if dashed else ""
    shown = _printable(truncated(text, MAX_SHOWN_LENGTH))
    side = "prediction" if dashed else "ground truth"
    return (
        f'<g stroke="{colour}" fill="{colour}"><title>{side}: {match}</title>'
        f'<polygon points="{points}" fill-opacity="0.08"{dashes}/>'
        f'<text x="{x:.6g}" y="{y:.6g}" stroke="none">{escape(shown)}</text></g>'
    )


def _printable(text: str) -> str:
    """Replaces what XML cannot hold and what would turn the line around."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
