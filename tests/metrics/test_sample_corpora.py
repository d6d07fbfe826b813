"""Scores, drawings and declared metrics are those of the last release, and every benchmark draws by one contract.

Whoever changes them writes the new digest here and a line in CHANGELOG.md. Formulas are left out: TeX draws them.
"""

from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import DrawnPair, Pair
from beamscore.metrics.common.svg import EXTRA, FRAME, IGNORED, MATCHED, MISSED, PICTURE, UNJUDGED, WRONG, with_picture
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.repeats import with_repeats
from beamscore.metrics.scoring import draw_pairs
from tests.metrics.samples import SVG, digest, schema_without_words
from tests.plain_loop import decoded_pairs, make_benchmark, read_records, total

CORPORA = Path(__file__).parents[1] / "corpora"
SCORES = {
    ("chart", "protocol=published"): "97fc50db729e5705",
    ("chart", "protocol=released"): "94efe733482277e8",
    ("chart", "edition=2022"): "10ed74c31d331450",
    ("chemistry", "protocol=published"): "3fe6a27665a8dd66",
    ("chemistry", "protocol=released"): "28e1c82af373d5a3",
    ("figure_text", "protocol=published"): "56ae61731629fc16",
    ("figure_text", "protocol=icdar2013"): "f03b6b32e9db498f",
    ("figure_text", "protocol=iou"): "a14ca9043e97ef33",
    ("figure_text", "geometry=polygon"): "b1672b11c7177e91",
    ("traffic_rules", ""): "e45a9f0f3b16bebb",
}
DRAWINGS = {
    "chart": "a0f3ead3d3d89e85",
    "chemistry": "a8e19607011b5404",
    "figure_text": "e21aaba0ea830341",
    "traffic_rules": "84d1bc198a432034",
}

DECLARED = {
    "chart": "a0609894d1b11ec7",
    "chemistry": "8ddd9f610f289e81",
    "figure_text": "ee676f9848711b81",
    "formula": "9d49a159cb53d322",
    "traffic_rules": "e1005cabc0ef11b8",
}


def pairs(name: str) -> list[Pair[Any, Any]]:
    truths, predictions = (read_records(CORPORA / name / f"{side}.jsonl") for side in ("ground_truth", "predictions"))
    return decoded_pairs(make_benchmark(name), truths, predictions)


@pytest.mark.parametrize(("name", "option"), SCORES)
def test_scores(name: str, option: str) -> None:
    key, _, text = option.partition("=")
    benchmark = make_benchmark(name, **({key: int(text) if text.isdecimal() else text} if key else {}))
    scores = [benchmark.score_sample(pair.truth, pair.prediction) for pair in pairs(name)]
    known = [msgspec.to_builtins(each) for each in scores]
    sums = total(scores)
    of_all = [benchmark.values(sums), msgspec.to_builtins(benchmark.tables(sums))]
    assert digest(chain(known, (benchmark.explain(each["details"]) for each in known), of_all)) == SCORES[name, option]


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings(name: str) -> None:
    """With and without a prediction, and over the real picture."""
    drawn = [
        DrawnPair("", pair.truth, *more)
        for pair in pairs(name)
        for more in ((pair.prediction,), (None,), (pair.prediction, None, (800, 600)))
    ]
    assert digest(iter(draw_pairs(make_benchmark(name), drawn))) == DRAWINGS[name]


@pytest.mark.parametrize("name", DECLARED)
def test_declared_metrics_options_and_records(name: str) -> None:
    kind = benchmark_class(name)
    specs = ({**asdict(spec), "meaning": ""} for spec in (*kind.metrics, *kind.sample_metrics))
    types = (kind.options_type, kind.truth_type, kind.prediction_type)
    assert digest(chain(specs, map(schema_without_words, types))) == DECLARED[name]


JUDGEMENTS = (MATCHED, MISSED, EXTRA, WRONG)
JUDGED = {(style.color, style.dashes) for style in JUDGEMENTS}
# Atoms on a circle are tied to its middle by fainter lines, lanes are gray.
NEUTRAL = {(style.color, style.dashes) for style in (UNJUDGED, IGNORED, FRAME)} | {(IGNORED.color, "")}
FAINT = (MATCHED.color, "1 3")
SAMPLES = 8


@pytest.mark.parametrize("name", [path.name for path in sorted(CORPORA.iterdir())])
def test_every_benchmark_draws_and_explains_by_one_contract(name: str) -> None:
    benchmark, seen = make_benchmark(name), set[tuple[str, str]]()
    repeated = with_repeats(type(benchmark))(benchmark.options)
    benchmark.setup()
    repeated.setup()
    for pair in pairs(name)[:SAMPLES]:
        truth = pair.truth
        for prediction in (pair.prediction, None):
            details = msgspec.json.decode(msgspec.json.encode(benchmark.score_sample(truth, prediction).details))
            words = benchmark.explain(details)
            assert words or prediction is None or getattr(truth, "document", None)
            assert all(line and "None" not in line for line in words)
            drawn = [DrawnPair("", truth, prediction, *more) for more in ((), (details,), (details, (4000, 3000)))]
            plain, told, over = map(str, draw_pairs(benchmark, drawn))
            # Details are those of the score, so that nothing changes where they are known; of repeats, of the worst.
            repeats = {label: {"details": each} for label, each in (("1", None), ("2", details))}
            folded = [DrawnPair("", truth, prediction, {"worst": worst, "repeats": repeats}) for worst in repeats]
            assert [told, *draw_pairs(repeated, folded)] == [plain] * 3
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
    repeated.teardown()
    assert seen >= JUDGED
