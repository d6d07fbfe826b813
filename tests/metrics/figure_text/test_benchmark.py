"""The benchmark as a whole: records in, statistics, values and pictures out. A copy scores 1, and nothing is free."""

import itertools
import json
import math
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.common.boxes import area, shared_area
from beamscore.metrics.statistics.sums import Sums
from tests.laws import tries
from tests.metrics import samples
from tests.metrics.figure_text.samples import Box, Regions, at, rejection, score, values, words
from tests.metrics.samples import SVG, texts
from tests.metrics.statistics.samples import measured
from tests.plain_loop import make_benchmark, total

A, B, C = at(0, id="a", text="DNA"), at(20, id="b", text="kDa"), at(40, id="c", text="p53")
READ = [{"id": "a", "text": "DNA"}, {"id": "b", "text": "kda"}]
ARC = [{"points": [[0, 0], [100, 0], [100, 100], [95, 100], [95, 5], [0, 5]], "text": "DNA"}]
WORDLESS = [at(0, text="DNA"), at(50, difficulty="small")]
LABELLED_WORDS = [{"id": n, "text": "DNA", "difficulty": each} for n, each in enumerate(("small", "small", "color"))]
READ_TWO, ODD = [{"id": 0, "text": "DNA"}, {"id": 2, "text": "DNA"}], [at(0, text="\x00]=[", difficulty=["]=["])]
TWO_WORDS, FOUND = [at(0, text="DNA"), at(20, text="kDa")], [at(0, text="DNA"), at(50, text="RNA"), at(100, text="kDa")]
MISREAD = [at(1, text="DNA"), at(20, text="kda"), at(60, text="x")]
CONFIDENT = [at(0, confidence=0.9), at(30, confidence=0.2), at(60), at(90, confidence=0.5)]
UNSURE = [at(0, text="DNA", confidence=0.2)]
STOP = at(0, text="DNA.")
LONG = {"box": [0, 0, 20, 1], "text": "DNA"}
RATES = ("precision", "recall")
ACCURACY, HALF = "word_recognition.accuracy", {"scatter_factor": 0.5}
WIDE, PARTS = [{"box": [x, 0, x + 20, 10]} for x in (0, 50)], [at(0), at(10), at(50), at(60)]
CASES: list[tuple[Any, ...]] = [
    # By default, 0.8 for both sides: see the law of DetEval.
    *(
        (why, truth, found, HALF, {f"detection.{rate}": 1 / 2 for rate in RATES})
        for why, truth, found in (("splits", WIDE, PARTS), ("merges", PARTS, WIDE))
    ),
    ("no prediction", [A, at(20)], None, {}, {"detection.recall": 0, "end_to_end.f1": 0, ACCURACY: None}),
    ("nothing to measure", [], [], {}, {"detection.f1": None, "end_to_end.f1": None, "agreement.location": None}),
    ("those from the least on", [at(0)], CONFIDENT, {"min_confidence": 0.5}, {"detection.precision": 1 / 3}),
    ("all below it", [at(0)], CONFIDENT[1:2], {"min_confidence": 0.5}, {"detection.recall": 0, "end_to_end.f1": None}),
    ("texts below it", [A], UNSURE, {"min_confidence": 0.5}, {"end_to_end.f1": 0, "agreement.text": 0}),
    # A region with the id of a word is its reading, wherever it lies, and takes no part in detection.
    ("readings", [A, B, C], READ, {}, {ACCURACY: 1 / 3, "detection.recall": None, "end_to_end.recall": None}),
    ("in any case", [A, B, C], READ, {"case_sensitive": False}, {ACCURACY: 2 / 3}),
    # Without ids on either side there are no words; an id is text, and a word needs no location.
    ("no ids", [A], [at(0, text="DNA")], {}, {ACCURACY: None}),
    ("ids are texts", [{"id": 7, "text": "DNA"}], [{"id": "7", "text": "DNA"}], {}, {ACCURACY: 1}),
    # A word without a text is none to read, but one with an empty text is.
    ("no text", *[[A, {"id": "b"}, {"id": "c", "text": ""}, {"id": "d", "text": ""}]] * 2, {}, {ACCURACY: 1}),
    ("an unknown id", [A], [{"id": "z", "text": "DNA"}], {}, {ACCURACY: 0}),
    ("an id of the system's own is no reading", [at(0, id="a")], [at(0, id="z")], {}, {"detection.f1": 1}),
    ("place and text", TWO_WORDS, MISREAD, {}, {"end_to_end.precision": 1 / 3, "end_to_end.recall": 1 / 2}),
    ("unread", [A], [at(0)], {}, {"end_to_end.f1": None, "agreement.text": None, "agreement.location": 1}),
    # 2 * 17 / (20 + 20) = 0.85; see the law of as many words and regions.
    ("from 85 % on", [LONG], [{**LONG, "box": [3, 0, 23, 1]}], {}, {"agreement.location": 1, "agreement.text": 1}),
    ("end to end alone", [STOP], [A], {"protocol": "iou"}, {"end_to_end.f1": 1, "agreement.text": 0}),
    ("a bent polygon", ARC, ARC, {"geometry": "polygon"}, {"end_to_end.f1": 1, "detection.f1": 1}),
    # A region without a text, and what is found there, do not count: precision is 1 / 2 of the first and the last.
    ("wordless", WORDLESS, FOUND, {}, {"end_to_end.recall": 1, "end_to_end.precision": 1 / 2,
     "detection.precision": 2 / 3, "agreement.text_max": 1 / 2, "end_to_end.recall[difficulty=small]": None}),
    ("words by subset", LABELLED_WORDS, READ_TWO, {}, {f"{ACCURACY}[difficulty=small]": 1 / 2, ACCURACY: 2 / 3}),
    ("odd texts and labels", ODD, ODD, {}, {"detection.f1[difficulty=]=[]": 1}),
    ("nulls", [at(0, **dict.fromkeys(("id", "points", "text", "ignore")))], [at(0, id=None)], {}, {"detection.f1": 1}),
]  # fmt: skip


SCRIPT, IOU, POLYGONS = {"protocol": "icdar2013"}, {"protocol": "iou"}, {"geometry": "polygon"}
OPTIONS: list[dict[str, Any]] = [{}, POLYGONS, SCRIPT, {**SCRIPT, **POLYGONS}, IOU]
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
CASES += [
    ("counted", truth, found, options, {"detection.recall": recall, "detection.precision": precision})
    for truth, found, options, recall, precision in COUNTED
]
# Texts are compared in NFC, and by the script in code points; the other word is read.
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "\u00c5e\u0301") for form in ("NFC", "NFD"))
FORMS = [at(0, text=COMPOSED), at(50, id="w", text=DECOMPOSED)], [at(0, text=DECOMPOSED), {"id": "w", "text": COMPOSED}]
CASES += [
    ("forms of Unicode", *FORMS, {**options, "case_sensitive": case_sensitive},
     {ACCURACY: right, "end_to_end.precision": right, "agreement.text": right / 2})
    for case_sensitive, (options, right) in itertools.product((True, False), (({}, 1), (SCRIPT, 0), (IOU, 0)))
]  # fmt: skip


@pytest.mark.parametrize(("why", "truth", "prediction", "options", "expected"), CASES)
def test_values(why: str, truth: Any, prediction: Any, options: Any, expected: dict[str, float | None]) -> None:
    result = score(truth, prediction, **options)
    found = values(result, **options)
    assert {name: found[name] for name in expected} == pytest.approx(expected), why
    assert result.metrics == {name: found[name] for name in found if "[" not in name}


@tries(40)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=3), st.data())
def test_a_subset_is_the_benchmark_with_the_others_ignored(drawn: Any, data: Any) -> None:
    labelled, ignored, any_small = list[SampleScore](), list[SampleScore](), False
    for truths, detections in drawn:
        small = data.draw(st.lists(st.booleans(), min_size=len(truths), max_size=len(truths)))
        found, regions = ([{"box": list(box), "text": text} for box, text in side] for side in (detections, truths))
        each = [({"difficulty": "small" if one else "color"}, {"ignore": not one}) for one in small]
        for scores, place in ((labelled, 0), (ignored, 1)):
            scores.append(score([{**r, **more[place]} for r, more in zip(regions, each, strict=True)], found))
        any_small |= any(small)
    whole, subset, suffix = values(*ignored), values(*labelled), "[difficulty=small]"
    expected = {name: value for name, value in whole.items() if name.startswith(("detection", "end_to_end"))}
    assert any(name.endswith(suffix) for name in subset) == any_small
    if any_small:
        assert {name: subset.get(name + suffix) for name in expected} == pytest.approx(expected)


SPOTTED, FALSE, READING = at(0, text="DNA"), at(90, text="b"), {"id": "a", "text": "DNA"}
READINGS = [[], [at(0)], [SPOTTED], [FALSE], [READING], [SPOTTED, READING], [FALSE, READING]]
OF_REGIONS = [f"{task}.{rate}" for task in ("detection", "end_to_end") for rate in (*RATES, "f1")]


@given(samples.weighted([{"regions": []}, {"regions": [A]}], [None, *({"regions": each} for each in READINGS)]))
def test_a_metric_of_some_figures_is_null_where_the_corpus_has_none_and_where_they_have_no_region(drawn: Any) -> None:
    whole, part = samples.whole_and_part("figure_text", drawn)
    if any(truth["regions"] and weight for truth, _, weight in drawn):
        for metric in (*OF_REGIONS, "agreement.location", "agreement.text", ACCURACY):
            assert (part[metric] is None) == (whole[metric] is None), metric
    if any(truth["regions"] for truth, _, _ in drawn):
        regions = [region for _, predicted, _ in drawn for region in (predicted or {"regions": ()})["regions"]]
        assert (whole[ACCURACY] is not None) == (READING in regions)
        assert (whole["detection.recall"] is None) == (READING in regions and not any("box" in one for one in regions))


def test_figures_without_a_transcribed_word_do_not_count_for_texts() -> None:
    small = {"difficulty": "small"}
    word, wordless = (score([region], [at(0, text="DNA")]) for region in (at(0, text="DNA", **small), at(0, **small)))
    figures = {str(n): (word if n < 5 else wordless).statistics for n in range(205)}
    units = measured(make_benchmark("figure_text"), figures).units
    del units[ACCURACY]
    few = {name for name, count in units.items() if count < 10}
    assert few == {name for name in units if name.startswith(("end_to_end", "agreement.text"))}


def test_what_is_predicted_in_one_slice_alone_is_0_in_the_other() -> None:
    parts = [Sums.of(score([A], [each]).statistics) for each in (SPOTTED, READING)]
    one, other = (make_benchmark("figure_text").values_within(part, Sums.merged(parts)) for part in parts)
    rates = (*OF_REGIONS, "agreement.text", ACCURACY)
    assert [(one[rate], other[rate]) for rate in rates] == [*[(1, 0)] * 7, (0, 1)]


UNLOCATED = {"id": "b", "text": "kDa"}
# What else there is, is in the details of the sample corpus, which are kept as a whole.
HOW_MATCHED = [
    (at(0, id="a", text="DNA"), {"match": "one_to_one", "id": "a", "with": [0], "end_to_end": 0}),
    ({"box": [100, 50, 110, 60], "ignore": True}, {"match": "dont_care"}),
    ({"box": [5, 5, 5, 9]}, {"match": "dropped", "reason": "it has no area"}),
    (UNLOCATED, {"match": "unlocated", "id": "b", "reading": 3, "read_right": True}),
]
HOW_FOUND = [
    (at(0, text="DNA"), {"match": "one_to_one", "with": [0], "end_to_end": True}),
    ({"box": [0, 0, 0, 0]}, {"match": "false", "reason": "it has no area"}),
    ({"box": [105, 55, 105, 55]}, {"match": "dropped", "reason": "it has no area"}),  # in a don't-care region
    (UNLOCATED, {"match": "reading"}),
    ({"id": "z", "text": "?"}, {"match": "unknown_reading"}),
    (at(310, confidence=0.1), {"match": "unconfident"}),
]


def test_every_region_says_how_it_was_matched() -> None:
    sides = ([region for region, _ in side] for side in (HOW_MATCHED, HOW_FOUND))
    result = score(*sides, min_confidence=0.5)
    details = {"ground_truth": [how for _, how in HOW_MATCHED], "prediction": [how for _, how in HOW_FOUND]}
    assert json.loads(msgspec.json.encode(result.details)) == details
    assert result.coverage == {
        "ground_truth_regions_dropped": 1,
        "prediction_regions_dropped": 1,  # the other one counts, as false
        "prediction_regions_below_confidence": 1,
        "prediction_readings_of_unknown_regions": 1,
    }


@pytest.mark.parametrize(("place", "apart"), [({}, 0), (at(10), 0), (at(10.1), 2), ({"box": [5, 30, 5, 11]}, 2)])
def test_readings_that_lie_elsewhere_are_counted_if_they_are_two_and_half_of_all(place: Any, apart: int) -> None:
    words, readings = [A, {**A, "id": "d"}], [{**READING, **place}, {**READING, **place, "id": "d"}]
    found = score([*words, B, C], [*readings, B, C])
    assert (found.metrics[ACCURACY], found.coverage) == (1, {"prediction_readings_elsewhere": apart} if apart else {})
    more = [B, C, at(60, id="e")]
    unscored = [{**word, "ignore": True} for word in words]
    for truths, predictions in ((words, readings[:1]), ([*words, *more], [*readings, *more]), (unscored, readings)):
        assert score(truths, predictions).coverage == {}


def test_unclear_records_are_rejected() -> None:
    for truth, prediction, side, message in (
        ([at(0), {"text": "DNA"}], [], "ground_truth",
         "regions[1] needs `points` or a `box`, or an `id` by which its text is read"),
        ([at(n, id="a" * 99) for n in (0, 20)], [], "ground_truth",
         f"regions[0] and regions[1] both have the id '{'a' * 39}…"),
        ([at(0, id=1), A, at(20, id="1")], [], "ground_truth", "regions[0] and regions[2] both have the id '1'"),
        ([at(n, difficulty=f"label {n}") for n in range(51)], [], "ground_truth",
         "the regions have more than 50 different labels"),
        ([at(0)], [at(0), {"text": "DNA"}], "prediction",
         "regions[1] needs `points` or a `box`, or the `id` of the word that it reads"),
        ([A], [at(0), {"id": "a"}, at(0), {"id": "a", "text": "x"}], "prediction",
         "regions[1] and regions[3] both have the id 'a': a word has one reading"),
        ([at(0)], [at(0), at(0, confidence=math.nan)], "prediction", "regions[1].confidence is not a finite number"),
    ):  # fmt: skip
        assert rejection(side, truth, prediction) == message
    for named, said in (
        (at(0, transcription="a"), "transcription, not `text`"),
        *(({"id": "a", name: [0, 0, 9, 9]}, f"{name}, not `box` or `points`") for name in ("bbox", "polygon")),
    ):
        for truth, prediction in (([named], []), ([], [named])):
            with pytest.raises(msgspec.ValidationError, match=rf"it has {said}; .* - at `\$.regions\[0\]`"):
                rejection("sample", truth, prediction)
    assert score(ARC, [{**ARC[0], "bbox": [0, 0, 9, 9]}]).metrics["detection.f1"] == 1


# 481 regions of 4 corners, 4 steps each; 2 for each of 240 pairs that meet, and 240 // 16 as one region is compared
# with all detections; 3 choices of 240 // 2 pairs, 241 // 8 and 240 // 8 regions;
# 4 pairings with a search from each of 240 regions.
OF_RECTANGLES = 481 * 16 + 2 * 240 + 15 + 3 * (120 + 30 + 30) + 4 * 240
# 30 steps of each pair, and its 4 x 4 corners, once and a quarter; words are compared as rectangles.
OF_POLYGONS = OF_RECTANGLES + 240 * (30 + 4 + 16) + 2 * 240


@pytest.mark.parametrize(("geometry", "steps"), [("rectangle", OF_RECTANGLES), ("polygon", OF_POLYGONS)])
def test_work_is_paid_for_before_it_is_done(geometry: str, steps: int) -> None:
    triangle = [{"points": [[0, 0], [2, 0], [0, 2]]}]
    score(triangle, [], geometry=geometry, max_steps=4 * 3)
    # 4 * 4 of the steps are more than half.
    message = rejection("prediction", triangle, [at(50)], geometry=geometry, max_steps=4 * 7 - 1)
    assert f"at least {4 * 7} steps" in message
    found = [at(20 * n, text="a") for n in range(240)]
    truth = [*({**each, "difficulty": "small"} for each in found), {"box": [0, 20, 4800, 30]}]
    samples.assert_steps(steps, "figure_text", {"regions": truth}, {"regions": found}, geometry=geometry)


def test_figures_without_regions_are_explained() -> None:
    """The words and tables of the sample corpus are kept as a whole."""
    nothing = make_benchmark("figure_text").explain({"ground_truth": [], "prediction": []})
    assert nothing == ["no regions of the ground truth", "no predicted regions"]


def drawn(truth: Regions, found: Regions, image: tuple[int, int] | None = None) -> Any:
    return samples.drawn("figure_text", {"regions": truth}, {"regions": found}, image)


def test_readings_are_judged_where_nothing_is_detected() -> None:
    """The sample corpus has figures with both."""
    found, benchmark = [*READ[:1], at(20, id="b", text="kda"), {"id": "c"}], make_benchmark("figure_text")
    truth = [A, B, at(40, id="c")]  # without a text, it is no word
    result = score(truth, found)
    assert benchmark.explain(result.details)[2:] == ["1 of 2 readings right"]
    assert len(benchmark.tables(total([result]))) == 1
    parts = [(title.split(": ")[1], style) for title, style in samples.shapes(drawn(truth, found), "polygon")]
    assert parts == [("read right", "matched"), ("misread", "wrong"), ("missed", "missed"), ("misread", "wrong")]


def test_splits_and_merges_are_drawn_as_matched() -> None:
    for truth, found in ((WIDE, PARTS), (PARTS, WIDE)):
        assert {style for _, style in samples.shapes(drawn(truth, found), "polygon")} == {"matched"}


def test_a_far_region_does_not_blow_up_the_picture() -> None:
    """All else is in the kept drawings."""
    row = [at(100 * n, text="word") for n in range(3)]
    # Up to twice the width of the ground truth away: 2 * 210 from 210 on.
    near, edge, far = drawn(row, []), drawn(row, [at(620)]), drawn(row, [at(1e6)])
    points = [[each.get("points") for each in svg.iter(f"{SVG}polygon")] for svg in (near, far)]
    assert points[0] == points[1]
    notes = [[each for each in texts(svg) if "far" in each] for svg in (near, edge, far)]
    assert notes == [[], [], ["1 part lies far outside, not drawn"]]
    # Over the real picture, what lies outside by more than 5 % of 800 or 600 is not drawn.
    inside = [at(830), {"box": [-40, -30, 10, 630]}]
    outside = [at(831), *({"box": box} for box in ([-41, 0, 9, 9], [0, -31, 9, 9], [0, 0, 9, 631]))]
    svg = drawn([{"box": [400, 300, 800, 600]}], [*inside, *outside], (800, 600))
    assert "4 parts lie far outside, not drawn" in texts(svg)
    # A figure of one point, and one of none.
    assert {svg.get("width") for svg in (drawn([{"box": [5, 5, 5, 5]}], []), drawn([], []))} == {svg.get("width")}


boxes = st.tuples(*[st.integers(0, 12)] * 4).map(lambda b: (*map(min, b[:2], b[2:]), *map(max, b[:2], b[2:])))
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
@tries(40)
@given(st.lists(regions, max_size=5), st.lists(st.tuples(boxes, st.sampled_from(["a", None])), max_size=6))
def test_a_copy_scores_1(options: dict[str, Any], drawn: Regions, some: list[tuple[Box, str | None]]) -> None:
    # Of any shape, each in a cell of its own: DetEval does not tell apart regions that cover each other.
    apart = [{**each, "points": [(x + 50 * n, y) for x, y in each["points"]]} for n, each in enumerate(drawn)]
    assert_perfect(apart, **options)
    assert_perfect([{**each, "id": n, "text": each["text"] or ""} for n, each in enumerate(apart)], **options)
    # Boxes that overlap a little.
    more, kept, copied = int(options == SCRIPT), list[Box](), Regions()
    for (x1, y1, x2, y2), text in some:
        box = (x1, y1, x2 + more, y2 + more)
        pairs = [pair for other in kept for pair in ((box, other), (other, box))]
        if area(box) and (options == IOU or all(shared_area(one, other) < 0.4 * area(other) for one, other in pairs)):
            kept.append(box)
            copied.append({"box": [x1, y1, x2, y2], "text": text})
    assert_perfect(copied, **options)
    # However much they overlap, all words are read.
    every = [{"box": [x1, y1, x2 + 1, y2 + 1], "text": text} for (x1, y1, x2, y2), text in some]
    assert score(every, every, **options).metrics["end_to_end.f1"] in (1, None)


@pytest.mark.parametrize("options", OPTIONS)
@tries(40)
@given(st.lists(regions, max_size=5), st.lists(regions, max_size=5))
def test_what_is_said_to_count_is_what_is_counted(options: dict[str, Any], truth: Regions, found: Regions) -> None:
    result = score(truth, [{"points": each["points"]} for each in found], **options)
    for side, statistic in (("ground_truth", "regions"), ("prediction", "detections")):
        counted = [each for each in result.details[side] if each["match"] not in ("dont_care", "dropped")]
        assert len(counted) == result.statistics.get(f"detection.{statistic}", 0)
