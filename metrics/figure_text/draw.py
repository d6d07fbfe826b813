"""Draws the regions of both sides of one figure, styled by how they were matched.

Ground truth has thick lines and its text above its regions; detections have thin lines and their text below. Over the
real picture, which shows the text itself, only the texts of regions with errors are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..common.boxes import bounding_box
from ..common.svg import EXTRA, FAULTS, IGNORED, MATCHED, MISSED, UNJUDGED, WIDTH, WRONG, Drawing, ImageSize, View
from .records import Box, FigurePrediction, FigureTruth, PredictedRegion, TruthRegion
from .regions import box_around, corners_of

MARGIN, HEAD, MAX_HEIGHT, MAX_SCALE = 24.0, 60.0, 1400.0, 3.0
REACH = 2.0
"""Without a picture, detections are drawn up to this many times the ground truth's width or height away from it."""

_STYLES = {"one_to_one": MATCHED, "one_to_many": MATCHED, "many_to_one": MATCHED, "missed": MISSED, "false": EXTRA}
_STYLES |= {"read_right": MATCHED, "misread": WRONG}


def draw_regions(
    truth: FigureTruth, prediction: FigurePrediction | None, details: Mapping[str, Any], image: ImageSize | None
) -> str:
    """Returns an SVG document; regions far outside the frame are counted instead of drawn.

    Without a prediction, the ground truth is drawn without a judgement. image: the size of the real picture, over which
    the regions are drawn.
    """
    truths, predictions = truth.regions or [], (prediction.regions if prediction else None) or []
    regions: list[TruthRegion | PredictedRegion] = [*truths, *predictions]
    entries: list[Mapping[str, Any]] = [*details["ground_truth"], *details["prediction"]]
    misread, read = _misread(details, regions), _read(details)
    drawing = Drawing()
    view = View(drawing, _frame(truths, predictions, image), MARGIN, HEAD, MAX_HEIGHT, MAX_SCALE)
    if image is not None:
        view.picture()
    drawing.legend(MARGIN, 20, prediction is not None, IGNORED)
    for number, (region, entry) in enumerate(zip(regions, entries, strict=True)):
        if region.points is None and region.box is None:
            continue
        is_predicted, text = number >= len(truths), region.text or ""
        match = read.get(number, entry["match"])
        style = WRONG if number in misread else _STYLES.get(match, IGNORED)
        if style in (MATCHED, WRONG):
            style = style.of(is_predicted)
        style = UNJUDGED if prediction is None else style
        title = f"{match.replace('_', ' ')}: {text}"
        said = text if image is None or style.label in FAULTS else ""
        view.outline(corners_of(region), style, is_predicted, title, said)
    return drawing.document(WIDTH, view.write_far() + MARGIN)


def _frame(truths: Sequence[TruthRegion], predictions: Sequence[PredictedRegion], image: ImageSize | None) -> Box:
    """Returns the box that is drawn: the picture, else that of the ground truth (or of detections) and what is near."""
    if image is not None:
        return 0.0, 0.0, *image
    located, others = (
        [box_around(region) for region in side if region.points or region.box] for side in (truths, predictions)
    )
    left, top, right, bottom = frame = bounding_box(located or others or [(0.0, 0.0, 1.0, 1.0)])
    across, along = REACH * (right - left), REACH * (bottom - top)
    reach = left - across, top - along, right + across, bottom + along
    return bounding_box([frame, *(box for box in others if bounding_box([reach, box]) == reach)])


def _misread(details: Mapping[str, Any], regions: Sequence[TruthRegion | PredictedRegion]) -> set[int]:
    """Returns the indexes in `regions` of matched regions that have text on both sides but are not right end to end."""
    truths = details["ground_truth"]
    wrong: set[int] = set()
    for number, entry in enumerate(truths):
        partners = [
            position for each in entry.get("with", ()) if regions[position := len(truths) + each].text is not None
        ]
        if partners and regions[number].text is not None and "end_to_end" not in entry:
            wrong |= {number, *partners}
    return wrong


def _read(details: Mapping[str, Any]) -> dict[int, str]:
    """Returns how words were read, by the indexes of the words and their readings, if there are no detections."""
    truths = details["ground_truth"]
    if not {each["match"] for each in details["prediction"]} <= {"reading", "unknown_reading"}:
        return {}
    return {
        index: "read_right" if entry["read_right"] else "misread"
        for number, entry in enumerate(truths)
        if entry["match"] == "missed" and "read_right" in entry
        for index in (number, len(truths) + entry["reading"])
    }
