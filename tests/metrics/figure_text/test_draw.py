from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from beamscore.metrics.common.svg import EXTRA, IGNORED, MATCHED, MISSED, WRONG, Style
from beamscore.metrics.figure_text.draw import draw_regions
from beamscore.metrics.figure_text.records import PredictedRegion, TruthRegion

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def drawn(
    boxes: list[Box],
    found: list[Box],
    *,
    alone: bool = False,
    matches: tuple[list[dict[str, Any]], list[dict[str, Any]]] | None = None,
    image: tuple[int, int] | None = None,
) -> ElementTree.Element:
    truths = [TruthRegion(id=str(number), box=box, text="word") for number, box in enumerate(boxes)]
    predictions = [PredictedRegion(box=box, text="ward") for box in found]
    truth, prediction = matches or ([{"match": "one_to_one"}] * len(boxes), [{"match": "one_to_one"}] * len(found))
    details = {"ground_truth": truth, "prediction": prediction}
    return ElementTree.fromstring(draw_regions(truths, predictions, details, alone, image))


def all_text(root: ElementTree.Element) -> str:
    return " ".join(root.itertext())


def test_regions_are_drawn_by_their_match() -> None:
    row: list[Box] = [(100.0 * number, 0.0, 100.0 * number + 60, 20.0) for number in range(5)]
    cases: list[tuple[dict[str, Any], Style]] = [
        ({"match": "one_to_one", "with": [0], "end_to_end": 0}, MATCHED),
        # Its detection has a text, which is another one.
        ({"match": "one_to_one", "with": [1]}, WRONG),
        ({"match": "one_to_many", "with": [2], "end_to_end": 2}, WRONG),
        ({"match": "missed"}, MISSED),
        ({"match": "dropped"}, IGNORED),
    ]
    others: list[dict[str, Any]] = [
        *([{"match": "one_to_one"}] * 2),
        {"match": "one_to_many"},
        {"match": "false"},
        {"match": "dont_care"},
    ]
    svg = drawn(row, row, matches=([entry for entry, _ in cases], others))
    expected = [style for _, style in cases] + [MATCHED, WRONG, WRONG, EXTRA, IGNORED]
    assert [each.get("stroke") for each in svg.iter(f"{SVG}polygon")] == [style.color for style in expected]


def test_a_far_region_does_not_blow_up_the_picture() -> None:
    row: list[Box] = [(100.0 * number, 0.0, 100.0 * number + 60, 20.0) for number in range(8)]
    near, far = drawn(row, []), drawn(row, [(1e9, 1e9, 1e9 + 5, 1e9 + 5)])
    points = [[each.get("points") for each in svg.iter(f"{SVG}polygon")] for svg in (near, far)]
    assert points[0] == points[1]
    assert "1 part lies far outside, not drawn" in all_text(far)
    # Over the real picture, what lies outside of that is not drawn.
    assert "1 part lies far" in all_text(drawn([row[0], (900.0, 0.0, 950.0, 10.0)], [], image=(800, 600)))


def test_over_the_real_picture_regions_lie_where_they_are() -> None:
    svg = drawn([(400.0, 300.0, 800.0, 600.0)], [], image=(800, 600))
    place = {name: float(next(svg.iter(f"{SVG}image")).get(name, 0)) for name in ("x", "y", "width", "height")}
    middle = f"{place['x'] + place['width'] / 2:.1f},{place['y'] + place['height'] / 2:.1f}"
    assert next(svg.iter(f"{SVG}polygon")).get("points", "").startswith(middle)


def test_nothing_to_draw_is_a_small_picture() -> None:
    assert float(drawn([], []).get("width") or 0) < 1000
