"""Charts that cost as much as the limits on text blocks, points, series and characters allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.abuse import Case

Json = dict[str, Any]

OPTIONS: list[Json] = [{}, {"protocol": "released"}]
SIDE = 1_000_000
IMAGE = {"width": SIDE, "height": SIDE}
SUMMARY = ("min", "first_quartile", "median", "third_quartile", "max")


def cases() -> Iterator[Case]:
    """Yields samples of one expensive kind each; the prediction is where the cost comes from, or both sides are."""
    yield from _texts()
    yield from _elements()
    yield from _series()
    yield from _odd_layouts()


def _texts() -> Iterator[Case]:
    for name, first, second in (
        ("one text of a million characters a side", "ab" * 500_000, "ba" * 500_000),
        ("one text of 140,000 characters a side", "ab" * 70_000, "ba" * 70_000),
        ("one text of 100,000 ideographs a side", _ideographs(100_000, 7), _ideographs(100_000, 11)),
    ):
        yield _text_case(name, [_block(0, first)], [_block(0, second)])
    for name, text in (
        ("unclosed LaTeX accents", "\\hat{" * 199),
        ("LaTeX backslashes alone", "\\" * 994),
        ("LaTeX that completes itself", "\\%" + "\\h" * 496),
        ("LaTeX beginnings of commands", "\\a" * 497),
        ("LaTeX scripts", "_{a^{b}" * 142),
    ):
        yield _text_case(name, *([_block(place, f"{text}{place}{mark}") for place in range(2000)] for mark in "ab"))
    yield _text_case(
        "combining marks to sort",
        *([_block(place, _marks(990) + f"{place}{mark}") for place in range(2000)] for mark in "ab"),
    )
    near = [_block(place, f"text {place}", x0=place / 1000) for place in range(2000)]
    yield _text_case("2,000 nearly equal boxes", near, near[::-1])
    for count in (1600, 2000):
        whole = [_block(place, "a" * 2000, width=SIDE) for place in range(count)]
        parts = [_block(place, "a", x0=place) for place in range(count)]
        yield _text_case(f"{count} blocks within each of {count}", whole, parts)
    apart = [_block(place, "a", x0=500 * place) for place in range(1999)]
    yield _text_case("many parts of one block", [_block(0, "a" * 100_000, width=SIDE)], apart)
    yield _text_case(
        "one text for many blocks", [_block(place, "ab" * 2000) for place in range(2000)], [_block(0, "ba" * 2000)]
    )
    yield _text_case(
        "texts of 2,000 characters",
        *([_block(i, text * 1000, x0=500 * i) for i in range(2000)] for text in ("ab", "ba")),
    )


def _elements() -> Iterator[Case]:
    for count in (1000, 2000):
        hard = [{"x": place * 20, "y": 0} for place in range(count)]
        shifted = [{"x": place * 7, "y": place * 13} for place in range(count)]
        yield _element_case(f"{count} scatter points", "Scatter", {"scatter points": hard}, {"scatter points": shifted})
    boxes = [{"x0": place * 9, "y0": 0, "width": 5, "height": place} for place in range(1500)]
    yield _element_case("1,500 bars", "Grouped vertical bar", {"bars": boxes}, {"bars": boxes[::-1]})
    for count in (800, 2000):
        plots = [{part: {"x": place, "y": 2 * place} for part in SUMMARY} for place in range(count)]
        moved = [{part: {"x": 3 * place, "y": place} for part in SUMMARY} for place in range(count)]
        yield _element_case(f"{count} box plots", "Vertical box", {"boxplots": plots}, {"boxplots": moved})
    lines = [[{"x": x, "y": x * row + 1} for x in range(10)] for row in range(200)]
    yield _element_case("200 lines of 10 points", "Line", {"lines": lines}, {"lines": lines[::-1]})


def _series() -> Iterator[Case]:
    for kind, labels in (("Scatter", "{x}"), ("Line", "{x}"), ("Grouped vertical bar", "label {x}")):
        for count, length in ((1, 1000), (1, 1300), (1, 2000), (10, 200), (95, 20), (150, 13), (200, 10)):
            truth, prediction = (
                [
                    _named(
                        f"series {row}",
                        [{"x": labels.format(x=x), "y": (x * step + row) % 997} for x in range(length)],
                    )
                    for row in range(count)
                ]
                for step in (7, 11)
            )
            yield _series_case(f"{kind}: {count} series of {length} points", kind, truth, prediction)
    ramp = [{"x": x, "y": x * x} for x in range(1300)]
    yield _series_case("a ramp of points", "Scatter", [_named("a", ramp)], [_named("a", ramp[::-1])])
    texts = [_named("a", [{"x": _ideographs(23, place), "y": place} for place in range(1200)])]
    yield _series_case("labels of ideographs", "Line", texts, [_named("a", texts[0]["data"][::-1])])
    marks = [_named("a", [{"x": _marks(990) + str(place), "y": place} for place in range(45)])]
    yield _series_case(
        "labels of combining marks", "Grouped vertical bar", marks, [_named("a", marks[0]["data"][::-1])]
    )
    long_names = [_named(_ideographs(200, place), [{"x": "a", "y": place}]) for place in range(200)]
    yield _series_case("long names", "Stacked vertical bar", long_names, long_names[::-1])
    digits = [_named("a", [{"x": int("9" * 4000), "y": place} for place in range(2000)])]
    yield _series_case("numbers of 4,000 digits as labels", "Grouped vertical bar", digits, digits)
    summaries = [_named(f"s{row}", {part: row * place for place, part in enumerate(SUMMARY)}) for row in range(200)]
    yield _series_case("200 box plots", "Vertical box", summaries, summaries[::-1])


def _odd_layouts() -> Iterator[Case]:
    bars = [_named("a", [{"x": "b", "y": 1}])]
    for name, data in (("null", None), ("an empty object", {}), ("a summary", {"min": 1}), ("no points", [])):
        yield _series_case(f"data that are {name}", "Grouped vertical bar", bars, [_named("a", data)] * 200)
    for kind, parts in (("scatter points", [[]]), ("lines", [[]]), ("boxplots", [{}]), ("bars", [{}])):
        for count in (1_000_000, 5_000_000):
            many: Json = {kind: parts * count}
            yield _element_case(f"{count:,} {kind} without anything", "Scatter", many, many)
    roles: Json = {"task3": {"output": {"text_blocks": [[[[]]]] * 340_000}}}
    yield Case("lists nested in lists in place of roles", _truth("Line"), roles)
    yield Case("empty outputs", _truth("Pie"), {f"task{number}": {"output": {}} for number in range(1, 8)})


def _text_case(name: str, truth: list[Json], prediction: list[Json]) -> Case:
    first, second = ({"task2": {"output": {"text_blocks": side}}} for side in (truth, prediction))
    return Case(name, {**_truth("Line"), **first}, second)


def _element_case(name: str, kind: str, truth: Json, prediction: Json) -> Case:
    first, second = ({"task6": {"output": {"visual elements": side}}} for side in (truth, prediction))
    return Case(name, {**_truth(kind), **first}, second)


def _series_case(name: str, kind: str, truth: list[Json], prediction: list[Json]) -> Case:
    first, second = ({"output": {"data series": side}} for side in (truth, prediction))
    return Case(name, {**_truth(kind), "task6": first}, {"task6": second, "task7": second})


def _truth(kind: str) -> Json:
    return {"image": IMAGE, "task1": {"output": {"chart_type": kind}}}


def _named(name: str, data: Any) -> Json:
    return {"name": name, "data": data}


def _block(key: int, text: str, x0: float = 0, width: float = 450) -> Json:
    return {"id": key, "text": text, "bb": {"x0": x0, "y0": 0, "width": width, "height": 10}}


def _marks(count: int) -> str:
    """Combining marks whose order in the Unicode normalization form C takes the most exchanges of two."""
    return "a" + "\u0301" * (count // 2) + "\u0316" * (count // 2)


def _ideographs(count: int, step: int) -> str:
    """Text without a pattern, of characters that no byte holds."""
    return "".join(chr(0x4E00 + place * place * (step + 1) % 20_011) for place in range(count))
