"""Pictures of charts: each part by how it was matched. The drawings of the sample corpus are kept as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from beamscore.metrics.chart.draw import MAX_HEIGHT
from beamscore.metrics.common.svg import MATCHED, WRONG, judged
from tests.metrics import samples
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, chart_type, legend, tick
from tests.metrics.samples import shapes, texts


def drawn(truth: Json, prediction: Json | None, image: tuple[int, int] | None = None) -> Any:
    return samples.drawn("chart", {"image": {"width": 640, "height": 480}, **truth}, prediction, image)


def words(*found: tuple[float, str, str | None]) -> Json:
    return blocks(*(block(name, text, x, 10, 40, 14) for x, text, name in found))


@pytest.mark.parametrize("names", ["abcgdef", [None] * 7])
def test_texts_are_drawn_by_how_task_2_matched_them(names: Sequence[str | None]) -> None:
    """With ids, and where no block has one: then by their texts."""
    a, b, c, g, d, e, f = names
    truth = {"task2": words((20, "speed", a), (120, "time", b), (220, "mass", c), (320, "a__b", g))}
    prediction = {"task2": words((20, "speed", d), (122, "tyme", e), (420, "heat", f))}
    svg = drawn(truth, prediction)
    assert shapes(svg) == [
        *(("ground truth: speed", "matched"), ("ground truth: time", "wrong")),
        *(("ground truth: mass", "missed"), ("ground truth: a__b", "does not count")),
        *(("prediction: speed", "matched"), ("prediction: tyme", "wrong"), ("prediction: heat", "extra")),
    ]
    # The ground truth shows the text that a prediction matches, and the real picture that of both.
    shown = ["speed", "time", "mass", "a__b", "tyme", "heat"]
    assert [text for text in texts(svg) if text in shown] == shown
    over = texts(drawn(truth, prediction, (320, 240)))
    assert [text for text in over if text in shown] == ["time", "mass", "tyme", "heat"]


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
    alone = drawn({"task1": chart_type("pie")}, {"task2": words((20, "speed", "a"))})
    assert shapes(alone) == [("prediction: speed", "does not count")]


def test_the_picture_holds_the_texts_of_both_sides_but_none_far_away() -> None:
    """Without the size of the image they are all in it."""
    sides = [{"task2": words((x, "speed", "a"))} for x in (20, 900)]
    for truth, prediction in (sides, sides[::-1]):
        svg = samples.drawn("chart", truth, prediction)
        assert [title for title, _ in shapes(svg)] == ["ground truth: speed", "prediction: speed"]
        assert not [text for text in svg.itertext() if "far outside" in text]
    svg = drawn({"task2": words((20, "near", "a"), (1e8, "far", "b"))}, None)
    assert float(svg.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside, not drawn" in texts(svg)


def test_a_part_is_matched_from_a_score_of_a_half_on() -> None:
    assert [judged(score) for score in (1.0, 0.5, 0.499, 0.0)] == [MATCHED, MATCHED, WRONG, WRONG]
