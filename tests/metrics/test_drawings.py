"""Every benchmark draws by one contract, and says in words what matched what, from the details of its own scores."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import DrawnPair
from beamscore.metrics.common.svg import EXTRA, FRAME, IGNORED, MATCHED, MISSED, PICTURE, UNJUDGED, WRONG, with_picture
from beamscore.metrics.scoring import draw_pairs
from tests.metrics.samples import SVG
from tests.plain_loop import decoded_pairs, make_benchmark, read_records

CORPORA = Path(__file__).parents[1] / "corpora"
JUDGEMENTS = (MATCHED, MISSED, EXTRA, WRONG)
JUDGED = {(style.color, style.dashes) for style in JUDGEMENTS}
# Atoms on a circle are tied to its middle by fainter lines, lanes are gray.
NEUTRAL = {(style.color, style.dashes) for style in (UNJUDGED, IGNORED, FRAME)} | {(IGNORED.color, "")}
FAINT = (MATCHED.color, "1 3")
SAMPLES = 8


@pytest.mark.parametrize("name", [path.name for path in sorted(CORPORA.iterdir())])
def test_every_benchmark_draws_and_explains_by_one_contract(name: str) -> None:
    benchmark, seen = make_benchmark(name), set[tuple[str, str]]()
    benchmark.setup()
    truths, predictions = (read_records(CORPORA / name / f"{side}.jsonl") for side in ("ground_truth", "predictions"))
    for pair in decoded_pairs(benchmark, dict(list(truths.items())[:SAMPLES]), predictions):
        truth = pair.truth
        for prediction in (pair.prediction, None):
            details = msgspec.json.decode(msgspec.json.encode(benchmark.score_sample(truth, prediction).details))
            words = benchmark.explain(details)
            assert words or prediction is None or b'"document"' in truths[pair.sample_id]
            assert all(line and "None" not in line for line in words)
            pairs = [DrawnPair("", truth, prediction, *more) for more in ((), (details,), (details, (4000, 3000)))]
            plain, told, over = draw_pairs(benchmark, pairs)
            assert isinstance(plain, str)
            assert isinstance(over, str)
            # Details are those of the score, so that nothing changes where they are known.
            assert plain == told
            svg = ElementTree.fromstring(plain)
            labels = [*svg.iter(f"{SVG}text")]
            assert min(float(each.get("font-size", 0)) for each in labels) >= 12
            legend = [style.label for style in (JUDGEMENTS if prediction is not None else (UNJUDGED,))]
            assert [each.text for each in labels][: len(legend)] == legend
            # Color and dashes of all lines; marks are crosses where their style has dashes.
            lines = [each for tag in ("polygon", "polyline") for each in svg.iter(f"{SVG}{tag}")]
            found = {(each.get("stroke", ""), each.get("stroke-dasharray", "")) for each in lines}
            seen |= found
            assert found <= (NEUTRAL if prediction is None else NEUTRAL | JUDGED | {FAINT})
            # The real picture has one place, before all else, and within the drawing.
            assert (plain.count(PICTURE), over.count(PICTURE)) == (0, 1)
            root = ElementTree.fromstring(with_picture(over, "data:,"))
            place = next(root.iter(f"{SVG}image"))
            x, y, width, height = (float(place.get(each, -1)) for each in ("x", "y", "width", "height"))
            assert (place.get("href"), y >= 0, x + width <= float(root.get("width", 0))) == ("data:,", True, True)
            assert width / height == pytest.approx(4 / 3, rel=0.01)
    benchmark.teardown()
    assert seen >= JUDGED
