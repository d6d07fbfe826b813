"""Task 2: text detection and recognition."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.boxes import Corners, area, bounding_box, box_iou, shared_area
from tests.metrics.chart import samples as make
from tests.metrics.chart.samples import Json, block, blocks
from tests.metrics.samples import edit_distance


def scores(truth: Json, prediction: Json | None, **options: Any) -> list[float | None]:
    return make.scores(["task2"], {"task2": truth}, prediction and {"task2": prediction}, **options)


def details_of(truth: Json, prediction: Json) -> Any:
    return msgspec.to_builtins(make.score({"task2": truth}, {"task2": prediction}).details)["task2"]


TITLE, BLANK = block(0, "abcd", 0, 0, 100, 10), block(9, "a__b", 0, 50, 100, 10)
WHOLE = blocks(block("t", "ab ab", 0, 0, 100, 10))
A, B = block("a", "one", 0, 0, 100, 10), block("b", "two", 30, 0, 100, 10)
C, D = block("c", "two", 25, 0, 100, 10), block("d", "one", 0, 0, 90, 10)
TWO = blocks(TITLE, block(1, "ef", 0, 100, 20, 10))
OTHERS = blocks(TITLE, block(2, "gh", 200, 0, 20, 10), block(3, "ij", 200, 50, 20, 10))
HALF = blocks(block(0, "abcd", 0, 0, 50, 10))
MERGED = blocks(*(block(x, "ab", x, 0, 20, 10) for x in (0, 60)))
SPLIT = blocks(block("r", "cd", 50, 0.5, 45, 10), block("l", "ab", 0, 1.25, 45, 8.5))
CASES: list[tuple[Any, ...]] = [
    # What is expected, published and, where it is said, released: examples of the law below, by hand.
    # 1 / (1 + max(1, 2)) and 1 / (1 + 1 + 2). Released: 1 / max(2, 3) and 1 / 2, for extra blocks cost no recognition.
    ("one unit, one missed, two extra", TWO, OTHERS, [1 / 3, 1 / 4], [1 / 3, 1 / 2]),
    # c overlaps a (IoU 75/125 = 0.6) and b (95/105), d overlaps a (0.9) and b (60/130 < 0.5). Released, IoU counts
    # pixels (76 * 11 over (101 + 101 - 76) * 11), and a takes c, which comes first, as b does.
    ("best first", blocks(A, B), blocks(C, D), [(0.9 + 95 / 105) / 2, 1], [(76 / 126 + 96 / 106) / 2, 1 / 2]),
    ("IoU 500 / 1000 is enough; in pixels, 51 of 101", blocks(TITLE), HALF, [0.5, 1], [51 / 101, 1]),
    # Together they share 382.5 + 427.5 >= 0.8 of 1000. Their bounding box is 95 x 10, 9.5 of them in the block. Their
    # centres are at one height, so they are read from left to right.
    ("a split", blocks(block("t", "ab cd", 0, 0, 100, 10)), SPLIT, [0.8 * 902.5 / (1000 + 950 - 902.5), 1], None),
    ("merged truths cover 0.4, exactly", MERGED, WHOLE, [0.8 * 800 / 1000, 1], None),
    ("a side that runs backwards has no area", blocks(TITLE), blocks(block(0, "ab", 0, 0, -5, 10)), [0, 0], [0, 0]),
    *(
        ("a double underscore drops a block", blocks(TITLE, *more), blocks(TITLE, *others), [1, 1], [1, 1])
        for more, others in (([BLANK], []), ([], [BLANK]))
    ),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "published", "released"), CASES)
def test_scores(why: str, truth: Json, prediction: Json | None, published: Any, released: Any) -> None:
    assert scores(truth, prediction) == pytest.approx(published), why
    if released:
        assert scores(truth, prediction, protocol="released") == pytest.approx(released), why


def test_details_have_up_to_200_characters_of_a_text() -> None:
    long, unmatched = [{"id": "7", "text": "x" * 200 + "…"}], blocks(block(7, "X" * 201, 500, 0, 9, 9))
    assert details_of(unmatched, WHOLE) == {"matched": [], "missed": long, "extra": [{"id": "t", "text": "ab ab"}]}
    assert details_of(WHOLE, unmatched)["extra"] == long


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
    if not truth:
        return float(not predicted)
    return 1 - min(1.0, edit_distance(truth, predicted) / len(truth))


def joined(parts: Sequence[Read]) -> Read:
    """Returns the bounding box of the parts and their texts in reading order."""
    ordered = sorted(parts, key=lambda part: ((part[0][1] + part[0][3]) / 2, part[0][0]))
    return bounding_box([box for box, _ in parts]), " ".join(text for _, text in ordered)


def lying_in(whole: Corners, others: dict[int, Read], inside: float, cover: float) -> list[int]:
    """Returns those that lie in `whole` by more than `inside` of their area, if two or more of them cover it."""
    parts = [place for place, (box, _) in others.items() if area(box) and shared_area(whole, box) / area(box) > inside]
    covered = sum(shared_area(whole, others[place][0]) for place in parts)
    return parts if len(parts) >= 2 and covered / area(whole) >= cover else []


def expected_scores(truth: Sequence[Json], prediction: Sequence[Json], protocol: str) -> tuple[float, float]:
    """Returns detection and recognition of one chart; texts are compared as they are."""
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
        if -negative >= 0.5 and i in truths and j in predictions:
            units.append((-negative, text_score(truths.pop(i)[1], predictions.pop(j)[1])))
    for i, (box, text) in list(truths.items()):
        if parts := lying_in(box, predictions, 0.4, 0.8):
            del truths[i]
            bounding, read = joined([predictions.pop(place) for place in parts])
            units.append((0.8 * iou(box, bounding), text_score(text, read)))
    for j, (box, text) in list(predictions.items()):
        if parts := lying_in(box, truths, 0.8, 0.4):
            del predictions[j]
            bounding, read = joined([truths.pop(place) for place in parts])
            units.append((0.8 * iou(box, bounding), text_score(read, text)))
    larger, both = max(len(truths), len(predictions)), len(truths) + len(predictions)
    return sum(unit[0] for unit in units) / (len(units) + larger), sum(unit[1] for unit in units) / (len(units) + both)


def first_blocks(truths: Sequence[Read], predictions: Sequence[Read]) -> tuple[float, float]:
    """Each ground truth takes the first prediction that is near enough, even if it is already taken."""
    firsts = [next((other for other in predictions if iou(truth[0], other[0]) >= 0.5), None) for truth in truths]
    units = [
        (iou(one[0], other[0]), text_score(one[1], other[1]))
        for one, other in zip(truths, firsts, strict=True)
        if other
    ]
    larger = max(len(truths), len(predictions))
    return sum(unit[0] for unit in units) / larger, sum(unit[1] for unit in units) / (len(truths) or larger)


SMALL = st.integers(0, 12)
RANDOM_BLOCKS = st.lists(
    st.builds(block, st.integers(0, 5), st.text("ab", max_size=3), SMALL, SMALL, SMALL, SMALL), max_size=6
)


def strips(cuts: list[tuple[int, int, str]], top: int, height: float) -> list[Json]:
    """Blocks side by side: each from a cut to the next, but for what its gap leaves out."""
    ordered = sorted(cuts)
    sides = [(left[0], max(left[0], right[0] - left[1]), left[2]) for left, right in itertools.pairwise(ordered)]
    return [block(place, text, left, top, right - left, height) for place, (left, right, text) in enumerate(sides)]


CUTS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from((0, 0, 0, 1, 3)), st.text("abc", max_size=3)), max_size=6)
# Of a strip of 25, a part of 10 is 0.4, the least of a split; of one of 12.5, it is 0.8, the least of a merge.
STRIPS = st.builds(strips, CUTS, st.sampled_from((0, 0, 2)), st.sampled_from((10, 10, 10, 6, 0, 25, 12.5)))
BLOCKS = st.lists(STRIPS, max_size=2).map(lambda lines: list(itertools.chain.from_iterable(lines))) | RANDOM_BLOCKS


@settings(max_examples=150, deadline=None)
@given(BLOCKS, BLOCKS)
def test_pairs_splits_and_merges_are_those_of_the_plain_reading(truth: list[Json], prediction: list[Json]) -> None:
    sides = blocks(*truth), blocks(*prediction)
    for protocol in ("published", "released"):
        expected = expected_scores(truth, prediction, protocol)
        assert scores(*sides, protocol=protocol) == pytest.approx(expected, abs=1e-12)
    # No block is used twice.
    details = details_of(*sides)
    for side, name, left in ((truth, "truth_ids", "missed"), (prediction, "prediction_ids", "extra")):
        assert sum(len(entry[name]) for entry in details["matched"]) + len(details[left]) == len(side)
