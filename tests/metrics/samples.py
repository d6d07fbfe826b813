"""What tests of several benchmarks share: samples scored, refused and drawn, files converted, oracles, and digests."""

import hashlib
import inspect
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import strategies as st

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.common.svg import EXTRA, IGNORED, MATCHED, MISSED, WRONG
from beamscore.metrics.converter import Part, UnreadableSource
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.statistics.sums import Sums
from tests.plain_loop import make_benchmark

SVG = "{http://www.w3.org/2000/svg}"
STYLES = {style.color: style.label for style in (MATCHED, MISSED, EXTRA, WRONG, IGNORED)}


def records(name: str, truth: Any, prediction: Any) -> tuple[Any, Any]:
    kind = make_benchmark(name)
    predicted = None if prediction is None else msgspec.convert(prediction, kind.prediction_type)
    return msgspec.convert(truth, kind.truth_type), predicted


def score(name: str, truth: Any, prediction: Any, **options: Any) -> SampleScore:
    return make_benchmark(name, **options).score_sample(*records(name, truth, prediction))


def rejection(name: str, side: str, truth: Any, prediction: Any, **options: Any) -> str:
    """Returns why a sample is rejected, for what is the fault of `side`."""
    with pytest.raises(RejectedRecord) as rejected:
        score(name, truth, prediction, **options)
    assert rejected.value.side == side
    return rejected.value.message


def assert_steps(steps: int, name: str, truth: Any, prediction: Any, **options: Any) -> None:
    """Asserts that a sample takes so many steps: as many are enough, and with one less it is rejected for the last."""
    score(name, truth, prediction, max_steps=steps, **options)
    with pytest.raises(RejectedRecord, match=rf"max_steps={steps - 1} allows \(at least {steps} steps\)"):
        score(name, truth, prediction, max_steps=steps - 1, **options)


def assert_converted(name: str, field: str, role: str, path: str, content: str | bytes, expected: list[Any]) -> None:
    """Asserts what a file becomes: each record by its id, `field` and other fields, or in part why there is none."""
    converter: Any = benchmark_class(name).converter
    found: list[Any] = []
    try:
        found += converter.parts(role, path, io.BytesIO(content.encode() if isinstance(content, str) else content))
    except UnreadableSource as error:
        found = [error]
    for part, wanted in zip(found, expected, strict=True):
        if isinstance(part, UnreadableSource):
            assert wanted in str(part)
        else:
            (record,) = converter.records(part[0], [Part(role, path, part[1])])
            assert record == {"sample_id": wanted[0], field: wanted[1], **dict(*wanted[2:])}


def drawn(name: str, truth: Any, prediction: Any, image: tuple[int, int] | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(make_benchmark(name).draw(*records(name, truth, prediction), None, image))


def weighted(truths: Sequence[Any], predictions: Sequence[Any]) -> st.SearchStrategy[list[Any]]:
    """Draws samples, each with its weight in a replicate."""
    sample = st.tuples(st.sampled_from(truths), st.sampled_from(predictions), st.integers(0, 2))
    return st.lists(sample, min_size=1, max_size=6)


def whole_and_part(name: str, drawn: list[Any], **options: Any) -> list[dict[str, float | None]]:
    """Returns the metrics of all samples, and those of a replicate: what a system attempts, all samples decide."""
    sums = [(Sums.of(score(name, truth, said, **options).statistics), weight) for truth, said, weight in drawn]
    corpus = Sums.merged(each for each, _ in sums)
    part = Sums.merged(each for each, weight in sums for _ in range(weight))
    benchmark = make_benchmark(name, **options)
    return [benchmark.values(corpus), benchmark.values_within(part, corpus)]


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def shapes(svg: ElementTree.Element, tag: str = "*") -> list[tuple[str, str]]:
    """Returns the title of each part that has one with the label of its style."""
    elements = svg.iter(tag if tag == "*" else SVG + tag)
    parts = [(each.findtext(f"{SVG}title"), each.get("stroke", "")) for each in elements]
    return [(title, STYLES.get(color, "")) for title, color in parts if title]


def edit_distance(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for character in first:
        above, row = row, [row[0] + 1]
        for place, other in enumerate(second):
            row.append(min(above[place] + (character != other), above[place + 1] + 1, row[place] + 1))
    return row[-1]


def best_sum(scores: Sequence[Sequence[float]]) -> float:
    """The largest sum of scores `[rows, columns]`, each row and each column used once, by trying all."""
    if scores and len(scores) > len(scores[0]):
        scores = [*zip(*scores, strict=True)]
    chosen = permutations(range(len(scores[0]) if scores else 0), len(scores))
    return max(sum(row[place] for row, place in zip(scores, places, strict=True)) for places in chosen)


def digest(parts: Iterator[Any], digits: int = 9) -> str:
    """A hash of the parts as JSON; further digits of a number, which other versions of SciPy may change, are left."""
    rounded = (json.dumps(_rounded(part, digits), sort_keys=True, ensure_ascii=False) for part in parts)
    return hashlib.blake2b("\n".join(rounded).encode(), digest_size=8).hexdigest()


def assert_pinned(found: Sequence[Any], expected: str, folder: Path, digits: int = 9) -> None:
    """Asserts that the digest of the parts is as expected; a failure names a file in the folder with all parts.

    Whoever changes them on purpose compares that file with the one of the commit before; with BEAMSCORE_WRITE=1 the
    test writes the new digest into its own file.
    """
    path, known = folder / "found.txt", digest(iter(found), digits)
    path.write_text("\n".join(map(str, found)), encoding="utf-8")
    if os.environ.get("BEAMSCORE_WRITE"):
        test = Path(inspect.stack()[1].filename)
        test.write_text(test.read_text(encoding="utf-8").replace(f'"{expected}"', f'"{known}"'), encoding="utf-8")
        return
    assert known == expected, f"see {path}"


def scores_as_json(scores: Iterable[SampleScore | RejectedRecord]) -> list[Any]:
    """Returns all that scores say, and of a sample that is rejected why."""
    return [msgspec.to_builtins(each) if isinstance(each, SampleScore) else str(each) for each in scores]


def schema_without_words(kind: Any) -> Any:
    """The JSON schema of a type: keys, kinds, bounds and defaults."""

    def without_words(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: without_words(each) for name, each in part.items() if name not in ("description", "title")}
        return list(map(without_words, part)) if isinstance(part, list) else part

    return without_words(msgspec.json.schema(kind))


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") + 0.0 if abs(value) > 1e-12 else 0.0
    if isinstance(value, dict):
        return {name: _rounded(each, digits) for name, each in value.items()}
    return [_rounded(each, digits) for each in value] if isinstance(value, (list, tuple)) else value
