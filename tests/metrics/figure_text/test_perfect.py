"""A prediction equal to its ground truth scores 1, and no detection is free of charge."""

from __future__ import annotations

import random
import unicodedata
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.statistics.sums import Sums
from tests.generate.figure_text import sample
from tests.metrics.figure_text.brute_force import area, common
from tests.metrics.figure_text.test_benchmark import CORPUS, at, score, values
from tests.plain_loop import make_benchmark, read_records

PROTOCOLS = [
    *[(protocol, geometry) for protocol in ("published", "icdar2013") for geometry in ("rectangle", "polygon")],
    ("iou", "polygon"),
]

boxes = st.tuples(*[st.integers(0, 12)] * 4).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)
shapes = boxes.map(lambda box: {"box": list(box)}) | st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12)).map(list), min_size=3, max_size=5
).map(lambda points: {"points": points})
regions = st.fixed_dictionaries(
    {
        "place": shapes,
        "text": st.none() | st.sampled_from(["DNA", "Å", "e\u0301"]),
        "ignore": st.booleans(),
        "difficulty": st.none() | st.sampled_from(["small", "color"]),
    }
)


def copied(truth: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The regions as a detector gives them: without the ids, which would make them readings."""
    return [{name: value for name, value in each.items() if name in ("box", "points", "text")} for each in truth]


def assert_perfect(truth: list[dict[str, Any]], prediction: list[dict[str, Any]], **options: Any) -> None:
    result = score(truth, prediction, **options)
    for metric, value in values(result, **options).items():
        assert value is None or value == pytest.approx(1), metric
    for metric, value in result.metrics.items():
        assert value is None or value == pytest.approx(1), metric


@pytest.mark.parametrize(("protocol", "geometry"), PROTOCOLS)
@settings(max_examples=80, deadline=None)
@given(st.lists(regions, max_size=5))
def test_regions_apart_from_each_other_score_1_whatever_their_shape(
    protocol: str, geometry: str, drawn: list[dict[str, Any]]
) -> None:
    # Each in a cell of its own: DetEval does not tell apart regions that cover each other.
    truth = []
    for number, each in enumerate(drawn):
        ((kind, place),) = each["place"].items()
        if kind == "box":
            place = [place[0] + 50 * number, place[1], place[2] + 50 * number, place[3]]
        else:
            place = [[x + 50 * number, y] for x, y in place]
        truth.append({**{name: value for name, value in each.items() if name != "place"}, kind: place})
    assert_perfect(truth, copied(truth), protocol=protocol, geometry=geometry)


@pytest.mark.parametrize("protocol", ["published", "icdar2013", "iou"])
@settings(max_examples=80, deadline=None)
@given(st.lists(boxes, max_size=6))
def test_regions_that_overlap_a_little_score_1(protocol: str, drawn: list[tuple[int, int, int, int]]) -> None:
    more = int(protocol == "icdar2013")
    wide = [(x1, y1, x2 + more, y2 + more) for x1, y1, x2, y2 in drawn]
    kept: list[int] = []
    for number, box in enumerate(wide):
        others = [wide[each] for each in kept]
        pairs = [pair for other in others for pair in ((box, other), (other, box))]
        if area(box) and all(common(one, other) < 0.4 * area(other) for one, other in pairs):
            kept.append(number)
    truth = [{"box": list(drawn[number]), "text": "a"} for number in kept]
    assert_perfect(truth, truth, protocol=protocol)


@pytest.mark.parametrize(("protocol", "geometry"), PROTOCOLS)
def test_generated_and_damaged_figures_score_1(protocol: str, geometry: str) -> None:
    """Words are read by id, and found without; fields are left out, and places made unmeasurable."""
    benchmark = make_benchmark("figure_text", protocol=protocol, geometry=geometry)
    draw = random.Random(5)
    truths = [sample(index, 8)[0] for index in range(40)]
    truths += [msgspec.json.decode(line) for line in read_records(CORPUS / "ground_truth.jsonl").values()]
    for truth in truths:
        for region in truth["regions"]:
            damage = draw.choice(["none", "none", "text", "label", "line", "point", "cross"])
            if damage in ("text", "label"):
                region.pop("text" if damage == "text" else "difficulty", None)
            elif damage in ("line", "point", "cross"):
                corners = region.pop("points", None) or np.reshape(region.pop("box"), (2, 2)).tolist()
                (x, y), (right, bottom) = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
                places = {
                    "line": [[x, y], [right, bottom], [x, y]],
                    "point": [[x, y]] * 3,
                    "cross": [[x, y], [right, bottom], [right, y], [x, bottom]],
                }
                region["points"] = places[damage]
        for prediction in (truth["regions"], copied(truth["regions"])):
            pair = ({"regions": truth["regions"]}, {"regions": prediction})
            kinds = (benchmark.truth_type, benchmark.prediction_type)
            records = [msgspec.convert(each, kind) for each, kind in zip(pair, kinds, strict=True)]
            result = benchmark.score_sample(*records)
            found = benchmark.values(Sums.of(result.statistics))
            assert {value for value in (*found.values(), *result.metrics.values()) if value is not None} <= {1}, found


def test_regions_that_cover_each_other_are_what_deteval_does_not_tell_apart() -> None:
    # Of a word and a letter in it, the word is matched by both, 0.8 each, and the letter by none that is left.
    nested = [{"box": [0, 0, 100, 10]}, {"box": [0, 0, 10, 10]}]
    found = values(score(nested, nested))
    assert found["detection.recall"] == pytest.approx(0.8 / 2)
    assert found["detection.precision"] == pytest.approx(1.6 / 2)


class TestWordless:
    def test_a_word_without_a_text_is_none_to_read(self) -> None:
        truth = [{"id": "a", "text": "DNA"}, {"id": "b"}, {"id": "c", "text": ""}]
        assert values(score(truth, truth))["word_recognition.accuracy"] == 1
        assert score(truth, truth).statistics["word_recognition.words"] == 2

    def test_end_to_end_a_region_without_a_text_and_what_is_found_there_do_not_count(self) -> None:
        truth = [at(0, text="DNA"), at(50, difficulty="small")]
        found = [at(0, text="DNA"), at(50, text="RNA"), at(100, text="kDa")]
        got = values(score(truth, found))
        assert got["end_to_end.recall"] == 1  # 1 / 1
        assert got["end_to_end.precision"] == 1 / 2  # of the first and the last
        assert got["detection.precision"] == pytest.approx(2 / 3)
        assert got["end_to_end.recall[difficulty=small]"] is None
        assert (got["agreement.text"], got["agreement.text_max"]) == (1, 1 / 2)


class TestWithoutArea:
    """Under `published` every detection counts, also one that has nothing to share with a region."""

    @pytest.mark.parametrize("geometry", ["rectangle", "polygon"])
    def test_nine_lines_beside_a_hit_cost_as_much_as_nine_very_thin_boxes(self, geometry: str) -> None:
        truth = [at(0, text="DNA", difficulty="small")]
        for width in (0, 0.001):
            lines = [{"box": [20 + n, 0, 20 + n + width, 9]} for n in range(9)]
            got = values(score(truth, [*truth, *lines], geometry=geometry), geometry=geometry)
            assert got["detection.precision"] == pytest.approx(1 / 10)
            assert got["end_to_end.precision"] == pytest.approx(1 / 10)
            assert got["detection.precision[difficulty=small]"] == pytest.approx(1 / 10)
            assert got["agreement.location_max"] == pytest.approx(1 / 10)
            assert got["detection.recall"] == 1

    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.tuples(boxes, st.booleans()), max_size=4), st.lists(boxes, max_size=4))
    def test_every_detection_counts_but_those_in_a_region_that_does_not(
        self, drawn: list[tuple[tuple[int, int, int, int], bool]], lines: list[tuple[int, int, int, int]]
    ) -> None:
        """A line is what a box of a thousandth of a pixel is: the counts of both are the same."""
        truth = [{"box": list(box), "ignore": ignore} for box, ignore in drawn if area(box)]
        flat = [(x, y1, x, y2) for x, y1, _, y2 in lines if y1 < y2]
        thin = [{"box": [x1 + 0.25, y1, x2 + 0.25, y2]} for x1, y1, x2, y2 in flat]
        thick = [{"box": [x1 + 0.25, y1, x2 + 0.25 + 2**-10, y2]} for x1, y1, x2, y2 in flat]
        counted = [score(truth, each).statistics.get("detection.detections", 0) for each in (thin, thick)]
        assert counted[0] == counted[1]

    def test_the_python_deteval_on_polygons_drops_them(self) -> None:
        found = [at(0), {"box": [20, 0, 20, 9]}, {"points": [[30, 0], [40, 10], [40, 0], [30, 10]]}]
        options = {"protocol": "icdar2013", "geometry": "polygon"}
        assert values(score([at(0)], found, **options), **options)["detection.precision"] == 1
        assert values(score([at(0)], found, geometry="polygon"), geometry="polygon")["detection.precision"] == 1 / 3

    def test_the_rectangle_script_counts_them_and_counts_pixels(self) -> None:
        options = {"protocol": "icdar2013"}
        # 80 x 9 of 100 x 9 pixels: sigma is 0.8, which is reached.
        got = values(score([{"box": [0, 0, 99, 8]}], [{"box": [0, 0, 79, 8]}], **options), **options)
        assert got["detection.recall"] == 1
        # In a continuous plane it is 79 x 8 of 99 x 8.
        assert values(score([{"box": [0, 0, 99, 8]}], [{"box": [0, 0, 79, 8]}]))["detection.recall"] == 0
        # A column of ten pixels is a region like any other.
        column = [{"box": [5, 0, 5, 9]}]
        assert values(score(column, column, **options), **options)["detection.f1"] == 1
        assert values(score([at(20)], [at(20), *column], **options), **options)["detection.precision"] == 1 / 2


class TestUnicode:
    FORMS = (unicodedata.normalize("NFC", "\u00c5e\u0301"), unicodedata.normalize("NFD", "\u00c5e\u0301"))

    @pytest.mark.parametrize("case_sensitive", [True, False])
    def test_texts_are_compared_in_nfc(self, case_sensitive: bool) -> None:
        composed, decomposed = self.FORMS
        assert composed != decomposed
        got = values(
            score(
                [at(0, text=composed), at(50, id="w", text=decomposed)],
                [at(0, text=decomposed), {"id": "w", "text": composed}],
                case_sensitive=case_sensitive,
            )
        )
        assert got["word_recognition.accuracy"] == 1
        assert got["end_to_end.precision"] == 1
        assert got["agreement.text"] == 1 / 2  # the other word is read

    def test_the_script_compares_code_points(self) -> None:
        truth, reading = ([{"id": "w", "text": form}] for form in self.FORMS)
        got = values(score(truth, reading, protocol="icdar2013"), protocol="icdar2013")
        assert got["word_recognition.accuracy"] == 0
