"""Pictures of charts: each part by how it was matched. The drawings of the sample corpus are kept as a whole."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from beamscore.metrics.chart.draw import MAX_HEIGHT, MAX_PARTS
from beamscore.metrics.common.svg import MATCHED, WRONG, Style, judged
from tests.metrics import samples
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks, box, tick
from tests.metrics.samples import shapes, texts


def drawn(truth: Json, prediction: Json | None) -> Any:
    return samples.drawn("chart", {"image": {"width": 640, "height": 480}, **truth}, prediction)


def words(*found: tuple[float, str]) -> Json:
    return blocks(*(block(None, text, x, 10, 40, 14) for x, text in found))


def test_texts_without_ids_are_drawn_by_how_task_2_matched_such_texts() -> None:
    truth = {"task2": words((20, "speed"), (120, "time"), (220, "mass"), (320, "a__b"))}
    prediction = {"task2": words((20, "speed"), (122, "tyme"), (420, "heat"))}
    assert shapes(drawn(truth, prediction)) == [
        *(("ground truth: speed", "matched"), ("ground truth: time", "wrong")),
        *(("ground truth: mass", "missed"), ("ground truth: a__b", "does not count")),
        *(("prediction: speed", "matched"), ("prediction: tyme", "wrong"), ("prediction: heat", "extra")),
    ]


def test_of_several_parts_with_one_id_the_first_has_the_match_and_what_is_not_scored_does_not_count() -> None:
    truth = {"task4": make.axes([tick("a", x, 400) for x in (100, 150)], []), "task5": make.legend(_b=box(9, 9, 5, 5))}
    # The diagonal is 800 pixels: a tick that is 15 away scores 0.125.
    prediction = {"task4": make.axes([tick("a", 115, 400), tick("c", 1, 1)], []), "task2": words((20, "speed"))}
    assert shapes(drawn(truth, prediction)) == [
        *(("ground truth: tick of a", "wrong"), ("ground truth: tick of a", "missed")),
        ("ground truth: legend of b", "missed"),
        *(("prediction: tick of a", "wrong"), ("prediction: tick of c", "extra")),
        ("prediction: speed", "does not count"),
    ]


def test_the_picture_holds_the_texts_of_both_sides_but_none_far_away() -> None:
    """Without the size of the image they are all in it."""
    sides = [{"task2": words((x, "speed"))} for x in (20, 900)]
    for truth, prediction in (sides, sides[::-1]):
        svg = samples.drawn("chart", truth, prediction)
        assert [title for title, _ in shapes(svg)] == ["ground truth: speed", "prediction: speed"]
        assert not [text for text in svg.itertext() if "far outside" in text]
    svg = drawn({"task2": words((20, "near"), (1e8, "far"))}, None)
    assert float(svg.get("height") or 0) < MAX_HEIGHT
    assert "far" not in texts(svg)
    assert "1 part lies far outside, not drawn" in texts(svg)


@pytest.mark.parametrize(
    ("said", "style", "told"),
    [("stacked bar", MATCHED, ", accepted"), ("grouped bar", MATCHED, ""), ("bar", WRONG, "")],
)
def test_a_class_that_is_accepted_for_another_is_drawn_and_told_as_that(said: str, style: Style, told: str) -> None:
    sides = {"ambiguous": True, "task1": make.chart_type("grouped bar")}, {"task1": make.chart_type(said)}
    details = make.score(*sides).details
    assert make.benchmark().explain(details) == [f"class: grouped bar, predicted {said}{told}"]
    # Details of earlier versions have the classes alone.
    old = {"task1": {"truth": "grouped bar", "predicted": said}}
    for each in (details, old)[: 1 if told else 2]:
        svg = make.benchmark().draw(*samples.records("chart", *sides), each)
        assert f'fill="{style.color}"' in svg.partition(">class: ")[0].rpartition("<text")[2]


def test_texts_that_are_not_scored_are_read_as_far_as_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be any number of them, and reading LaTeX takes long."""
    read = Mock(return_value="a")
    monkeypatch.setattr("beamscore.metrics.chart.draw.read_text", read)
    truth = {"task1": make.chart_type("Pie"), "task2": words(*((x, "a") for x in range(2500)))}
    assert len(shapes(drawn(truth, truth))) == read.call_count == 2 * MAX_PARTS


def test_a_part_is_matched_from_a_score_of_a_half_on() -> None:
    assert [judged(score) for score in (1.0, 0.5, 0.499, 0.0)] == [MATCHED, MATCHED, WRONG, WRONG]
