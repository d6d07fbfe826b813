"""`protocol: iou`: Intersection over Union above 0.5, one to one, as the scripts of ICDAR 2015 have it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.metrics.figure_text.helpers import Regions, at, score, values


def rates(truth: Regions, found: Regions, task: str = "detection", **options: Any) -> tuple[float | None, float | None]:
    """Returns (recall, precision)."""
    options = {"protocol": "iou", **options}
    got = values(score(truth, found, **options), **options)
    return got[f"{task}.recall"], got[f"{task}.precision"]


@pytest.mark.parametrize(
    ("detection", "is_right"),
    [
        ([0, 0, 10, 10], True),  # 100 / 100
        ([4, 0, 14, 10], False),  # 60 / (100 + 100 - 60) = 0.43
        ([3, 0, 13, 10], True),  # 70 / 130 = 0.54
        ([0, 0, 10, 20], False),  # 100 / 200 = 0.5, which is not above it
        ([0, 0, 10, 19.9], True),  # 100 / 199
        ([0, 0, 5, 10], False),  # 50 / 100
        ([0, 0, 9, 6], True),  # 54 / 100
    ],
)
def test_a_pair_matches_above_half(detection: list[float], is_right: bool) -> None:
    assert rates([at(0)], [{"box": detection}]) == (is_right, is_right)


@pytest.mark.parametrize("geometry", ["rectangle", "polygon"])
def test_polygons_are_measured_exactly_whatever_the_geometry(geometry: str) -> None:
    square = [(10, 0), (10, 10), (0, 10)]
    assert rates([at(0)], [{"points": [(0, 0), *square]}], geometry=geometry) == (1, 1)
    assert rates([at(0)], [{"points": square}], geometry=geometry) == (0, 0)  # 50 / 100
    assert rates([at(0)], [{"points": [(1, 0), *square]}], geometry=geometry) == (1, 1)  # 95 / 100


def test_scattered_matches_do_not_exist_and_the_thresholds_of_deteval_do_not_matter() -> None:
    halves = [{"box": [0, 0, 20, 10]}], [at(0), at(10)]  # 100 / 200 each
    assert rates(*halves) == rates(*halves[::-1]) == (0, 0)
    options: dict[str, Any] = {
        "sigma_threshold": 0.99,
        "tau_threshold": 0.99,
        "scatter_factor": 0.1,
        "end_to_end_overlap": 0.99,
    }
    shifted = [at(0, text="a"), at(50, ignore=True)], [at(3, text="a"), at(54)]
    for task in ("detection", "end_to_end"):
        assert rates(*shifted, task) == rates(*shifted, task, **options) == (1, 1)


@pytest.mark.parametrize(
    ("found", "precision"),
    [
        ([54, 0, 64, 10], 1),  # 60 / 100 of it in the don't-care region
        ([55, 0, 65, 10], 1 / 2),  # 50 / 100 is not above 0.5
        ([45, 0, 75, 10], 1 / 2),  # 10 / 30 in each of two, which are not added up
    ],
)
def test_a_detection_mostly_in_one_dont_care_region_leaves_the_counts(found: list[float], precision: float) -> None:
    truth = [at(0, text="a"), at(50, ignore=True), at(60 if found[2] == 75 else 90, ignore=True)]
    for task in ("detection", "end_to_end"):
        assert rates(truth, [at(0, text="a"), {"box": found, "text": "b"}], task) == (1, precision)


def test_a_detection_without_area_counts_and_matches_nothing() -> None:
    assert rates([at(0)], [at(0), {"box": [20, 0, 20, 9]}]) == (1, 1 / 2)


class TestEndToEnd:
    def test_the_text_does_not_decide_who_is_matched(self) -> None:
        # The first detection takes the region; the second, with the right text and in a better place, is false.
        assert rates([at(0, text="DNA")], [at(1, text="RNA"), at(0, text="DNA")], "end_to_end") == (0, 0)
        assert rates([at(0, text="DNA")], [at(0, text="DNA"), at(1, text="RNA")], "end_to_end") == (1, 1 / 2)

    # Of the script: one of !?.:,*"()·[]/' may be missing at either end, in the prediction only.
    @pytest.mark.parametrize(
        ("text", "read", "is_right"),
        [
            ("DNA", "DNA", True),
            ("(DNA)", "DNA", True),
            ("(DNA)", "(DNA", True),
            ("(DNA)", "DNA)", True),
            ("DNA", "DNA.", False),
            ("((DNA", "DNA", False),
            ("D.NA", "DNA", False),
            ("-DNA", "DNA", False),
            (".", "", True),
            ("", "", True),
            ("", ".", False),
            ("DNA", "dna", False),
        ],
    )
    def test_special_characters_at_the_ends(self, text: str, read: str, is_right: bool) -> None:
        truth, found = [at(0, text=text)], [at(0, text=read)]
        assert rates(truth, found, "end_to_end") == (is_right, is_right)
        assert rates(truth, [at(0, text=read.swapcase())], "end_to_end", case_sensitive=False)[0] == (
            is_right or read == "dna"
        )
        assert rates(truth, found, "end_to_end", protocol="published")[0] == (text == read)
