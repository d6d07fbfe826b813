"""A prediction equal to its ground truth scores 1, and no detection is free of charge."""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.figure_text.samples import Box, Regions, area, at, common, score, values

SCRIPT, IOU, POLYGONS = {"protocol": "icdar2013"}, {"protocol": "iou"}, {"geometry": "polygon"}
OPTIONS: list[dict[str, Any]] = [{}, POLYGONS, SCRIPT, {**SCRIPT, **POLYGONS}, IOU]
boxes = st.tuples(*[st.integers(0, 12)] * 4).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)
corners = st.tuples(st.integers(0, 12), st.integers(0, 12))
regions = st.fixed_dictionaries(
    {
        "points": st.lists(corners, min_size=3, max_size=5) | boxes.map(lambda b: [b[:2], b[2:], (b[0], b[3])]),
        "text": st.none() | st.sampled_from(["DNA", "Å", "e\u0301", "(a)"]),
        "ignore": st.booleans(),
        "difficulty": st.none() | st.sampled_from(["small", "color"]) | st.just(["small", "color"]),
        "important": st.none() | st.booleans(),
        "orientation": st.none() | st.sampled_from(["horizontal", "oriented"]),
    }
)


def assert_perfect(truth: Regions, **options: Any) -> None:
    """Asserts that a copy scores 1, with the ids, which make readings of it, and without."""
    found = [{name: value for name, value in each.items() if name in ("box", "points", "text")} for each in truth]
    for prediction in (truth, found):
        found_values = values(score(truth, prediction, **options), **options)
        assert all(value is None or value == pytest.approx(1) for value in found_values.values()), found_values


@pytest.mark.parametrize("options", OPTIONS)
@settings(max_examples=40)
@given(st.lists(regions, max_size=5), st.lists(boxes, max_size=6))
def test_a_copy_scores_1(options: dict[str, Any], drawn: Regions, some: list[Box]) -> None:
    # Of any shape, each in a cell of its own: DetEval does not tell apart regions that cover each other.
    apart = [{**each, "points": [(x + 50 * n, y) for x, y in each["points"]]} for n, each in enumerate(drawn)]
    assert_perfect(apart, **options)
    assert_perfect([{**each, "id": n, "text": each["text"] or ""} for n, each in enumerate(apart)], **options)
    # Boxes that overlap a little.
    more, kept = int(options == SCRIPT), list[Box]()
    for x1, y1, x2, y2 in some:
        box = (x1, y1, x2 + more, y2 + more)
        pairs = [pair for other in kept for pair in ((box, other), (other, box))]
        if area(box) and (options == IOU or all(common(one, other) < 0.4 * area(other) for one, other in pairs)):
            kept.append(box)
    assert_perfect([{"box": [x1, y1, x2 - more, y2 - more], "text": "a"} for x1, y1, x2, y2 in kept], **options)


LINE, CROSSED = {"box": [20, 0, 20, 9]}, {"points": [[30, 0], [40, 10], [40, 0], [30, 10]]}
LINES = [(-80, 59), (-106, -3), (-2, 245), (-28, 183)], [(8.7, 9.3), (38.7, 4.3), (50.7, 2.3), (14.7, 8.3)]
# Most corners of one are at its left end, of the other at its right end: their means are 19.4 from each other.
LEFT = {"points": [*((50 + n / 10, 0) for n in range(20)), (60, 0), (60, 1), (50, 1)]}
RIGHT = {"points": [(50, 0), *((72 + n / 10, 0) for n in range(1, 21)), (74, 1), (50, 1)]}
SQUARE = [(10, 0), (10, 10), (0, 10)]
FAR = {**IOU, "sigma_threshold": 0.99, "tau_threshold": 0.99, "scatter_factor": 0.1, "geometry": "polygon"}
COUNTED: list[Any] = [
    # A line counts as a thin box would, unless 0.4 of it lie in a don't-care region, as half of it does on an edge.
    *(([at(0)], [at(0), line], options, 1, 1 / 2) for line in (LINE, CROSSED) for options in ({}, POLYGONS)),
    *(([at(0), at(20, ignore=True)], [at(0), LINE], options, 1, 1) for options in ({}, POLYGONS)),
    *(([at(0), at(21, ignore=True)], [at(0), LINE], options, 1, 1 / 2) for options in ({}, POLYGONS)),
    # Corners on a line have no area, whatever rounding says, so that such a region is no word to find.
    *(([at(300), {"points": line}], [at(300)], options, 1, 1) for line in LINES for options in ({}, POLYGONS, IOU)),
    # The Python DetEval drops polygons that cannot be measured, the rectangle script counts pixels.
    ([at(0)], [at(0), LINE, CROSSED], {**SCRIPT, **POLYGONS}, 1, 1),
    ([at(0)], [at(0), LINE, CROSSED], POLYGONS, 1, 1 / 3),
    ([at(0)], [at(0), LINE], SCRIPT, 1, 1 / 2),
    # 10 of 10 and of 24 are shared; as polygons, 2 * 19.4 is more than the diagonals, 10.05 and 24.02.
    ([LEFT], [RIGHT], {}, 1, 1),
    ([LEFT], [RIGHT], POLYGONS, 0, 0),
    # By IoU, whatever the options of DetEval.
    ([at(0)], [{"box": [0, 0, 10, 19.9]}], FAR, 1, 1),  # 100 / 199
    # Polygons are measured exactly, whatever the geometry.
    ([at(0)], [{"points": SQUARE}], IOU, 0, 0),  # 50 / 100
    ([at(0)], [{"points": [(1, 0), *SQUARE]}], IOU, 1, 1),  # 95 / 100
    ([at(0)], [at(0), LINE], IOU, 1, 1 / 2),  # without area it counts, and matches nothing
    # A column of ten pixels is a region like any other.
    ([LINE], [LINE], SCRIPT, 1, 1),
]


def test_what_is_counted() -> None:
    for truth, found, options, recall, precision in COUNTED:
        metrics = score(truth, found, **options).metrics
        rates = metrics["detection.recall"], metrics["detection.precision"]
        assert rates == pytest.approx((recall, precision)), (truth, found, options)


@pytest.mark.parametrize("options", OPTIONS)
@settings(max_examples=40)
@given(st.lists(regions, max_size=5), st.lists(regions, max_size=5))
def test_what_is_said_to_count_is_what_is_counted(options: dict[str, Any], truth: Regions, found: Regions) -> None:
    result = score(truth, [{"points": each["points"]} for each in found], **options)
    for side, statistic in (("ground_truth", "regions"), ("prediction", "detections")):
        counted = [each for each in result.details[side] if each["match"] not in ("dont_care", "dropped")]
        assert len(counted) == result.statistics.get(f"detection.{statistic}", 0)


def test_texts_are_compared_in_nfc_and_by_the_script_in_code_points() -> None:
    composed, decomposed = (unicodedata.normalize(form, "\u00c5e\u0301") for form in ("NFC", "NFD"))
    truth = [at(0, text=composed), at(50, id="w", text=decomposed)]
    found = [at(0, text=decomposed), {"id": "w", "text": composed}]
    for case_sensitive, (options, right) in itertools.product((True, False), (({}, 1), (SCRIPT, 0), (IOU, 0))):
        metrics = score(truth, found, case_sensitive=case_sensitive, **options).metrics
        names = "word_recognition.accuracy", "end_to_end.precision", "agreement.text"  # the other word is read
        assert [metrics[name] for name in names] == [right, right, right / 2]
