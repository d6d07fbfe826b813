from __future__ import annotations

from xml.etree import ElementTree

from beamscore.metrics.figure_text.draw import draw_regions
from beamscore.metrics.figure_text.records import PredictedRegion, TruthRegion

Box = tuple[float, float, float, float]


def drawn(boxes: list[Box], found: list[Box], *, alone: bool = False) -> ElementTree.Element:
    truths = [TruthRegion(id=str(number), box=box, text="word") for number, box in enumerate(boxes)]
    predictions = [PredictedRegion(box=box, text="ward") for box in found]
    details = {
        "ground_truth": [{"match": "one_to_one"}] * len(boxes),
        "prediction": [{"match": "one_to_one"}] * len(found),
    }
    return ElementTree.fromstring(draw_regions(truths, predictions, details, alone))


def all_text(root: ElementTree.Element) -> str:
    return " ".join(root.itertext())


def test_a_far_region_does_not_blow_up_the_picture() -> None:
    row: list[Box] = [(100.0 * number, 0.0, 100.0 * number + 60, 20.0) for number in range(8)]
    near, far = drawn(row, []), drawn([*row, (1e9, 1e9, 1e9 + 5, 1e9 + 5)], [])
    assert near.get("width") == far.get("width")
    assert "1 regions lie far away and are not drawn" in all_text(far)


def test_ground_truth_alone_is_not_judged() -> None:
    row: list[Box] = [(0.0, 0.0, 60.0, 20.0)]
    assert "one to one" in all_text(drawn(row, row))
    assert "one to one" not in all_text(drawn(row, [], alone=True))


def test_nothing_to_draw_is_a_small_picture() -> None:
    assert float(drawn([], []).get("width") or 0) < 1000
