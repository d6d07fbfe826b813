"""The boxes of the ink that each token leaves, in pixels of a page at 200 dpi."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.formula.dvi import NO_MARK, POINTS_PER_INCH, UNITS_PER_POINT, Ink
from metrics.formula.typeset import Typeset

DPI = 200
PIXELS_PER_UNIT = DPI / POINTS_PER_INCH / UNITS_PER_POINT
PADDING = 8
"""Pixels left round the ink when the image is cropped to it."""
MARGIN = 1
"""Pixels by which a token's box is larger than its ink on each side."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The tokens that leave ink, in order, with their boxes.

    boxes: [N, 4] left, top, right, bottom in pixels of the image cropped to its ink.
    size: width and height of that image.
    """

    tokens: tuple[str, ...]
    boxes: NDArray[np.float64]
    size: tuple[float, float]

    def __len__(self) -> int:
        return len(self.tokens)


def visible(typeset: Typeset) -> list[Ink]:
    """Returns the ink of the first page that has any, cut at the right edge of the paper."""
    edge = typeset.right_edge
    for page in typeset.pages:
        inks = [ink if ink.right <= edge else ink._replace(right=edge) for ink in page.inks if ink.left < edge]
        if inks:
            return inks
    return []


def token_boxes(typeset: Typeset, labels: tuple[str, ...]) -> Boxes:
    """Returns the boxes of the tokens; `labels` are the tokens by mark. Without ink, no boxes and size (0, 0)."""
    inks = visible(typeset)
    if not inks:
        return Boxes((), np.zeros((0, 4)), (0.0, 0.0))
    table = np.array([ink[:5] for ink in inks], dtype=np.int64)
    marks, extents = table[:, 0], table[:, 1:] * PIXELS_PER_UNIT
    origin = extents[:, :2].min(axis=0)
    size = extents[:, 2:].max(axis=0) - origin + 2 * PADDING
    marked = (marks != NO_MARK) & (marks < len(labels))
    marks, extents = marks[marked], extents[marked]
    present, place = np.unique(marks, return_inverse=True)
    boxes = np.empty((len(present), 4))
    boxes[:, :2], boxes[:, 2:] = np.inf, -np.inf
    np.minimum.at(boxes[:, :2], place, extents[:, :2])
    np.maximum.at(boxes[:, 2:], place, extents[:, 2:])
    boxes += np.tile(PADDING - origin, 2) + np.array([-MARGIN, -MARGIN, MARGIN, MARGIN])
    return Boxes(tuple(labels[mark] for mark in present), boxes, (float(size[0]), float(size[1])))
