"""What benchmarks share: assignments, the budget of a sample, drawings and texts."""

from __future__ import annotations

import pickle
import unicodedata
from itertools import permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, Side
from beamscore.metrics.common.assignment import best_pairs, best_pairs_below, best_sum, numpy_sum
from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.common.svg import Drawing, Style
from beamscore.metrics.common.text import character_error_rate, normalized

SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(1, 20), SEEDS)
def test_no_assignment_is_better(rows: int, columns: int, levels: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    scores = draw.integers(0, levels, (rows, columns)) / levels
    wide = scores if rows <= columns else scores.T
    chosen = permutations(range(wide.shape[1]), wide.shape[0])
    best = max(sum(wide[row, column] for row, column in enumerate(each)) for each in chosen)
    pairs = best_pairs(scores.tolist())
    assert [len({*side}) for side in zip(*pairs, strict=True)] == [min(rows, columns)] * 2 * bool(pairs)
    assert sum(scores[pair] for pair in pairs) == pytest.approx(best)
    if scores.size:
        assert best_sum(scores.tolist()) == pytest.approx(best)
    bounds = np.maximum(scores, draw.integers(0, levels, (rows, columns)) / levels)
    assert best_pairs_below(bounds.tolist(), lambda row, column: float(scores[row, column])) == pairs


@given(st.integers(7, 9) | st.integers(0, 30), SEEDS)
def test_values_are_added_as_numpy_adds_them(count: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(count)
    assert numpy_sum(values.tolist()) == float(values.sum())


def test_the_first_step_past_the_limit_rejects_the_sample_and_says_what_to_raise() -> None:
    budget = Budget(10)
    budget.spend(4)
    budget.spend(6)
    assert (budget.steps, budget.left) == (10, 0)
    with pytest.raises(RejectedRecord, match=r"max_steps=10 allows \(at least 11 steps\): raise max_steps") as rejected:
        budget.spend(1)
    again = pickle.loads(pickle.dumps(rejected.value))
    assert (type(again), again.side, again.message) == (OutOfBudget, "sample", rejected.value.message)


@pytest.mark.parametrize(
    ("reading", "comparing", "side", "reason"),
    [
        ([("ground_truth", 4), ("prediction", 7)], 0, "prediction", "; 7 of the steps are to read the prediction"),
        ([("prediction", 4), ("ground_truth", 7)], 0, "ground_truth", "; 7 of the steps are to read the ground truth"),
        ([("prediction", 11)], 0, "prediction", "11 of the steps"),
        ([("ground_truth", 5), ("prediction", 5)], 1, "sample", "max_steps=10 allows"),
        ([("ground_truth", 1), ("prediction", 6)], 4, "sample", "max_steps=10 allows"),
        ([("ground_truth", 6), ("prediction", 6)], 0, "sample", "max_steps=10 allows"),
        # What is read in pieces is added up.
        ([("prediction", 3), ("ground_truth", 2)] * 2 + [("prediction", 1)], 0, "prediction", "; 7 of the steps"),
    ],
)
def test_the_side_that_takes_more_than_half_to_read_is_rejected(
    reading: list[tuple[Side, int]], comparing: int, side: str, reason: str
) -> None:
    budget = Budget(10)

    def score() -> None:
        for each, count in reading:
            with budget.reading(each):
                budget.spend(count)
        budget.spend(comparing)

    with pytest.raises(OutOfBudget, match=reason) as rejected:
        score()
    assert rejected.value.side == side


@given(st.text(max_size=20))
def test_any_text_makes_a_document_of_its_own_shapes(text: str) -> None:
    drawing = Drawing()
    drawing.text(1, 2, text)
    drawing.box(0, 0, 5, 5, Style(text, "#000000"), text)
    root = ElementTree.fromstring(drawing.document(10, 20))
    assert (root.get("width"), root.get("height"), root.get("viewBox")) == ("10", "20", "0 0 10 20")
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert names == ["svg", "rect", "text", "polygon", *(["title"] if text else [])]


def test_a_point_of_a_dashed_style_is_a_cross_around_it() -> None:
    drawing = Drawing()
    drawing.mark(10, 20, Style("", "#000000", "7 4"))
    assert '"M6.0 16.0L14.0 24.0M14.0 16.0L6.0 24.0"' in drawing.document(30, 30)


def plain_edit_distance(first: str, second: str) -> int:
    previous = list(range(len(second) + 1))
    for row, character in enumerate(first, 1):
        current = [row]
        for column, other in enumerate(second, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (character != other)))
        previous = current
    return previous[-1]


TEXTS = st.text("abé😀", max_size=6)


@given(TEXTS, TEXTS)
def test_character_error_rate_is_capped_edits_over_the_truth(truth: str, predicted: str) -> None:
    edits = plain_edit_distance(truth, predicted)
    expected = min(1, edits / len(truth)) if truth else float(bool(predicted))
    assert character_error_rate(truth, predicted) == expected


@given(st.text(st.sampled_from("aÅé각\u0301\u0323\u0344\u0f73"), max_size=12))
def test_texts_that_look_the_same_are_the_same(text: str) -> None:
    forms = {normalized(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {unicodedata.normalize("NFC", text)}


@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0344\u0323", "\u0f73"])
def test_marks_without_end_are_cut_into_pieces_of_30(marks: str) -> None:
    """Without the cuts, 400,000 marks take minutes."""
    for count in (1000, 200_000):
        pieces = normalized("a" + marks * count).split("\u034f")
        assert len(pieces) >= count // 30
        assert all(len(unicodedata.normalize("NFD", piece)) <= 61 for piece in pieces)
