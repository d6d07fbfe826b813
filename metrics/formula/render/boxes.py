"""The boxes of the ink that each token leaves, in whole pixels of a page at 200 dpi.

Ink is the box of each glyph by its font's metrics, and each rule. As in a raster, a token's box spans the pixels that
its ink covers wholly, or touches where it covers none, and the image is cropped to all the pixels that ink touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.formula.render.dvi import NO_MARK, POINTS_PER_INCH, UNITS_PER_POINT, Ink
from metrics.formula.render.typeset import Typeset

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
    marks: the mark of each token.
    """

    tokens: tuple[str, ...]
    boxes: NDArray[np.float64]
    size: tuple[float, float]
    marks: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.tokens)


def visible(typeset: Typeset) -> list[Ink]:
    """Returns the ink of the first page that has any on the paper, cut at the paper's right edge."""
    edge = typeset.width - typeset.margin
    for page in typeset.pages:
        inks = [
            ink if ink.right <= edge else ink._replace(right=edge)
            for ink in page.inks
            if ink.left < edge and ink.right > -typeset.margin
        ]
        if inks:
            return inks
    return []


def token_boxes(typeset: Typeset, labels: tuple[str, ...]) -> Boxes:
    """Returns the boxes of the tokens; `labels` are the tokens by mark. Without ink, no boxes and size (0, 0)."""
    inks = visible(typeset)
    if not inks:
        return Boxes((), np.zeros((0, 4)), (0.0, 0.0))
    table = np.array([ink[:5] for ink in inks], dtype=np.int64)
    table[:, 1:4:2] += typeset.margin
    table[:, 2:5:2] += typeset.fall
    extents: NDArray[np.float64] = table[:, 1:] * np.float64(PIXELS_PER_UNIT)
    touched, covered = _pixels(extents)
    origin = touched[:, :2].min(axis=0)
    width, height = touched[:, 2:].max(axis=0) - origin + 2 * PADDING
    owned = (table[:, 0] != NO_MARK) & (table[:, 0] < len(labels))
    marks, place = np.unique(table[owned, 0], return_inverse=True)
    boxes = np.empty((len(marks), 4))
    boxes[:, :2], boxes[:, 2:] = np.inf, -np.inf
    np.minimum.at(boxes[:, :2], place, covered[owned, :2])
    np.maximum.at(boxes[:, 2:], place, covered[owned, 2:])
    boxes += np.tile(PADDING - origin, 2) + np.array([-MARGIN, -MARGIN, MARGIN, MARGIN])
    return Boxes(tuple(labels[mark] for mark in marks), boxes, (float(width), float(height)), tuple(marks.tolist()))


def _pixels(extents: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first and last pixel columns and rows that ink touches, and that it covers wholly, [N, 4] each.

    Where ink covers no whole column or row, the ones that it touches stand for them.
    """
    touched = np.concatenate([np.floor(extents[:, :2]), np.ceil(extents[:, 2:]) - 1], axis=1)
    covered = np.concatenate([np.ceil(extents[:, :2]), np.floor(extents[:, 2:]) - 1], axis=1)
    for low, high in ((0, 2), (1, 3)):
        thin = covered[:, high] < covered[:, low]
        covered[thin, low], covered[thin, high] = touched[thin, low], touched[thin, high]
    return touched, covered
