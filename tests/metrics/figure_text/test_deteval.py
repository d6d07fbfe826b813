"""DetEval: what matches what, on upright rectangles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.figure_text.deteval import Matching, Rules, match
from beamscore.metrics.figure_text.limits import MAX_PAIRS
from beamscore.metrics.figure_text.overlaps import Overlaps, measure
from beamscore.metrics.figure_text.records import Geometry, PredictedRegion
from beamscore.metrics.figure_text.regions import Regions, locate
from tests.metrics.figure_text.brute_force import Box, DetEval

PAPER = Rules(0.8, 0.4, strict=True)
SCRIPT = Rules(0.8, 0.4, strict=False)

Groups = list[tuple[list[int], list[int]]]


def regions_of(boxes: list[Box], geometry: Geometry = "rectangle") -> Regions:
    records = [PredictedRegion(box=(x1, y1, x2, y2)) for x1, y1, x2, y2 in boxes]
    return locate(records, range(len(records)), geometry)


def overlaps_of(truths: list[Box], detections: list[Box], geometry: Geometry = "rectangle") -> Overlaps:
    return measure(regions_of(truths, geometry), regions_of(detections, geometry), [Budget(10**9)])


def matched(overlaps: Overlaps, matching: Matching) -> Groups:
    """All matches, those found one to one first."""
    rows, columns = overlaps.rows[matching.pairs].tolist(), overlaps.columns[matching.pairs].tolist()
    single: Groups = [([row], [column]) for row, column in zip(rows, columns, strict=True)]
    return single + [(list(group.truths), list(group.detections)) for group in matching.scattered]


def matches(
    truths: list[Box], detections: list[Box], counts: list[bool] | None = None, rules: Rules = PAPER
) -> tuple[Groups, list[int]]:
    """Returns the matches and the detections that don't count."""
    care = np.array([counts or [True] * len(truths)], dtype=np.bool_)
    overlaps = overlaps_of(truths, detections)
    [matching] = match(overlaps, care, rules)
    return matched(overlaps, matching), np.flatnonzero(matching.dont_care).tolist()


class TestSums:
    # Rounded to 4 decimals: 0.79996 is 0.8000, 0.79994 is 0.7999.
    @pytest.mark.parametrize(
        ("shares", "published", "script"),
        [
            ([0.4, 0.39996], False, True),
            ([0.4, 0.39994], False, False),
            ([0.4, 0.40004], False, True),
            ([0.4, 0.40006], True, True),
            ([], False, False),
        ],
    )
    def test_sums_of_shares_are_rounded_to_4_decimals(self, shares: list[float], published: bool, script: bool) -> None:
        assert PAPER.sum_reached(shares, 0.8) is published
        assert SCRIPT.sum_reached(shares, 0.8) is script


class TestOneToOne:
    def test_a_detection_in_place_matches(self) -> None:
        # 90 of 100 covered: sigma 0.9 > 0.8; the detection lies inside: tau 1 > 0.4.
        assert matches([(0, 0, 10, 10)], [(0, 0, 9, 10)]) == ([([0], [0])], [])

    def test_a_detection_may_be_two_and_a_half_times_as_large(self) -> None:
        # tau = 100 / 240 = 0.417 > 0.4, but 100 / 260 = 0.385 is not.
        assert matches([(0, 0, 10, 10)], [(0, 0, 24, 10)])[0] == [([0], [0])]
        assert matches([(0, 0, 10, 10)], [(0, 0, 26, 10)])[0] == []

    @pytest.mark.parametrize(("rules", "expected"), [(PAPER, []), (SCRIPT, [([0], [0])])])
    def test_the_paper_asks_for_more_than_the_thresholds_and_the_script_for_the_thresholds(
        self, rules: Rules, expected: Groups
    ) -> None:
        # sigma = 8 / 10.
        assert matches([(0, 0, 10, 1)], [(0, 0, 8, 1)], rules=rules)[0] == expected

    def test_two_detections_of_one_region_are_no_one_to_one_match(self) -> None:
        # Both reach the thresholds, so neither is alone; together they are one to many: 1 + 1 > 0.8.
        assert matches([(0, 0, 10, 10)], [(0, 0, 10, 10), (0, 0, 10, 10)])[0] == [([0], [0, 1])]

    def test_a_neighbour_that_touches_by_a_corner_sends_a_good_pair_to_the_scattered_matches(self) -> None:
        # Region 0 overlaps both detections, so it is not single; alone in its group, it still counts one to one.
        truths, detections = [(0, 0, 10, 10), (10, 0, 20, 10)], [(0, 0, 10, 10), (9, 0, 20, 10)]
        assert matches(truths, detections)[0] == [([0], [0]), ([1], [1])]


class TestScattered:
    def test_one_region_over_two_detections(self) -> None:
        # sigma 0.5 + 0.5 = 1 > 0.8 and tau 1 each.
        assert matches([(0, 0, 20, 10)], [(0, 0, 10, 10), (10, 0, 20, 10)])[0] == [([0], [0, 1])]

    def test_the_parts_must_add_up(self) -> None:
        # sigma 0.4 + 0.4 = 0.8, which is not above 0.8.
        halves: list[Box] = [(0, 0, 4, 10), (6, 0, 10, 10)]
        assert matches([(0, 0, 10, 10)], halves)[0] == []
        assert matches([(0, 0, 10, 10)], halves, rules=SCRIPT)[0] == [([0], [0, 1])]

    def test_one_detection_over_two_regions(self) -> None:
        assert matches([(0, 0, 10, 10), (10, 0, 20, 10)], [(0, 0, 20, 10)])[0] == [([0, 1], [0])]

    def test_an_earlier_region_takes_the_detection_that_two_could_have(self) -> None:
        # Both regions hold both detections; the first takes them, and nothing is left for the second.
        truth: Box = (0, 0, 20, 10)
        assert matches([truth, truth], [(0, 0, 10, 10), (10, 0, 20, 10)])[0] == [([0], [0, 1])]


class TestDontCare:
    def test_a_detection_mostly_in_a_dont_care_region_leaves_the_counts(self) -> None:
        # 50 of 100 is above 0.4; 40 of 100 is not.
        assert matches([(0, 0, 5, 10)], [(0, 0, 10, 10)], [False]) == ([], [0])
        assert matches([(0, 0, 4, 10)], [(0, 0, 10, 10)], [False]) == ([], [])

    def test_a_dont_care_region_matches_nothing(self) -> None:
        assert matches([(0, 0, 10, 10)], [(0, 0, 30, 10)], [False]) == ([], [])


class TestManyAtOnce:
    def test_no_regions_and_no_detections(self) -> None:
        assert matches([], []) == ([], [])
        assert matches([(0, 0, 1, 1)], []) == ([], [])
        assert matches([], [(0, 0, 1, 1)]) == ([], [])

    def test_overlaps_without_bound_are_refused(self) -> None:
        many = regions_of([(0, 0, 10, 10)] * 1001)
        assert len(many) ** 2 > MAX_PAIRS
        with pytest.raises(RejectedRecord, match="more than 1000000"):
            measure(many, many, [Budget(10**9)])

    def test_polygons_with_many_corners_are_refused(self) -> None:
        many = regions_of([(0, 0, 10, 10)] * 600, "polygon")
        with pytest.raises(RejectedRecord, match="5760000 pairs of corners"):
            measure(many, many, [Budget(10**9)])


sides = st.tuples(st.integers(0, 8), st.integers(1, 6)).map(lambda side: (side[0], side[0] + side[1]))
boxes = st.builds(lambda x, y: (x[0], y[0], x[1], y[1]), sides, sides)
# Boxes of one line overlap far more often, and give the scattered matches.
line_boxes = sides.map(lambda x: (x[0], 0, x[1], 5))
figures = st.one_of(
    *(st.tuples(st.lists(some, max_size=6), st.lists(some, max_size=6)) for some in (boxes, line_boxes))
)


class TestAgainstBruteForce:
    @settings(max_examples=300, deadline=None)
    @given(figures, st.data(), st.booleans())
    def test_same_matches_as_the_plain_reading(
        self, figure: tuple[list[Box], list[Box]], data: st.DataObject, strict: bool
    ) -> None:
        truths, detections = figure
        choices = data.draw(st.lists(st.lists(st.booleans(), min_size=len(truths), max_size=len(truths)), min_size=1))
        counts = np.array(choices, dtype=np.bool_).reshape(len(choices), len(truths))
        overlaps = overlaps_of(truths, detections)
        found = match(overlaps, counts, Rules(0.8, 0.4, strict))
        for matching, care in zip(found, choices, strict=True):
            expected = DetEval(truths, care, detections, strict).outcome()
            assert matched(overlaps, matching) == expected.matches
            assert set(np.flatnonzero(matching.dont_care).tolist()) == expected.dont_care

    @settings(max_examples=100, deadline=None)
    @given(figures)
    def test_polygons_of_upright_rectangles_give_the_same_overlaps(self, figure: tuple[list[Box], list[Box]]) -> None:
        rectangles, polygons = overlaps_of(*figure, "rectangle"), overlaps_of(*figure, "polygon")
        assert polygons.rows.tolist() == rectangles.rows.tolist()
        assert polygons.columns.tolist() == rectangles.columns.tolist()
        np.testing.assert_allclose(polygons.sigma, rectangles.sigma, rtol=1e-12)
        np.testing.assert_allclose(polygons.dice, rectangles.dice, rtol=1e-12)
