"""The boxes of the ink that each token leaves, in whole pixels of a page at 200 dpi.

Ink is the box of each glyph by its font's metrics, and each rule. As in a raster, a token's box spans the pixels that
its ink covers wholly, or touches where it covers none, and the image is cropped to all the pixels that ink touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .dvi import NO_MARK, POINTS_PER_INCH, UNITS_PER_POINT, Ink
from .typeset import Typeset

DPI = 200
PIXELS_PER_UNIT = DPI / POINTS_PER_INCH / UNITS_PER_POINT
PADDING = 8
"""Pixels left round the ink when the image is cropped to it."""
MARGIN = 1
"""Pixels by which a token's box is larger than its ink on each side."""

_MARK, _LEFT, _RIGHT, _BOTTOM = (Ink._fields.index(name) for name in ("mark", "left", "right", "bottom"))
_NO_INK = np.zeros((0, len(Ink._fields)), dtype=np.int64)


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


def visible(typeset: Typeset) -> NDArray[np.int64]:
    """Returns the ink of the first page that has any on the paper, [N, 8] as of Page, cut at the paper's right edge."""
    edge = typeset.width - typeset.margin
    for page in typeset.pages:
        table = page.table
        on_paper = (table[:, _LEFT] < edge) & (table[:, _RIGHT] > -typeset.margin)
        if on_paper.any():
            table = table[on_paper]
            np.minimum(table[:, _RIGHT], edge, out=table[:, _RIGHT])
            return table
    return _NO_INK


def token_boxes(typeset: Typeset, labels: Sequence[str]) -> Boxes:
    """Returns the boxes of the tokens; `labels` are the tokens by mark. Without ink, no boxes and size (0, 0)."""
    table = visible(typeset)
    if not len(table):
        return Boxes((), np.zeros((0, 4)), (0.0, 0.0))
    margins = np.array([typeset.margin, typeset.fall, typeset.margin, typeset.fall])
    touched, covered = _pixels((table[:, _LEFT : _BOTTOM + 1] + margins) * PIXELS_PER_UNIT)
    origin = touched[:, :2].min(axis=0)
    size = touched[:, 2:].max(axis=0) - origin + 2 * PADDING
    marks = table[:, _MARK]
    owned = np.flatnonzero((marks != NO_MARK) & (marks < len(labels)))
    owned = owned[np.argsort(marks[owned], kind="stable")]
    first = np.flatnonzero(np.diff(marks[owned], prepend=NO_MARK))
    boxes = np.empty((len(first), 4))
    if len(first):
        boxes[:, :2] = np.minimum.reduceat(covered[owned, :2], first)
        boxes[:, 2:] = np.maximum.reduceat(covered[owned, 2:], first)
        boxes += np.tile(PADDING - origin, 2) + np.array([-MARGIN, -MARGIN, MARGIN, MARGIN])
    tokens = tuple(labels[mark] for mark in marks[owned[first]].tolist())
    return Boxes(tokens, boxes, tuple(size.tolist()))


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
