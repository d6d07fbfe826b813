"""What benchmarks share: assignments, boxes, the budget of a sample, drawings and texts."""

import itertools
import json
import pickle
import re
import unicodedata
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.assignment import best_pairs, best_pairs_below, best_sum, numpy_sum
from beamscore.metrics.common.boxes import area, bounding_box, box_iou, pixel_iou, shared_area, spanned_area
from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.common.plain import plain
from beamscore.metrics.common.svg import Drawing, Style
from beamscore.metrics.common.text import character_error_rate, normalized, unseen
from tests.metrics.samples import SVG, best_sum as plain_best_sum, edit_distance

SEEDS = st.integers(0, 2**32 - 1)
BOX = st.tuples(*[st.integers(-3, 8)] * 4)
TEXTS = st.text("abé😀", max_size=6)

Whole = tuple[int, int, int, int]


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 20), SEEDS)
def test_no_assignment_is_better(rows: int, columns: int, levels: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.integers(0, levels, (rows, columns)) / levels
    best = plain_best_sum(scores.tolist())
    pairs = best_pairs(scores.tolist())
    assert [len({*side}) for side in zip(*pairs, strict=True)] == [min(rows, columns)] * 2 * bool(pairs)
    assert sum(scores[pair] for pair in pairs) == pytest.approx(best)
    if scores.size:
        assert best_sum(scores.tolist()) == pytest.approx(best)
    bounds = np.maximum(scores, draw.integers(0, levels, (rows, columns)) / levels)
    assert best_pairs_below(bounds.tolist(), lambda row, column: float(scores[row, column])) == pairs


def test_values_are_added_as_numpy_adds_them() -> None:
    for seed in range(99):
        values = np.random.default_rng(seed).random(seed % 11)
        assert numpy_sum(values.tolist()) == float(values.sum())


def cells(box: Whole, last: int = 0) -> set[tuple[int, int]]:
    """The unit squares of a box with whole corners; last: 1 with its last row and column."""
    x0, y0, x1, y1 = box
    return {(x, y) for x in range(x0, x1 + last) for y in range(y0, y1 + last)}


@given(BOX, BOX)
def test_areas_are_those_of_the_unit_squares(first: Whole, second: Whole) -> None:
    forward = [(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)) for x0, y0, x1, y1 in (first, second)]
    for boxes in ((first, second), forward):
        one, other = map(cells, boxes)
        assert (area(boxes[0]), shared_area(*boxes)) == (len(one), len(one & other))
        eighths = [(x0 / 8, y0 / 8, x1 / 8, y1 / 8) for x0, y0, x1, y1 in boxes]
        assert (area(eighths[0]), shared_area(*eighths)) == (len(one) / 64, len(one & other) / 64)
        assert box_iou(*boxes) == (len(one & other) / len(one | other) if one & other else 0)
    corners = np.array([first, second])
    around = bounding_box([first, second])
    assert around == (*corners.min(axis=0)[:2], *corners.max(axis=0)[2:])
    assert spanned_area(first, second) == area(around)
    # With its last row and column; a side that runs backwards has one pixel.
    one, other = (cells(each, 1) for each in forward)
    assert pixel_iou(*forward) == len(one & other) / len(one | other)
    assert pixel_iou((0, 0, -0.5, 0), (0, 0, 0, 0)) == 0.5 / (1 + 1 - 0.5)
    assert 0 <= pixel_iou(first, second) <= 1


def spend(budget: Budget, reading: Any, comparing: int) -> None:
    for side, steps in reading:
        with budget.reading(side):
            budget.spend(steps)
    budget.spend(comparing)


def test_the_side_whose_size_is_at_fault_is_rejected() -> None:
    for reading, comparing, side, reason in (
        ([], 11, "sample", r"max_steps=10 allows \(at least 11 steps\): raise max_steps"),
        ([("ground_truth", 5), ("prediction", 6)], 0, "prediction", "; 6 of the steps are to read the prediction"),
        ([("prediction", 5), ("ground_truth", 6)], 0, "ground_truth", "; 6 of the steps are to read the ground truth"),
        # A prediction of more than twice the size is wrong, however far its comparison would have come.
        ([("ground_truth", 2), ("prediction", 4)], 5, "sample", "max_steps=10 allows"),
        ([("ground_truth", 2), ("prediction", 5)], 4, "prediction", "max_steps=10 allows"),
        ([("prediction", 5), ("ground_truth", 2)], 4, "prediction", "max_steps=10 allows"),
        ([("ground_truth", 5), ("prediction", 2)], 4, "sample", "max_steps=10 allows"),
        ([("prediction", 6), ("ground_truth", 6)], 0, "sample", "max_steps=10 allows"),
        ([("ground_truth", 6), ("prediction", 6)], 0, "sample", "max_steps=10 allows"),
        # What is read in pieces is added up.
        ([("prediction", 3), ("ground_truth", 2)] * 2 + [("prediction", 1)], 0, "prediction", "; 7 of the steps"),
    ):
        with pytest.raises(RejectedRecord, match=reason) as rejected:
            spend(Budget(10), reading, comparing)
        again = pickle.loads(pickle.dumps(rejected.value))
        assert (type(again), again.side, again.message) == (OutOfBudget, side, rejected.value.message)
    exact = Budget(10)
    exact.spend(10)
    assert (exact.steps, exact.left) == (10, 0)


def test_every_control_mark_of_format_and_blank_is_unseen() -> None:
    """In every plane of Unicode; the others are listed."""
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
    seen = {text for text in map(chr, range(0x110000)) if not unseen("\t\n").match(text)}
    assert {text for text in seen if unicodedata.category(text) in hidden} == {"\t", "\n", " "}
    assert not seen & set("\u034f\u115f\u17b4\u180d\u180f\u2065\u2800\u3164\ufe0f\uffa0\ufff8\uffff\U000e01ef")
    assert set("a\u0301\u17b6\u4e00\u2801\ufe10\ufffd\U0001f600") <= seen


@given(st.text(max_size=20))
def test_any_text_makes_a_document_of_its_own_shapes(text: str) -> None:
    drawing = Drawing()
    drawing.text(1, 2, text)
    drawing.box(0, 0, 5, 5, Style(text, "#000000"), text)
    drawing.mark(10, 20, Style("", "#000000", "7 4"))
    document = drawing.document(10, 20)
    root = ElementTree.fromstring(document)
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("10", "20", "0 0 10 20")
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert names == ["svg", "rect", "text", "polygon", *(["title"] if text else []), "path"]
    # A point of a dashed style is a cross around it.
    assert '"M6.0 16.0L14.0 24.0M14.0 16.0L6.0 24.0"' in document


def test_a_picture_is_made_smaller_where_it_does_not_fit() -> None:
    """The drawing is 620 pixels wide, of which 20 are left of the picture, and a picture at most 420 high."""
    assert Drawing().picture_above(20, 30, None) == 30
    for image, width, height in ((300, 200), 300, 200), ((1200, 100), 600, 50), ((100, 840), 50, 420):
        drawing = Drawing()
        assert drawing.picture_above(20, 30, image) == 30 + height + 16
        (found,) = ElementTree.fromstring(drawing.document(620, 560)).iter(f"{SVG}image")
        assert [float(found.get(name) or "") for name in ("x", "y", "width", "height")] == [20, 30, width, height]


@given(TEXTS, TEXTS)
def test_character_error_rate_is_capped_edits_over_the_truth(truth: str, predicted: str) -> None:
    edits = edit_distance(truth, predicted)
    expected = min(1, edits / len(truth)) if truth else float(bool(predicted))
    assert character_error_rate(truth, predicted) == expected


@given(st.text(st.sampled_from("aÅé각\u0301\u0323\u0344\u0f73"), max_size=12))
def test_texts_that_look_the_same_are_the_same(text: str) -> None:
    forms = {normalized(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {unicodedata.normalize("NFC", text)}


def test_marks_without_end_are_cut_into_pieces_of_30() -> None:
    """Without the cuts, 400,000 marks take minutes."""
    for marks, count in itertools.product(("\u0301\u0323", "\u0344\u0323", "\u0f73"), (1000, 200_000)):
        pieces = normalized("a" + marks * count).split("\u034f")
        assert len(pieces) == 1 + len(marks) * count // 30
        assert all(len(unicodedata.normalize("NFD", piece)) <= 61 for piece in pieces)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, -0.0, 7.0, 7.5, 1e23]) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(JSON_VALUES)
def test_the_plain_form_equals_the_value_and_is_not_copied_if_it_is_the_value(value: Any) -> None:
    """A copy of each part of a record doubles the memory of a large one."""

    def without_nulls(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: without_nulls(each) for name, each in part.items() if each is not None}
        return list(map(without_nulls, part)) if isinstance(part, list) else part

    found = plain(value)
    assert found == without_nulls(value)
    assert not re.search(r"\d\.0\b", json.dumps(found))
    assert plain(found) is found
