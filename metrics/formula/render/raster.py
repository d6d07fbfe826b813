"""Draws a typeset formula as a grey image, and compares two images: column edit distance and mean squared error.

Source: section 11 of the CDM supplement; the column edit distance is that of Y. Deng et al., "Image-to-Markup
Generation with Coarse-to-Fine Attention", ICML 2017: each column of the black-and-white image is one symbol.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein

from metrics.formula.render.boxes import DPI, PADDING, visible
from metrics.formula.render.dvi import POINTS_PER_INCH, UNITS_PER_POINT, Font, Ink
from metrics.formula.render.typeset import Typeset

LARGEST_SIDE = 8000
"""Pixels; a larger image is cut."""

FindFont = Callable[[str], Path | None]


def draw_image(typeset: Typeset, find_font: FindFont, dpi: int = DPI) -> Image.Image:
    """Returns the ink of a formula in black on white, cropped to it with a margin of 8 pixels; without ink, 16 x 16.

    `find_font` gives the file of a font's outlines by its name; a glyph without one is drawn as its box.
    """
    inks = visible(typeset)
    scale = dpi / POINTS_PER_INCH / UNITS_PER_POINT
    left = min((ink.left for ink in inks), default=0)
    top = min((ink.top for ink in inks), default=0)
    right = max((ink.right for ink in inks), default=0)
    bottom = max((ink.bottom for ink in inks), default=0)
    width = min(math.ceil((right - left) * scale) + 2 * PADDING, LARGEST_SIDE)
    height = min(math.ceil((bottom - top) * scale) + 2 * PADDING, LARGEST_SIDE)
    image = Image.new("L", (width, height), 255)
    canvas = ImageDraw.Draw(image)
    for ink in inks:
        _draw(canvas, ink._replace(left=ink.left - left, right=ink.right - left), top, typeset.fonts, find_font, scale)
    return image


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
    try:
        return ImageFont.truetype(path, max(size, 1), encoding="ADBC", layout_engine=ImageFont.Layout.BASIC)
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
    values: list[NDArray[np.float32]] = []
    for image in (truth, prediction):
        canvas = np.ones((height, width), dtype=np.float32)
        canvas[: image.height, : image.width] = np.asarray(image, dtype=np.float32) / 255
        values.append(canvas)
    return float(np.mean((values[0] - values[1]) ** 2, dtype=np.float64))
