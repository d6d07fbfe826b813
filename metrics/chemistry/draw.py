"""Draws one sample: the molecules of both lines side by side, with matches and differences marked.

Unmatched atoms and bonds are "missed" in the ground truth and "extra" in the prediction; the atoms at which the
molecules first differ are "wrong". The text around the molecules is above them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from ..common.svg import EXTRA, MATCHED, MISSED, UNJUDGED, WIDTH, WRONG, Drawing, ImageSize, Style
from ..common.text import truncated
from .comparison import LineComparison
from .molecule import CIRCLE, CIRCLE_BOND, Molecule
from .regions import Region

TIE_DASHES = "1 3"
BOND_PIXELS = 46.0
MARGIN, TEXT_HEIGHT = 16.0, 20.0
COLUMN = WIDTH / 2
MAX_HEIGHT = 900.0
LINE_LENGTH, MAX_LINES = 92, 6
"""Maximum characters per line of text, and maximum lines."""
LINES_OF_BOND = {"=": (-2.5, 2.5), "~": (-4.0, 0.0, 4.0)}
_SCRIPT = re.compile(r"([_^])(?:\{([^{}]*)\}|(.))")
_SCRIPTS = {
    "^": dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True)),
    "_": dict(zip("0123456789+-nmx", "₀₁₂₃₄₅₆₇₈₉₊₋ₙₘₓ", strict=True)),
}


def draw_lines(comparison: LineComparison, image: ImageSize | None) -> str:
    """Returns an SVG document; without a prediction, the ground truth is drawn without verdicts."""
    drawing, is_judged = Drawing(), comparison.prediction is not None
    drawing.legend(MARGIN, TEXT_HEIGHT, is_judged)
    y = drawing.picture_above(MARGIN, 2 * TEXT_HEIGHT, image)
    for title, line in (("ground truth", comparison.truth), ("prediction", comparison.prediction)):
        words = " ".join(line.tokens) if line is not None else "(no prediction)"
        words = truncated(f"{title}: {words}", MAX_LINES * LINE_LENGTH)
        for text in textwrap.wrap(words, LINE_LENGTH, max_lines=MAX_LINES, placeholder=" …"):
            drawing.text(MARGIN, y, text, limit=LINE_LENGTH)
            y += TEXT_HEIGHT
    for number, (first, second, match) in enumerate(comparison.pairs, start=1):
        sides = (
            (first, [*match.pairs], match.truth_atom, MISSED),
            (second, [*match.pairs.values()], match.prediction_atom, EXTRA),
        )
        verdict = f": {match.difference or 'equal'}" if is_judged else ""
        color = (MATCHED if match.equal else WRONG).color if is_judged else UNJUDGED.color
        drawing.text(MARGIN, y + 10, f"molecule {number}{verdict}", color, limit=LINE_LENGTH)
        y += 10 + TEXT_HEIGHT
        heights = []
        for place, (region, matched, differs, other) in enumerate(sides):
            styles = {**dict.fromkeys(matched, MATCHED), **({} if differs is None else {differs: WRONG})}
            appearance = (styles, other) if is_judged else ({}, UNJUDGED)
            heights.append(_draw_side(drawing, region, *appearance, place * COLUMN, y))
        y += max(heights) + MARGIN
    return drawing.document(WIDTH, y + MARGIN)


def atom_label(text: str) -> str:
    """Returns the text of an atom as a chemist reads it, such as CH₃ for `CH_{3}` and NH₄⁺ for `NH_{4}^{+}`.

    Scripts without Unicode superscripts or subscripts stay as they are written.
    """
    return _SCRIPT.sub(_shifted, text)


def _shifted(match: re.Match[str]) -> str:
    table, bare = _SCRIPTS[match[1]], (match[2] or match[3] or "").replace(" ", "")
    return "".join(table[each] for each in bare) if bare and all(each in table for each in bare) else match[0]


def _draw_side(
    drawing: Drawing, region: Region | None, styles: Mapping[int, Style], other: Style, x: float, y: float
) -> float:
    """Draws one molecule with its upper left corner at (x, y) and returns its height.

    styles: the styles of atoms by index; all other atoms have the style `other`.
    """
    if region is None or region.molecule is None:
        words = "(no molecule)" if region is None else f"cannot be read: {region.problem or 'it draws nothing'}"
        drawing.text(x + MARGIN, y + TEXT_HEIGHT, words, other.color, limit=44)
        return 2 * TEXT_HEIGHT
    molecule = region.molecule
    points, height = _points(molecule, x, y)
    for begin, end, kind, _, _ in molecule.bonds:
        ends = [styles.get(atom, other) for atom in (begin, end)]
        # A bond is matched if both of its atoms are.
        style = next((each for each in ends if each is not MATCHED), MATCHED)
        if kind == CIRCLE_BOND and style is MATCHED:
            style = style._replace(dashes=TIE_DASHES, width=0.5)
        _draw_bond(drawing, kind, *points[begin], *points[end], style)
    for atom, (text, place) in enumerate(zip(molecule.texts, points, strict=True)):
        style = styles.get(atom, other)
        drawing.mark(*place, style)
        drawing.text(place[0] + 4, place[1] - 4, "◯" if text == CIRCLE else atom_label(text), style.color)
    return height


def _points(molecule: Molecule, x: float, y: float) -> tuple[list[tuple[float, float]], float]:
    """Returns the positions of the atoms in the picture, and the height of the drawing."""
    left, top = min(molecule.xs), min(molecule.ys)
    across, down = max(molecule.xs) - left, max(molecule.ys) - top
    scale = min(
        BOND_PIXELS,
        (COLUMN - 4 * MARGIN) / across if across else BOND_PIXELS,
        MAX_HEIGHT / down if down else BOND_PIXELS,
    )
    points = [
        (x + MARGIN + (atom_x - left) * scale, y + MARGIN + (atom_y - top) * scale)
        for atom_x, atom_y in zip(molecule.xs, molecule.ys, strict=True)
    ]
    return points, down * scale + 2 * MARGIN


def _draw_bond(drawing: Drawing, kind: str, x1: float, y1: float, x2: float, y2: float, style: Style) -> None:
    length = max(1e-9, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    across, down = (y1 - y2) / length, (x2 - x1) / length
    for shift in LINES_OF_BOND.get(kind, (0.0,)):
        drawing.line(x1 + across * shift, y1 + down * shift, x2 + across * shift, y2 + down * shift, style)
    if kind not in ("-", "=", "~", CIRCLE_BOND):
        drawing.text((x1 + x2) / 2, (y1 + y2) / 2, kind, style.color)
