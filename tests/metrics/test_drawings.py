"""The contract of all drawings: what matched, was missed, is extra or wrong looks the same in every benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import DrawnPair
from beamscore.metrics.common.svg import EXTRA, FRAME, IGNORED, MATCHED, MISSED, PICTURE, UNJUDGED, WRONG, with_picture
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.scoring import draw_pairs

CORPORA = Path(__file__).parents[1] / "corpora"
SVG = "{http://www.w3.org/2000/svg}"
JUDGEMENTS = (MATCHED, MISSED, EXTRA, WRONG)
NEUTRAL = {(style.color, style.dashes) for style in (UNJUDGED, IGNORED, FRAME)}
SAMPLES = 12


def records(name: str, side: str) -> dict[str, dict[str, Any]]:
    lines = (CORPORA / name / f"{side}.jsonl").read_bytes().splitlines()
    return {record["sample_id"]: record for record in map(msgspec.json.decode, lines)}


def strokes(svg: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yields color and dashes of all lines; marks are crosses where their style has dashes."""
    for tag in ("polygon", "polyline"):
        for each in svg.iter(f"{SVG}{tag}"):
            yield each.get("stroke", ""), each.get("stroke-dasharray", "")


@pytest.mark.parametrize("name", [path.name for path in sorted(CORPORA.iterdir())])
def test_every_benchmark_draws_by_one_contract(name: str) -> None:
    kind = benchmark_class(name)
    benchmark = kind(kind.options_type())
    benchmark.setup()
    truths, predictions = records(name, "ground_truth"), records(name, "predictions")
    allowed = NEUTRAL | {(style.color, style.dashes) for style in JUDGEMENTS}
    # Atoms on a circle are tied to its middle by fainter lines, lanes are gray.
    allowed |= {(MATCHED.color, "1 3"), (IGNORED.color, "")}
    seen: set[tuple[str, str]] = set()
    for sample_id in list(truths)[:SAMPLES]:
        truth = msgspec.convert(truths[sample_id], kind.truth_type)
        for record in (predictions.get(sample_id), None):
            prediction = None if record is None else msgspec.convert(record, kind.prediction_type)
            details = msgspec.json.decode(msgspec.json.encode(benchmark.score_sample(truth, prediction).details))
            pairs = [DrawnPair("", truth, prediction, *more) for more in ((), (details,), (details, (4000, 3000)))]
            plain, told, over = draw_pairs(benchmark, pairs)
            assert isinstance(plain, str)
            assert isinstance(over, str)
            # Details are those of the score, so that nothing changes where they are known.
            assert plain == told
            svg = ElementTree.fromstring(plain)
            texts = [each.text for each in svg.iter(f"{SVG}text")]
            sizes = {float(each.get("font-size", 0)) for each in svg.iter(f"{SVG}text")}
            assert min(sizes) >= 12
            legend = [style.label for style in (JUDGEMENTS if prediction is not None else (UNJUDGED,))]
            assert texts[: len(legend)] == legend
            found = set(strokes(svg))
            seen |= found
            assert found <= (allowed if prediction is not None else NEUTRAL | {(IGNORED.color, "")})
            # The real picture has one place, before all else, and within the drawing.
            assert (plain.count(PICTURE), over.count(PICTURE)) == (0, 1)
            with_place = ElementTree.fromstring(with_picture(over, "data:,"))
            place = next(with_place.iter(f"{SVG}image"))
            assert place.get("href") == "data:,"
            assert {name: float(place.get(name, -1)) for name in ("x", "y")}["y"] >= 0
            assert float(place.get("x", 0)) + float(place.get("width", 0)) <= float(with_place.get("width", 0))
            assert float(place.get("width", 0)) / float(place.get("height", 1)) == pytest.approx(4 / 3, rel=0.01)
    assert {(style.color, style.dashes) for style in JUDGEMENTS} <= seen
