"""What all benchmarks tell of a sample: a drawing by one contract, and words of what matched what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import Benchmark, DrawnPair
from beamscore.metrics.common.svg import EXTRA, FRAME, IGNORED, MATCHED, MISSED, PICTURE, UNJUDGED, WRONG, with_picture
from beamscore.metrics.registry import BUILT_IN
from beamscore.metrics.scoring import draw_pairs, score_pairs
from tests.plain_loop import decoded_pairs, make_benchmark, read_records

CORPORA = Path(__file__).parents[1] / "corpora"
SVG = "{http://www.w3.org/2000/svg}"
JUDGEMENTS = (MATCHED, MISSED, EXTRA, WRONG)
NEUTRAL = {(style.color, style.dashes) for style in (UNJUDGED, IGNORED, FRAME)}
# Atoms on a circle are tied to its middle by fainter lines, lanes are gray.
ALLOWED = NEUTRAL | {(style.color, style.dashes) for style in JUDGEMENTS}
ALLOWED |= {(MATCHED.color, "1 3"), (IGNORED.color, "")}
SAMPLES = 12


def strokes(svg: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yields color and dashes of all lines; marks are crosses where their style has dashes."""
    for tag in ("polygon", "polyline"):
        for each in svg.iter(f"{SVG}{tag}"):
            yield each.get("stroke", ""), each.get("stroke-dasharray", "")


def check_drawings(benchmark: Benchmark[Any, Any, Any], pair: Any, details: Any) -> set[tuple[str, str]]:
    """Holds the drawings of a pair to the contract, and returns the styles of its lines."""
    pairs = [DrawnPair("", pair.truth, pair.prediction, *more) for more in ((), (details,), (details, (4000, 3000)))]
    plain, told, over = draw_pairs(benchmark, pairs)
    assert isinstance(plain, str)
    assert isinstance(over, str)
    # Details are those of the score, so that nothing changes where they are known.
    assert plain == told
    svg = ElementTree.fromstring(plain)
    texts = [each.text for each in svg.iter(f"{SVG}text")]
    assert min(float(each.get("font-size", 0)) for each in svg.iter(f"{SVG}text")) >= 12
    legend = [style.label for style in (JUDGEMENTS if pair.prediction is not None else (UNJUDGED,))]
    assert texts[: len(legend)] == legend
    found = set(strokes(svg))
    assert found <= (ALLOWED if pair.prediction is not None else NEUTRAL | {(IGNORED.color, "")})
    # The real picture has one place, before all else, and within the drawing.
    assert (plain.count(PICTURE), over.count(PICTURE)) == (0, 1)
    with_place = ElementTree.fromstring(with_picture(over, "data:,"))
    place = next(with_place.iter(f"{SVG}image"))
    x, y, width, height = (float(place.get(name, -1)) for name in ("x", "y", "width", "height"))
    assert (place.get("href"), y >= 0) == ("data:,", True)
    assert x + width <= float(with_place.get("width", 0))
    assert width / height == pytest.approx(4 / 3, rel=0.01)
    return found


@pytest.mark.parametrize("name", sorted({*BUILT_IN} - {"toy"}))
def test_every_benchmark_draws_and_explains_its_samples(name: str) -> None:
    benchmark = make_benchmark(name)
    benchmark.setup()
    truths = dict(list(read_records(CORPORA / name / "ground_truth.jsonl").items())[:SAMPLES])
    seen: set[tuple[str, str]] = set()
    for number, pair in enumerate(decoded_pairs(benchmark, truths, read_records(CORPORA / name / "predictions.jsonl"))):
        for each in [pair, msgspec.structs.replace(pair, prediction=None)][: None if number < 3 else 1]:
            (outcome,) = score_pairs(benchmark, [each])
            assert outcome.score is not None
            details = msgspec.json.decode(msgspec.json.encode(outcome.score.details))
            seen |= check_drawings(benchmark, each, details)
            lines = benchmark.explain(details)
            assert lines or each is not pair or number > 5
            assert all(line and "None" not in line for line in lines)
    assert {(style.color, style.dashes) for style in JUDGEMENTS} <= seen
