"""Task 2: text detection and recognition."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord
from tests.metrics.chart import plain_reading
from tests.metrics.chart.records_for_tests import (
    Json,
    benchmark,
    block,
    blocks,
    columns,
    prediction_of,
    truth_of,
    work,
)

TITLE = block(0, "abcd", 0, 0, 100, 10)


def scores(truth: Json, prediction: Json | None, **options: Any) -> tuple[float, float]:
    found = columns({"task2": truth}, None if prediction is None else {"task2": prediction}, tasks=["task2"], **options)
    detection, recognition = found["task2.detection"], found["task2.recognition"]
    assert detection is not None
    assert recognition is not None
    return detection, recognition


def kinds(truth: Json, prediction: Json) -> list[tuple[str, list[str], list[str]]]:
    score = benchmark().score_sample(truth_of(task2=truth), prediction_of(task2=prediction))
    matched = msgspec.to_builtins(score.details)["task2"]["matched"]
    return [(entry["kind"], entry["truth_ids"], entry["prediction_ids"]) for entry in matched]


def row(*widths: tuple[float, float], text: str = "ab") -> Json:
    """Blocks of a height of 10 beside each other, by where they begin and how wide they are."""
    return blocks(*(block(place, text, x, 0, width, 10) for place, (x, width) in enumerate(widths)))


WHOLE = blocks(block("t", "ab ab", 0, 0, 100, 10))
LINE = block(0, "ab", 5, 5, 30, 0)
BLANK = block(9, "a__b", 0, 50, 100, 10)
EMPTY = blocks(block(0, "", 0, 0, 100, 10))
OTHERS = blocks(TITLE, block(2, "gh", 200, 0, 20, 10), block(3, "ij", 200, 50, 20, 10))
CASES: list[tuple[str, Json, Json | None, tuple[float, float], tuple[float, float] | None]] = [
    # What is expected, published and, where it is said, released.
    ("IoU 800 / 1000, one edit in four", blocks(TITLE), blocks(block(5, "abxd", 0, 0, 80, 10)), (0.8, 0.75), None),
    (
        # 1 / (1 + max(1, 2)) and 1 / (1 + 1 + 2). Released: 1 / max(2, 3) and 1 / 2, for extra blocks cost no
        # recognition there.
        "one unit, one missed, two extra",
        blocks(TITLE, block(1, "ef", 0, 100, 20, 10)),
        OTHERS,
        (1 / 3, 1 / 4),
        (1 / 3, 1 / 2),
    ),
    (
        # c overlaps a (IoU 75/125 = 0.6) and b (95/105), d overlaps a (0.9) and b (60/130 < 0.5). Released, IoU counts
        # pixels (76 * 11 over (101 + 101 - 76) * 11), and a takes c, which comes first, as b does.
        "the best pair first, and each block once",
        blocks(block("a", "one", 0, 0, 100, 10), block("b", "two", 30, 0, 100, 10)),
        blocks(block("c", "two", 25, 0, 100, 10), block("d", "one", 0, 0, 90, 10)),
        ((0.9 + 95 / 105) / 2, 1),
        ((76 / 126 + 96 / 106) / 2, 1 / 2),
    ),
    ("the IoU threshold is included", row((0, 100)), row((0, 50)), (0.5, 1), None),
    ("but not less", row((0, 100)), row((0, 49.9)), (0, 0), None),
    ("in pixels: 50 * 11 of 100 * 11", row((0, 99)), row((0, 49)), (0, 0), (0.5, 1)),
    ("in pixels", row((0, 99)), row((0, 48)), (0, 0), (0, 0)),
    (
        # Together they share 450 + 427.5 >= 0.8 of 1000. Their bounding box is 95 x 10.5, read from left to right.
        "a split block is one unit",
        blocks(block("t", "ab cd", 0, 0, 100, 10)),
        blocks(block("r", "cd", 50, 0.5, 45, 10), block("l", "ab", 0, 0, 45, 10)),
        (0.8 * 950 / (1000 + 95 * 10.5 - 950), 1),
        None,
    ),
    ("parts cover 0.8, exactly", WHOLE, row((0, 40), (60, 40)), (0.8, 1), (0, 0)),
    ("parts cover less", WHOLE, row((0, 39), (50, 39)), (0, 0), None),
    (
        "parts are read from top to bottom",
        blocks(block("t", "first second", 0, 0, 50, 40)),
        blocks(block(2, "second", 0, 20, 45, 20), block(1, "first", 10, 0, 40, 19)),
        (0.8 * 50 * 40 / (50 * 40), 1),
        None,
    ),
    (
        "one edit in the five of a merge",
        row((60, 40), (0, 40)),
        blocks(block(0, "ab ax", 0, 0, 100, 10)),
        (0.8, 0.8),
        None,
    ),
    ("merged truths cover 0.4, exactly", row((0, 20), (60, 20)), WHOLE, (0.8 * 800 / 1000, 1), None),
    ("merged truths cover less", row((0, 20), (60, 19.9)), WHOLE, (0, 0), None),
    # 1000 of the 2400 lie in the truth, which it covers: IoU 0.42, a share of 0.42 and a cover of 1.
    (
        "one part alone is no split and no merge",
        blocks(TITLE, block("u", "cd", 0, 500, 100, 10)),
        blocks(block("p", "ab", 0, 0, 100, 24), block("q", "cd", 0, 900, 100, 10)),
        (0, 0),
        None,
    ),
    ("boxes without area match where they are equal", blocks(LINE), blocks(LINE), (1, 1), None),
    ("and only there", blocks(LINE), blocks(block(0, "ab", 5, 5, 29, 0)), (0, 0), None),
    ("nothing on both sides", blocks(), blocks(), (1, 1), (1, 1)),
    ("nothing is there", blocks(), blocks(TITLE), (0, 0), (0, 0)),
    ("nothing is predicted", blocks(TITLE), blocks(), (0, 0), (0, 0)),
    ("no prediction of nothing", blocks(), None, (0, 0), (0, 0)),
    ("an empty text is right", EMPTY, EMPTY, (1, 1), (1, 1)),
    ("or wrong", EMPTY, blocks(TITLE), (1, 0), (1, 0)),
    ("a double underscore drops a true block", blocks(TITLE, BLANK), blocks(TITLE), (1, 1), (1, 1)),
    ("and a predicted one", blocks(TITLE), blocks(TITLE, BLANK), (1, 1), (1, 1)),
]


@pytest.mark.parametrize(("why", "truth", "prediction", "published", "released"), CASES)
def test_scores(why: str, truth: Json, prediction: Json | None, published: Any, released: Any) -> None:
    assert scores(truth, prediction) == pytest.approx(published), why
    if released:
        assert scores(truth, prediction, protocol="released") == pytest.approx(released), why


def test_details_say_what_was_split_and_merged() -> None:
    parts = row((60, 40), (0, 40))
    assert kinds(WHOLE, parts) == [("split", ["t"], ["1", "0"])]
    assert kinds(parts, WHOLE) == [("merge", ["1", "0"], ["t"])]


@pytest.mark.parametrize(("inside", "height"), [(0.4, 25), (0.8, 12.5)])
def test_a_part_lies_in_a_block_by_more_than_its_share(inside: float, height: float) -> None:
    """10 of its height: exactly 0.4 of a part of a split, and 0.8 of a merged truth, or a little more."""
    for high, found in ((height, 0), (height - 0.1, 1)):
        parts = blocks(*(block(x, "ab", x, 0, 49, high) for x in (0, 51)))
        assert len(kinds(WHOLE, parts) if inside == 0.4 else kinds(parts, WHOLE)) == found


@pytest.mark.parametrize("width", [-5, -200, 0])
def test_sides_that_run_backwards_have_no_area(width: float) -> None:
    for protocol in ("published", "released"):
        assert scores(blocks(TITLE), blocks(block(1, "abcd", 0, 0, width, 10)), protocol=protocol)[0] < 0.05


def test_a_text_of_ten_million_characters_is_scored() -> None:
    runaway = blocks(block(1, "abcd" * 2_500_000, 0, 0, 100, 10))
    assert scores(blocks(TITLE), runaway) == (1, 0)
    score = benchmark().score_sample(truth_of(task2=blocks(TITLE)), prediction_of(task2=runaway))
    assert len(score.details["task2"]["matched"][0].predicted) < 300


@pytest.mark.parametrize("protocol", ["published", "released"])
def test_the_work_of_texts_is_counted_before_it_is_done(protocol: str) -> None:
    def steps(count: int, length: int, other: int) -> int:
        truth = blocks(*(block(place, "ab" * length, 100 * place, 0, 90, 10) for place in range(count)))
        prediction = blocks(*(block(place, "ba" * other, 100 * place, 0, 90, 10) for place in range(count)))
        return work({"task2": truth}, {"task2": prediction}, tasks=["task2"], protocol=protocol)

    # 64 columns of the table of edits at once: 20,000 / 64 * 20,000 / 80 for each pair.
    assert 3 * 78_000 < steps(3, 10_000, 10_000) < 3 * 80_000
    # A text of twice the length is wrong without comparing them.
    assert steps(1, 10_000, 20_000) < 2000
    assert steps(400, 1, 1) < 4 * 400 * 400
    texts = [blocks(block(1, text * 500_000, 0, 0, 90, 10)) for text in ("ab", "ba")]
    with pytest.raises(RejectedRecord, match="max_steps=4000000") as rejected:
        scores(*texts, protocol=protocol)
    assert rejected.value.side == "sample"


def test_the_work_of_reading_is_that_of_the_side_which_takes_most_of_it() -> None:
    many = blocks(*(block(place, "\\alpha CO_{2}", 0, 0, 9, 9) for place in range(20)))
    for truth, prediction, side in (
        (many, None, "ground_truth"),
        (blocks(), many, "prediction"),
        (many, many, "ground_truth"),
    ):
        # Each takes 400 + 15 * 13 steps, one more for the text and one for 50 characters of all.
        with pytest.raises(RejectedRecord, match=f"{20 * (400 + 15 * 13) + 20 + 5} ") as rejected:
            scores(truth, prediction, max_steps=5000)
        assert rejected.value.side == side


def test_nearly_equal_boxes_are_matched_best_first() -> None:
    truth = [block(place, "a", place / 10, 0, 100, 10) for place in range(40)]
    assert scores(blocks(*truth), blocks(*truth[::-1])) == (1, 1)


SMALL = st.integers(0, 12)
RANDOM_BLOCKS = st.lists(
    st.builds(block, st.integers(0, 5), st.text("ab", max_size=3), SMALL, SMALL, SMALL, SMALL), max_size=6
)


@settings(max_examples=60, deadline=None)
@given(RANDOM_BLOCKS, RANDOM_BLOCKS)
def test_scores_are_shares_and_no_block_is_used_twice(truth: list[Json], prediction: list[Json]) -> None:
    for protocol in ("published", "released"):
        assert all(0 <= score <= 1 for score in scores(blocks(*truth), blocks(*prediction), protocol=protocol))
    score = benchmark().score_sample(truth_of(task2=blocks(*truth)), prediction_of(task2=blocks(*prediction)))
    details = msgspec.to_builtins(score.details)
    matched = details["task2"]["matched"]
    for side, name, left in ((truth, "truth_ids", "missed"), (prediction, "prediction_ids", "extra")):
        assert sum(len(entry[name]) for entry in matched) + len(details["task2"][left]) == len(side)


def strips(cuts: list[tuple[int, int, str]], top: int, height: int) -> list[Json]:
    """Blocks side by side: each from a cut to the next, but for what its gap leaves out."""
    ordered = sorted(cuts)
    sides = [(left[0], max(left[0], right[0] - left[1]), left[2]) for left, right in itertools.pairwise(ordered)]
    return [block(place, text, left, top, right - left, height) for place, (left, right, text) in enumerate(sides)]


CUTS = st.lists(st.tuples(st.integers(0, 20), st.sampled_from((0, 0, 0, 1, 3)), st.text("abc", max_size=3)), max_size=6)
STRIPS = st.builds(strips, CUTS, st.sampled_from((0, 0, 2)), st.sampled_from((10, 10, 6, 0)))
LINES_OF_BLOCKS = st.lists(STRIPS, max_size=2).map(lambda lines: list(itertools.chain.from_iterable(lines)))


@settings(max_examples=150, deadline=None)
@given(LINES_OF_BLOCKS | RANDOM_BLOCKS, LINES_OF_BLOCKS | RANDOM_BLOCKS)
def test_pairs_splits_and_merges_are_those_of_the_plain_reading(truth: list[Json], prediction: list[Json]) -> None:
    expected = plain_reading.text_blocks(truth, prediction)
    assert scores(blocks(*truth), blocks(*prediction)) == pytest.approx(expected, abs=1e-12)
