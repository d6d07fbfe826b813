"""The benchmark as a whole: records in, statistics and values out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.figure_text.records import FigurePrediction, FigureTextOptions, FigureTruth
from beamscore.metrics.statistics.sums import Sums
from tests.generate.figure_text import sample
from tests.metrics.figure_text.helpers import Regions, Word, at, score, values, words
from tests.plain_loop import make_benchmark, read_records, score_records, total

CORPUS = Path(__file__).parents[2] / "corpora" / "figure_text"


class TestWork:
    @pytest.mark.parametrize("geometry", ["rectangle", "polygon"])
    def test_corners_are_paid_for_before_anything_is_done_with_them(self, geometry: str) -> None:
        triangle = [{"points": [[0, 0], [2, 0], [0, 2]]}]
        corners = 4 + 3
        score(triangle, [], geometry=geometry, max_steps=4 * 3)
        with pytest.raises(RejectedRecord, match=f"at least {4 * corners} steps") as caught:
            score(triangle, [at(50)], geometry=geometry, max_steps=4 * corners - 1)
        assert caught.value.side == "prediction"  # 4 * 4 of the steps are more than half

    def test_every_subset_is_paid_for(self) -> None:
        plain = [at(0, text="a") for _ in range(50)]
        marked = [at(0, text="a", difficulty=[f"{n % 40}"]) for n in range(50)]
        score(plain, plain, max_steps=20_000)
        with pytest.raises(RejectedRecord, match="max_steps=20000"):
            score(marked, plain, max_steps=20_000)


class TestDetection:
    def test_values_are_of_sums_over_figures(self) -> None:
        found = values(score([at(0), at(20)], [at(0)]), score([at(0)], [at(0), at(40), at(80)]))
        assert (found["detection.recall"], found["detection.precision"]) == (2 / 3, 2 / 4)
        assert found["detection.f1"] == pytest.approx(1 / (0.5 / (2 / 4) + 0.5 / (2 / 3)))

    @pytest.mark.parametrize(
        ("options", "split", "merged"),
        [({}, 0.8, 0.8), ({"protocol": "icdar2013"}, 0.8, 1.0), ({"scatter_factor": 0.5}, 0.5, 0.5)],
    )
    def test_scattered_matches_count_less(self, options: dict[str, Any], split: float, merged: float) -> None:
        wide = [{"box": [0, 0, 20, 10]}]
        for sides, factor in (((wide, [at(0), at(10)]), split), (([at(0), at(10)], wide), merged)):
            metrics = score(*sides, **options).metrics
            assert (metrics["detection.recall"], metrics["detection.precision"]) == (factor, factor)

    def test_a_missing_prediction_misses_everything(self) -> None:
        result = score([at(0, id="a", text="DNA"), at(20)], None)
        assert result.metrics["detection.recall"] == result.metrics["end_to_end.f1"] == 0
        assert result.metrics["word_recognition.accuracy"] is None

    def test_a_figure_without_text_where_nothing_is_found_has_nothing_to_measure(self) -> None:
        result = score([], [])
        assert (result.statistics, set(result.metrics.values())) == ({}, {None})

    def test_unconfident_detections_are_left_out(self) -> None:
        found = [at(0, confidence=0.9), at(30, confidence=0.2), at(60)]
        assert score([at(0)], found).metrics["detection.precision"] == 1 / 3
        kept = score([at(0)], found, min_confidence=0.5)
        assert kept.metrics["detection.precision"] == 1 / 2
        assert kept.coverage == {"prediction_regions_below_confidence": 1}


A, B, C = at(0, id="a", text="DNA"), at(20, id="b", text="kDa"), at(40, id="c", text="p53")


@pytest.mark.parametrize(
    ("truth", "prediction", "options", "accuracy"),
    [
        # A region with the id of a word is its reading, wherever it lies.
        ([A, B, C], [{"id": "a", "text": "DNA"}, {"id": "b", "text": "kda"}], {}, 1 / 3),
        ([A, B, C], [{"id": "a", "text": "DNA"}, {"id": "b", "text": "kda"}], {"case_sensitive": False}, 2 / 3),
        ([A], [at(90, id="a", text="DNA")], {}, 1),
        # Without ids on either side there are no words; an id is text, and a word needs no location.
        ([A], [at(0, text="DNA")], {}, None),
        ([A, at(20, text="kDa")], [{"id": "a", "text": "DNA"}], {}, 1),
        ([{"id": 7, "text": "DNA"}], [{"id": "7", "text": "DNA"}], {}, 1),
        # A word without a text is none to read, but one with an empty text is.
        ([A, {"id": "b"}, {"id": "c", "text": ""}], [A, {"id": "b"}, {"id": "c", "text": ""}], {}, 1),
        ([A], [{"id": "z", "text": "DNA"}], {}, 0),
    ],
)
def test_word_recognition(truth: Regions, prediction: Regions, options: dict[str, Any], accuracy: float | None) -> None:
    result = score(truth, prediction, **options)
    assert result.metrics["word_recognition.accuracy"] == accuracy
    unknown = sum(each.get("id") == "z" for each in prediction)
    assert result.coverage == ({"prediction_readings_of_unknown_regions": unknown} if unknown else {})


def test_readings_take_no_part_in_detection() -> None:
    metrics = score([A], [A]).metrics
    assert metrics["detection.recall"] is metrics["end_to_end.recall"] is None
    # An id of the system's own is no reading.
    assert score([at(0, id="a")], [at(0, id="z")]).metrics["detection.f1"] == 1


class TestEndToEnd:
    def test_place_and_text(self) -> None:
        found = [at(1, text="DNA"), at(20, text="kda"), at(60, text="x")]
        metrics = score([at(0, text="DNA"), at(20, text="kDa")], found).metrics
        assert (metrics["end_to_end.precision"], metrics["end_to_end.recall"]) == (1 / 3, 1 / 2)

    def test_without_any_text_it_is_not_reported(self) -> None:
        metrics = score([at(0, text="DNA")], [at(0)]).metrics
        assert metrics["end_to_end.f1"] is metrics["agreement.text"] is None
        assert metrics["agreement.location"] == 1

    def test_a_bent_polygon_is_held_by_its_rectangle(self) -> None:
        arc = [{"points": [[0, 0], [100, 0], [100, 100], [95, 100], [95, 5], [0, 5]], "text": "DNA"}]
        metrics = score(arc, arc, geometry="polygon").metrics
        assert metrics["end_to_end.f1"] == metrics["detection.f1"] == 1

    def test_a_region_without_a_text_and_what_is_found_there_do_not_count(self) -> None:
        truth = [at(0, text="DNA"), at(50, difficulty="small")]
        got = values(score(truth, [at(0, text="DNA"), at(50, text="RNA"), at(100, text="kDa")]))
        assert got["end_to_end.recall"] == 1  # 1 / 1
        assert got["end_to_end.precision"] == 1 / 2  # of the first and the last
        assert got["detection.precision"] == pytest.approx(2 / 3)
        assert got["end_to_end.recall[difficulty=small]"] is None
        assert (got["agreement.text"], got["agreement.text_max"]) == (1, 1 / 2)


class TestSubsets:
    TRUTH: ClassVar[Regions] = [
        at(0, text="DNA", difficulty=["small", "blurry"], orientation="horizontal", important=True),
        at(20, text="kDa", difficulty=[], orientation="oriented", important=False),
        at(40, text="p53", difficulty="small"),
    ]

    def test_other_regions_become_dont_care(self) -> None:
        # Of the three detections, the second lies in a region outside the subset, and the last lies nowhere.
        found = [at(0, text="DNA"), at(20, text="x"), at(80, text="y")]
        result = values(score(self.TRUTH, found))
        assert result["detection.recall[difficulty=small]"] == 1 / 2
        assert result["detection.precision[difficulty=small]"] == 1 / 2
        assert result["end_to_end.recall[difficulty=blurry]"] == 1
        assert result["end_to_end.precision[orientation=oriented]"] == 0
        assert result["detection.recall[orientation=oriented]"] == 1
        assert result["detection.f1[important=true]"] == pytest.approx(2 * 0.5 * 1 / 1.5)

    def test_a_false_detection_in_a_figure_without_the_subset_counts_against_it(self) -> None:
        with_small = score([at(0, difficulty=["small"])], [at(0)])
        without = score([at(0, difficulty=["color"])], [at(0), at(50)])
        # 1 right of the detection itself and the one that lies nowhere.
        assert values(with_small, without)["detection.precision[difficulty=small]"] == 1 / 2

    def test_no_difficulty_at_all_is_normal_and_an_absent_one_is_nothing(self) -> None:
        assert "detection.recall[difficulty=normal]" in values(score([at(0, difficulty=[])], [at(0)]))
        assert not [name for name in values(score([at(0)], [at(0)])) if "[" in name]

    def test_words_by_subset(self) -> None:
        truth = [{"id": n, "text": "DNA", "difficulty": label} for n, label in enumerate(("small", "small", "color"))]
        result = values(score(truth, [{"id": 0, "text": "DNA"}, {"id": 2, "text": "DNA"}]))
        assert result["word_recognition.accuracy[difficulty=small]"] == 1 / 2
        assert result["word_recognition.accuracy[difficulty=color]"] == 1
        assert not [name for name in result if name.startswith("detection") and "[" in name]

    @settings(max_examples=60)
    @given(st.lists(st.tuples(words, words), min_size=1, max_size=3), st.data())
    def test_a_subset_is_the_benchmark_with_the_others_ignored(
        self, samples: list[tuple[list[Word], list[Word]]], data: st.DataObject
    ) -> None:
        labelled, ignored = [], []
        for truths, detections in samples:
            small = data.draw(st.lists(st.booleans(), min_size=len(truths), max_size=len(truths)))
            found = [{"box": list(box), "text": "DNA"} for box, _ in detections]
            regions = [{"box": list(box), "text": "DNA"} for box, _ in truths]
            labels = [{"difficulty": "small" if one else "color"} for one in small]
            labelled.append(score([{**r, **label} for r, label in zip(regions, labels, strict=True)], found))
            ignored.append(score([{**r, "ignore": not one} for r, one in zip(regions, small, strict=True)], found))
        whole, subset = values(*ignored), values(*labelled)
        for rate in ("precision", "recall", "f1"):
            for task in ("detection", "end_to_end"):
                if f"{task}.{rate}[difficulty=small]" in subset:
                    assert subset[f"{task}.{rate}[difficulty=small]"] == pytest.approx(whole[f"{task}.{rate}"])


class TestAgreement:
    def test_the_papers_worked_figures(self) -> None:
        """176 of 181 original and 189 new regions agree: 97.24 % as printed, 93.12 % over the larger annotation."""
        original = [at(20 * n, text=f"word {n}") for n in range(181)]
        again = [at(20 * n, text=f"word {n}") for n in range(176)] + [at(20 * n, text="?") for n in range(300, 313)]
        assert (len(original), len(again)) == (181, 189)
        half = score(original[:100], again[:100]), score(original[100:], again[100:])
        result = values(*half)
        for what in ("location", "text"):
            assert round(100 * (result[f"agreement.{what}"] or 0), 2) == 97.24
            assert round(100 * (result[f"agreement.{what}_max"] or 0), 2) == 93.12


class TestDetails:
    def test_every_region_says_how_it_was_matched(self) -> None:
        truth = [
            at(0, id="a", text="DNA"),
            {"box": [20, 0, 60, 10]},
            at(70),
            at(80),
            at(100, ignore=True),
            at(120),
            {"box": [5, 5, 5, 9]},
            {"id": "b", "text": "kDa"},
        ]
        found = [
            at(0, text="DNA"),
            {"box": [20, 0, 40, 10]},
            {"box": [40, 0, 60, 10]},
            {"box": [70, 0, 90, 10]},
            at(100),
            at(300),
            {"box": [0, 0, 0, 0]},
            {"id": "b", "text": "kDa"},
            {"id": "z", "text": "?"},
        ]
        result = score(truth, found)
        kinds = [region["match"] for region in result.details["ground_truth"]]
        assert kinds == [
            "one_to_one", "one_to_many", "many_to_one", "many_to_one", "dont_care", "missed", "dropped", "unlocated",
        ]  # fmt: skip
        assert [region["match"] for region in result.details["prediction"]] == [
            "one_to_one", "one_to_many", "one_to_many", "many_to_one", "dont_care", "false", "dropped", "reading",
            "unknown_reading",
        ]  # fmt: skip
        assert result.details["ground_truth"][0] == {"id": "a", "match": "one_to_one", "with": [0], "end_to_end": 0}
        assert result.details["ground_truth"][1]["with"] == [1, 2]
        assert result.details["prediction"][3]["with"] == [2, 3]
        assert result.details["ground_truth"][7]["read_right"]
        assert "no area" in result.details["prediction"][6]["reason"]
        assert result.coverage["prediction_regions_dropped"] == result.coverage["ground_truth_regions_dropped"] == 1
        assert json.loads(msgspec.json.encode(result.details)) == result.details


class TestPicture:
    def test_a_figure_is_drawn_with_its_matches(self) -> None:
        truth = [
            at(0, id="a", text="DNA"),
            {"points": [[30, 0], [40, 0], [35, 9]], "text": "<&\x00\u202e"},
            {"id": "b"},
        ]
        picture = make_benchmark("figure_text").draw(
            msgspec.convert({"regions": truth}, FigureTruth),
            msgspec.convert({"regions": [at(0, text="D" * 1000)]}, FigurePrediction),
        )
        root = ElementTree.fromstring(picture)
        assert [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")] == [
            "ground truth: one to one: DNA",
            "ground truth: missed or false: <&\ufffd\ufffd",
            f"prediction: one to one: {'D' * 176}…",
        ]
        assert len(picture) < 5000

    def test_an_empty_figure(self) -> None:
        assert ElementTree.fromstring(make_benchmark("figure_text").draw(FigureTruth(), None)) is not None


class TestBadRecords:
    @pytest.mark.parametrize(
        ("truth", "prediction", "side", "message"),
        [
            ([at(0), {"text": "DNA"}], [], "ground_truth", r"regions\[1\] needs `points`"),
            (
                [at(0, id="a"), at(20, id="a")],
                [],
                "ground_truth",
                r"regions\[0\] and regions\[1\] both have the id 'a'",
            ),
            ([at(0, id=1), at(20, id="1")], [], "ground_truth", "both have the id '1'"),
            ([at(n, difficulty=f"label {n}") for n in range(51)], [], "ground_truth", "more than 50 different labels"),
            ([at(0)], [{"text": "DNA"}], "prediction", r"regions\[0\] needs `points`"),
            ([at(0, id="a")], [{"id": "a"}, {"id": "a", "text": "x"}], "prediction", "a word has one reading"),
            ([at(0)], [at(0, confidence=math.nan)], "prediction", r"regions\[0\]\.confidence"),
            ([at(0)], [at(0, confidence=math.inf)], "prediction", r"regions\[0\]\.confidence"),
        ],
    )
    def test_unclear_records_are_rejected(self, truth: Regions, prediction: Regions, side: str, message: str) -> None:
        with pytest.raises(RejectedRecord, match=message) as rejected:
            score(truth, prediction)
        assert rejected.value.side == side

    @pytest.mark.parametrize(
        ("region", "message"),
        [
            ({"points": [[0, 0], [1, 1]]}, r"length >= 3 - at `\$.regions\[0\]\.points"),
            ({"points": [[0, 0], [1, 1], [2, math.nan]]}, r"regions\[0\]\.points\[2\]\[1\]"),
            ({"points": [[0, 0], [1, 1], [2, math.inf]]}, r"<= 10000000.0"),
            ({"points": [[0, 0]] * 1001}, "length <= 1000"),
            ({"box": [0, 0, math.nan, 1]}, r"regions\[0\]\.box\[2\]"),
            ({"box": [0, 0, 1]}, "length 4"),
            ({"box": ["0", 0, 1, 1]}, "got `str`"),
            ({"box": [0, 0, 10**400, 1]}, "<= 10000000.0|out of range"),
        ],
    )
    def test_impossible_locations_are_no_records(self, region: dict[str, Any], message: str) -> None:
        with pytest.raises(msgspec.ValidationError, match=message):
            msgspec.convert({"regions": [region]}, FigurePrediction)

    def test_null_and_unknown_fields(self) -> None:
        empty = dict.fromkeys(("id", "points", "text", "ignore", "difficulty", "orientation", "important"))
        assert score([at(0, **empty, colour="red")], [at(0, id=None, points=None)]).metrics["detection.f1"] == 1
        assert msgspec.convert({"regions": None}, FigureTruth).regions is None

    def test_odd_texts_and_labels(self) -> None:
        text = "\u202e\x00]=[" + "µ" * 100_000
        result = score([at(0, text=text, difficulty=["]=["], id="\x00")], [at(0, text=text)])
        assert values(result)["end_to_end.f1[difficulty=]=[]"] == 1

    @pytest.mark.parametrize("option", [{"sigma_threshold": 1}, {"tau_threshold": 0}, {"geometry": "circle"}, {"x": 1}])
    def test_impossible_options(self, option: dict[str, Any]) -> None:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(option, FigureTextOptions)


class TestWhole:
    def test_the_shipped_corpus(self) -> None:
        benchmark = make_benchmark("figure_text")
        truths = read_records(CORPUS / "ground_truth.jsonl")
        assert [json.loads(text) for text in truths.values()] == [sample(index, 7)[0] for index in range(60)]
        scores = score_records(benchmark, truths, read_records(CORPUS / "predictions.jsonl"))
        found = benchmark.values(total(scores.values()))
        assert all(0 < (found[name] or 0) < 1 for name in benchmark.main_metrics())
        scored = [one for one in scores.values() if isinstance(one, SampleScore)]
        assert len(scored) == 60
        kinds = {region["match"] for one in scored for region in one.details["prediction"]}
        assert kinds >= {"one_to_one", "one_to_many", "many_to_one", "false", "dont_care", "reading"}

    def test_a_table_row_adds_up(self) -> None:
        benchmark = make_benchmark("figure_text")
        sums = Sums.of(score([at(0), at(20), at(30)], [at(0), {"box": [20, 0, 40, 10]}, at(90)]).statistics)
        _, matched = benchmark.tables(sums)
        # 3 regions: one to one, two merged, none missed; 3 detections: one to one, the merging one, one false.
        assert list(matched.rows[0]) == ["all", 1, 0, 2, 0, 1]

    def test_the_configuration_is_the_default(self) -> None:
        config = msgspec.yaml.decode((Path(__file__).parents[3] / "configs" / "figure_text.yaml").read_bytes())
        assert config.pop("benchmark") == "figure_text"
        assert msgspec.convert(config, FigureTextOptions) == FigureTextOptions()
        assert list(config) == list(FigureTextOptions.__struct_fields__)
