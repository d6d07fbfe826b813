"""Draws a typeset formula as a grey image, and compares two images: column edit distance and mean squared error.

Source: section 11 of the CDM supplement; the column edit distance is that of Y. Deng et al., "Image-to-Markup
Generation with Coarse-to-Fine Attention", ICML 2017: each column of the black-and-white image is one symbol.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from .boxes import DPI, PADDING, PIXELS_PER_UNIT, visible
from .dvi import POINTS_PER_INCH, UNITS_PER_POINT, Ink
from .tex import find_file
from .typeset import Typeset

if TYPE_CHECKING:
    from PIL import Image, ImageFont

MAX_SIDE = 8000
"""Pixels; a larger image is cut."""
ROWS_AT_ONCE = 256
STEPS_OF_PIECE = 25
PIXELS_COVERED_IN_A_STEP = 4000
PIXELS_IN_A_STEP = 100
COLUMN_PAIRS_IN_A_STEP = 500
_LEFT, _TOP, _RIGHT, _BOTTOM = (Ink._fields.index(name) for name in ("left", "top", "right", "bottom"))


@dataclass(frozen=True, slots=True)
class ImageScores:
    """Column edit distance, the larger number of columns, and the mean squared error of two images."""

    edits: int
    columns: int
    squared_error: float


def image_scores(truth: Typeset, prediction: Typeset | None) -> ImageScores:
    """Draws two formulas and compares their images; all is wrong where there is no prediction."""
    drawn = draw_image(truth)
    if prediction is None:
        return ImageScores(drawn.width, drawn.width, 1.0)
    other = draw_image(prediction)
    edits, columns = column_edit_distance(drawn, other)
    return ImageScores(edits, columns, mean_squared_error(drawn, other))


def draw_image(typeset: Typeset, dpi: int = DPI) -> Image.Image:
    """Returns the ink of a formula in black on white, cropped to it with a margin of 8 pixels; without ink, 16 x 16.

    A glyph of a font without outlines (Type 1) is drawn as its box.
    """
    # Not at the top: Pillow takes a while to import, and is not needed where nothing is drawn.
    from PIL import Image, ImageDraw

    scale = dpi / POINTS_PER_INCH / UNITS_PER_POINT
    inks, left, top, size = _pieces(typeset, scale)
    image = Image.new("L", size, 255)
    canvas = ImageDraw.Draw(image)
    for ink in inks:
        x, y = (ink.left - left) * scale + PADDING, (ink.top - top) * scale + PADDING
        font = typeset.fonts.get(ink.font)
        path = find_file(f"{font.name}.pfb") if font else None
        face = _face(str(path), font.size * scale) if font and path else None
        if face is not None:
            canvas.text((x, (ink.baseline - top) * scale + PADDING), chr(ink.character), 0, face, anchor="ls")
            continue
        right, bottom = (ink.right - left) * scale + PADDING, (ink.bottom - top) * scale + PADDING
        x0, y0 = round(x), round(y)
        canvas.rectangle((x0, y0, max(round(right) - 1, x0), max(round(bottom) - 1, y0)), fill=0)
    return image


def _pieces(typeset: Typeset, scale: float) -> tuple[list[Ink], int, int, tuple[int, int]]:
    """The ink, its left and its top, and the width and height of its image in pixels."""
    inks = [Ink(*ink) for ink in visible(typeset).tolist()]
    left, top = (min((ink[side] for ink in inks), default=0) for side in (_LEFT, _TOP))
    right, bottom = (max((ink[side] for ink in inks), default=0) for side in (_RIGHT, _BOTTOM))
    width, height = (min(math.ceil(each * scale) + 2 * PADDING, MAX_SIDE) for each in (right - left, bottom - top))
    return inks, left, top, (width, height)


def drawing_steps(typesets: Sequence[Typeset]) -> int:
    """Returns the steps of drawing the images of formulas and comparing them, which pads them to one size.

    They are counted from the ink alone: each piece, the pixels that it covers, and the pixels of the images.
    """
    steps = width = height = 0
    for typeset in typesets:
        _, _, _, own_size = _pieces(typeset, PIXELS_PER_UNIT)
        width, height = max(width, own_size[0]), max(height, own_size[1])
        table = visible(typeset)
        sides = np.clip((table[:, [_RIGHT, _BOTTOM]] - table[:, [_LEFT, _TOP]]) * PIXELS_PER_UNIT, 0, own_size)
        steps += STEPS_OF_PIECE * len(table) + int((sides.prod(axis=1) // PIXELS_COVERED_IN_A_STEP).sum())
    columns = width * width * len(typesets) // COLUMN_PAIRS_IN_A_STEP
    return steps + columns + len(typesets) * width * height // PIXELS_IN_A_STEP


@lru_cache(maxsize=256)
def _face(path: str, size: float) -> ImageFont.FreeTypeFont | None:
    """A font at a size in pixels, in its own encoding; None where it has none that can be used."""
    from PIL import ImageFont

    # Read before: Pillow raises OSError, too, for a font that it cannot use.
    outlines = io.BytesIO(Path(path).read_bytes())
    try:
        return ImageFont.truetype(outlines, max(size, 1), encoding="ADBC", layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return None


def column_edit_distance(truth: Image.Image, prediction: Image.Image) -> tuple[int, int]:
    """Returns the edit distance of the columns of two images, and the larger number of columns.

    Images are black and white (below half is black), padded with white below to one height.
    """
    columns = []
    height = max(truth.height, prediction.height)
    for image in (truth, prediction):
        black = np.zeros((height, image.width), dtype=bool)
        black[: image.height] = np.asarray(image) < 128
        columns.append([column.tobytes() for column in np.packbits(black, axis=0).T])
    return Levenshtein.distance(*columns), max(map(len, columns))


def mean_squared_error(truth: Image.Image, prediction: Image.Image) -> float:
    """Returns the mean squared difference of the grey values in [0, 1], both padded with white to one size."""
    width, height = max(truth.width, prediction.width), max(truth.height, prediction.height)
    values: list[NDArray[np.uint8]] = []
    for image in (truth, prediction):
        canvas = np.full((height, width), 255, dtype=np.uint8)
        canvas[: image.height, : image.width] = np.asarray(image)
        values.append(canvas)
    total = 0
    # Some rows at a time: the differences take four times the memory of the images.
    for start in range(0, height, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        total += int((np.subtract(values[0][rows], values[1][rows], dtype=np.int32) ** 2).sum(dtype=np.int64))
    return total / (255**2 * width * height)
