from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest
from PIL import Image

from beamscore.metrics.benchmark import Benchmark
from beamscore.metrics.formula.records import FormulaPrediction, FormulaTruth
from beamscore.metrics.formula.render.raster import column_edit_distance, mean_squared_error

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


def test_a_drawing_tells_matched_and_unmatched_tokens_apart(benchmark_: Benchmark[Any, Any, Any]) -> None:
    svg = ET.fromstring(benchmark_.draw(FormulaTruth("a+b<c"), FormulaPrediction("a+x<c")))
    boxes = [box for box in svg.iter(f"{SVG}polygon") if box.find(f"{SVG}title") is not None]
    dashed = [box.findtext(f"{SVG}title") for box in boxes if box.get("stroke-dasharray")]
    assert len(boxes) == 10
    assert dashed == ["b", "x"]
    assert len(list(svg.iter(f"{SVG}image"))) == 2


@pytest.mark.parametrize("prediction", [None, FormulaPrediction(r"\frac{<&")])
def test_a_drawing_says_what_could_not_be_drawn(
    benchmark_: Benchmark[Any, Any, Any], prediction: FormulaPrediction | None
) -> None:
    svg = ET.fromstring(benchmark_.draw(FormulaTruth("a"), prediction))
    assert any("prediction: not drawn" in (text.text or "") for text in svg.iter(f"{SVG}text"))
