"""The picture of a clip."""

from __future__ import annotations

from xml.etree import ElementTree

from beamscore.metrics.traffic_rules.benchmark import TrafficRulesBenchmark
from beamscore.metrics.traffic_rules.records import GroundTruth, Options, PredictedRule, Prediction, TrueRule

SVG = "{http://www.w3.org/2000/svg}"
TRUTH = GroundTruth([TrueRule("r0", {"LaneType": "BusLane", "Time": "7:00", "Limit": 40}, ["4", "5"])])


def drawn(prediction: Prediction | None) -> tuple[list[str], list[str]]:
    """Returns the texts of the drawing, and the titles of its edges."""
    root = ElementTree.fromstring(TrafficRulesBenchmark(Options()).draw(TRUTH, prediction))
    edges = [line.findtext(f"{SVG}title") or "" for line in root.iter(f"{SVG}polyline")]
    return [element.text or "" for element in root.iter(f"{SVG}text")], [edge for edge in edges if edge]


def test_edges_that_are_right_missed_and_wrong() -> None:
    texts, edges = drawn(
        Prediction([PredictedRule({"LaneType": "BusLane", "Time": "9:00", "Remark": "x"}, ["4", "6"], "r0")])
    )
    assert {'Time: "9:00" instead of "7:00"', "Limit: 40 is absent", 'Remark: "x" is extra'} <= set(texts)
    assert {"lane 4", "lane 5", "lane 6", "rule r0"} <= set(texts)
    assert edges == [
        "right: r0 – 4",
        "missed: in the ground truth alone: r0 – 5",
        "wrong: predicted alone: r0 – 6",
    ]


def test_ground_truth_alone_is_not_judged() -> None:
    texts, edges = drawn(None)
    assert edges == ["ground truth: r0 – 4", "ground truth: r0 – 5"]
    assert not any("paired" in text for text in texts)
