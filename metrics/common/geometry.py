"""Areas and overlaps of boxes. A box is a row (x0, y0, x1, y1); sides that run backwards count as 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def box_areas(boxes: Array, margin: float = 0.0) -> Array:
    """Returns the areas of the boxes `[N, 4]`, each side made longer by `margin`, `[N]`."""
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 0.0) + margin
    return np.asarray(sides[:, 0] * sides[:, 1], dtype=np.float64)


def box_intersections(first: Array, second: Array, margin: float = 0.0) -> Array:
    """Returns the areas shared by each box of `first` `[N, 4]` and each of `second` `[M, 4]`, `[N, M]`."""
    low = np.maximum(first[:, None, :2], second[None, :, :2])
    high = np.minimum(first[:, None, 2:], second[None, :, 2:])
    sides = np.maximum(high - low + margin, 0.0)
    return np.asarray(sides[..., 0] * sides[..., 1], dtype=np.float64)


def box_ious(first: Array, second: Array, margin: float = 0.0) -> Array:
    """Returns intersection over union for each box of `first` `[N, 4]` with each of `second` `[M, 4]`, `[N, M]`.

    `margin` is added to widths and heights: 1 counts pixels, where a box holds its last row and column. Two
    boxes without area have 0.

    >>> box_ious(np.array([[0.0, 0.0, 4.0, 2.0]]), np.array([[2.0, 0.0, 4.0, 2.0]])).tolist()
    [[0.5]]
    """
    shared = box_intersections(first, second, margin)
    union = box_areas(first, margin)[:, None] + box_areas(second, margin)[None, :] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
