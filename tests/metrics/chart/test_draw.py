from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.chart.benchmark import ChartBenchmark
from beamscore.metrics.chart.draw import MAX_HEIGHT
from beamscore.metrics.chart.records import ChartOptions, ChartPrediction, ChartTruth
from beamscore.metrics.common.svg import EXTRA, IGNORED, MATCHED, MISSED, WRONG, Style, judged

SVG = "{http://www.w3.org/2000/svg}"
CHART = ChartBenchmark(ChartOptions())
IMAGE = {"width": 640, "height": 480}


def output(**tasks: Any) -> dict[str, Any]:
    return {task: {"output": found} for task, found in tasks.items()}


def drawn(
    truth: dict[str, Any], prediction: dict[str, Any] | None, image: tuple[int, int] | None = None
) -> ElementTree.Element:
    record = msgspec.convert({"image": IMAGE, **truth}, ChartTruth)
    predicted = None if prediction is None else msgspec.convert(prediction, ChartPrediction)
    return ElementTree.fromstring(CHART.draw(record, predicted, None, image))


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def styles(svg: ElementTree.Element) -> dict[str, str]:
    """Returns the label of the style of each part by its title."""
    labels = {style.color: style.label for style in (MATCHED, MISSED, EXTRA, WRONG, IGNORED)}
    return {each.findtext(f"{SVG}title") or "": labels.get(each.get("stroke", ""), "") for each in svg.iter()}


def blocks(*found: tuple[float, str, str | None]) -> dict[str, Any]:
    return {
        "text_blocks": [
            {"id": name, "text": text, "bb": {"x0": x, "y0": 10, "width": 40, "height": 14}} for x, text, name in found
        ]
    }


@pytest.mark.parametrize("named", [True, False])
def test_texts_are_drawn_by_how_task_2_matched_them(named: bool) -> None:
    """With ids, and where no block has one: then by their texts."""

    def block(x: float, text: str, name: str) -> tuple[float, str, str | None]:
        return x, text, name if named else None

    svg = drawn(
        output(task2=blocks(block(20, "speed", "a"), block(120, "time", "b"), block(220, "mass", "c"))),
        output(task2=blocks(block(20, "speed", "d"), block(122, "tyme", "e"), block(420, "heat", "f"))),
    )
    found = styles(svg)
    assert {title: found[title] for title in found if title} == {
        "ground truth: speed": "matched",
        "ground truth: time": "wrong",
        "ground truth: mass": "missed",
        "prediction: speed": "matched",
        "prediction: tyme": "wrong",
        "prediction: heat": "extra",
    }


def test_ticks_legend_elements_and_roles_are_drawn_by_their_match() -> None:
    def bars(*lefts: float) -> dict[str, Any]:
        return {"visual elements": {"bars": [{"x0": x, "y0": 100, "width": 20, "height": 200} for x in lefts]}}

    def ticks(*places: tuple[str, float]) -> dict[str, Any]:
        return {"axes": {"x-axis": [{"id": name, "tick_pt": {"x": x, "y": 400}} for name, x in places]}}

    def legend(**lefts: float) -> dict[str, Any]:
        return {
            "legend_pairs": [
                {"id": name, "bb": {"x0": x, "y0": 20, "width": 10, "height": 10}} for name, x in lefts.items()
            ]
        }

    # The diagonal is 800 pixels: a tick scores 1 up to 8 of them and nothing from 16 on. A bar of 20 pixels that is
    # 480 away scores nothing: it is missed, and the other extra.
    svg = drawn(
        output(
            task1={"chart_type": "vertical bar"},
            task2=blocks((300, "km", "t")),
            task3={"text_roles": [{"id": "t", "role": "axis_title"}]},
            task4=ticks(("one", 100), ("two", 200), ("three", 300), ("twin", 500), ("twin", 550)),
            task5=legend(red=500, blue=550),
            task6=bars(100, 600),
        ),
        output(
            task1={"chart_type": "line"},
            task3={"text_roles": [{"id": "t", "role": "tick_label"}]},
            task4=ticks(("one", 101), ("two", 215), ("four", 400), ("twin", 500)),
            task5=legend(red=501, green=580),
            task6=bars(101, 300),
        ),
    )
    found = styles(svg)
    assert {title: found[title] for title in found if title.startswith(("ground truth: ", "prediction: "))} == {
        # Both bars have one title: the last of a side is in the dict.
        "ground truth: bar": "missed",
        "prediction: bar": "extra",
        "ground truth: tick of one": "matched",
        "prediction: tick of one": "matched",
        "ground truth: tick of two": "wrong",
        "prediction: tick of two": "wrong",
        "ground truth: tick of three": "missed",
        "prediction: tick of four": "extra",
        # Of two with one id the first has the match.
        "ground truth: tick of twin": "missed",
        "prediction: tick of twin": "matched",
        "ground truth: legend of red": "matched",
        "prediction: legend of red": "matched",
        "ground truth: legend of blue": "missed",
        "prediction: legend of green": "extra",
        "ground truth: km (role tick_label instead of axis_title)": "missed",
    }
    assert {"class: vertical bar, predicted line", "km (role tick_label instead of axis_title)"} <= set(texts(svg))


def test_data_series_have_axes_of_their_own_for_each_task() -> None:
    def series(**values: list[tuple[float, float]]) -> dict[str, Any]:
        return {
            "data series": [
                {"name": name, "data": [{"x": x, "y": y} for x, y in points]} for name, points in values.items()
            ]
        }

    line = [(0.0, 1.0), (5.0, 4.0), (10.0, 2.0)]
    svg = drawn(
        output(task1={"chart_type": "line"}, task6=series(sun=line, rain=[(0, 3), (10, 0)])),
        output(task6=series(sun=line), task7=series(sun=line, rain=[(0, 3), (10, 0)])),
    )
    found = texts(svg)
    # One of two series is right: 1 / 2.
    assert {"data series of task 6b, scored 0.5", "data series of task 7, scored 1"} <= set(found)
    # The axes: from 0 to 4 in four steps, and the values of x.
    assert {"0", "1", "2", "3", "4", "5", "10"} <= set(found)
    lines = [(each.findtext(f"{SVG}title"), each.get("stroke")) for each in svg.iter(f"{SVG}polyline")]
    assert [each for each in lines if each[0]] == [
        *(("sun", MATCHED.color), ("rain", MISSED.color), ("sun", MATCHED.color)),
        *(("sun", MATCHED.color), ("rain", MATCHED.color), ("sun", MATCHED.color), ("rain", MATCHED.color)),
    ]
    extra = drawn(output(task1="line", task6=series(sun=line)), output(task6=series(sun=line, hail=[(0, 1)])))
    hail = [each.get("stroke") for each in extra.iter(f"{SVG}polyline") if each.findtext(f"{SVG}title") == "hail"]
    assert hail == [EXTRA.color]


def test_what_is_not_scored_does_not_count() -> None:
    found = styles(drawn(output(task1="pie"), output(task1="pie", task2=blocks((20, "speed", "a")))))
    assert found["prediction: speed"] == IGNORED.label


def test_the_real_picture_lies_below_and_has_the_texts_that_matched() -> None:
    records = [output(task2=blocks((20, "speed", "a"), (120, text, "b"))) for text in ("time", "tyme")]
    plain, over = drawn(records[0], records[1]), drawn(records[0], records[1], (320, 240))
    assert {"speed", "time", "tyme"} <= set(texts(plain))
    assert {"time", "tyme"} <= set(texts(over))
    assert "speed" not in texts(over)
    # Its place is that of the image that the record tells: as wide as the drawing, 640 to 480.
    assert [next(over.iter(f"{SVG}image")).get(name) for name in ("width", "height")] == ["580.0", "435.0"]


def test_a_box_far_away_does_not_blow_up_the_picture() -> None:
    svg = drawn(output(task2=blocks((20, "near", "a"), (1e8, "far", "b"))), None)
    assert float(svg.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside, not drawn" in texts(svg)


def test_styles_differ_without_color() -> None:
    judgements: list[Style] = [MATCHED, MISSED, EXTRA, WRONG]
    assert [judged(score) for score in (1.0, 0.5, 0.499, 0.0)] == [MATCHED, MATCHED, WRONG, WRONG]
    assert len({style.dashes for style in judgements}) == len({style.color for style in judgements}) == 4
