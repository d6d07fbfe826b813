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


def test_a_pair_scores_its_iou_and_its_character_error_rate() -> None:
    prediction = blocks(block(5, "abxd", 0, 0, 80, 10))
    # IoU 800 / 1000; one edit in four characters.
    assert scores(blocks(TITLE), prediction) == (0.8, 0.75)


def test_missed_and_extra_blocks_lower_both_scores() -> None:
    truth = blocks(TITLE, block(1, "ef", 0, 100, 20, 10))
    prediction = blocks(TITLE, block(2, "gh", 200, 0, 20, 10), block(3, "ij", 200, 50, 20, 10))
    # One unit, one missed, two extra: 1 / (1 + max(1, 2)) and 1 / (1 + 1 + 2).
    assert scores(truth, prediction) == (1 / 3, 1 / 4)
    # Released: 1 / max(2, 3) and 1 / 2, for extra blocks cost no recognition there.
    assert scores(truth, prediction, protocol="released") == (1 / 3, 1 / 2)


def test_the_best_pairs_are_matched_first_and_each_block_once() -> None:
    truth = blocks(block("a", "one", 0, 0, 100, 10), block("b", "two", 30, 0, 100, 10))
    prediction = blocks(block("c", "two", 25, 0, 100, 10), block("d", "one", 0, 0, 90, 10))
    # c overlaps a (IoU 75/125 = 0.6) and b (95/105), d overlaps a (0.9) and b (60/130 < 0.5).
    detection, recognition = scores(truth, prediction)
    assert detection == pytest.approx((0.9 + 95 / 105) / 2)
    assert recognition == 1
    # Released, IoU counts pixels (76 * 11 over (101 + 101 - 76) * 11), and a takes c, which comes first, as b does.
    detection, recognition = scores(truth, prediction, protocol="released")
    assert detection == pytest.approx((76 / 126 + 96 / 106) / 2)
    assert recognition == pytest.approx((0 + 1) / 2)


def test_the_iou_threshold_is_included() -> None:
    prediction = blocks(block(1, "abcd", 0, 0, 50, 10))
    assert scores(blocks(TITLE), prediction)[0] == 0.5
    assert scores(blocks(TITLE), blocks(block(1, "abcd", 0, 0, 49.9, 10)))[0] == 0


def test_the_iou_threshold_is_included_in_pixels() -> None:
    # Counted in pixels, 50 * 10 of 100 * 10.
    truth = blocks(block(0, "abcd", 0, 0, 99, 9))
    assert scores(truth, blocks(block(1, "abcd", 0, 0, 49, 9)), protocol="released")[0] == 0.5
    assert scores(truth, blocks(block(1, "abcd", 0, 0, 48, 9)), protocol="released")[0] == 0


def test_a_split_block_is_one_unit() -> None:
    truth = blocks(block("t", "ab cd", 0, 0, 100, 10))
    prediction = blocks(block("r", "cd", 50, 0.5, 45, 10), block("l", "ab", 0, 0, 45, 10))
    # Together they share 45 * 10 + 45 * 9.5 = 877.5 >= 0.8 of 1000. Their bounding box is 95 x 10.5.
    iou = 950 / (1000 + 95 * 10.5 - 950)
    detection, recognition = scores(truth, prediction)
    assert detection == pytest.approx(0.8 * iou)
    assert recognition == 1
    assert kinds(truth, prediction) == [("split", ["t"], ["l", "r"])]


def test_parts_that_cover_too_little_are_no_split() -> None:
    truth = blocks(block("t", "ab cd", 0, 0, 100, 10))
    prediction = blocks(block("l", "ab", 0, 0, 39, 10), block("r", "cd", 50, 0, 39, 10))
    assert scores(truth, prediction) == (0, 0)


def test_a_part_must_lie_in_the_block_by_more_than_its_share() -> None:
    truth = blocks(block("t", "ab cd", 0, 0, 100, 10))
    # Each part has exactly 0.4 of its area inside the truth.
    prediction = blocks(block("l", "ab", 0, 0, 49, 25), block("r", "cd", 51, 0, 49, 25))
    assert kinds(truth, prediction) == []
    assert kinds(truth, blocks(block("l", "ab", 0, 0, 49, 24), block("r", "cd", 51, 0, 49, 24))) != []


def test_parts_may_cover_exactly_what_they_must() -> None:
    whole = blocks(block("w", "ab cd", 0, 0, 100, 10))
    # 2 * 40 * 10 is 0.8 of 1000, and 2 * 20 * 10 is 0.4 of it.
    split = blocks(block("l", "ab", 0, 0, 40, 10), block("r", "cd", 60, 0, 40, 10))
    assert kinds(whole, split) == [("split", ["w"], ["l", "r"])]
    merged = blocks(block("l", "ab", 0, 0, 20, 10), block("r", "cd", 60, 0, 20, 10))
    assert kinds(merged, whole) == [("merge", ["l", "r"], ["w"])]
    less = blocks(block("l", "ab", 0, 0, 20, 10), block("r", "cd", 60, 0, 19.9, 10))
    assert kinds(less, whole) == []


def test_one_part_alone_is_no_split_and_no_merge() -> None:
    # 1000 of the 2400 lie in the truth, which it covers: IoU 0.42, a share of 0.42 and a cover of 1.
    truth = blocks(block("t", "ab", 0, 0, 100, 10), block("u", "cd", 0, 500, 100, 10))
    prediction = blocks(block("p", "ab", 0, 0, 100, 24), block("q", "cd", 0, 900, 100, 10))
    assert kinds(truth, prediction) == []
    assert scores(truth, prediction) == (0, 0)


def test_a_merged_truth_must_lie_in_the_block_by_more_than_its_share() -> None:
    prediction = blocks(block("p", "ab cd", 0, 0, 100, 10))
    # Exactly 0.8 of each truth's area is inside the prediction.
    assert kinds(blocks(*(block(x, "ab", x, 2, 40, 10) for x in (0, 60))), prediction) == []
    found = kinds(blocks(*(block(x, "ab", x, 1.9, 40, 10) for x in (0, 60))), prediction)
    assert found == [("merge", ["0", "60"], ["p"])]


def test_merged_blocks_are_one_unit() -> None:
    truth = blocks(block("r", "cd", 60, 0, 40, 10), block("l", "ab", 0, 0, 40, 10))
    prediction = blocks(block("p", "ab cx", 0, 0, 100, 10))
    # The truths' bounding box is the prediction; one edit in the five characters of "ab cd".
    detection, recognition = scores(truth, prediction)
    assert detection == pytest.approx(0.8)
    assert recognition == pytest.approx(4 / 5)
    assert kinds(truth, prediction) == [("merge", ["l", "r"], ["p"])]


def test_parts_are_read_from_top_to_bottom() -> None:
    truth = blocks(block("t", "first second", 0, 0, 50, 40))
    prediction = blocks(block(2, "second", 0, 20, 45, 20), block(1, "first", 10, 0, 40, 19))
    assert scores(truth, prediction)[1] == 1


def test_boxes_without_area_match_where_they_are_equal() -> None:
    line = block(0, "ab", 5, 5, 30, 0)
    assert scores(blocks(line), blocks(line)) == (1, 1)
    assert scores(blocks(line), blocks(block(0, "ab", 5, 5, 29, 0))) == (0, 0)


def test_empty_sides() -> None:
    assert scores(blocks(), blocks()) == (1, 1)
    assert scores(blocks(), blocks(TITLE)) == (0, 0)
    assert scores(blocks(TITLE), blocks()) == (0, 0)
    assert scores(blocks(), None) == (0, 0)
    assert scores(blocks(), blocks(TITLE), protocol="released") == (0, 0)
    assert scores(blocks(), blocks(), protocol="released") == (1, 1)


def test_an_empty_true_text_is_right_or_wrong() -> None:
    empty = blocks(block(0, "", 0, 0, 100, 10))
    assert scores(empty, empty)[1] == 1
    assert scores(empty, blocks(TITLE))[1] == 0


def test_blocks_with_a_double_underscore_are_dropped() -> None:
    blank = block(9, "a__b", 0, 50, 100, 10)
    assert scores(blocks(TITLE, blank), blocks(TITLE)) == (1, 1)
    assert scores(blocks(TITLE), blocks(TITLE, blank)) == (1, 1)


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
