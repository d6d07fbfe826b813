"""Worst cases of figure text: many corners, many overlaps, many subsets, many equal or long texts."""

import math
from collections.abc import Iterator
from typing import Any

from tests.abuse.run import Case
from tests.generate.figure_text import turned

Record = dict[str, Any]
OPTIONS: list[Record] = [{}, {"geometry": "polygon"}]
LABELS = [f"label {n}" for n in range(48)]


def cases() -> Iterator[Case]:
    near = [_box(0, 0, 100 + n / 10_000, 100 - n / 10_000) for n in range(10_000)]
    grid = [_box(3 * n, 0, 3 * n + 2, 2) for n in range(10_000)]
    boxes = [_box(0, 0, 100 + n, 100 + n) for n in range(1000)]
    alike = (
        ("990 convex polygons of 1,000 corners", [_polygon(range(1000), 9_000)] * 990),
        ("990 zigzags of 1,000 corners", [_zigzag(n) for n in range(990)]),
        ("990 stars that cross themselves", [_polygon(range(0, 499 * 999, 499), 900, n % 50) for n in range(990)]),
        *((f"{count} nearly equal boxes", near[:count]) for count in (300, 10_000)),
        ("10,000 boxes that do not overlap", grid),
        ("10,000 boxes that do not overlap in 48 subsets", _marked(grid)),
        ("10,000 turned boxes", [{"points": turned([3 * n - 1, 0, 3 * n + 1, 1], n / 87)} for n in range(10_000)]),
        ("1,000 regions with one text", _texts(boxes, ["a"])),
        ("1,000 nearly equal boxes with one text", _texts(near[:1000], ["a"])),
        ("long texts", _texts(boxes, ["x" * 15_000 + str(n) for n in range(1000)])),
        ("one text of 16 MB", [{**boxes[0], "text": "ΰ" * 8_000_000}]),
        ("5,000,000 regions without anything", [{}] * 5_000_000),
    )
    rows = [_box(0, 10 * n, 10_000, 10 * n + 10) for n in range(1000)]
    columns = [_box(10 * n, 0, 10 * n + 10, 10_000) for n in range(1000)]
    band = _texts([_box(n, 0, n + 50, 10) for n in range(1000)], ["a"])
    many, few = ([box for n in range(100) for box in _pieces(n, parts)] for parts in (100, 1))
    for name, truth, prediction in (
        *((name, regions, regions) for name, regions in alike),
        ("10,000 nearly equal boxes in 48 subsets", _texts(_marked(near), ["a"]), _texts(near, ["a"])),
        ("1,000 rows across 1,000 columns", rows, columns),
        ("split over 100 detections each, in 48 subsets", _marked(few), many),
        ("split over 100 regions each, in 48 subsets", _marked(many), few),
        ("a band of boxes with one text", band, band[::-1]),
    ):
        yield Case(name, {"regions": truth}, {"regions": prediction})


def _pieces(number: int, parts: int) -> list[Record]:
    left, width = 100 * number, 100 / parts
    return [_box(left + width * k, 0, left + width * (k + 1), 100) for k in range(parts)]


def _marked(regions: list[Record]) -> list[Record]:
    return [{**region, "difficulty": LABELS[n % 48 :][:16]} for n, region in enumerate(regions)]


def _texts(regions: list[Record], texts: list[str]) -> list[Record]:
    return [{**region, "text": texts[n % len(texts)]} for n, region in enumerate(regions)]


def _box(x1: float, y1: float, x2: float, y2: float) -> Record:
    return {"box": [x1, y1, x2, y2]}


def _polygon(order: range, radius: float, x: float = 0) -> Record:
    """Returns corners of a regular polygon in this order: in steps of nearly half a turn, it crosses itself."""
    angles = [2 * math.pi * (n % len(order)) / len(order) for n in order]
    return {"points": [[round(radius * math.cos(a)) + x, round(radius * math.sin(a))] for a in angles]}


def _zigzag(number: int) -> Record:
    """Returns a zigzag of 1,000 corners there and, one pixel lower, back; every side has the height of the whole."""
    there = [[n, 900 * (n % 2) + number % 50] for n in range(500)]
    return {"points": there + [[x, y + 2] for x, y in reversed(there)]}
