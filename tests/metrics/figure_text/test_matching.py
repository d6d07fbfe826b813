"""What matches what, under each protocol, against the definitions read plainly, in exact fractions of whole boxes."""

import itertools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.common.boxes import area, bounding_box, shared_area
from beamscore.metrics.common.budget import Budget, OutOfBudget
from beamscore.metrics.figure_text.deteval import Rules, sum_passes
from beamscore.metrics.figure_text.pairing import maximum_matching
from tests.laws import tries
from tests.metrics.figure_text.samples import Box, Regions, Words, at, rejection, score, words
from tests.metrics.samples import best_sum

Boxes = Sequence[Box]
Pairs = list[tuple[int, int]]
Matches = list[tuple[list[int], list[int]]]
"""The regions and the detections of each match."""
cares = st.lists(st.booleans(), min_size=6, max_size=6)


def covered(box: Box, other: Box) -> Fraction:
    return Fraction(shared_area(box, other)) / Fraction(area(box))


def share_of_hull(one: Box, other: Box) -> Fraction:
    return Fraction(shared_area(one, other)) / Fraction(area(bounding_box([one, other])))


def dice(one: Box, other: Box) -> Fraction:
    return Fraction(2 * shared_area(one, other)) / Fraction(area(one) + area(other))


def iou(one: Box, other: Box) -> Fraction:
    both = Fraction(shared_area(one, other))
    return both / (Fraction(area(one) + area(other)) - both)


def in_dont_care(truths: Boxes, counts: Sequence[bool], found: Boxes, share: Fraction) -> set[int]:
    """The detections with more than `share` of their area in one region that does not count."""
    others = [truth for truth, cared in zip(truths, counts, strict=True) if not cared]
    return {j for j, box in enumerate(found) if any(covered(box, other) > share for other in others)}


def deteval(truths: Boxes, counts: Sequence[bool], found: Boxes, strict: bool) -> tuple[Matches, set[int]]:
    """The matches in the order of the script, and the detections that don't-care regions take out."""
    t_sigma, t_tau = Fraction(4, 5), Fraction(2, 5)
    # Thresholds must be passed in the paper, and reached in the script.
    reached = operator.gt if strict else operator.ge
    dont_care = in_dont_care(truths, counts, found, t_tau)
    rows = [i for i in range(len(truths)) if counts[i]]
    columns = [j for j in range(len(found)) if j not in dont_care]
    matches: Matches = []

    def sum_reached(shares: list[Fraction], threshold: Fraction) -> bool:
        return bool(reached(Fraction(round(sum(shares) * 10**4), 10**4), threshold))

    overlapping = [(i, j) for i in rows for j in columns if shared_area(truths[i], found[j]) > 0]
    in_row, in_column = (Counter(pair[side] for pair in overlapping) for side in (0, 1))

    def free(i: int | None = None, j: int | None = None) -> bool:
        return not any(i in some or j in others for some, others in matches)

    good = [
        (i, j)
        for i, j in itertools.product(range(len(truths)), range(len(found)))
        if reached(covered(truths[i], found[j]), t_sigma) and reached(covered(found[j], truths[i]), t_tau)
    ]
    for i, j in overlapping:
        alone = [pair for pair in good if pair[0] == i or pair[1] == j] == [(i, j)]
        if alone and in_row[i] == in_column[j] == 1:  # boxes that overlap have near centres
            matches.append(([i], [j]))
    for i in rows:
        parts = [j for j in columns if free(j=j) and reached(covered(found[j], truths[i]), t_tau)]
        if free(i) and in_row[i] >= 2 and sum_reached([covered(truths[i], found[j]) for j in parts], t_sigma):
            matches.append(([i], parts))
    for j in columns:
        parts = [i for i in rows if free(i) and reached(covered(truths[i], found[j]), t_sigma)]
        if free(j=j) and in_column[j] >= 2 and sum_reached([covered(found[j], truths[i]) for i in parts], t_tau):
            matches.append((parts, [j]))
    return matches, dont_care


def iou_script(truths: Boxes, counts: Sequence[bool], found: Boxes) -> tuple[Pairs, set[int]]:
    """The loops of the script of ICDAR 2015: the pairs, and the detections that don't-care regions take out."""
    dont_care = in_dont_care(truths, counts, found, Fraction(1, 2))
    pairs: Pairs = []
    for i, truth in enumerate(truths):
        for j, box in enumerate(found):
            free = counts[i] and j not in dont_care and not any(i == row or j == column for row, column in pairs)
            if free and iou(truth, box) > Fraction(1, 2):
                pairs.append((i, j))
    return pairs, dont_care


def most_pairs(allowed: set[tuple[int, int]]) -> float:
    """The size of the largest one-to-one choice among pairs, by trying all."""
    return best_sum([[(row, column) in allowed for column in range(6)] for row in range(6)])


def scored(truths: Words, detections: Words, care: list[bool] | None = None, **options: Any) -> SampleScore:
    """Scores boxes with their texts; under `icdar2013` a rectangle holds the pixels of both its edges."""
    less = int(options.get("protocol") == "icdar2013" and options.get("geometry") != "polygon")
    sides: list[Regions] = [
        [{"box": [x1, y1, x2 - less, y2 - less], "text": text} for (x1, y1, x2, y2), text in side]
        for side in (truths, detections)
    ]
    for region, counts in zip(sides[0], care or [True] * len(truths), strict=True):
        region["ignore"] = not counts
    return score(*sides, **options)


def pairs_of(result: SampleScore) -> set[tuple[int, int]]:
    """The pairs of regions and detections that both sides tell; those of a split or merge share one of them."""
    pairs = {(i, j) for i, each in enumerate(result.details["ground_truth"]) for j in each.get("with", ())}
    assert pairs == {(i, j) for j, each in enumerate(result.details["prediction"]) for i in each.get("with", ())}
    return pairs


def spotted(result: SampleScore) -> list[tuple[int, int]]:
    entries = result.details["ground_truth"]
    return [(number, entry["end_to_end"]) for number, entry in enumerate(entries) if "end_to_end" in entry]


def statistic(result: SampleScore, *names: str) -> list[float]:
    return [result.statistics.get(name, 0) for name in names]


def assert_only_words_count(result: SampleScore, truths: Words, read: Words, care: list[bool], share: Fraction) -> None:
    """End to end, detections that a region without a text covers do not count, unless they are right."""
    boxes, found = ([box for box, _ in side] for side in (truths, read))
    words = [text is not None or not counts for counts, (_, text) in zip(care, truths, strict=True)]
    excused = in_dont_care(boxes, words, found, share) - in_dont_care(boxes, care, found, share)
    excused -= {detection for _, detection in spotted(result)}
    counted = statistic(result, "end_to_end.wordless_regions", "end_to_end.excused_detections")
    assert counted == [words.count(False), len(excused)]


def test_sums_of_shares_are_rounded_to_4_decimals() -> None:
    # 0.79996 and 0.80004 are 0.8000, 0.79994 is 0.7999, and 0.80006 is 0.8001.
    found = {last: [sum_passes([0.4, last], Rules.of(0.8, 0.4, strict).sigma) for strict in (True, False)]
             for last in (0.39994, 0.39996, 0.40004, 0.40006)}  # fmt: skip
    assert found == {0.39994: [False] * 2, 0.39996: [False, True], 0.40004: [False, True], 0.40006: [True] * 2}
    assert not sum_passes([], 0.0)


@tries(200)
@given(words, words, cares, st.booleans())
def test_deteval_matches_as_the_plain_reading(truths: Words, detections: Words, care: list[bool], strict: bool) -> None:
    care = care[: len(truths)]
    expected, out = deteval([box for box, _ in truths], care, [box for box, _ in detections], strict)
    options = {"protocol": "published" if strict else "icdar2013"}
    result = scored(truths, detections, care, **options)
    assert pairs_of(result) == {(i, j) for some, others in expected for i in some for j in others}
    dont_care = {n for n, entry in enumerate(result.details["prediction"]) if entry["match"] == "dont_care"}
    assert dont_care == out
    found = right = 0.0
    for regions, finders in expected:
        weight = 1.0 if len(regions) == len(finders) else 0.8 if len(finders) > 1 or strict else 1.0
        found, right = found + weight * len(regions), right + weight * len(finders)
    counted = len(detections) - len(dont_care)
    assert result.metrics["detection.recall"] == (pytest.approx(found / sum(care)) if any(care) else None)
    assert result.metrics["detection.precision"] == (pytest.approx(right / counted) if counted else None)
    if strict:
        # As polygons, upright rectangles are measured alike.
        polygons = scored(truths, detections, care, geometry="polygon")
        assert (result.statistics, result.details) == (polygons.statistics, polygons.details)


@tries(150)
@given(words, words, cares)
def test_iou_matches_as_the_loops_of_the_script_do(truths: Words, detections: Words, care: list[bool]) -> None:
    care = care[: len(truths)]
    truth_boxes, found_boxes = ([box for box, _ in side] for side in (truths, detections))
    pairs, dont_care = iou_script(truth_boxes, care, found_boxes)
    result = scored(truths, detections, care, protocol="iou")
    assert pairs_of(result) == set(pairs)
    right = [(i, j) for i, j in pairs if (read := detections[j][1]) and truths[i][1] in (read, f"{read}.")]
    assert spotted(result) == right
    names = "detection.regions", "detection.detections", "detection.one_to_one", "end_to_end.matches"
    assert statistic(result, *names) == [sum(care), len(detections) - len(dont_care), len(pairs), len(right)]
    assert_only_words_count(result, truths, detections, care, Fraction(1, 2))


@tries(150)
@given(words, words)
def test_as_many_words_and_regions_as_any_one_to_one_choice_can_have(truths: Words, detections: Words) -> None:
    every = [(i, j) for i in range(len(truths)) for j in range(len(detections))]
    same = {(i, j) for i, j in every if truths[i][1] is not None and truths[i][1] == detections[j][1]}
    in_place = {(i, j) for i, j in every if share_of_hull(truths[i][0], detections[j][0]) > Fraction(1, 2)}
    near = {(i, j) for i, j in every if dice(truths[i][0], detections[j][0]) >= Fraction(17, 20)}
    result = scored(truths, detections)
    agreement = statistic(result, "agreement.location", "agreement.text")
    assert agreement == [most_pairs(near), most_pairs(near & same)]
    pairs = spotted(result)
    assert set(pairs) <= in_place & same
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == most_pairs(in_place & same)
    assert_only_words_count(result, truths, detections, [True] * len(truths), Fraction(2, 5))


TEN = (0, 0, 10, 10)
READ_IOU = {"protocol": "iou"}
SPOTTED: list[Any] = [
    ((TEN, "Straße"), [(TEN, "STRASSE")], {}, []),
    ((TEN, "Straße"), [(TEN, "STRASSE")], {"case_sensitive": False}, [(0, 0)]),
    # Above a half of the box around both, not at it.
    *(((TEN, "DNA"), [((0, 0, 10, 20), "DNA")], options, []) for options in ({}, READ_IOU)),
    # The better of two detections is taken; under `iou` the first, whatever it reads.
    ((TEN, "DNA"), [((0, 0, 9, 10), "DNA"), (TEN, "DNA")], {}, [(0, 1)]),
    ((TEN, "DNA"), [((0, 0, 9, 10), "RNA"), (TEN, "DNA")], READ_IOU, []),
    ((TEN, "DNA"), [((0, 0, 9, 10), "DNA"), (TEN, "RNA")], READ_IOU, [(0, 0)]),
    *(
        # Of the script: one of !?.:,*"()·[]/' may be missing at either end, in the prediction only.
        ((TEN, text), [(TEN, read)], READ_IOU, [(0, 0)] * right)
        for text, right, reads in (
            ("(DNA)", 1, ("DNA", "(DNA", "DNA)", "(DNA)")),
            ("DNA", 0, ("DNA.", "dna")),
            *(("((DNA", 0, ("DNA",)), ("D.NA", 0, ("DNA",)), ("-DNA", 0, ("DNA",))),
            *((".", 1, ("",)), ("", 1, ("",)), ("", 0, (".",))),
        )
        for read in reads
    ),
    ((TEN, "(DNA)"), [(TEN, "dna")], {**READ_IOU, "case_sensitive": False}, [(0, 0)]),
]


def test_a_word_is_spotted_in_its_place() -> None:
    for truth, found, options, pairs in SPOTTED:
        assert spotted(scored([truth], found, **options)) == pairs, (truth, found)


def test_overlaps_without_bound_are_the_predictions_fault() -> None:
    for geometry in ("rectangle", "polygon"):
        found = rejection("prediction", *[[at(0)] * 1001] * 2, geometry=geometry, max_steps=10**9)
        assert found == "more than 1000000 pairs of regions overlap"


def test_a_perfect_prediction_of_detailed_polygons_is_scored() -> None:
    """Ten apart from each other, of 1,000 corners: 10,000,000 pairs of corners, a quarter of a step each."""
    turns = [2 * math.pi * n / 1000 for n in range(1000)]
    circles = [[[1000 * place + 400 * math.cos(a), 400 * math.sin(a)] for a in turns] for place in range(10)]
    regions = [{"points": circle} for circle in circles]
    assert score(regions, regions, geometry="polygon").statistics["detection.one_to_one"] == 10


def test_a_pairing_takes_work_in_proportion_and_pays_for_it() -> None:
    """Depth-first search that tries rows again takes exponential time in the band."""
    band = [[column for column in range(row + 49, row - 50, -1) if 0 <= column < 500] for row in range(500)]
    assert set(maximum_matching(band, Budget(500_000))) == set(range(500))
    # Each of 100 rows finds a free column among its own. Of 1,000 rows of 5 columns, the sixth searches those of the
    # first five, which no later one enters.
    for rows, count, steps in ((100, 100, 100 * (1 + 100 // 4)), (1000, 5, (1000 + 5) * (1 + 5 // 4))):
        budget = Budget(steps)
        assert sum(column is not None for column in maximum_matching([range(count)] * rows, budget)) == count
        assert budget.steps == steps
        with pytest.raises(OutOfBudget):
            maximum_matching([range(count)] * rows, Budget(steps - 1))
