"""End-to-end reading and annotator agreement, pair by pair."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.figure_text.pairing import hopcroft_karp, largest_pairing
from beamscore.metrics.figure_text.records import FigureTextOptions
from tests.metrics.figure_text.brute_force import dice, most_pairs, share_of_hull
from tests.metrics.figure_text.test_benchmark import score
from tests.metrics.figure_text.test_deteval import Word, boxes, compared

words = st.lists(st.tuples(boxes, st.sampled_from(["DNA", "dna", "kDa", None])), max_size=5)


def spotted(truths: list[Word], detections: list[Word], case_sensitive: bool = True) -> list[tuple[int, int]]:
    both = compared(truths, detections, FigureTextOptions(case_sensitive=case_sensitive))
    return largest_pairing(both.words or (), range(len(truths)), (), Budget(10**9))


def agreed(truths: list[Word], detections: list[Word]) -> tuple[int, int]:
    """Returns how many regions agree in location, and in location and text."""
    sides = [[{"box": list(box), "text": text} for box, text in side] for side in (truths, detections)]
    statistics = score(*sides).statistics
    return int(statistics.get("agreement.location", 0)), int(statistics.get("agreement.text", 0))


class TestEndToEnd:
    def test_place_and_text_must_be_right(self) -> None:
        # 60 in common, the smallest rectangle around both 100: 0.6 > 0.5.
        assert spotted([((0, 0, 10, 10), "DNA")], [((0, 0, 6, 10), "DNA")]) == [(0, 0)]
        # 50 / 100 is not above one half.
        assert spotted([((0, 0, 10, 10), "DNA")], [((0, 0, 5, 10), "DNA")]) == []
        assert spotted([((0, 0, 10, 10), "DNA")], [((0, 0, 10, 10), "DNAx")]) == []

    @pytest.mark.parametrize(("case_sensitive", "expected"), [(True, []), (False, [(0, 0)])])
    def test_case(self, case_sensitive: bool, expected: list[tuple[int, int]]) -> None:
        assert spotted([((0, 0, 10, 10), "Straße")], [((0, 0, 10, 10), "STRASSE")], case_sensitive) == expected

    def test_a_word_is_spotted_once(self) -> None:
        assert spotted([((0, 0, 10, 10), "DNA")], [((0, 0, 9, 10), "DNA"), ((0, 0, 10, 10), "DNA")]) == [(0, 1)]

    def test_a_text_that_is_not_given_equals_nothing(self) -> None:
        assert spotted([((0, 0, 10, 10), None)], [((0, 0, 10, 10), None)]) == []

    @settings(max_examples=200, deadline=None)
    @given(words, words)
    def test_as_many_words_as_any_one_to_one_choice_can_have(self, truths: list[Word], detections: list[Word]) -> None:
        allowed = {
            (i, j)
            for i, (box, text) in enumerate(truths)
            for j, (found, read) in enumerate(detections)
            if share_of_hull(box, found) > Fraction(1, 2) and text is not None and text == read
        }
        pairs = spotted(truths, detections)
        assert set(pairs) <= allowed
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs) == most_pairs(allowed)


class TestAgreement:
    def test_the_threshold_is_reached_at_85_percent(self) -> None:
        # 2 * 17 / (20 + 20) = 0.85 and 2 * 16 / 40 = 0.8.
        assert agreed([((0, 0, 20, 1), "DNA")], [((3, 0, 23, 1), "DNA")]) == (1, 1)
        assert agreed([((0, 0, 20, 1), "DNA")], [((4, 0, 24, 1), "DNA")]) == (0, 0)

    def test_text_agrees_only_in_place(self) -> None:
        assert agreed([((0, 0, 20, 10), "DNA")], [((0, 0, 20, 10), "RNA"), ((50, 0, 70, 10), "DNA")]) == (1, 0)

    @settings(max_examples=200, deadline=None)
    @given(words, words)
    def test_counts_of_the_plain_reading(self, one: list[Word], other: list[Word]) -> None:
        near = {
            (i, j)
            for i, (box, _) in enumerate(one)
            for j, (found, _) in enumerate(other)
            if dice(box, found) >= Fraction(17, 20)
        }
        same = {(i, j) for i, j in near if one[i][1] is not None and one[i][1] == other[j][1]}
        assert agreed(one, other) == (most_pairs(near), most_pairs(same))


class TestPairing:
    def test_a_pair_is_given_up_where_that_makes_room_for_two(self) -> None:
        # (0, 0) is best, but only (0, 1) and (1, 0) together make two pairs.
        candidates = [(0, -0.9, 0), (0, -0.6, 1), (1, -0.6, 0)]
        assert largest_pairing(candidates, {0, 1}, (), Budget(10**9)) == [(0, 1), (1, 0)]

    def test_only_regions_that_count_are_paired(self) -> None:
        candidates = [(0, -0.9, 0), (0, -0.6, 1), (1, -0.95, 0)]
        assert largest_pairing(candidates, {0}, (), Budget(10**9)) == [(0, 0)]
        assert largest_pairing(candidates, {0, 1}, {1}, Budget(10**9)) in ([(0, 0)], [(1, 0)])
        assert largest_pairing([], {0}, (), Budget(0)) == []

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.lists(st.integers(0, 5), unique=True, max_size=6), max_size=6))
    def test_as_many_pairs_as_possible(self, neighbours: list[list[int]]) -> None:
        partners = hopcroft_karp(neighbours, Budget(10**6))
        taken = {(row, column) for row, column in enumerate(partners) if column is not None}
        assert all(column in neighbours[row] for row, column in taken)
        assert len({column for _, column in taken}) == len(taken)
        assert len(taken) == most_pairs({(row, column) for row, some in enumerate(neighbours) for column in some})

    def test_a_band_of_pairs_takes_work_in_proportion(self) -> None:
        """Depth-first search that tries rows again takes exponential time here."""
        band = [[column for column in range(row + 49, row - 50, -1) if 0 <= column < 1000] for row in range(1000)]
        budget = Budget(10**9)
        assert set(hopcroft_karp(band, budget)) == set(range(1000))
        assert budget.steps < sum(map(len, band))

    def test_pairs_that_are_looked_at_are_paid_for(self) -> None:
        everything = [list(range(100))] * 100
        with pytest.raises(OutOfBudget):
            hopcroft_karp(everything, Budget(100 * 100 // 4))
        hopcroft_karp(everything, Budget(3 * 100 * 100 // 4))
