"""Drawings as SVG documents: shapes and text of unknown origin, with a legend and a size that fits."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from .text import truncated

TRUE, PREDICTED, WRONG, INK, SOFT = "#1f4e8c", "#d9660a", "#b3261e", "#222222", "#6b7280"
"""Colours that people who see no red or green tell apart; dashes and words say the same."""

LINE_HEIGHT = 16.0
CHARACTER_WIDTH = 6.6
_HALO = {"stroke": "#ffffff", "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}


class Style(NamedTuple):
    """How a line is drawn, and what the legend says of it."""

    label: str
    color: str
    dashes: str = ""
    width: float = 1.5


class Drawing:
    """A picture that grows by its parts; coordinates are pixels of the picture."""

    def __init__(self) -> None:
        self._root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
        self._paper = ElementTree.SubElement(self._root, "rect", {"fill": "#ffffff"})

    def polygon(
        self, points: Sequence[tuple[float, float]], style: Style, title: str = "", closed: bool = True
    ) -> None:
        """Draws a line through points, back to the first where it is closed; `title` shows on hover."""
        attributes = _stroke(style) | {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "fill": "none"}
        if closed:
            attributes |= {"fill": style.color, "fill-opacity": "0.06"}
        self._add("polygon" if closed else "polyline", attributes, title)

    def box(self, x0: float, y0: float, x1: float, y1: float, style: Style, title: str = "") -> None:
        """Draws an upright box."""
        self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], style, title)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: Style, title: str = "") -> None:
        """Draws a line."""
        self.polygon([(x1, y1), (x2, y2)], style, title, closed=False)

    def mark(self, x: float, y: float, style: Style, title: str = "") -> None:
        """Draws a point: round where the style has no dashes, a cross where it has."""
        if style.dashes:
            path = f"M{x - 4:.1f} {y - 4:.1f}L{x + 4:.1f} {y + 4:.1f}M{x + 4:.1f} {y - 4:.1f}L{x - 4:.1f} {y + 4:.1f}"
            self._add("path", {"d": path, "stroke": style.color, "stroke-width": "1.5", "fill": "none"}, title)
        else:
            circle = {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3.5", "fill": "none", "stroke": style.color}
            self._add("circle", circle, title)

    def png(self, x: float, y: float, width: float, height: float, data: bytes) -> None:
        """Draws an image in PNG."""
        place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
        self._add("image", place | {"href": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"}, "")

    def text(
        self, x: float, y: float, text: str, color: str = INK, size: int = 12, limit: int = 60, bold: bool = False
    ) -> None:
        """Writes one line with its baseline at y, at most `limit` characters of it."""
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(size), "fill": color} | _HALO
        if bold:
            attributes["font-weight"] = "bold"
        ElementTree.SubElement(self._root, "text", attributes).text = printable(truncated(text, limit))

    def legend(self, x: float, y: float, styles: Sequence[Style]) -> float:
        """Writes what the lines mean, side by side, and returns the width that it takes."""
        left = x
        for style in styles:
            self.line(left, y - 4, left + 26, y - 4, style)
            self.text(left + 32, y, style.label)
            left += 48 + CHARACTER_WIDTH * len(style.label)
        return left - x

    def document(self, width: float, height: float) -> str:
        """Returns the picture as an SVG document of this size."""
        size = {"width": f"{width:.0f}", "height": f"{height:.0f}"}
        self._root.attrib.update(size | {"viewBox": f"0 0 {width:.0f} {height:.0f}"})
        self._paper.attrib.update(size)
        return ElementTree.tostring(self._root, encoding="unicode")

    def _add(self, tag: str, attributes: dict[str, str], title: str) -> None:
        element = ElementTree.SubElement(self._root, tag, attributes)
        if title:
            ElementTree.SubElement(element, "title").text = printable(truncated(title, 200))


def _stroke(style: Style) -> dict[str, str]:
    attributes = {"stroke": style.color, "stroke-width": f"{style.width:g}"}
    return attributes | ({"stroke-dasharray": style.dashes} if style.dashes else {})


def printable(text: str) -> str:
    """Returns text without what XML cannot hold and what would turn a line around."""
    return "".join(c if c.isprintable() and not "\ufdd0" <= c <= "\ufdef" else "\ufffd" for c in text)
