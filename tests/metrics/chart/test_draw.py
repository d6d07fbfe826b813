"""Pictures of charts: each part by how it was matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from beamscore.metrics.chart.draw import MAX_HEIGHT
from beamscore.metrics.common.svg import MATCHED, WRONG, judged
from tests.metrics import samples
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, data, legend, series, tick
from tests.metrics.samples import SVG, shapes, texts


def drawn(truth: Json, prediction: Json | None, image: tuple[int, int] | None = None) -> Any:
    return samples.drawn("chart", {"image": {"width": 640, "height": 480}, **truth}, prediction, image)


def words(*found: tuple[float, str, str | None]) -> Json:
    return blocks(*(block(name, text, x, 10, 40, 14) for x, text, name in found))


@pytest.mark.parametrize("names", ["abcgdef", [None] * 7])
def test_texts_are_drawn_by_how_task_2_matched_them(names: Sequence[str | None]) -> None:
    """With ids, and where no block has one: then by their texts."""
    a, b, c, g, d, e, f = names
    svg = drawn(
        {"task2": words((20, "speed", a), (120, "time", b), (220, "mass", c), (320, "a__b", g))},
        {"task2": words((20, "speed", d), (122, "tyme", e), (420, "heat", f))},
    )
    assert shapes(svg) == [
        ("ground truth: speed", "matched"),
        ("ground truth: time", "wrong"),
        ("ground truth: mass", "missed"),
        ("ground truth: a__b", "does not count"),
        ("prediction: speed", "matched"),
        ("prediction: tyme", "wrong"),
        ("prediction: heat", "extra"),
    ]


def test_ticks_legend_elements_and_roles_are_drawn_by_their_match() -> None:
    def parts(ticks: dict[str, float], *bars: float, **samples: float) -> Json:
        """The last character of a name is left out, so that names may be repeated."""
        return {
            "task4": make.axes([tick(name[:-1], x, 400) for name, x in ticks.items()], []),
            "task5": legend(**{f"_{name}": box(x, 20, 10, 10) for name, x in samples.items()}),
            "task6": make.elements(bars=[box(x, 100, 20, 200) for x in bars]),
        }

    # The diagonal is 800 pixels: a tick scores 1 up to 8 of them and nothing from 16 on. A bar of 20 pixels that is
    # 480 away scores nothing: it is missed, and the other extra.
    truth = {
        "task1": chart_type("vertical bar"),
        "task2": words((300, "km", "t")),
        "task3": make.roles(("t", "axis_title")),
        **parts({"one.": 100, "two.": 200, "three.": 300, "twin1": 500, "twin2": 550}, 100, 600, red=500, blue=550),
    }
    prediction = {
        "task1": chart_type("line"),
        "task3": make.roles(("t", "tick_label")),
        **parts({"one.": 101, "two.": 215, "four.": 400, "twin.": 500}, 101, 120, red=501, green=580),
    }
    svg = drawn(truth, prediction)
    assert shapes(svg) == [
        *(("ground truth: bar", "matched"), ("ground truth: bar", "missed")),
        *(("ground truth: tick of one", "matched"), ("ground truth: tick of two", "wrong")),
        # Of two with one id the first has the match.
        *(("ground truth: tick of three", "missed"), ("ground truth: tick of twin", "matched")),
        ("ground truth: tick of twin", "missed"),
        *(("ground truth: legend of red", "matched"), ("ground truth: legend of blue", "missed")),
        ("ground truth: km (role tick_label instead of axis_title)", "missed"),
        *(("prediction: bar", "matched"), ("prediction: bar", "extra")),
        *(("prediction: tick of one", "matched"), ("prediction: tick of two", "wrong")),
        *(("prediction: tick of four", "extra"), ("prediction: tick of twin", "matched")),
        *(("prediction: legend of red", "matched"), ("prediction: legend of green", "extra")),
    ]
    assert {"class: vertical bar, predicted line", "km (role tick_label instead of axis_title)"} <= set(texts(svg))
    # What is not scored does not count.
    assert shapes(drawn({"task1": chart_type("pie")}, {"task2": words((20, "speed", "a"))})) == [
        ("prediction: speed", "does not count")
    ]


def test_without_the_size_of_the_image_the_texts_of_both_sides_are_in_it() -> None:
    sides = [{"task2": words((x, "speed", "a"))} for x in (20, 900)]
    for truth, prediction in (sides, sides[::-1]):
        svg = samples.drawn("chart", truth, prediction)
        assert [title for title, _ in shapes(svg)] == ["ground truth: speed", "prediction: speed"]
        assert not [text for text in svg.itertext() if "far outside" in text]


def test_data_series_have_axes_of_their_own_for_each_task() -> None:
    sun, rain = series("sun", (0.0, 1.0), (5.0, 4.0), (10.0, 2.0)), series("rain", (0, 3), (10, 0))
    svg = drawn(
        {"task1": chart_type("line"), "task6": data(sun, rain)},
        {"task6": data(sun, series("hail", (0, 1))), "task7": data(sun, rain)},
    )
    # Of the second series names and values differ: 1 / 2. The axes: from 0 to 4 in four steps, and the values of x.
    found = set(texts(svg))
    assert {"data series of task 7, scored 1", "0", "1", "2", "3", "4", "5", "10"} <= found
    assert [text for text in found if text.startswith("data series of task 6b, scored 0.")]
    lines = shapes(svg, "polyline")
    assert lines[-4:] == [("sun", "matched"), ("rain", "matched")] * 2
    assert ("sun", "matched") in lines[:-4]
    # From 10 right of the axis at 80 to 10 left of the names at 510.
    last = [each.get("points", "").split() for each in svg.iter(f"{SVG}polyline") if each.findtext(f"{SVG}title")][-2]
    assert [place.split(",")[0] for place in last] == ["90.0", "295.0", "500.0"]


def test_the_real_picture_lies_below_and_has_the_texts_that_matched() -> None:
    sides = [{"task2": words((20, "speed", "a"), (120, text, "b"))} for text in ("time", "tyme")]
    assert {"speed", "time", "tyme"} <= set(texts(drawn(sides[0], sides[1])))
    over = drawn(sides[0], sides[1], (320, 240))
    assert {"time", "tyme"} <= set(texts(over))
    assert "speed" not in texts(over)
    # Its place is that of the image that the record tells: as wide as the drawing, 640 to 480.
    assert [next(over.iter(f"{SVG}image")).get(name) for name in ("width", "height")] == ["580.0", "435.0"]


def test_a_box_far_away_does_not_blow_up_the_picture() -> None:
    svg = drawn({"task2": words((20, "near", "a"), (1e8, "far", "b"))}, None)
    assert float(svg.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside, not drawn" in texts(svg)


def test_a_part_is_matched_from_a_score_of_a_half_on() -> None:
    assert [judged(score) for score in (1.0, 0.5, 0.499, 0.0)] == [MATCHED, MATCHED, WRONG, WRONG]
