"""Draws a pair of formulas as SVG: the ground truth above, the prediction below, a box round each token.

A matched token has a solid green box with round corners, one without a match a dashed red box with sharp corners.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

from .cdm.matching import match
from .cdm.scoring import Reading, Rendering
from .render.boxes import DPI
from .render.raster import draw_image
from .render.typeset import Typesetter

SHARPNESS = 2
"""The formulas are drawn at this multiple of 200 dpi."""
MAX_PAIRS = 40
_GAP = 12
_CAPTION = 18
_LEAST_WIDTH = 320
_MATCHED = 'fill="none" stroke="#0a7d33" stroke-width="1.5" rx="3"'
_UNMATCHED = 'fill="none" stroke="#c01616" stroke-width="1.5" stroke-dasharray="4 2"'


def draw_pairs(
    pairs: Sequence[tuple[Reading | None, Reading | None]],
    renderings: dict[Reading, Rendering],
    typesetter: Typesetter,
) -> str:
    """Returns the pairs of a sample as one SVG document; of a document with more than 40, the first 40."""
    parts: list[str] = []
    width, y = float(_LEAST_WIDTH), float(_GAP)
    if any(prediction is not None for _, prediction in pairs):
        parts.append(_legend(y))
        y += _CAPTION + _GAP
    for number, (truth, prediction) in enumerate(pairs[:MAX_PAIRS], start=1):
        name = f"formula {number}: " if len(pairs) > 1 else ""
        left = renderings[truth] if truth else None
        right = renderings[prediction] if prediction else None
        matched: Sequence[tuple[int, int]] = ()
        if left and right and left.boxes is not None and right.boxes is not None:
            matched = match(left.boxes, right.boxes).pairs
        for caption, rendering, indices in (
            (f"{name}ground truth", left, {pair[0] for pair in matched}),
            (f"{name}prediction", right, {pair[1] for pair in matched}),
        ):
            drawn, wide, high = _formula(caption, rendering, indices, typesetter, y)
            parts.append(drawn)
            width = max(width, wide)
            y += high + _GAP
    if len(pairs) > MAX_PAIRS:
        parts.append(_text(f"{len(pairs) - MAX_PAIRS} more formulas are not drawn", y))
        y += _CAPTION + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{y:.0f}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def _formula(
    caption: str, rendering: Rendering | None, matched: set[int], typesetter: Typesetter, y: float
) -> tuple[str, float, float]:
    """One formula under its caption at height y: the SVG, its width and its height."""
    if rendering is None or rendering.boxes is None or rendering.typeset is None:
        reason = rendering.problem if rendering else "there is none"
        return _text(f"{caption}: not drawn, {reason}", y), _LEAST_WIDTH, _CAPTION
    wide, high = rendering.boxes.size
    image = draw_image(rendering.typeset, typesetter.outlines, DPI * SHARPNESS)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    # At twice the resolution the fixed margin of the image is half as wide.
    margin = 8 - 8 / SHARPNESS
    top = y + _CAPTION
    picture = (
        f'<image x="{margin:.1f}" y="{top + margin:.1f}" width="{image.width / SHARPNESS:.1f}" '
        f'height="{image.height / SHARPNESS:.1f}" '
        f'href="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode("ascii")}"/>'
    )
    boxes = "".join(
        f'<rect x="{box[0]:.1f}" y="{top + box[1]:.1f}" width="{box[2] - box[0]:.1f}" height="{box[3] - box[1]:.1f}" '
        f"{_MATCHED if index in matched else _UNMATCHED}><title>{escape(token, quote=False)}</title></rect>"
        for index, (token, box) in enumerate(zip(rendering.boxes.tokens, rendering.boxes.boxes, strict=True))
    )
    return _text(caption, y) + picture + boxes, wide, high + _CAPTION


def _legend(y: float) -> str:
    """What the boxes mean, at height y."""
    boxes = "".join(
        f'<rect x="{x}" y="{y:.0f}" width="22" height="14" {style}/><text x="{x + 28}" y="{y + 11:.0f}" fill="#444444">'
        f"{words}</text>"
        for x, style, words in ((8, _MATCHED, "matched"), (118, _UNMATCHED, "without a match"))
    )
    return f"<g>{boxes}</g>"


def _text(text: str, y: float) -> str:
    return f'<text x="8" y="{y + _CAPTION - 5:.0f}" fill="#444444">{escape(text, quote=False)}</text>'
