"""Draws a typeset formula as a grey image, and compares two images: column edit distance and mean squared error.

Source: section 11 of the CDM supplement; the column edit distance is that of Y. Deng et al., "Image-to-Markup
Generation with Coarse-to-Fine Attention", ICML 2017: each column of the black-and-white image is one symbol.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from .boxes import DPI, PADDING, visible
from .dvi import POINTS_PER_INCH, UNITS_PER_POINT, Font, Ink
from .typeset import Typeset

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

MAX_SIDE = 8000
"""Pixels; a larger image is cut."""
ROWS_AT_ONCE = 256
STEPS_OF_PIECE = 25
PIXELS_COVERED_IN_A_STEP = 4000
PIXELS_IN_A_STEP = 100
COLUMN_PAIRS_IN_A_STEP = 500

FindFont = Callable[[str], Path | None]


def draw_image(typeset: Typeset, find_font: FindFont, dpi: int = DPI) -> Image.Image:
    """Returns the ink of a formula in black on white, cropped to it with a margin of 8 pixels; without ink, 16 x 16.

    `find_font` returns the file of a font's outlines by its name; a glyph without one is drawn as its box.
    """
    # Not at the top: Pillow takes a while to import, and is not needed where nothing is drawn.
    from PIL import Image, ImageDraw

    inks = _pieces(typeset)
    scale = dpi / POINTS_PER_INCH / UNITS_PER_POINT
    left = min((ink.left for ink in inks), default=0)
    top = min((ink.top for ink in inks), default=0)
    image = Image.new("L", _size(inks, scale), 255)
    canvas = ImageDraw.Draw(image)
    for ink in inks:
        _draw(canvas, ink._replace(left=ink.left - left, right=ink.right - left), top, typeset.fonts, find_font, scale)
    return image


def _pieces(typeset: Typeset) -> list[Ink]:
    return list(map(Ink._make, visible(typeset).tolist()))


def _size(inks: Sequence[Ink], scale: float) -> tuple[int, int]:
    """The width and height of the image of some ink, in pixels."""
    width = max((ink.right for ink in inks), default=0) - min((ink.left for ink in inks), default=0)
    height = max((ink.bottom for ink in inks), default=0) - min((ink.top for ink in inks), default=0)
    return (
        min(math.ceil(width * scale) + 2 * PADDING, MAX_SIDE),
        min(math.ceil(height * scale) + 2 * PADDING, MAX_SIDE),
    )


def drawing_steps(typesets: Sequence[Typeset], dpi: int = DPI) -> int:
    """Returns the steps of drawing the images of formulas and comparing them, which pads them to one size.

    They are counted from the ink alone: each piece, the pixels that it covers, and the pixels of the images.
    """
    scale = dpi / POINTS_PER_INCH / UNITS_PER_POINT
    steps = width = height = 0
    for typeset in typesets:
        inks = _pieces(typeset)
        own_width, own_height = _size(inks, scale)
        width, height = max(width, own_width), max(height, own_height)
        for ink in inks:
            across = min((ink.right - ink.left) * scale, own_width)
            down = min((ink.bottom - ink.top) * scale, own_height)
            steps += STEPS_OF_PIECE + int(max(across, 0) * max(down, 0)) // PIXELS_COVERED_IN_A_STEP
    columns = width * width * len(typesets) // COLUMN_PAIRS_IN_A_STEP
    return steps + columns + len(typesets) * width * height // PIXELS_IN_A_STEP


def _draw(
    canvas: ImageDraw.ImageDraw, ink: Ink, top: int, fonts: dict[int, Font], find_font: FindFont, scale: float
) -> None:
    x = ink.left * scale + PADDING
    font = fonts.get(ink.font)
    face = None
    if font is not None:
        path = find_font(font.name)
        face = _face(str(path), font.size * scale) if path else None
    if face is not None:
        baseline = (ink.baseline - top) * scale + PADDING
        canvas.text((x, baseline), chr(ink.character), fill=0, font=face, anchor="ls")
        return
    y = (ink.top - top) * scale + PADDING
    right, bottom = ink.right * scale + PADDING, (ink.bottom - top) * scale + PADDING
    canvas.rectangle((round(x), round(y), max(round(right) - 1, round(x)), max(round(bottom) - 1, round(y))), fill=0)


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
