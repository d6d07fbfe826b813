from __future__ import annotations

from xml.etree import ElementTree

import msgspec

from beamscore.metrics.chart.draw import MARGIN, MAX_HEIGHT, WIDTH, draw_chart
from beamscore.metrics.chart.records import ChartPrediction, ChartTruth

SVG = "{http://www.w3.org/2000/svg}"


def block(x: float, text: str) -> dict[str, object]:
    return {"id": text, "text": text, "bb": {"x0": x, "y0": 10, "width": 40, "height": 14}}


def truth(*blocks: dict[str, object]) -> ChartTruth:
    record = {"image": {"width": 640, "height": 480}, "task2": {"output": {"text_blocks": list(blocks)}}}
    return msgspec.convert(record, ChartTruth)


def prediction(*blocks: dict[str, object]) -> ChartPrediction:
    return msgspec.convert({"task2": {"output": {"text_blocks": list(blocks)}}}, ChartPrediction)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_both_sides_lie_over_each_other_with_their_texts() -> None:
    svg = draw_chart(truth(block(20, "speed")), prediction(block(22, "spead")))
    assert {"speed", "spead", "ground truth", "prediction"} <= set(texts(svg))
    dashed = [each for each in ElementTree.fromstring(svg).iter(f"{SVG}polygon") if each.get("stroke-dasharray")]
    assert len(dashed) == 1


def test_ground_truth_alone_has_no_word_of_a_prediction() -> None:
    svg = draw_chart(truth(block(20, "speed")), None)
    assert "prediction" not in svg


def test_a_box_far_away_does_not_blow_up_the_picture() -> None:
    svg = draw_chart(truth(block(20, "near"), block(90, "near too"), block(1e8, "far")), None)
    root = ElementTree.fromstring(svg)
    assert float(root.get("width") or 0) == WIDTH + 2 * MARGIN
    assert float(root.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside of the image, not drawn" in texts(svg)
