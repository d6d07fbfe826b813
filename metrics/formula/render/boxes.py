"""The ink of a typeset formula: the boxes of its tokens, its image, and how far two images differ.

Ink is the box of each glyph, from the metrics of its font, and each rule. As in a raster image of 200 dpi, a token's
box spans the pixels that its ink covers completely, or the pixels it touches if it covers none; the image is cropped to
all pixels that ink touches.

Source of the differences: section 11 of the CDM supplement; the column edit distance is that of Y. Deng et al.,
"Image-to-Markup Generation with Coarse-to-Fine Attention", ICML 2017: each column of the black-and-white image is one
symbol.
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

from .dvi import NO_MARK, POINTS_PER_INCH, UNITS_PER_POINT, Ink
from .tex import find_file
from .typeset import Typeset

if TYPE_CHECKING:
    from PIL import Image, ImageFont

DPI = 200
PIXELS_PER_UNIT = DPI / POINTS_PER_INCH / UNITS_PER_POINT
PADDING = 8
"""Pixels of margin around the ink of a cropped image."""
MARGIN = 1
"""Pixels by which a token's box extends beyond its ink on each side."""

MAX_SIDE = 8000
"""Pixels; a larger image is clipped."""
STEPS_PER_PIECE = 25
COVERED_PIXELS_PER_STEP = 4000
PIXELS_PER_STEP = 100
COLUMN_PAIRS_PER_STEP = 500
_MARK, _LEFT, _TOP, _RIGHT, _BOTTOM = range(5)
"""The indices of the columns of an ink table, in the order of the fields of Ink."""
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
    """Returns the ink [N, 8] of the first page with ink on the paper, as in `Page.table`, clipped at the right edge."""
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
    """Returns the boxes of the tokens, where labels[mark] is a token; without ink, no boxes and the size (0, 0)."""
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
    """Returns the first and last pixel columns and rows that ink touches, and that it covers completely, [N, 4] each.

    If ink covers no complete column or row, those that it touches are returned instead.
    """
    touched = np.concatenate([np.floor(extents[:, :2]), np.ceil(extents[:, 2:]) - 1], axis=1)
    covered = np.concatenate([np.ceil(extents[:, :2]), np.floor(extents[:, 2:]) - 1], axis=1)
    for low, high in ((0, 2), (1, 3)):
        thin = covered[:, high] < covered[:, low]
        covered[thin, low], covered[thin, high] = touched[thin, low], touched[thin, high]
    return touched, covered


@dataclass(frozen=True, slots=True)
class ImageScores:
    """The column edit distance of two images, the larger number of columns, and the mean squared error in [0, 1]."""

    edits: int
    columns: int
    squared_error: float


def image_scores(truth: Typeset | None, prediction: Typeset | None) -> ImageScores:
    """Draws two formulas and compares the images; if a side has none, all columns are edits and the error is 1."""
    images = [draw_image(side) for side in (truth, prediction) if side]
    if len(images) < 2:
        columns = sum(image.width for image in images)
        return ImageScores(columns, columns, 1.0)
    edits, columns = column_edit_distance(*images)
    return ImageScores(edits, columns, mean_squared_error(*images))


def draw_image(typeset: Typeset, dpi: int = DPI) -> Image.Image:
    """Returns a black-on-white image of a formula, cropped to its ink with a margin of 8 pixels; 16 x 16 without ink.

    A glyph is drawn as its box if its font has no outlines (Type 1). At resolutions other than 200 dpi, in images for
    people, glyphs are placed at whole pixels, so that the mask of each is drawn only once.
    """
    # Not at the top: Pillow takes a while to import, and is only needed for drawing.
    from PIL import Image, ImageDraw

    scale = dpi / POINTS_PER_INCH / UNITS_PER_POINT
    table = visible(typeset)
    left, top, size = _frame(table, scale)
    image = Image.new("L", size, 255)
    canvas = ImageDraw.Draw(image)
    for ink in map(Ink._make, table.tolist()):
        x, y = (ink.left - left) * scale + PADDING, (ink.top - top) * scale + PADDING
        font = typeset.fonts.get(ink.font)
        path = find_file(f"{font.name}.pfb") if font else None
        face = _face(str(path), font.size * scale) if font and path else None
        baseline = (ink.baseline - top) * scale + PADDING
        if face is not None:
            if dpi == DPI:
                canvas.text((x, baseline), chr(ink.character), 0, face, anchor="ls")
            else:
                glyph, across, down = _glyph(face, chr(ink.character))
                image.paste(0, (round(x) + across, round(baseline) + down), glyph)
            continue
        right, bottom = (ink.right - left) * scale + PADDING, (ink.bottom - top) * scale + PADDING
        x0, y0 = round(x), round(y)
        canvas.rectangle((x0, y0, max(round(right) - 1, x0), max(round(bottom) - 1, y0)), fill=0)
    return image


def _frame(table: NDArray[np.int64], scale: float) -> tuple[int, int, tuple[int, int]]:
    """Returns the left and top of the ink in scaled points, and the (width, height) of its image in pixels."""
    left, top = table[:, [_LEFT, _TOP]].min(axis=0).tolist() if len(table) else (0, 0)
    right, bottom = table[:, [_RIGHT, _BOTTOM]].max(axis=0).tolist() if len(table) else (0, 0)
    width, height = (min(math.ceil(each * scale) + 2 * PADDING, MAX_SIDE) for each in (right - left, bottom - top))
    return left, top, (width, height)


def drawing_steps(typesets: Sequence[Typeset]) -> int:
    """Returns the steps of drawing the images of formulas and comparing them, padded to one size.

    They are computed from the ink alone: the number of pieces, the pixels they cover, and the size of the images.
    """
    steps = width = height = 0
    for table in map(visible, typesets):
        _, _, size = _frame(table, PIXELS_PER_UNIT)
        width, height = max(width, size[0]), max(height, size[1])
        sides = np.clip((table[:, [_RIGHT, _BOTTOM]] - table[:, [_LEFT, _TOP]]) * PIXELS_PER_UNIT, 0, size)
        steps += STEPS_PER_PIECE * len(table) + int((sides.prod(axis=1) // COVERED_PIXELS_PER_STEP).sum())
    columns = width * width * len(typesets) // COLUMN_PAIRS_PER_STEP
    return steps + columns + len(typesets) * width * height // PIXELS_PER_STEP


@lru_cache(maxsize=256)
def _face(path: str, size: float) -> ImageFont.FreeTypeFont | None:
    """Returns a font at a size in pixels, in its own encoding; None if Pillow cannot use the font."""
    from PIL import ImageFont

    # Read outside the `try`: Pillow also raises OSError for a font that it cannot use.
    outlines = io.BytesIO(Path(path).read_bytes())
    try:
        return ImageFont.truetype(outlines, max(size, 1), encoding="ADBC", layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return None


@lru_cache(maxsize=1024)
def _glyph(face: ImageFont.FreeTypeFont, character: str) -> tuple[Image.Image, int, int]:
    """Returns the mask of a glyph, and the offsets of its left and top from the origin in pixels."""
    from PIL import Image, ImageDraw

    left, top, right, bottom = map(round, face.getbbox(character, anchor="ls"))
    mask = Image.new("L", (max(right - left, 1), max(bottom - top, 1)))
    ImageDraw.Draw(mask).text((-left, -top), character, 255, face, anchor="ls")
    return mask, left, top


def column_edit_distance(truth: Image.Image, prediction: Image.Image) -> tuple[int, int]:
    """Returns the edit distance of the columns of two images, and the larger number of columns.

    Pixels below 128 are black, all others white; the lower image is padded with white at the bottom.
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
    from PIL import Image, ImageChops

    width, height = max(truth.width, prediction.width), max(truth.height, prediction.height)
    padded = [Image.new("L", (width, height), 255) for _ in range(2)]
    for canvas, image in zip(padded, (truth, prediction), strict=True):
        canvas.paste(image)
    counts = ImageChops.difference(*padded).histogram()
    return sum(count * value**2 for value, count in enumerate(counts)) / (255**2 * width * height)
