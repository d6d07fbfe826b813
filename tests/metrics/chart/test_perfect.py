"""A prediction that says what is true scores 1, and equal records score the same, however they are stored."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.chart.records import ChartPrediction, ChartTruth
from beamscore.metrics.statistics.sums import Sums
from tests.generate.chart import CLASSES, sample
from tests.metrics.chart.records_for_tests import (
    Json,
    axes,
    benchmark,
    block,
    blocks,
    box,
    chart_type,
    data,
    elements,
    legend,
    output,
    roles,
    series,
    tick,
)

TRUTHS: list[Json] = [sample(index, 5)[0] for index in range(40)]
TASKS = ("task1", "task2", "task3", "task4", "task5", "task6")
ROLES = {"chart_title", "axis_title", "tick_label", "legend_label"}
BENCHMARKS = {protocol: benchmark(protocol=protocol) for protocol in ("published", "released")}
BENCHMARKS |= {f"edition {edition}": benchmark(edition=edition) for edition in (2020, 2022)}
PROTOCOLS = st.sampled_from(sorted(BENCHMARKS))


def as_prediction(truth: Json) -> Json:
    """Returns what a perfect system says of a chart."""
    said = {task: truth[task] for task in TASKS if task in truth}
    return {**said, "task7": truth["task6"]} if "task6" in truth else said


def scored(truth: Json, prediction: Json, protocol: str) -> SampleScore | None:
    """Returns the score of one chart; None where its ground truth is not one or is rejected."""
    try:
        of_truth = msgspec.convert(truth, ChartTruth)
        return BENCHMARKS[protocol].score_sample(of_truth, msgspec.convert(prediction, ChartPrediction))
    except msgspec.ValidationError:
        return None
    except RejectedRecord:
        return None


def below(score: SampleScore, protocol: str) -> set[str]:
    """Returns the tasks, and "score", of which a metric of the sample or of a corpus of it is not 1."""
    values = BENCHMARKS[protocol].values(Sums.of(score.statistics))
    metrics = [*score.metrics.items(), *values.items()]
    return {name.partition(".")[0] for name, value in metrics if value is not None and value != 1}


def check_perfect(truth: Json, protocol: str) -> SampleScore | None:
    """Asserts that the chart scores 1 in all tasks but those in which its released script demands less."""
    score = scored(truth, as_prediction(truth), protocol)
    if score is not None:
        allowed = released_below(msgspec.convert(truth, ChartTruth)) if protocol == "released" else set()
        assert below(score, protocol) <= allowed | ({"score"} if allowed else set())
    return score


def released_below(truth: ChartTruth) -> set[str]:
    """Returns the tasks in which a released script may give a perfect prediction less than 1, as the docs list them."""
    found = set()
    if truth.task2 and truth.task2.output and overlap([each.bb for each in truth.task2.output.text_blocks or ()]):
        found.add("task2")
    entries = (truth.task3.output.text_roles if truth.task3 and truth.task3.output else None) or []
    known = {str(each.id) for each in entries if (each.role or "").lower().strip() in ROLES}
    others = {str(each.id) for each in entries if (each.role or "").lower().strip() not in ROLES}
    if known & others or any(each.role is None for each in entries):
        found.add("task3")
    read = truth.task4.output.axes if truth.task4 and truth.task4.output else None
    if read and not identified(read.x_axis) and identified(read.y_axis):
        found.add("task4")
    pairs = (truth.task5.output.legend_pairs if truth.task5 and truth.task5.output else None) or []
    if any(not has_area(*pair.bb.corners()) for pair in pairs):
        found.add("task5")
    for each in (truth.task6.output.data_series if truth.task6 and truth.task6.output else None) or ():
        if isinstance(each.data, list) and is_stepped_or_zero([(point.x, point.y) for point in each.data]):
            found |= {"task6b", "task7"}
    return found


def has_area(left: float, top: float, right: float, bottom: float) -> bool:
    return right > left and bottom > top and (right - left) * (bottom - top) > 0


def overlap(boxes: list[Any]) -> bool:
    """Tells whether sides run backwards, or two boxes share half of their area, in pixels."""
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            width = min(one.x0 + one.width, other.x0 + other.width) - max(one.x0, other.x0) + 1
            height = min(one.y0 + one.height, other.y0 + other.height) - max(one.y0, other.y0) + 1
            both = (one.width + 1) * (one.height + 1) + (other.width + 1) * (other.height + 1)
            if min(width, height) > 0 and 3.01 * width * height >= both:
                return True
    return any(min(each.width, each.height) < 0 for each in boxes)


def identified(ticks: list[Any] | None) -> bool:
    return any(each.id is not None for each in ticks or ())


def is_stepped_or_zero(points: list[tuple[Any, Any]]) -> bool:
    try:
        xs, ys = ([float(point[axis]) for point in points] for axis in (0, 1))
    except (TypeError, ValueError, OverflowError):
        return False
    return len(set(xs)) < len(xs) or (0 in ys and (max(ys) - min(ys)) / 100 == 0)


@pytest.mark.parametrize("protocol", sorted(BENCHMARKS))
def test_a_perfect_prediction_scores_1(protocol: str) -> None:
    tasks = Counter[str]()
    for truth in TRUTHS:
        score = check_perfect(truth, protocol)
        assert score is not None
        tasks.update(name.partition(".")[0] for name, value in score.metrics.items() if value == 1)
    assert set(tasks) == {*TASKS[:5], "task6a", "task6b", "task7", "score"}
    assert min(tasks.values()) > len(TRUTHS) / 3


# Few values, so that ids, labels and places are repeated.
NAMES = st.sampled_from([None, "", "a", "ab", "e\u0301", "\u00e9", "1", 1, 1.0, 2, -3, -0.0, 0, 1e22, 2**53, math.nan])
PLACES = st.sampled_from([-1, 0, -0.0, 1, 1.5, 2, 7, 1e-200, 1e9])
SIDES = st.sampled_from([-2, -0.0, 0, 1e-200, 0.1, 1, 3])
NUMBERS = st.sampled_from([0, -0.0, 0.0, 1, 2, "2", 3.5, 1e-300, -7, 1e99])
BOXES = st.builds(box, PLACES, PLACES, SIDES, SIDES)
POINTS = st.lists(st.fixed_dictionaries({"x": PLACES, "y": PLACES}), max_size=4)
WORDS = st.sampled_from([None, "", " ", "a", "A b", "a__b", "\\alpha", "\\hat{e}", "x^{2}", "\u00ea", "e\u0302", "\\"])
ROLE = st.sampled_from([None, "", *ROLES, "legend_title", "other", "mark_label", "(none)"])
SUMMARY = ("min", "first_quartile", "median", "third_quartile", "max")
XY = st.fixed_dictionaries({"x": st.one_of(NUMBERS, NAMES), "y": NUMBERS})
NUMERIC = st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS})
LINES_OF_BOX = st.dictionaries(
    st.sampled_from(SUMMARY), st.fixed_dictionaries({"x": PLACES, "y": PLACES}, optional={"_bb": BOXES}), min_size=1
)
DATA_AND_ELEMENTS: dict[str, tuple[Any, str, Any]] = {
    "Grouped vertical bar": (st.lists(XY, max_size=5), "bars", BOXES),
    " stacked radar bar": (st.lists(XY, max_size=5), "bars", BOXES),
    "Line": (st.lists(NUMERIC, max_size=5) | st.lists(XY, max_size=5), "lines", POINTS),
    "Scatter": (st.lists(NUMERIC, max_size=5) | st.lists(XY, max_size=5), "scatter points", POINTS),
    "Vertical box": (st.dictionaries(st.sampled_from(SUMMARY), NUMBERS, min_size=1), "boxplots", LINES_OF_BOX),
}


def task6(kind: str) -> st.SearchStrategy[Json]:
    of_series, group, element = DATA_AND_ELEMENTS[kind]
    return st.fixed_dictionaries(
        {},
        optional={
            "data series": st.lists(st.fixed_dictionaries({"name": NAMES, "data": of_series}), max_size=3),
            "visual elements": st.fixed_dictionaries({group: st.lists(element, max_size=4)}),
        },
    ).map(lambda found: {"output": found})


def listed(name: str, element: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(element, max_size=5).map(lambda items: output(**{name: items}))


TICKS = st.lists(st.builds(tick, NAMES, PLACES, PLACES), max_size=4)
IMAGE = st.fixed_dictionaries({"width": st.sampled_from([0.01, 7, 640]), "height": st.sampled_from([1, 480])})
IN_TEXT = {
    "task2": listed("text_blocks", st.fixed_dictionaries({"id": NAMES, "text": WORDS, "bb": BOXES})),
    "task3": listed("text_roles", st.fixed_dictionaries({"id": NAMES}, optional={"role": ROLE})),
    "task4": st.builds(axes, TICKS, TICKS),
    "task5": listed("legend_pairs", st.fixed_dictionaries({"id": NAMES, "bb": BOXES})),
}
TEXTS = st.fixed_dictionaries(
    {"image": IMAGE}, optional={"task1": st.sampled_from([*CLASSES, "a|b][", "(other)"]).map(chart_type), **IN_TEXT}
)
DATA = st.sampled_from(sorted(DATA_AND_ELEMENTS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {"image": IMAGE, "task1": st.just(chart_type(kind)), "task6": task6(kind)},
        optional={"ambiguous": st.sampled_from([True, False, None])},
    )
)
RECORDS = TEXTS | DATA


@settings(max_examples=500, deadline=None)
@given(RECORDS, PROTOCOLS)
def test_a_perfect_prediction_of_repeated_values_scores_1(truth: Json, protocol: str) -> None:
    assert check_perfect(truth, protocol) is not None


LINE = chart_type("Line")
STEP = [(0, 0), (1, 0), (1, 10), (2, 10)]
PIXEL_STEP = [{"x": 10 * x, "y": 100 + 10 * y} for x, y in STEP]
TWO_ROLES = output(text_roles=[{"id": 1, "role": "tick_label"}, {"id": 1, "role": "legend_title"}])
NESTED = blocks(block(1, "a", 0, 0, 9, 9), block(2, "bc", 0, 0, 9, 8))


@pytest.mark.parametrize(
    ("record", "metric", "released"),
    [
        # Both weights at x = 1 are 1/2 of 2, and (1, 0) is compared with 10: 1 - 1/4, on both sides.
        ({"task1": LINE, "task6": data(series("s", *STEP))}, "task6b.score", 0.75),
        ({"task1": LINE, "task6": data(series("s", *STEP))}, "task7.score", 0.75),
        ({"task1": LINE, "task6": data(series("s", (0, 0), (1, 0)))}, "task6b.score", 0),
        ({"task1": LINE, "task6": data(series("s", (1, 0), (1, 10)))}, "task6b.score", 1),
        ({"task1": LINE, "task6": data(series("s", (1, 0)))}, "task6b.score", 1),
        ({"task1": LINE, "task6": elements(lines=[PIXEL_STEP])}, "task6a.score", 1),
        # Id 1 is left out of what was predicted, but not of what is true.
        ({"task3": TWO_ROLES}, "task3.accuracy", 0),
        # What follows a text without a role is not read.
        ({"task3": output(text_roles=[{"id": 1}, {"id": 2, "role": "tick_label"}])}, "task3.accuracy", 0),
        # Both texts take the first block, of IoU 1 and 90 / 100 in pixels: (1 + 0.9) / 2, and the text is wrong once.
        ({"task2": NESTED}, "task2.detection", 0.95),
        ({"task2": NESTED}, "task2.recognition", 0.5),
        # The x axis has no ticks, and precision 0 since the y axis has: (0 + 1) / 2.
        ({"task4": axes([], [tick(1, 5, 5)])}, "task4.precision", 0.5),
        ({"task4": axes([tick(None, 5, 5)], [tick(1, 5, 5)])}, "task4.precision", 0.5),
        ({"task5": legend(_1=box(5, 5, 20, 0))}, "task5.score", 0),
        ({"task5": output(legend_pairs=[{"bb": box(5, 5, 20, 2)}] * 2)}, "task5.score", 1),
        ({"task3": roles(_1="legend_title", _2="tick_label")}, "task3.accuracy", 1),
    ],
)
def test_what_the_scripts_give_a_perfect_prediction(record: Json, metric: str, released: float) -> None:
    truth = {"image": {"width": 300, "height": 400}, **record}
    for protocol, expected in (("published", 1), ("released", released)):
        score = check_perfect(truth, protocol)
        assert score is not None
        assert score.metrics[metric] == pytest.approx(expected)


def test_a_text_of_a_scored_and_another_role_is_right_where_the_prediction_says_either() -> None:
    truth = {"task3": output(text_roles=[*TWO_ROLES["output"]["text_roles"], {"id": 2, "role": "axis_title"}])}
    for said, expected in (("tick_label", 1), ("legend_title", 1), ("Legend_Title ", 1), ("axis_title", 1 / 2)):
        score = scored(truth, {"task3": roles(_1=said, _2="axis_title")}, "published")
        assert score is not None
        assert score.metrics["task3.accuracy"] == expected
        # What is predicted for a text of another role is never wrong of its own class.
        assert score.statistics["task3.confusion[axis_title|axis_title]"] == 1
        assert not any("(none)|" in name for name in score.statistics)


def as_doubles(node: Any) -> Any:
    """Returns a record as a table of doubles has it: each integer as a float."""
    if isinstance(node, dict):
        return {key: as_doubles(value) for key, value in node.items()}
    if isinstance(node, list):
        return [as_doubles(value) for value in node]
    return float(node) if type(node) is int else node


@settings(max_examples=200, deadline=None)
@given(RECORDS, RECORDS, PROTOCOLS)
def test_any_pair_scores_from_0_to_1_and_the_same_with_numbers_as_doubles(
    truth: Json, other: Json, protocol: str
) -> None:
    prediction = as_prediction(other)
    plain = scored(truth, prediction, protocol)
    assert plain is not None
    for one, two in (
        (as_doubles(truth), prediction),
        (truth, as_doubles(prediction)),
        map(as_doubles, (truth, prediction)),
    ):
        assert msgspec.to_builtins(scored(one, two, protocol)) == msgspec.to_builtins(plain)
    values = BENCHMARKS[protocol].values(Sums.of(plain.statistics))
    assert all(value is None or 0 <= value <= 1 for value in (*plain.metrics.values(), *values.values()))


ACCENTED = st.text(alphabet="ae\u0301\u0302\u00e9\u1100\u1161\u212b\u0323\\{}^_ ", max_size=6)
LATEX = st.sampled_from(["\\hat{\u00ea}", "\\acute{e}", "\u00e9_{2}", "\u00c9", "\u0130"])


@settings(max_examples=200, deadline=None)
@given(st.one_of(ACCENTED, LATEX), st.one_of(ACCENTED, LATEX))
def test_texts_are_compared_in_one_unicode_form(first: str, second: str) -> None:
    def record(text: str) -> Json:
        values = data(series(text, (text, 1), ("x", 2)))
        return {
            "task1": chart_type(f"{text} bar"),
            "task2": blocks(block(1, text, 0, 0, 9, 9), block(2, "x", 50, 0, 9, 9)),
            "task6": values,
            "task7": values,
        }

    def metrics(truth: str, prediction: str) -> dict[str, float | None]:
        score = scored(record(truth), record(prediction), "published")
        assert score is not None
        return dict(score.metrics)

    truth, prediction = (unicodedata.normalize("NFC", text) for text in (first, second))
    plain = metrics(truth, prediction)
    assert metrics(unicodedata.normalize("NFD", truth), prediction) == plain
    assert metrics(truth, unicodedata.normalize("NFD", prediction)) == plain


def test_the_released_scripts_compare_texts_in_the_form_they_have() -> None:
    def record(text: str) -> Json:
        values = data(series(text, ("x", 1), ("y", 2)))
        return {"task1": chart_type(f"{text} bar"), "task2": blocks(block(1, text, 0, 0, 9, 9)), "task6": values}

    # Three code points against four: one of three characters is replaced, and one added.
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for protocol, text, name, same in (("published", 1, 1, 1), ("released", 1 - 2 / 4, 1 - 2 / 5, 0)):
        score = scored(record(composed), record(decomposed), protocol)
        assert score is not None
        assert score.metrics["task2.recognition"] == text
        assert score.metrics["task6b.score"] == name
        assert score.metrics["task1.correct"] == same
    # LaTeX accents are combining characters.
    accent = scored(
        {"task2": blocks(block(1, "\u00ea", 0, 0, 9, 9))},
        {"task2": blocks(block(1, "\\hat{e}", 0, 0, 9, 9))},
        "published",
    )
    assert accent is not None
    assert accent.metrics["task2.recognition"] == 1
