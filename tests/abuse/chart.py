"""Charts that cost as much as the limits on text blocks, points, series and characters allow."""

from collections.abc import Iterator
from typing import Any

from tests.abuse.run import Case
from tests.generate.chart import SUMMARY, Json, block, output

OPTIONS: list[Json] = [{}, {"protocol": "released"}]
SIDE = 1_000_000
Sides = list[list[Any]]
HOSTILE = {
    "unclosed LaTeX accents": "\\hat{" * 199,
    "LaTeX that completes itself": "\\%" + "\\h" * 496,
    "LaTeX scripts": "_{a^{b}" * 142,
    # Combining marks whose order in the Unicode normalization form C takes the most exchanges of two.
    "combining marks to sort": "a" + "\u0301" * 495 + "\u0316" * 495,
}


def cases() -> Iterator[Case]:
    for name, sides in _texts():
        true, given = (output(text_blocks=side) for side in sides)
        yield Case(name, {**_truth("Line"), "task2": true}, {"task2": given})
    for kind, part, sides in _elements():
        true, given = (output(**{"visual elements": {part: side}}) for side in sides)
        yield Case(f"{len(sides[0]):,} {part}", {**_truth(kind), "task6": true}, {"task6": given})
    for name, kind, sides in _series():
        true, given = (output(**{"data series": [{"name": a, "data": b} for a, b in side]}) for side in sides)
        yield Case(f"{kind}: {name}", {**_truth(kind), "task6": true}, {"task6": given, "task7": given})
    roles = {"task3": output(text_blocks=[[[[]]]] * 340_000)}
    yield Case("lists nested in lists in place of roles", _truth("Line"), roles)
    yield Case("empty outputs", _truth("Pie"), {f"task{number}": output() for number in range(1, 8)})


def _texts() -> Iterator[tuple[str, Sides]]:
    yield "one text of a million characters a side", [[_block(0, text * 500_000)] for text in ("ab", "ba")]
    yield "one text of 100,000 ideographs a side", [[_block(0, _ideographs(100_000, step))] for step in (7, 11)]
    for name, text in HOSTILE.items():
        yield name, [[_block(place, f"{text}{place}{mark}") for place in range(2000)] for mark in "ab"]
    near = [_block(place, f"text {place}", x0=place / 1000) for place in range(2000)]
    yield "2,000 nearly equal boxes", [near, near[::-1]]
    whole = [_block(place, "a" * 2000, width=SIDE) for place in range(2000)]
    yield "2,000 blocks within each of 2,000", [whole, [_block(place, "a", x0=place) for place in range(2000)]]
    apart = [_block(place, "a", x0=500 * place) for place in range(1999)]
    yield "many parts of one block", [[_block(0, "a" * 100_000, width=SIDE)], apart]
    yield "texts of 2,000 characters", [[_block(i, text * 1000, 500 * i) for i in range(2000)] for text in ("ab", "ba")]


def _elements() -> Iterator[tuple[str, str, Sides]]:
    hard = [[{"x": place * x, "y": place * y} for place in range(2000)] for x, y in ((20, 0), (7, 13))]
    yield "Scatter", "scatter points", hard
    boxes = [{"x0": place * 9, "y0": 0, "width": 5, "height": place} for place in range(1500)]
    yield "Grouped vertical bar", "bars", [boxes, boxes[::-1]]
    plots = [{part: {"x": place, "y": 2 * place} for part in SUMMARY} for place in range(2000)]
    yield "Vertical box", "boxplots", [plots, plots[::-1]]
    lines = [[{"x": x, "y": x * row + 1} for x in range(10)] for row in range(200)]
    yield "Line", "lines", [lines, lines[::-1]]
    yield "Scatter", "scatter points", [[[]] * 5_000_000] * 2
    yield "Scatter", "boxplots", [[{}] * 5_000_000] * 2


def _series() -> Iterator[tuple[str, str, Sides]]:
    def points(row: int, step: int, label: str, length: int) -> list[Json]:
        return [{"x": f"{label}{x}", "y": (x * step + row) % 997} for x in range(length)]

    for kind, label in (("Scatter", ""), ("Line", ""), ("Grouped vertical bar", "label ")):
        for count, length in ((1, 2000), (95, 20), (200, 10)):
            sides = [[(f"s{row}", points(row, step, label, length)) for row in range(count)] for step in (7, 11)]
            yield f"{count} series of {length} points", kind, sides
    marks = HOSTILE["combining marks to sort"]
    for name, kind, ramp in (
        ("a ramp of points", "Scatter", [{"x": x, "y": x * x} for x in range(1300)]),
        ("labels to sort", "Grouped vertical bar", [{"x": f"{marks}{place}", "y": place} for place in range(45)]),
        ("4,000 digits", "Grouped vertical bar", [{"x": int("9" * 4000), "y": place} for place in range(2000)]),
    ):
        yield name, kind, [[("a", ramp)], [("a", ramp[::-1])]]
    long_names = [(_ideographs(200, place), [{"x": "a", "y": place}]) for place in range(200)]
    yield "long names", "Stacked vertical bar", [long_names, long_names[::-1]]
    summaries = [(f"s{row}", {part: row * place for place, part in enumerate(SUMMARY)}) for row in range(200)]
    yield "200 box plots", "Vertical box", [summaries, summaries[::-1]]
    yield "no points", "Grouped vertical bar", [[("a", [{"x": "b", "y": 1}])], [("a", [])] * 200]


def _truth(kind: str) -> Json:
    return {"image": {"width": SIDE, "height": SIDE}, "task1": output(chart_type=kind)}


def _block(key: int, text: str, x0: float = 0, width: float = 450) -> Json:
    return block(key, text, x0, 0, width, 10)


def _ideographs(count: int, step: int) -> str:
    """Text without a pattern, of characters that no byte holds."""
    return "".join(chr(0x4E00 + place * place * (step + 1) % 20_011) for place in range(count))
