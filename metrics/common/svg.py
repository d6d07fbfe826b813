"""Drawings as SVG documents: shapes and text of unknown origin, one legend for all benchmarks, and the real picture.

What matched, was missed, is extra or wrong has a colour and a pattern of dashes of its own, the same in every drawing.
Text has 12 px, so that a page that shows a drawing a little smaller than it is still has 11.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from .text import truncated

INK, SOFT = "#222222", "#6b7280"
WIDTH = 620.0
"""Of most drawings: two stand side by side on a screen."""
MAX_PICTURE_HEIGHT = 420.0
PICTURE = "cid:picture"
"""The address of the real picture in a drawing, until it is put in; see `with_picture`."""
LINE_HEIGHT = 16.0
TEXT_SIZE = 12
CHARACTER_WIDTH = 7.2
_HALO = {"stroke": "#ffffff", "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}


ImageSize = tuple[int, int]
"""The width and the height of a picture in pixels."""


class Style(NamedTuple):
    """How a line is drawn, and what the legend says of it."""

    label: str
    color: str
    dashes: str = ""
    width: float = 1.5

    def of(self, is_predicted: bool) -> Style:
        """Returns how the part of one side is drawn: that of the prediction is thinner."""
        return self._replace(width=1.2 if is_predicted else 2.4)


MATCHED = Style("matched", "#1f4e8c")
MISSED = Style("missed", "#b3261e", "7 4", 2.0)
EXTRA = Style("extra", "#b85c00", "2 3", 2.0)
WRONG = Style("wrong", "#7a3fb0", "9 3 2 3", 2.0)
"""Of pairs that match, but in a part or too little. People who see no red or green tell the four colours apart."""
UNJUDGED = Style("ground truth", INK)
"""Of a sample without a prediction."""
IGNORED = Style("does not count", SOFT, "1 2", 1.0)
FRAME = Style("", "#c5cad1", "", 1.0)


def judged(score: float) -> Style:
    """Returns how a pair with this score, from 0 to 1, is drawn."""
    return MATCHED if score >= 0.5 else WRONG


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
        self._image(x, y, width, height, f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}")

    def picture(self, x: float, y: float, width: float, height: float) -> None:
        """Leaves the place of the real picture."""
        self._image(x, y, width, height, PICTURE)

    def picture_above(self, x: float, y: float, image: ImageSize | None) -> float:
        """Leaves the place of the real picture, where there is one, above the drawing; returns where that begins."""
        if image is None:
            return y
        scale = min(1.0, (WIDTH - x) / image[0], MAX_PICTURE_HEIGHT / image[1])
        self.picture(x, y, image[0] * scale, image[1] * scale)
        return y + image[1] * scale + LINE_HEIGHT

    def _image(self, x: float, y: float, width: float, height: float, address: str) -> None:
        place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
        self._add("image", place | {"preserveAspectRatio": "none", "href": address}, "")

    def text(self, x: float, y: float, text: str, color: str = INK, limit: int = 60, bold: bool = False) -> None:
        """Writes one line with its baseline at y, at most `limit` characters of it."""
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(TEXT_SIZE), "fill": color} | _HALO
        if bold:
            attributes["font-weight"] = "bold"
        ElementTree.SubElement(self._root, "text", attributes).text = printable(truncated(text, limit))

    def legend(self, x: float, y: float, is_judged: bool, *more: Style) -> None:
        """Writes what the lines mean, side by side; of a ground truth alone nothing is judged."""
        for style in (MATCHED, MISSED, EXTRA, WRONG, *more) if is_judged else (UNJUDGED,):
            self.line(x, y - 4, x + 26, y - 4, style)
            self.text(x + 32, y, style.label)
            x += 46 + CHARACTER_WIDTH * len(style.label)

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


def with_picture(drawing: str, picture: str) -> str:
    """Returns a drawing with the real picture, as a data URI, in the place that it has for it."""
    return drawing.replace(PICTURE, picture, 1)


def printable(text: str) -> str:
    """Returns text without what XML cannot hold and what would turn a line around."""
    return "".join(c if c.isprintable() and not "\ufdd0" <= c <= "\ufdef" else "\ufffd" for c in text)
