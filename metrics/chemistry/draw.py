"""A picture of one sample: the molecules of both lines side by side, with what matched and what differs.

Matched atoms and bonds are dark blue, with round marks; what differs is orange, with square marks and dashed bonds,
so that it shows without colours, too. The text around the molecules is above them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree

from ..common.text import truncated
from .line import Line, Region
from .matcher import Match
from .molecule import Bond, Molecule

MATCHED, DIFFERING, INK = "#1f4e8c", "#d9660a", "#222222"
BOND_PIXELS = 46.0
COLUMN, MARGIN, TEXT_HEIGHT = 520.0, 30.0, 20.0
MAX_HEIGHT = 900.0
MAX_TEXT_LENGTH = 300
HALO = {"stroke": "#ffffff", "stroke-width": "4", "stroke-linejoin": "round", "paint-order": "stroke"}
"""Keeps labels readable where bonds run through them."""
LINES_OF_BOND = {"=": (-2.5, 2.5), "~": (-4.0, 0.0, 4.0)}


def draw_lines(
    truth: Line, prediction: Line | None, pairs: Sequence[tuple[Region | None, Region | None, Match]]
) -> str:
    """Returns an SVG document; `pairs` are the regions of both sides in order, with their matches."""
    svg = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
    ElementTree.SubElement(svg, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    y = _legend(svg, TEXT_HEIGHT) if prediction is not None else TEXT_HEIGHT
    for title, line in (("ground truth", truth), ("prediction", prediction)):
        words = " ".join(line.tokens) if line is not None else "(no prediction)"
        y = _text(svg, MARGIN, y, f"{title}: {words}")
    for number, (truth_region, predicted_region, match) in enumerate(pairs, start=1):
        verdict = "equal" if match.equal else match.difference or ""
        y = _text(svg, MARGIN, y + 10, f"molecule {number}: {verdict}", MATCHED if match.equal else DIFFERING)
        first = _draw_side(svg, truth_region, set(match.pairs), match.truth_atom, MARGIN, y)
        images = set(match.pairs.values())
        second = _draw_side(svg, predicted_region, images, match.prediction_atom, MARGIN + COLUMN, y)
        y += max(first, second) + MARGIN
    width, height = f"{2 * COLUMN + MARGIN:.0f}", f"{y + MARGIN:.0f}"
    svg.attrib.update({"width": width, "height": height, "viewBox": f"0 0 {width} {height}"})
    return ElementTree.tostring(svg, encoding="unicode")


def _legend(svg: ElementTree.Element, y: float) -> float:
    """Writes what colours, marks and dashes mean; returns where the next line goes."""
    for x, color, words, dashes in ((MARGIN, MATCHED, "matched", ""), (MARGIN + 130, DIFFERING, "differs", "5 3")):
        line = {"x1": f"{x:.0f}", "x2": f"{x + 30:.0f}", "y1": f"{y - 4:.0f}", "y2": f"{y - 4:.0f}", "stroke": color}
        ElementTree.SubElement(svg, "line", line | ({"stroke-dasharray": dashes} if dashes else {}))
        _draw_atom(svg, (x + 30, y - 4), "", not dashes, False)
        _text(svg, x + 42, y, words, color)
    return y + TEXT_HEIGHT


def atom_label(text: str) -> str:
    """Returns the text of an atom as a chemist reads it, such as CH₃ for `CH_{3}` and NH₄⁺ for `NH_{4}^{+}`.

    What has no raised or lowered character stays as it is written.
    """
    found = _RAISED.sub(lambda match: _shifted(match[1] or match[2] or "", _SUPERSCRIPTS, match[0]), text)
    return _LOWERED.sub(lambda match: _shifted(match[1] or match[2] or "", _SUBSCRIPTS, match[0]), found)


_RAISED, _LOWERED = re.compile(r"\^(?:\{([^{}]*)\}|(.))"), re.compile(r"_(?:\{([^{}]*)\}|(.))")
_SUPERSCRIPTS = dict(zip("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+-nmx", "₀₁₂₃₄₅₆₇₈₉₊₋ₙₘₓ", strict=True))


def _shifted(text: str, table: Mapping[str, str], otherwise: str) -> str:
    bare = text.replace(" ", "")
    return "".join(table[each] for each in bare) if bare and all(each in table for each in bare) else otherwise


def _text(svg: ElementTree.Element, x: float, y: float, text: str, colour: str = INK) -> float:
    """Writes one line and returns where the next one goes."""
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": "13", "fill": colour}
    ElementTree.SubElement(svg, "text", attributes).text = _printable(truncated(text, MAX_TEXT_LENGTH))
    return y + TEXT_HEIGHT


def _printable(text: str) -> str:
    """`text` without what XML cannot hold."""
    return "".join(c if c.isprintable() and not "\ufdd0" <= c <= "\ufdef" else "\ufffd" for c in text)


def _draw_side(
    svg: ElementTree.Element, region: Region | None, matched: set[int], stopped_at: int | None, x: float, y: float
) -> float:
    """Draws one molecule with its upper left corner at (x, y) and returns its height."""
    if region is None or region.molecule is None:
        words = "(no molecule)" if region is None else f"cannot be read: {region.problem or 'it draws nothing'}"
        _text(svg, x, y + TEXT_HEIGHT, words[:80], DIFFERING)
        return 2 * TEXT_HEIGHT
    points, height = _points(region.molecule, x, y)
    for bond in region.molecule.bonds:
        _draw_bond(svg, bond, points, {bond.begin, bond.end} <= matched)
    for number, atom in enumerate(region.molecule.atoms):
        good = number in matched and number != stopped_at
        _draw_atom(svg, points[number], "".join(atom.text), good, atom.is_circle)
    return height


def _points(molecule: Molecule, x: float, y: float) -> tuple[list[tuple[float, float]], float]:
    left, top = min(atom.x for atom in molecule.atoms), min(atom.y for atom in molecule.atoms)
    across = max(atom.x for atom in molecule.atoms) - left
    down = max(atom.y for atom in molecule.atoms) - top
    scale = min(
        BOND_PIXELS,
        (COLUMN - 3 * MARGIN) / across if across else BOND_PIXELS,
        MAX_HEIGHT / down if down else BOND_PIXELS,
    )
    points = [(x + MARGIN + (atom.x - left) * scale, y + MARGIN + (atom.y - top) * scale) for atom in molecule.atoms]
    return points, down * scale + 2 * MARGIN


def _draw_bond(svg: ElementTree.Element, bond: Bond, points: Sequence[tuple[float, float]], matched: bool) -> None:
    (x1, y1), (x2, y2) = points[bond.begin], points[bond.end]
    length = max(1e-9, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    across, down = (y1 - y2) / length, (x2 - x1) / length
    style = {"stroke": MATCHED if matched else DIFFERING, "stroke-width": "1.6"}
    if not matched:
        style["stroke-dasharray"] = "5 3"
    elif bond.type == "-:":
        style |= {"stroke-width": "0.5", "stroke-dasharray": "1 3"}
    for shift in LINES_OF_BOND.get(bond.type, (0.0,)):
        ends = {
            "x1": f"{x1 + across * shift:.1f}",
            "y1": f"{y1 + down * shift:.1f}",
            "x2": f"{x2 + across * shift:.1f}",
            "y2": f"{y2 + down * shift:.1f}",
        }
        ElementTree.SubElement(svg, "line", ends | style)
    if bond.type not in ("-", "=", "~", "-:"):
        middle = {"x": f"{(x1 + x2) / 2:.1f}", "y": f"{(y1 + y2) / 2:.1f}", "font-size": "11", "fill": style["stroke"]}
        ElementTree.SubElement(svg, "text", middle | HALO).text = bond.type


def _draw_atom(svg: ElementTree.Element, point: tuple[float, float], text: str, good: bool, is_circle: bool) -> None:
    x, y = point
    colour = MATCHED if good else DIFFERING
    if good:
        ElementTree.SubElement(svg, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "2.5", "fill": colour})
    else:
        corner = {"x": f"{x - 4:.1f}", "y": f"{y - 4:.1f}"}
        ElementTree.SubElement(svg, "rect", {**corner, "width": "8", "height": "8", "fill": colour})
    if is_circle:
        ring = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "12", "fill": "none", "stroke": colour}
        ElementTree.SubElement(svg, "circle", ring)
    elif text:
        place = {"x": f"{x + 4:.1f}", "y": f"{y - 4:.1f}", "font-size": "13", "fill": colour}
        ElementTree.SubElement(svg, "text", place | HALO).text = _printable(atom_label(text)[:60])
