"""The verdict of a comparison in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....metrics.benchmark import Benchmark
from ..numbers import fixed
from .document import Headline, Judgement
from .render import signed
from .text import one_line

MAX_REASONS = 12
MAX_REASON_LENGTH = 400


def comparison_headline(
    document: Mapping[str, Any], benchmark: type[Benchmark[Any, Any, Any]], main: Sequence[str]
) -> Headline:
    """Returns whether the candidate is better, and in what; `main` are the metrics that decide."""
    metrics = document["metrics"]
    decided = {word: [name for name in main if metrics[name]["verdict"] == word] for word in ("worse", "better")}
    if document["missing"]:
        return Headline("none", "Without the rows of both runs there is no test: the differences below have intervals.")
    words = [word for word, names in decided.items() if names]
    judgement: Judgement = "no difference shown"
    if words:
        judgement = "mixed" if len(words) > 1 else "worse" if words == ["worse"] else "better"
    reasons = [f"{name} is {word}: {_moved(metrics[name])}" for word in ("worse", "better") for name in decided[word]]
    sentence = f"{_said(decided, main)} {_first(metrics, main)}{_slices(document)}"
    return Headline(judgement, sentence, tuple(one_line(reason, MAX_REASON_LENGTH) for reason in reasons[:MAX_REASONS]))


def _said(decided: Mapping[str, Sequence[str]], main: Sequence[str]) -> str:
    if not main:
        return "No main metric has a value."
    counts = [f"{word} in {len(names)}" for word, names in decided.items() if names]
    if not counts:
        return f"No difference is shown in {_all(len(main))}."
    return f"The candidate is {' and '.join(counts)} of {len(main)} main metric{'s' * (len(main) > 1)}."


def _all(count: int) -> str:
    return "the main metric" if count == 1 else f"any of {count} main metrics"


def _first(metrics: Mapping[str, Any], main: Sequence[str]) -> str:
    name = next((name for name in main if metrics[name]["difference"] is not None), None)
    if name is None:
        return ""
    found = metrics[name]
    return f"{name} went from {fixed(found['baseline'])} to {fixed(found['candidate'])}: {_moved(found)}. "


def _moved(found: Mapping[str, Any]) -> str:
    interval = found["interval"]
    between = "" if interval is None else f" ({signed(interval[0])} to {signed(interval[1])})"
    return f"{signed(found['difference'])}{between}"


def _slices(document: Mapping[str, Any]) -> str:
    slices = document["slices"].values()
    if not slices:
        return ""
    counts = {
        word: sum(any(each["verdict"] == word for each in found["metrics"].values()) for found in slices)
        for word in ("worse", "better")
    }
    total = f"{len(slices):,} slice{'s' * (len(slices) != 1)}"
    verb = "is" if counts["worse"] == 1 else "are"
    return f"Of {total}, {counts['worse']:,} {verb} worse in some metric and {counts['better']:,} better."
