"""What tests of several benchmarks share: single samples scored, refused and drawn, and two oracles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from beamscore.metrics.benchmark import RejectedRecord, SampleScore
from beamscore.metrics.common.svg import EXTRA, IGNORED, MATCHED, MISSED, WRONG
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


def drawn(name: str, truth: Any, prediction: Any, image: tuple[int, int] | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(make_benchmark(name).draw(*records(name, truth, prediction), None, image))


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
