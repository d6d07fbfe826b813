"""Scores, drawings and declared metrics are those of the last release, and every benchmark draws by one contract.

Whoever changes them adds a line to CHANGELOG.md. Of formulas, which TeX draws, it is what
TeX is given.
"""

import contextlib
import functools
import json
import random
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import AnyBenchmark, DrawnPair, Pair, RejectedRecord, SampleScore
from beamscore.metrics.common.budget import Budget
from beamscore.metrics.common.svg import EXTRA, FRAME, IGNORED, MATCHED, MISSED, PICTURE, UNJUDGED, WRONG, with_picture
from beamscore.metrics.formula.documents.dialects import document_formulas
from beamscore.metrics.formula.latex.normal_form import Unbalanced, normal_form
from beamscore.metrics.formula.latex.token_markup import marked
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.repeats import with_repeats
from beamscore.metrics.scoring import draw_pairs
from beamscore.metrics.statistics.intervals import intervals, standard_errors
from beamscore.metrics.statistics.paired import paired_differences, relative_excess, same_samples
from tests.attacks.corpora import change_at, places
from tests.metrics.samples import SVG, assert_pinned, schema_without_words
from tests.metrics.statistics.samples import measured
from tests.plain_loop import decoded_pairs, make_benchmark, read_records, total

CORPORA = Path(__file__).parents[1] / "corpora"
SCORES = {
    ("chart", "protocol=published"): "d119d3f613ef2954",
    ("chart", "protocol=released"): "9d756e66b092531b",
    ("chart", "edition=2022"): "e66b156fcd005d7c",
    ("chart", "max_steps=300"): "4535b3ce50e2b222",
    ("chemistry", "protocol=published"): "75086ef1865cfbeb",
    ("chemistry", "protocol=released"): "20784e0d6f0322af",
    ("chemistry", "max_steps=3000"): "651c964698f91aef",
    ("figure_text", "protocol=published"): "c737ff8161ceca6d",
    ("figure_text", "protocol=icdar2013"): "b9f7ef42d83625c2",
    ("figure_text", "protocol=iou"): "f0955c030e8c35ea",
    ("figure_text", "geometry=polygon"): "c6606129edf83d2a",
    ("figure_text", "max_steps=300"): "44f42800c844b354",
    ("traffic_rules", ""): "762f51a38e34b77f",
    ("traffic_rules", "max_steps=20"): "1e0e4faa3935f5bb",
}
STATISTICS = {
    ("chart", "protocol=published"): "a50e40ea85ab5282",
    ("chemistry", "protocol=published"): "3a30d2c8973d7c99",
    ("figure_text", "protocol=published"): "1a2673242b782d2f",
    ("traffic_rules", ""): "c6345c484ec81c21",
}
FORMULAS = {"published": "8e03d15514add00d", "released": "a466046774b014c4"}
DRAWINGS = {
    "chart": "69b8ff5e3e252ebf",
    "chemistry": "9a8a87df13531953",
    "figure_text": "72cd662659ec9ac0",
    "traffic_rules": "50aece6106ecd9c9",
}

DECLARED = {
    "chart": "d3c029cd38c96c32",
    "chemistry": "8ddd9f610f289e81",
    "figure_text": "ee676f9848711b81",
    "formula": "9d49a159cb53d322",
    "traffic_rules": "e1005cabc0ef11b8",
}


def pairs(name: str) -> list[Pair[Any, Any]]:
    truths, predictions = (read_records(CORPORA / name / f"{side}.jsonl") for side in ("ground_truth", "predictions"))
    return decoded_pairs(make_benchmark(name), truths, predictions)


@functools.cache
def odd_pairs(name: str) -> list[Pair[Any, Any]]:
    """Returns the samples with both sides changed at some places, four times each, where they can still be read."""
    rng, kind, found = random.Random(name), benchmark_class(name), list[Pair[Any, Any]]()
    for pair in pairs(name) * 4:
        sides = [json.loads(msgspec.json.encode(side)) for side in (pair.truth, pair.prediction or pair.truth)]
        with contextlib.suppress(msgspec.ValidationError):
            truth, prediction = (changed(side, rng) for side in sides)
            types = kind.truth_type, kind.prediction_type
            found.append(Pair(pair.sample_id, msgspec.convert(truth, types[0]), msgspec.convert(prediction, types[1])))
    return found


def changed(record: Any, rng: random.Random) -> Any:
    """Returns the record with other numbers and texts, and other members of its lists, at up to two places."""
    paths = places(record)
    for path in rng.sample(paths, min(rng.randrange(3), len(paths))):
        with contextlib.suppress(LookupError, TypeError):  # an earlier change took it away
            change_at(record, path, lambda value: another(value, rng))
    return record


def another(value: Any, rng: random.Random) -> Any:
    if isinstance(value, str):
        blank = " " if " " in value else ""
        return blank.join(another(value.split(" ") if blank else [*value], rng))
    if isinstance(value, list):
        at = rng.randrange(len(value) + 1)
        return rng.choice(
            [value[:at] + value[at + 1 :], value[at:] + value[:at], value[:at] + value[at - 1 :], value[:at]]
        )
    return rng.choice([-value, value + 1, 2 * value]) if isinstance(value, (int, float)) else value


@functools.cache
def scored(name: str, option: str) -> tuple[AnyBenchmark, list[SampleScore | RejectedRecord]]:
    """Returns a benchmark under an option, and the scores of the samples and of the changed ones."""
    key, _, text = option.partition("=")
    benchmark = make_benchmark(name, **({key: int(text) if text.isdecimal() else text} if key else {}))
    return benchmark, benchmark.score([*pairs(name), *odd_pairs(name)])


@pytest.mark.parametrize(("name", "option"), SCORES)
def test_scores(name: str, option: str, tmp_path: Path) -> None:
    benchmark, scores = scored(name, option)
    known = [msgspec.to_builtins(each) for each in scores if isinstance(each, SampleScore)]
    rejected = [(each.side, each.message) for each in scores if isinstance(each, RejectedRecord)]
    sums = total(scores)
    of_all = [benchmark.values(sums), msgspec.to_builtins(benchmark.tables(sums)), rejected]
    explained = [benchmark.explain(each["details"]) for each in known]
    assert_pinned([*known, *explained, *of_all], SCORES[name, option], tmp_path)


@pytest.mark.parametrize(("name", "option"), STATISTICS)
def test_statistics(name: str, option: str, tmp_path: Path) -> None:
    """Intervals of some of the samples, and differences from others."""
    rng, found = random.Random(name), list[Any]()
    benchmark, scores = scored(name, option)
    known = [each.statistics for each in scores if isinstance(each, SampleScore)]
    for count in (1, 2, 5, 6, 20, 20, 100):
        sampled, harm = rng.choices(known, k=count), rng.choice([0.1, 1])
        other = [rng.choice(known) if rng.random() < harm else each for each in sampled]
        before, after = (
            measured(benchmark, {str(n): each for n, each in enumerate(side)}) for side in (sampled, other)
        )
        for side in (before, after):
            found += [side.values, side.units, side.sizes, side.totals]
            found += [standard_errors(benchmark, side), intervals(benchmark, side, 0.9)]
        for metric, each in paired_differences(benchmark, before, after, 0.9).items():
            found += [
                asdict(each),
                same_samples(benchmark, metric, before, after),
                relative_excess(metric, before, after),
            ]
    assert_pinned(found, STATISTICS[name, option], tmp_path, digits=6)


@pytest.mark.parametrize("protocol", FORMULAS)
def test_formulas(protocol: str, tmp_path: Path) -> None:
    """The formulas of documents, their tokens, and what TeX is given."""

    def read(latex: str) -> Any:
        with contextlib.suppress(Unbalanced):
            form = normal_form(latex, protocol == "released")
            return *form.tokens, form.parsed, marked(form, protocol == "released").source
        return latex

    found: list[Any] = []
    for side in chain(*((each.truth, each.prediction) for each in (*pairs("formula"), *odd_pairs("formula")))):
        document, dialect = getattr(side, "document", None) or (), getattr(side, "dialect", None) or "latex"
        pages = [document] if isinstance(document, str) else document
        inside = [each for page in pages for each in document_formulas(page, dialect, Budget(10**9))]
        found += [inside, *(read(each.latex) for each in inside), read(getattr(side, "latex", None) or "")]
    assert_pinned(found, FORMULAS[protocol], tmp_path)


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings(name: str, tmp_path: Path) -> None:
    """With and without a prediction, and over the real picture."""
    drawn = [
        DrawnPair("", pair.truth, *more)
        for pair in (*pairs(name), *odd_pairs(name))
        for more in ((pair.prediction,), (None,), (pair.prediction, None, (800, 600)))
    ]
    assert_pinned([*map(str, draw_pairs(make_benchmark(name), drawn))], DRAWINGS[name], tmp_path)


@pytest.mark.parametrize("name", DECLARED)
def test_declared_metrics_options_and_records(name: str, tmp_path: Path) -> None:
    kind = benchmark_class(name)
    specs = ({**asdict(spec), "meaning": ""} for spec in (*kind.metrics, *kind.sample_metrics))
    types = (kind.options_type, kind.truth_type, kind.prediction_type)
    assert_pinned([*specs, *map(schema_without_words, types)], DECLARED[name], tmp_path)


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
