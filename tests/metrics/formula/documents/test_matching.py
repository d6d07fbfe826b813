"""The two rounds of matching."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.formula import pairs as module
from beamscore.metrics.formula.pairs import PUBLISHED_THRESHOLDS, Match
from beamscore.metrics.formula.records import FormulaOptions


def match_formulas(
    truths: Sequence[str], predictions: Sequence[str], thresholds: Sequence[float] = PUBLISHED_THRESHOLDS
) -> list[Match]:
    return module.match_formulas(truths, predictions, Budget(10**6), thresholds)


def edits(first: str, second: str) -> int:
    """The edit distance by the plain recurrence."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        previous, row = row, [i]
        for j, b in enumerate(second, start=1):
            row.append(min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b)))
    return row[-1]


def plainly_matched(truths: list[str], predictions: list[str], thresholds: list[float]) -> list[Match]:
    matches: dict[int, Match] = {}
    for number, threshold in enumerate(thresholds, start=1):
        for index, truth in enumerate(truths):
            taken = {match.prediction for match in matches.values()}
            free = [other for other in range(len(predictions)) if other not in taken]
            if index in matches or not free:
                continue
            distance, nearest = min(
                (edits(truth, predictions[other]) / max(len(truth), len(predictions[other]), 1), other)
                for other in free
            )
            if distance < threshold:
                matches[index] = Match(index, nearest, distance, number)
    taken = {match.prediction for match in matches.values()}
    left = [Match(None, other, 1.0, None) for other in range(len(predictions)) if other not in taken]
    return [matches.get(index, Match(index, None, 1.0, None)) for index in range(len(truths))] + left


TEXTS = st.lists(st.text(alphabet="abc", max_size=6), max_size=6)


@given(TEXTS, TEXTS, st.lists(st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.8, 1.0, 1.5]), max_size=3))
def test_a_plain_reading_gives_the_same(truths: list[str], predictions: list[str], thresholds: list[float]) -> None:
    assert match_formulas(truths, predictions, thresholds) == plainly_matched(truths, predictions, thresholds)


def test_the_first_round_leaves_the_far_for_the_second() -> None:
    truths, predictions = ["abcde", "abxyz"], ["abxyw"]
    # Round 1: 3 edits / 5 = 0.6 is not below 0.4, so the first truth leaves the prediction to the second, 1 / 5 = 0.2.
    assert match_formulas(truths, predictions) == [Match(0, None, 1.0, None), Match(1, 0, 0.2, 1)]
    # Alone, it takes it in round 2: 0.6 < 0.8.
    assert match_formulas(truths[:1], predictions) == [Match(0, 0, 0.6, 2)]


def steps(truths: list[str], predictions: list[str]) -> int:
    budget = Budget(10**12)
    module.match_formulas(truths, predictions, budget)
    return budget.steps


def test_a_comparison_costs_the_product_of_the_lengths_by_machine_words() -> None:
    # 640 characters are 10 words of 64 and one more, each compared with 640 characters, and 32 for the pair: 7,072
    # words, of which 64 are a step; the row takes 10 more. And so in two rounds.
    assert steps(["ab" * 320], ["cd" * 320]) == 2 * (10 + 7_072 // 64)
    # Of 600 characters and 640, the shorter counts by words: (600 // 64 + 1) * 640 + 32 = 6,432.
    assert steps(["ab" * 300], ["cd" * 320]) == steps(["ab" * 320], ["cd" * 300]) == 2 * (10 + 6_432 // 64)
    # A row of 64 predictions costs 2 besides what is compared, here nothing.
    assert steps(["ab" * 300], ["cd"] * 64) == 2 * (10 + 64 // 32)
    # Equal formulas are not compared, nor are those whose lengths alone are too far apart.
    assert steps(["ab" * 500], ["ab" * 500]) == 0
    assert steps(["ab" * 500], ["ab" * 20]) < 50


def test_too_much_to_compare_is_refused() -> None:
    for truths, predictions in (
        (["ab" * 200_000], ["ba" * 200_000]),
        ([f"a{index}" for index in range(20_000)], [f"b{index}" for index in range(20_000)]),
    ):
        budget = Budget(1_000_000)
        with pytest.raises(OutOfBudget):
            module.match_formulas(truths, predictions, budget)


def test_a_large_paper_is_within_the_default_limit() -> None:
    # The twelve papers of Tiny-Doc-Math have 437 formulas together.
    texts = [f"\\frac{{a_{index}}}{{b}} + \\int_0^{index} f(x) dx = c_{index % 7}" for index in range(1_000)]
    assert steps(texts, [text.replace("f(x)", "g(x)") for text in texts]) < FormulaOptions().max_steps / 2
