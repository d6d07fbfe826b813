from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from beamscore.metrics.benchmark import DrawnPair, for_each
from beamscore.metrics.common.svg import EXTRA, MISSED
from beamscore.metrics.formula.benchmark import FormulaBenchmark
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.boxes import column_edit_distance, mean_squared_error

SVG = "{http://www.w3.org/2000/svg}"


def image(rows: list[str]) -> Image.Image:
    """A picture with # for black."""
    return Image.fromarray(np.array([[0 if cell == "#" else 255 for cell in row] for row in rows], dtype=np.uint8))


def test_columns_are_the_symbols_of_the_image_edit_distance() -> None:
    # The second image has one column more.
    assert column_edit_distance(image(["#.#", "..#"]), image(["#.##", "..#."])) == (1, 4)
    # White rows below make no difference.
    assert column_edit_distance(image(["#.#"]), image(["#.#", "..."])) == (0, 3)


def test_mean_squared_error_pads_with_white() -> None:
    # One of four pixels is black on one side alone.
    assert mean_squared_error(image(["#."]), image(["#.", "#."])) == 1 / 4


def test_a_drawing_tells_matched_and_unmatched_tokens_apart(benchmark_: FormulaBenchmark) -> None:
    svg = ET.fromstring(benchmark_.draw(FormulaTruth("a+b<c"), FormulaPrediction("a+x<c")))
    boxes = [box for box in svg.iter(f"{SVG}polygon") if box.find(f"{SVG}title") is not None]
    dashed = [(box.findtext(f"{SVG}title"), box.get("stroke")) for box in boxes if box.get("stroke-dasharray")]
    assert len(boxes) == 10
    assert dashed == [("b", MISSED.color), ("x", EXTRA.color)]
    assert len(list(svg.iter(f"{SVG}image"))) == 2


@pytest.mark.parametrize("prediction", [None, FormulaPrediction(r"\frac{<&")])
def test_a_drawing_says_what_could_not_be_drawn(
    benchmark_: FormulaBenchmark, prediction: FormulaPrediction | None
) -> None:
    svg = ET.fromstring(benchmark_.draw(FormulaTruth("a"), prediction))
    assert any("prediction: not drawn" in (text.text or "") for text in svg.iter(f"{SVG}text"))


def test_samples_that_are_drawn_together_have_the_pictures_that_they_have_alone(benchmark_: FormulaBenchmark) -> None:
    """In as few runs of TeX as formulas allow: one for all, and one for each that could change its neighbours."""
    pairs = [
        DrawnPair("plain", FormulaTruth("a+b<c"), FormulaPrediction("a+x<c")),
        DrawnPair("broken", FormulaTruth(r"x \right)"), FormulaPrediction(r"\frac{<&")),
        DrawnPair("greedy", FormulaTruth(r"\mathrm{a}"), FormulaPrediction(r"\begin{array}{c} a \\ \text{$")),
        DrawnPair("rejected", FormulaTruth(" "), None),
        DrawnPair("same", FormulaTruth("a+b<c"), None),
    ]
    before = benchmark_.typesetter.runs
    together = benchmark_.draw_batch(pairs)
    assert benchmark_.typesetter.runs - before <= 3
    alone = for_each(pairs, benchmark_.draw)
    assert list(map(str, together)) == list(map(str, alone))
    assert [isinstance(each, str) for each in together] == [True, True, True, False, True]
