"""A picture of one sample: the molecules of both lines side by side, with what matched and what differs.

Matched atoms and bonds are dark blue, with round marks; what differs is orange, with crosses and dashed bonds, so that
it shows without colours, too. The text around the molecules is above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..common.svg import PREDICTED, TRUE, Drawing, Style
from .line import Line
from .matcher import Match
from .molecule import CIRCLE, CIRCLE_BOND, Molecule
from .regions import Region

MATCHED, DIFFERS = Style("matched", TRUE), Style("differs", PREDICTED, "5 3")
TIE = Style("", TRUE, "1 3", 0.5)
BOND_PIXELS = 46.0
COLUMN, MARGIN, TEXT_HEIGHT = 520.0, 30.0, 20.0
MAX_HEIGHT = 900.0
MAX_TEXT_LENGTH = 300
LINES_OF_BOND = {"=": (-2.5, 2.5), "~": (-4.0, 0.0, 4.0)}
_RAISED, _LOWERED = re.compile(r"\^(?:\{([^{}]*)\}|(.))"), re.compile(r"_(?:\{([^{}]*)\}|(.))")
_SUPERSCRIPTS = dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+-nmx", "₀₁₂₃₄₅₆₇₈₉₊₋ₙₘₓ", strict=True))


def draw_lines(
    truth: Line, prediction: Line | None, pairs: Iterable[tuple[Region | None, Region | None, Match]]
) -> str:
    """Returns an SVG document; `pairs` are the regions of both sides in order, with their matches."""
    drawing = Drawing()
    y = TEXT_HEIGHT
    if prediction is not None:
        drawing.legend(MARGIN, y, (MATCHED, DIFFERS))
        y += TEXT_HEIGHT
    for title, line in (("ground truth", truth), ("prediction", prediction)):
        words = " ".join(line.tokens) if line is not None else "(no prediction)"
        drawing.text(MARGIN, y, f"{title}: {words}", limit=MAX_TEXT_LENGTH)
        y += TEXT_HEIGHT
    for number, (first, second, match) in enumerate(pairs, start=1):
        color = (MATCHED if match.equal else DIFFERS).color
        drawing.text(MARGIN, y + 10, f"molecule {number}: {match.difference or 'equal'}", color, limit=MAX_TEXT_LENGTH)
        y += 10 + TEXT_HEIGHT
        height = _draw_side(drawing, first, set(match.pairs) - {match.truth_atom}, MARGIN, y)
        matched = set(match.pairs.values()) - {match.prediction_atom}
        y += max(height, _draw_side(drawing, second, matched, MARGIN + COLUMN, y)) + MARGIN
    return drawing.document(2 * COLUMN + MARGIN, y + MARGIN)


def atom_label(text: str) -> str:
    """Returns the text of an atom as a chemist reads it, such as CH₃ for `CH_{3}` and NH₄⁺ for `NH_{4}^{+}`.

    What has no raised or lowered character stays as it is written.
    """
    raised = _RAISED.sub(lambda match: _shifted(match, _SUPERSCRIPTS), text)
    return _LOWERED.sub(lambda match: _shifted(match, _SUBSCRIPTS), raised)


def _shifted(match: re.Match[str], table: Mapping[str, str]) -> str:
    bare = (match[1] or match[2] or "").replace(" ", "")
    return "".join(table[each] for each in bare) if bare and all(each in table for each in bare) else match[0]


def _draw_side(drawing: Drawing, region: Region | None, matched: set[int], x: float, y: float) -> float:
    """Draws one molecule with its upper left corner at (x, y) and returns its height."""
    if region is None or region.molecule is None:
        words = "(no molecule)" if region is None else f"cannot be read: {region.problem or 'it draws nothing'}"
        drawing.text(x, y + TEXT_HEIGHT, words, DIFFERS.color, limit=80)
        return 2 * TEXT_HEIGHT
    molecule = region.molecule
    points, height = _points(molecule, x, y)
    for begin, end, kind, _, _ in molecule.bonds:
        style = (TIE if kind == CIRCLE_BOND else MATCHED) if {begin, end} <= matched else DIFFERS
        _draw_bond(drawing, kind, *points[begin], *points[end], style)
    for atom, (text, place) in enumerate(zip(molecule.texts, points, strict=True)):
        style = MATCHED if atom in matched else DIFFERS
        drawing.mark(*place, style)
        drawing.text(place[0] + 4, place[1] - 4, "◯" if text == CIRCLE else atom_label(text), style.color)
    return height


def _points(molecule: Molecule, x: float, y: float) -> tuple[list[tuple[float, float]], float]:
    """Where the atoms are drawn, and the height of the drawing."""
    left, top = min(molecule.xs), min(molecule.ys)
    across, down = max(molecule.xs) - left, max(molecule.ys) - top
    scale = min(
        BOND_PIXELS,
        (COLUMN - 3 * MARGIN) / across if across else BOND_PIXELS,
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
        drawing.text((x1 + x2) / 2, (y1 + y2) / 2, kind, style.color, 11)
