"""Draws pairs of formulas as SVG: the ground truth above, the prediction below, a box around each token."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from ..common.svg import EXTRA, MATCHED, MISSED, SOFT, UNJUDGED, WIDTH, Drawing, ImageSize
from .cdm.matching import match
from .cdm.scoring import NormalizedFormula, Rendering
from .render.boxes import DPI, PADDING, draw_image

SHARPNESS = 2
"""The formulas are drawn at this multiple of 200 dpi."""
MAX_PAIRS = 40
_LEVELS = [value // 64 for value in range(256)]
_PALETTE = [grey for grey in (0, 85, 170, 255) for _ in "rgb"]
"""Four greys in two bits, which takes half the time and half the size of 256."""
_GAP, _CAPTION, _MIN_WIDTH = 12, 18, 380.0


def draw_pairs(
    pairs: Sequence[tuple[NormalizedFormula | None, NormalizedFormula | None]],
    renderings: dict[NormalizedFormula, Rendering],
    released: bool,
    is_judged: bool,
    image: ImageSize | None = None,
) -> str:
    """Returns the pairs of a sample as one SVG document; of a document with more than 40, the first 40.

    is_judged: whether there is a prediction, which may have no formulas.
    """
    # Imported here because Pillow is slow to import and only needed for drawing.
    from PIL import Image

    drawing = Drawing()
    width, y = _MIN_WIDTH, float(_GAP)

    def write(text: str) -> None:
        drawing.text(8, y + _CAPTION - 5, text, SOFT, limit=200)

    drawing.legend(8, y + _CAPTION - 5, is_judged)
    y = drawing.picture_above(8, y + _CAPTION + _GAP, image)
    width = width if image is None else WIDTH
    for number, (truth, prediction) in enumerate(pairs[:MAX_PAIRS], start=1):
        name = f"formula {number}: " if len(pairs) > 1 else ""
        sides = [renderings[side] if side else Rendering(None, problem="there is none") for side in (truth, prediction)]
        left, right = (side.boxes for side in sides)
        matched = match(left, right, released).pairs if left is not None and right is not None else ()
        for place, (side, caption) in enumerate(zip(sides, ("ground truth", "prediction"), strict=True)):
            if side.boxes is None or side.typeset is None:
                write(f"{name}{caption}: not drawn, {side.problem}")
                y += _CAPTION + _GAP
                continue
            write(f"{name}{caption}")
            y += _CAPTION
            picture = draw_image(side.typeset, DPI * SHARPNESS)
            greys = Image.frombytes("P", picture.size, picture.point(_LEVELS).tobytes())
            greys.putpalette(_PALETTE)
            buffer = io.BytesIO()
            greys.save(buffer, "PNG", compress_type=zlib.Z_RLE, bits=2)
            # At twice the resolution the fixed margin of the image is half as wide.
            margin = PADDING - PADDING / SHARPNESS
            drawing.png(margin, y + margin, picture.width / SHARPNESS, picture.height / SHARPNESS, buffer.getvalue())
            indices = {pair[place] for pair in matched}
            for index, (token, box) in enumerate(zip(side.boxes.tokens, side.boxes.boxes.tolist(), strict=True)):
                style = MATCHED if index in indices else EXTRA if place else MISSED
                style = style.of(True) if is_judged else UNJUDGED
                drawing.box(box[0], y + box[1], box[2], y + box[3], style, token)
            width = max(width, side.boxes.size[0])
            y += side.boxes.size[1] + _GAP
    if len(pairs) > MAX_PAIRS:
        write(f"more formulas, not drawn: {len(pairs) - MAX_PAIRS}")
        y += _CAPTION + _GAP
    return drawing.document(width, y)
