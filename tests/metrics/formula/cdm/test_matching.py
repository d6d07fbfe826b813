from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from beamscore.metrics.formula.cdm import matching
from beamscore.metrics.formula.cdm.matching import consistent, match, visual_class
from beamscore.metrics.formula.render.boxes import Boxes


def row(tokens: Sequence[str], gap: float = 30.0) -> Boxes:
    """Tokens side by side, each 20 x 20 pixels, the next `gap` further on."""
    boxes = np.array([[index * gap, 10, index * gap + 20, 30] for index in range(len(tokens))])
    return Boxes(tuple(tokens), boxes, (len(tokens) * gap, 40.0))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"\cdot", "."),
        (r"\vert", r"\mid"),
        (r"\Vert", r"\parallel"),
        (r"\to", r"\rightarrow"),
        (r"\leq", r"\le"),
        (r"\varphi", r"\phi"),
        (r"\widehat", r"\hat"),
        (r"\left(", "("),
        (r"\Bigr)", r"\big)"),
        (r"\bigl\{", r"\{"),
        (r"\left<", r"\langle"),
        (r"\Bar", r"\bar"),
        (r"\prime", "'"),
        (r"\lbrack", r"\left["),
    ],
)
def test_tokens_that_look_the_same(first: str, second: str) -> None:
    assert visual_class(first) == visual_class(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("a", "b"), (r"\alpha", "a"), (r"\leftarrow", r"\rightarrow"), (r"\bigcup", r"\bigcap"), ("(", ")"), ("x", "X")],
)
def test_tokens_that_look_different(first: str, second: str) -> None:
    assert visual_class(first) != visual_class(second)


def test_equal_formulas_match_wholly() -> None:
    assert match(row("abcde"), row("abcde")).pairs == tuple((index, index) for index in range(5))


def test_a_wrong_token_and_a_missing_one() -> None:
    # a x c d: b is read as x. Assigned, but its token cost is 1.
    assert match(row("abcd"), row("axcd")).pairs == ((0, 0), (2, 2), (3, 3))
    # The d has nothing left to match.
    result = match(row("abcd"), row("abc"))
    assert (result.pairs, result.truth_count, result.prediction_count) == (((0, 0), (1, 1), (2, 2)), 4, 3)


def test_an_empty_side_matches_nothing() -> None:
    assert match(row(""), row("ab")).pairs == ()
    assert match(row("ab"), row("")).pairs == ()


@pytest.mark.parametrize(("longer", "taken"), [(10, 3), (40, 4)])
def test_looking_the_same_costs_as_much_as_0_005(longer: int, taken: int) -> None:
    # One place further costs 0.15 / longer, and the boxes add 0.05 * 2 / longer / 4 or less: above 0.015 for 10 tokens,
    # so the token at the place itself is taken, and below 0.0045 for 40, so the same token one place on is.
    others = [chr(0x4E00 + index) for index in range(longer - 2)]
    truth = row([*others[:3], r"\le", *others[3:]])
    prediction = row([*others[:3], r"\leq", r"\le", *others[3:]])
    assert dict(match(truth, prediction).pairs)[3] == taken


def test_two_matches_are_kept_wherever_they_are() -> None:
    centres = np.array([[0.0, 0.0], [500.0, 0.0]])
    assert consistent(centres, centres[::-1].copy()).all()


def test_a_shift_and_a_scale_are_consistent() -> None:
    centres = np.array([[x, y] for x in range(0, 500, 50) for y in (0, 40)], dtype=float)
    assert consistent(centres, centres + np.array([300.0, 40.0])).all()
    assert consistent(centres, centres * 1.05).all()


def test_the_sequence_of_samples_is_fixed() -> None:
    # NumPy does not promise the sequence for ever; scores would change with it.
    assert matching._samples(10)[:4].tolist() == [[0, 7], [3, 4], [6, 0], [0, 5]]


def test_up_to_two_matches_out_of_place_are_dropped() -> None:
    source = np.array([[x * 30.0, 10.0] for x in range(20)])
    target = source.copy()
    target[[4, 15]] = [[590.0, 400.0], [10.0, 300.0]]
    kept = consistent(source, target)
    assert [index for index in range(20) if not kept[index]] == [4, 15]


def test_a_block_that_moved_is_found_in_a_later_round() -> None:
    source = np.array([[x * 30.0, 10.0] for x in range(20)])
    target = source.copy()
    target[12:] += [100.0, 200.0]
    assert consistent(source, target).all()


def brute_force_cost(truth: Boxes, prediction: Boxes) -> float:
    """The least cost over all assignments, term by term, with the published weights 1, 0.05 and 0.15."""
    longer = max(len(truth), len(prediction))

    def cost(i: int, j: int) -> float:
        a, b = truth.tokens[i], prediction.tokens[j]
        token = 0.0 if a == b else 0.005 if visual_class(a) == visual_class(b) else 1.0
        sides = (truth.size[0], truth.size[1]) * 2, (prediction.size[0], prediction.size[1]) * 2
        position = sum(abs(truth.boxes[i][k] / sides[0][k] - prediction.boxes[j][k] / sides[1][k]) for k in range(4))
        return float(1.0 * token + 0.05 * position / 4 + 0.15 * abs(i - j) / longer)

    fewer, more = sorted((len(truth), len(prediction)))
    swapped = len(truth) > len(prediction)
    return min(
        sum(cost(j, i) if swapped else cost(i, j) for i, j in enumerate(chosen))
        for chosen in itertools.permutations(range(more), fewer)
    )


@given(st.text("ab.", min_size=1, max_size=5), st.text("ab.", min_size=1, max_size=5), st.floats(20, 60))
@settings(max_examples=80, deadline=None)
def test_the_assignment_is_the_cheapest(left: str, right: str, gap: float) -> None:
    truth, prediction = row(left), row(right, gap)
    cost = matching._cost(truth, prediction, matching._token_cost(truth.tokens, prediction.tokens))
    assert cost[linear_sum_assignment(cost)].sum() == pytest.approx(brute_force_cost(truth, prediction))


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
@settings(max_examples=60, deadline=None)
def test_true_matches_are_one_to_one_between_tokens_that_look_the_same(left: str, right: str) -> None:
    truth, prediction = row(left), row(right)
    pairs = match(truth, prediction).pairs
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(truth.tokens[i] == prediction.tokens[j] for i, j in pairs)
