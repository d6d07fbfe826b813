"""Drawings as SVG documents: shapes, untrusted text, one legend for all benchmarks, and the real picture.

Matched, missed, extra and wrong parts each have a color and a dash pattern, the same in every drawing. Text is 12 px
high, so that it still has 11 px on a page that scales the drawing down a little.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from math import inf
from typing import NamedTuple
from xml.etree import ElementTree

from .boxes import Corners, corner_points
from .text import truncated, unseen

INK, SOFT = "#222222", "#6b7280"
WIDTH = 620.0
"""The width of most drawings: two fit side by side on a screen."""
MAX_PICTURE_HEIGHT = 420.0
FAR = 0.05
"""Parts that lie outside their frame by more than this fraction of its size are counted instead of drawn."""
PICTURE = "cid:picture"
"""The placeholder address of the real picture in a drawing; `with_picture` replaces it."""
LINE_HEIGHT = 16.0
TEXT_SIZE = 12
CHARACTER_WIDTH = 7.2
_HALO = {"stroke": "#ffffff", "stroke-width": "3", "stroke-linejoin": "round", "paint-order": "stroke"}

ImageSize = tuple[int, int]
"""The width and the height of a picture in pixels."""
Point = tuple[float, float]


class Style(NamedTuple):
    """How a line is drawn, and its label in the legend."""

    label: str
    color: str
    dashes: str = ""
    width: float = 1.5

    def of(self, is_predicted: bool) -> Style:
        """Returns the style for one side: parts of the prediction are thinner."""
        return self._replace(width=1.2 if is_predicted else 2.4)


MATCHED = Style("matched", "#1f4e8c")
MISSED = Style("missed", "#b3261e", "7 4", 2.0)
EXTRA = Style("extra", "#b85c00", "2 3", 2.0)
WRONG = Style("wrong", "#7a3fb0", "9 3 2 3", 2.0)
"""For pairs that match only partly or too little. Color-blind people can tell the four colors apart too."""
UNJUDGED = Style("ground truth", INK)
"""For samples without a prediction."""
IGNORED = Style("does not count", SOFT, "1 2", 1.0)
FRAME = Style("", "#c5cad1", "", 1.0)
FAULTS = frozenset([MISSED.label, EXTRA.label, WRONG.label])


def judged(score: float) -> Style:
    """Returns the style of a pair with this score, from 0 to 1."""
    return MATCHED if score >= 0.5 else WRONG


class Drawing:
    """A drawing to which parts are added; coordinates are in pixels."""

    def __init__(self) -> None:
        self._root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif"})
        self._paper = ElementTree.SubElement(self._root, "rect", {"fill": "#ffffff"})

    def polygon(self, points: Sequence[Point], style: Style, title: str, closed: bool = True) -> None:
        """Draws a line through points, back to the first if it is closed; `title` shows on hover."""
        attributes = {"stroke": style.color, "stroke-width": f"{style.width:g}"}
        if style.dashes:
            attributes["stroke-dasharray"] = style.dashes
        attributes |= {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "fill": "none"}
        if closed:
            attributes |= {"fill": style.color, "fill-opacity": "0.06"}
        self._add("polygon" if closed else "polyline", attributes, title)

    def box(self, x0: float, y0: float, x1: float, y1: float, style: Style, title: str = "") -> None:
        """Draws an upright box."""
        self.polygon(corner_points((x0, y0, x1, y1)), style, title)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: Style, title: str = "") -> None:
        """Draws a line."""
        self.polygon([(x1, y1), (x2, y2)], style, title, closed=False)

    def mark(self, x: float, y: float, style: Style, title: str = "") -> None:
        """Draws a point: a circle if the style has no dashes, else a cross."""
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
        """Adds a placeholder for the real picture."""
        self._image(x, y, width, height, PICTURE)

    def picture_above(self, x: float, y: float, image: ImageSize | None) -> float:
        """Adds a placeholder for the real picture, if any, above the drawing; returns the top of the drawing."""
        if image is None:
            return y
        scale = min(1.0, (WIDTH - x) / image[0], MAX_PICTURE_HEIGHT / image[1])
        self.picture(x, y, image[0] * scale, image[1] * scale)
        return y + image[1] * scale + LINE_HEIGHT

    def _image(self, x: float, y: float, width: float, height: float, address: str) -> None:
        place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
        self._add("image", place | {"preserveAspectRatio": "none", "href": address}, "")

    def text(self, x: float, y: float, text: str, color: str = INK, limit: int = 60, bold: bool = False) -> None:
        """Writes one line with its baseline at y, truncated to `limit` characters."""
        attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(TEXT_SIZE), "fill": color} | _HALO
        if bold:
            attributes["font-weight"] = "bold"
        ElementTree.SubElement(self._root, "text", attributes).text = svg_text(truncated(text, limit))

    def legend(self, x: float, y: float, is_judged: bool, *more: Style) -> None:
        """Writes the legend in one line; is_judged: False for a ground truth without a prediction."""
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
            ElementTree.SubElement(element, "title").text = svg_text(truncated(title, 200))


class View:
    """Places the parts of both sides of a sample, which lie in a frame such as an image, in a drawing.

    frame: (x0, y0, x1, y1); x, y: its corner in the drawing; x is also the margin on its right.
    """

    def __init__(
        self, drawing: Drawing, frame: Corners, x: float, y: float, max_height: float, max_scale: float = inf
    ) -> None:
        self._drawing, self._frame, self._begin = drawing, frame, (x, y)
        width, height = max(1e-9, frame[2] - frame[0]), max(1e-9, frame[3] - frame[1])
        self._reach = FAR * width, FAR * height
        self._scale = min(max_scale, (WIDTH - 2 * x) / width, max_height / height)
        self._far = 0
        self.end = self._place((frame[2], frame[3]))
        """The lower right corner of the frame in the drawing."""

    def picture(self) -> None:
        """Adds a placeholder for the real picture, which fills the frame."""
        (x, y), (right, bottom) = self._begin, self.end
        self._drawing.picture(x, y, right - x, bottom - y)

    def outline(
        self, points: Sequence[Point], style: Style, is_predicted: bool, title: str, text: str = "", closed: bool = True
    ) -> None:
        """Draws a part, with a text above it if it is of the ground truth, and below if it is of the prediction."""
        places = self._places(points)
        if places:
            self._drawing.polygon(places, style, _title(is_predicted, title), closed)
        if places and text:
            columns, rows = zip(*places, strict=True)
            y = max(rows) + 12 if is_predicted else min(rows) - 3
            self._drawing.text(min(columns), y, text, style.color)

    def mark(self, point: Point, style: Style, is_predicted: bool, title: str) -> None:
        """Draws a part that is a point."""
        for place in self._places([point]):
            self._drawing.mark(*place, style, _title(is_predicted, title))

    def write_far(self) -> float:
        """Writes how many parts were not drawn because they are too far outside; returns the bottom of the drawing."""
        y = self.end[1] + LINE_HEIGHT
        if not self._far:
            return y
        words = "1 part lies" if self._far == 1 else f"{self._far} parts lie"
        self._drawing.text(self._begin[0], y + 12, f"{words} far outside, not drawn", SOFT)
        return y + 2 * LINE_HEIGHT

    def _places(self, points: Sequence[Point]) -> list[Point]:
        """Returns the points of a part in drawing coordinates; counts the part and returns [] if one is far outside."""
        (left, top, right, bottom), (across, along) = self._frame, self._reach
        if all(
            -across <= x - left and x - right <= across and -along <= y - top and y - bottom <= along for x, y in points
        ):
            return [self._place(point) for point in points]
        self._far += 1
        return []

    def _place(self, point: Point) -> Point:
        (x, y), (left, top) = self._begin, self._frame[:2]
        return x + (point[0] - left) * self._scale, y + (point[1] - top) * self._scale


def _title(is_predicted: bool, title: str) -> str:
    return f"{'prediction' if is_predicted else 'ground truth'}: {title}"


def with_picture(drawing: str, picture: str) -> str:
    """Returns a drawing with its placeholder replaced by the real picture, a data URI."""
    return drawing.replace(PICTURE, picture, 1)


def svg_text(text: str) -> str:
    """Returns text with U+FFFD for characters that nobody sees: XML does not allow some, some turn a line around."""
    return unseen().sub("\ufffd", text)
