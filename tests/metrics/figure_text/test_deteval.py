"""DetEval: what matches what, on upright rectangles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.figure_text.deteval import Rules
from beamscore.metrics.figure_text.figure import classify_regions
from beamscore.metrics.figure_text.outcome import Comparison, choose, compare
from beamscore.metrics.figure_text.records import (
    FigurePrediction,
    FigureTextOptions,
    FigureTruth,
    Geometry,
    PredictedRegion,
    TruthRegion,
)
from tests.metrics.figure_text.brute_force import Box, DetEval

PAPER, SCRIPT = FigureTextOptions(), FigureTextOptions(protocol="icdar2013")

Groups = list[tuple[list[int], list[int]]]
Word = tuple[Box, str | None]


def compared(truths: list[Word], detections: list[Word], options: FigureTextOptions = PAPER) -> Comparison:
    """Compares boxes with their texts; the script's boxes hold the pixels of both edges."""
    less = 1 if options.protocol == "icdar2013" and options.geometry == "rectangle" else 0
    sides = [
        [((x1, y1, x2 - less, y2 - less), text) for (x1, y1, x2, y2), text in side] for side in (truths, detections)
    ]
    truth = FigureTruth(regions=[TruthRegion(box=box, text=text) for box, text in sides[0]])
    found = FigurePrediction(regions=[PredictedRegion(box=box, text=text) for box, text in sides[1]])
    return compare(classify_regions(truth, found, None), options, Budget(10**9))


def matches(
    truths: list[Box],
    detections: list[Box],
    counts: list[bool] | None = None,
    options: FigureTextOptions = PAPER,
) -> tuple[Groups, list[int]]:
    """Returns the matches and the detections that don't count."""
    both = compared([(box, None) for box in truths], [(box, None) for box in detections], options)
    care = [place for place, counted in enumerate(counts or [True] * len(truths)) if counted]
    choice = choose(both, care, Budget(10**9))
    return [(match.truths, match.detections) for match in choice.matches], sorted(choice.dont_care)


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
        assert Rules(0.8, 0.4, strict=True).sum_reached(shares, 0.8) is published
        assert Rules(0.8, 0.4, strict=False).sum_reached(shares, 0.8) is script


class TestOneToOne:
    def test_a_detection_in_place_matches(self) -> None:
        # 90 of 100 covered: sigma 0.9 > 0.8; the detection lies inside: tau 1 > 0.4.
        assert matches([(0, 0, 10, 10)], [(0, 0, 9, 10)]) == ([([0], [0])], [])

    def test_a_detection_may_be_two_and_a_half_times_as_large(self) -> None:
        # tau = 100 / 240 = 0.417 > 0.4, but 100 / 260 = 0.385 is not.
        assert matches([(0, 0, 10, 10)], [(0, 0, 24, 10)])[0] == [([0], [0])]
        assert matches([(0, 0, 10, 10)], [(0, 0, 26, 10)])[0] == []

    @pytest.mark.parametrize(("options", "expected"), [(PAPER, []), (SCRIPT, [([0], [0])])])
    def test_the_paper_asks_for_more_than_the_thresholds_and_the_script_for_the_thresholds(
        self, options: FigureTextOptions, expected: Groups
    ) -> None:
        # sigma = 8 / 10.
        assert matches([(0, 0, 10, 1)], [(0, 0, 8, 1)], options=options)[0] == expected

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
        assert matches([(0, 0, 10, 10)], halves, options=SCRIPT)[0] == [([0], [0, 1])]

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


class TestManyAtOnce:
    @pytest.mark.parametrize(
        ("geometry", "count", "message"), [("rectangle", 1001, "1000000 pairs"), ("polygon", 600, "5760000 pairs of")]
    )
    def test_overlaps_without_bound_are_refused(self, geometry: Geometry, count: int, message: str) -> None:
        # 600 x 600 pairs of 4 x 4 corners are 5,760,000.
        many: list[Word] = [((0, 0, 10, 10), None)] * count
        with pytest.raises(RejectedRecord, match=message) as refused:
            compared(many, many, FigureTextOptions(geometry=geometry))
        assert refused.value.side == "prediction"


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
        care = data.draw(st.lists(st.booleans(), min_size=len(truths), max_size=len(truths)))
        expected = DetEval(truths, care, detections, strict).outcome()
        found = matches(truths, detections, care, PAPER if strict else SCRIPT)
        assert found == (expected.matches, sorted(expected.dont_care))

    @settings(max_examples=100, deadline=None)
    @given(figures)
    def test_polygons_of_upright_rectangles_give_the_same_overlaps(self, figure: tuple[list[Box], list[Box]]) -> None:
        truths, detections = ([(box, None) for box in side] for side in figure)
        rectangles = compared([*truths], [*detections]).overlaps
        polygons = compared([*truths], [*detections], FigureTextOptions(geometry="polygon")).overlaps
        for one, other in zip(rectangles, polygons, strict=True):
            assert (one.truth, one.detection) == (other.truth, other.detection)
            assert one == pytest.approx(other, rel=1e-12)
