"""Texts and numbers as the tasks compare them; task 2: text detection and recognition."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
import unicodeit
from hypothesis import example, given, strategies as st
from unicodeit.data import SUBSUPERSCRIPTS

from beamscore.metrics.chart.classes import class_of
from beamscore.metrics.chart.names import compared_labels, numbers, read_text, without_latex
from beamscore.metrics.chart.records import DataPoint
from beamscore.metrics.common.boxes import Corners, area, bounding_box, box_iou, shared_area
from beamscore.metrics.common.text import character_error_rate
from tests.laws import tries
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks


def test_texts() -> None:
    # Above 1000 characters, a text keeps its LaTeX.
    long = "x^{2}" * 200 + "x"
    found = {"  Total\r\nCOST \n": "total cost", "a\rb": "a b", "\\Alpha 5": "α 5", "x^2": "x^2", "": "", long: long}
    assert [read_text(text, "published") for text in found] == [*found.values()]
    assert read_text("a\r\nb", "released") == "a  b"
    assert read_text(long[:-1], "published") == "x²" * 200


def test_texts_are_compared_in_composed_form_also_where_lower_case_alone_has_one() -> None:
    assert read_text("J\u030c", "published") == class_of("J\u030c", "published") == "\u01f0"
    assert read_text("J\u030c", "released") == "j\u030c"


# Scripts that unicodeit replaces and others, their parts, and a few commands and accents.
LATEX = st.lists(
    st.sampled_from([*"{}_^-\u2212+=(),.:!AaSz09", "_{12}", "_{a,b}", "_{q}", "^{ab}", "^{q}", "^{-1}", "_{-x}"])
    | st.sampled_from([script for script, _ in SUBSUPERSCRIPTS])
    | st.characters().map("_{{{}}}".format)
    | st.characters().map("^{{{}}}".format)
    | st.sampled_from(["\\alpha", "\\hat{a}", "\\not\\in", "\\"]),
    max_size=8,
).map("".join)


@given(LATEX)
def test_latex_becomes_what_unicodeit_makes_of_it(text: str) -> None:
    assert without_latex(text) == unicodeit.replace(text)


@pytest.mark.parametrize("mark", "_^")
def test_each_character_is_a_script_where_unicodeit_has_one(mark: str) -> None:
    text = " ".join(f"{mark}{{{chr(code)}}} {mark}{chr(code)}" for code in range(32, 0x400) if chr(code) != "\\")
    assert without_latex(text) == unicodeit.replace(text)


def test_numbers_and_labels() -> None:
    none = ("", "nan", "-inf", "1e999", 1e101, -1e101, 10**101, "12,5", "5 %", None, 10**400, "9" * 100_000)
    held: dict[Any, float] = {"12.5": 12.5, " -3 ": -3, "1e3": 1000, 7: 7, **dict.fromkeys(none, math.nan)}
    assert numbers([*held]) == pytest.approx([*held.values()], rel=0, nan_ok=True)
    values = [DataPoint(each).x for each in ("a", np.float64(2011), 2011.0, "2011.0", 1.5, -0.0, 1e22, math.nan, None)]
    expected = ["a", "2011", "2011", "2011.0", "1.5", "0", "10000000000000000000000", "nan", ""]
    assert compared_labels(values, "published") == compared_labels(values, "released") == expected


def details_of(truth: Json, prediction: Json) -> Any:
    return msgspec.to_builtins(make.score({"task2": truth}, {"task2": prediction}).details)["task2"]


def test_details_have_up_to_200_characters_of_a_text() -> None:
    long, text = ([{"id": key, "text": each, "position": 0}] for key, each in (("7", "x" * 200 + "…"), ("t", "ab ab")))
    whole, unmatched = blocks(block("t", "ab ab", 0, 0, 100, 10)), blocks(block(7, "X" * 201, 500, 0, 9, 9))
    assert details_of(unmatched, whole) == {"matched": [], "missed": long, "extra": text}
    assert details_of(whole, unmatched) == {"matched": [], "missed": text, "extra": long}


def test_explanations_count_also_what_details_do_not_list() -> None:
    both, more = ([block(i, "a", x + 20 * i, 0, 9, 9) for i in range(count)] for x, count in ((0, 501), (1e5, 502)))
    truth = {"task2": blocks(*both), "task3": make.roles(*((i, "tick_label") for i in range(503)))}
    details = msgspec.to_builtins(make.score(truth, {"task2": blocks(*both, *more)}).details)
    assert [len(details["task2"][kind]) for kind in ("matched", "missed", "extra")] == [500, 0, 500]
    told = ["text blocks: 501 matched, 0 missed, 502 extra", "text roles: 0 right, 503 wrong"]
    assert make.benchmark().explain(details) == told


Read = tuple[Corners, str]
"""A text block: its corners (x0, y0, x1, y1) and its text."""


def iou(one: Corners, other: Corners) -> float:
    return 1.0 if one == other else box_iou(one, other)


def text_score(truth: str, predicted: str) -> float:
    return 1 - character_error_rate(truth, predicted)


def joined(parts: Sequence[Read]) -> Read:
    """Returns the bounding box of the parts and their texts in reading order."""
    ordered = sorted(parts, key=lambda part: ((part[0][1] + part[0][3]) / 2, part[0][0]))
    return bounding_box([box for box, _ in parts]), " ".join(text for _, text in ordered)


def lying_in(whole: Corners, others: dict[int, Read], inside: float, cover: float) -> list[int]:
    """Returns those that lie in `whole` by more than `inside` of their area, if two or more of them cover it."""
    parts = [place for place, (box, _) in others.items() if area(box) and shared_area(whole, box) / area(box) > inside]
    covered = sum(shared_area(whole, others[place][0]) for place in parts)
    return parts if len(parts) >= 2 and covered / area(whole) >= cover else []


def expected_scores(
    truth: Sequence[Json], prediction: Sequence[Json], protocol: str, options: Mapping[str, float]
) -> tuple[float, float]:
    """Returns detection and recognition of one chart without LaTeX; released, sides are longer by a pixel."""
    last = int(protocol == "released")
    truths, predictions = (
        {place: ((x, y, x + width + last, y + height + last), block["text"])
         for place, block in enumerate(side) for x, y, width, height in [block["bb"].values()]}
        for side in (truth, prediction)
    )  # fmt: skip
    if not truths and not predictions:
        return 1.0, 1.0
    if protocol == "released":
        return first_blocks([*truths.values()], [*predictions.values()])
    units: list[tuple[float, float]] = []
    pairs = [(-iou(truths[i][0], predictions[j][0]), i, j) for i in truths for j in predictions]
    for negative, i, j in sorted(pairs):
        if -negative >= options["text_iou"] and i in truths and j in predictions:
            units.append((-negative, text_score(truths.pop(i)[1], predictions.pop(j)[1])))
    for wholes, others, kind in ((truths, predictions, "split"), (predictions, truths, "merge")):
        for place, (box, text) in list(wholes.items()):
            if parts := lying_in(box, others, options[f"{kind}_part"], options[f"{kind}_cover"]):
                del wholes[place]
                bounding, read = joined([others.pop(part) for part in parts])
                texts = (text, read) if wholes is truths else (read, text)
                units.append((options["scattered_weight"] * iou(box, bounding), text_score(*texts)))
    larger, both = max(len(truths), len(predictions)), len(truths) + len(predictions)
    return sum(unit[0] for unit in units) / (len(units) + larger), sum(unit[1] for unit in units) / (len(units) + both)


def first_blocks(truths: Sequence[Read], predictions: Sequence[Read]) -> tuple[float, float]:
    """Each ground truth takes the first prediction that is near enough, even if it is already taken."""
    firsts = [(truth, [other for other in predictions if box_iou(truth[0], other[0]) >= 0.5][:1]) for truth in truths]
    units = [(box_iou(one[0], other[0]), text_score(one[1], other[1])) for one, found in firsts for other in found]
    larger = max(len(truths), len(predictions))
    return sum(unit[0] for unit in units) / larger, sum(unit[1] for unit in units) / (len(truths) or larger)


def strips(parts: list[tuple[int, int, str]], top: int, height: float) -> list[Json]:
    """Blocks side by side by their widths, the gaps behind them and their texts."""
    lefts = itertools.accumulate([width + gap for width, gap, _ in parts], initial=0)
    places = zip(itertools.count(), lefts, parts, strict=False)
    return [block(place, text, left, top, width, height) for place, left, (width, _, text) in places]


# A text with two underscores drops its block, and a side that runs backwards has no area.
PLACE, SIDE = st.integers(0, 12), st.integers(-1, 12)
RANDOM_BLOCKS = st.lists(
    st.builds(block, st.integers(0, 5), st.text("ab_", max_size=3), PLACE, PLACE, SIDE, SIDE), max_size=6
)
PARTS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from((0, 0, 0, 1, 3)), st.text("abc", max_size=3)), max_size=5)
# Of a strip of 25, a part of 10 is 0.4, the least of a split; of one of 12.5, it is 0.8, the least of a merge.
HEIGHTS = st.sampled_from((10, 10, 10, 6, 0, 25, 12.5))
STRIPS = st.builds(strips, PARTS, st.sampled_from((0, 0, 2)), HEIGHTS)
BLOCKS = st.lists(STRIPS, max_size=2).map(lambda lines: list(itertools.chain.from_iterable(lines))) | RANDOM_BLOCKS


def around(parts: list[Json], height: float) -> list[Json]:
    """The block from the first part of a strip to its last one, with the texts of all, if there are any."""
    boxes = [part["bb"] for part in parts]
    width = boxes[-1]["x0"] + boxes[-1]["width"] - boxes[0]["x0"] if boxes else 0
    text = " ".join(part["text"] for part in parts).strip()
    return [block(9, text, **{**each, "width": width, "height": height}) for each in boxes[:1]]


SIDES = st.tuples(BLOCKS, BLOCKS) | st.tuples(STRIPS, HEIGHTS).map(lambda drawn: (drawn[0], around(*drawn)))
# The centres of both parts are at one height, so they are read from left to right.
SPLIT = [block("r", "cd", 50, 0.5, 45, 10), block("l", "ab", 0, 1.25, 45, 8.5)]


TWO = strips([(10, 0, "a"), (10, 0, "b")], 0, 10)
DEFAULTS = {
    "text_iou": 0.5, "split_part": 0.4, "split_cover": 0.8, "merge_part": 0.8, "merge_cover": 0.4,
    "scattered_weight": 0.8,
}  # fmt: skip
OTHERS = st.dictionaries(st.sampled_from(sorted(DEFAULTS)), st.sampled_from((0.2, 0.5, 0.7)), max_size=2)


@tries(500)
@given(SIDES, st.booleans(), OTHERS)
@example(([block(0, "ab cd", 0, 0, 100, 10)], SPLIT), False, {})
# Of each part 0.6 lie in a block of 6, which they cover; of one of 25 they cover 0.4.
@example((TWO, around(TWO, 6)), True, {"split_part": 0.7})
@example((TWO, around(TWO, 6)), False, {"merge_part": 0.5})
@example((TWO, around(TWO, 25)), True, {"split_cover": 0.2})
@example((TWO, around(TWO, 25)), False, {"merge_cover": 0.7})
def test_pairs_splits_and_merges_are_those_of_the_plain_reading(
    drawn: Any, is_turned: bool, options: dict[str, Any]
) -> None:
    truth, prediction = drawn[::-1] if is_turned else drawn
    sides = blocks(*truth), blocks(*prediction)
    read, others = ([each for each in side if "__" not in each["text"]] for side in (truth, prediction))
    for protocol in ("published", "released"):
        set_to = options if protocol == "published" else {}
        found = make.scores(["task2"], *({"task2": side} for side in sides), protocol=protocol, **set_to)
        assert found == pytest.approx(expected_scores(read, others, protocol, {**DEFAULTS, **set_to}), abs=1e-12)
    # No block is used twice.
    details = details_of(*sides)
    for side, name, left in ((read, "truth_ids", "missed"), (others, "prediction_ids", "extra")):
        assert sum(len(entry[name]) for entry in details["matched"]) + len(details[left]) == len(side)
