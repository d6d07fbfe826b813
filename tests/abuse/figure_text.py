"""Worst cases of figure text: many corners, many overlaps, many subsets, many equal or long texts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from tests.abuse import Case

Record = dict[str, Any]
OPTIONS: list[Record] = [{}, {"geometry": "polygon"}]


def cases() -> Iterator[Case]:
    """Yields the worst cases."""
    yield from shapes()
    yield from crowds()
    yield from texts()


def shapes() -> Iterator[Case]:
    """Yields regions with as many corners as may be, most of which overlap no other region."""
    yield _alike("300 convex polygons of 1,000 corners", [_circle(n, 1000) for n in range(300)])
    yield _alike("1,200 convex polygons of 1,000 corners", [_circle(n, 1000, whole=True) for n in range(1200)])
    yield _alike("10,000 convex polygons of 100 corners", [_circle(n, 100, whole=True) for n in range(10_000)])
    yield _alike("10,000 convex polygons of 64 corners", [_circle(n, 64, whole=True) for n in range(10_000)])
    yield _alike("1,600 zigzags of 1,000 corners", [_zigzag(n, 1000) for n in range(1600)])
    yield _alike("1,400 stars that cross themselves", [_star(n, 999) for n in range(1400)])
    yield _alike("one zigzag twice", [_zigzag(0, 1000)])
    zigzag = _zigzag(0, 1000)["points"]
    yield Case(
        "zigzags across each other",
        {"regions": [_zigzag(0, 1000)]},
        {"regions": [{"points": [p[::-1] for p in zigzag]}]},
    )
    yield Case("combs across each other", {"regions": [_comb(0, 1000)]}, {"regions": [_comb(0, 1000, across=True)]})


def crowds() -> Iterator[Case]:
    """Yields regions that overlap as often as they may, in 50 subsets, or not at all."""
    labels = [f"label {n}" for n in range(48)]
    for count in (300, 1000, 10_000):
        boxes = [_box(0, 0, 100 + n / count, 100 - n / count) for n in range(count)]
        yield _alike(f"{count} nearly equal boxes", boxes)
        marked = [{**box, "difficulty": labels[n % 48 :][:16], "text": "a"} for n, box in enumerate(boxes)]
        yield Case(f"{count} nearly equal boxes in 48 subsets", {"regions": marked}, _texts(boxes, ["a"]))
    rows = [_box(0, 10 * n, 10_000, 10 * n + 10) for n in range(1000)]
    columns = [_box(10 * n, 0, 10 * n + 10, 10_000) for n in range(1000)]
    yield Case("1,000 rows across 1,000 columns", {"regions": rows}, {"regions": columns})
    for name, many, few in (("detections", 100, 1), ("regions", 1, 100)):
        pieces = [
            [_box(100 * n + 100 / parts * k, 0, 100 * n + 100 / parts * (k + 1), 100) for k in range(parts)]
            for n in range(100)
            for parts in (many, few)
        ]
        split, whole = (
            [{**box, "difficulty": labels[n % 48 :][:16]} for n, box in enumerate(itertools.chain.from_iterable(boxes))]
            for boxes in (pieces[0::2], pieces[1::2])
        )
        yield Case(f"split over 100 {name} each, in 48 subsets", {"regions": split}, {"regions": whole})
    grid = [_box(3 * n, 0, 3 * n + 2, 2) for n in range(10_000)]
    yield _alike("10,000 boxes that do not overlap", grid)
    marked = [{**box, "difficulty": labels[n % 48 :][:16]} for n, box in enumerate(grid)]
    yield Case("10,000 boxes that do not overlap in 48 subsets", {"regions": marked}, {"regions": grid})
    turned = [_turned(3 * n, n / 5000) for n in range(10_000)]
    yield _alike("10,000 turned boxes", turned)


def texts() -> Iterator[Case]:
    """Yields regions whose texts are long or alike."""
    boxes = [_box(0, 0, 100 + n, 100 + n) for n in range(1000)]
    yield Case("1,000 regions with one text", _texts(boxes, ["a"]), _texts(boxes, ["a"]))
    long = ["x" * 15_000 + str(n) for n in range(1000)]
    yield Case("long texts", _texts(boxes, long), _texts(boxes, long))
    band = [_box(n, 0, n + 50, 10) for n in range(1000)]
    yield Case("a band of boxes with one text", _texts(band, ["a"]), _texts(band[::-1], ["a"]))
    read = [{"id": n, "text": text} for n, text in enumerate(long)]
    yield Case("long readings", {"regions": read}, {"regions": read})
    longest = [{**boxes[0], "text": "ΰ" * 8_000_000}]
    yield _alike("one text of 16 MB", longest)
    for count in (1_000_000, 5_000_000):
        yield _alike(f"{count:,} regions without anything", [{}] * count)
    words = [{"id": n, "text": "a"} for n in range(10_000)]
    yield Case("10,000 readings", {"regions": words}, {"regions": words})


def _alike(name: str, regions: list[Record]) -> Case:
    return Case(name, {"regions": regions}, {"regions": regions})


def _texts(regions: list[Record], texts: list[str]) -> Record:
    return {"regions": [{**region, "text": texts[n % len(texts)]} for n, region in enumerate(regions)]}


def _box(x1: float, y1: float, x2: float, y2: float) -> Record:
    return {"box": [x1, y1, x2, y2]}


def _circle(number: int, corners: int, whole: bool = False) -> Record:
    """Returns a circle apart from the others; in `whole` numbers, which are shorter to write."""
    angles = [2 * math.pi * n / corners for n in range(corners)]
    radius = 9_000
    if whole:
        return {"points": [[round(radius * math.cos(angle)), round(radius * math.sin(angle))] for angle in angles]}
    x = number * 20_000.0
    return {"points": [[x + radius * math.cos(angle), radius * math.sin(angle)] for angle in angles]}


def _zigzag(number: int, corners: int) -> Record:
    """Returns a zigzag there and, one pixel lower, back; every side has the height of the whole."""
    there = [[n, 900 * (n % 2) + number % 50] for n in range(corners // 2)]
    return {"points": there + [[x, y + 2] for x, y in reversed(there)]}


def _comb(number: int, corners: int, across: bool = False) -> Record:
    teeth = [[n - n % 2 + number, 999 * ((n + 1) // 2 % 2)] for n in range(corners - 2)]
    points = [*teeth, [corners, 1001], [0, 1001]]
    return {"points": [[y, x] for x, y in points] if across else points}


def _star(number: int, corners: int) -> Record:
    """Returns a star in which each side crosses nearly all others."""
    step = corners // 2
    angles = [2 * math.pi * (n * step % corners) / corners for n in range(corners)]
    return {"points": [[round(900 * math.cos(a)) + number % 50, round(900 * math.sin(a))] for a in angles]}


def _turned(x: float, angle: float) -> Record:
    cosine, sine = math.cos(angle), math.sin(angle)
    offsets = ((-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5))
    return {"points": [[x + a * cosine - b * sine, a * sine + b * cosine] for a, b in offsets]}
