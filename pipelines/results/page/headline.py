"""The verdict of a run in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....metrics.benchmark import Benchmark
from ..numbers import fixed
from ..verdict import gates_passed
from .against import Against
from .document import Headline, Judgement
from .text import one_line

MAX_REASON_LENGTH = 400
MAX_SENTENCE_LENGTH = 2_000


def headline(
    summary: Mapping[str, Any],
    benchmark: type[Benchmark[Any, Any, Any]],
    failures: Sequence[str],
    against: Against | None = None,
) -> Headline:
    """Returns whether the run passes and why, and what it measured; a run without gates has no judgement.

    failures: why the run fails beside its gates. against: the differences from the baseline.
    """
    verdicts = summary.get("gates", ())
    measured = _measured(summary, benchmark)
    if against is not None:
        measured += f" {against.sentence()}"
    measured = one_line(measured, MAX_SENTENCE_LENGTH)
    if not verdicts and not failures:
        return Headline("none", measured)
    words = [verdict["verdict"] for verdict in verdicts if verdict["blocks"]]
    judgement: Judgement = "fail" if failures else next((word for word in _WORST_FIRST if word in words), "pass")
    counts = [f"{count} {word}" for word in _WORST_FIRST if (count := _count(verdicts, word))]
    said = f"{', '.join([gates_passed(verdicts), *counts])}. " if verdicts else ""
    wanting = [verdict for verdict in verdicts if verdict["verdict"] != "pass"]
    reasons = [*failures, *(f"{each['gate']} ({each['verdict']}): {each['reason']}" for each in wanting)]
    return Headline(judgement, f"{said}{measured}", tuple(one_line(reason, MAX_REASON_LENGTH) for reason in reasons))


_WORST_FIRST: tuple[Judgement, ...] = ("fail", "invalid", "inconclusive")


def _count(verdicts: Sequence[Mapping[str, Any]], word: str) -> int:
    return sum(verdict["verdict"] == word for verdict in verdicts)


def _measured(summary: Mapping[str, Any], benchmark: type[Benchmark[Any, Any, Any]]) -> str:
    systems, ranking = summary["systems"], summary["ranking"]
    scored = max((system["coverage"]["ground_truth"]["scored"] for system in systems.values()), default=0)
    if not scored:
        return "Nothing was scored."
    metric = _first_measured(summary, benchmark)
    if metric is None:
        return f"{scored:,} samples were scored, and no metric has a value."
    values = [f"{name} has {metric} {_value(systems[name], metric)}" for name in ranking]
    if len(ranking) == 1:
        return f"{values[0]} over {_samples(systems[ranking[0]])}."
    shown = "; ".join(values[:3]) + (f"; {len(values) - 3} more systems follow" if len(values) > 3 else "")
    first = _first_places(summary)
    if len(first) == 1:
        return f"{first[0]} ranks first of {len(ranking)} systems: {shown}."
    named = ", ".join(first[:3]) + (f" and {len(first) - 3} more" if len(first) > 3 else "")
    return f"{named} share the first place of {len(ranking)} systems: {shown}."


def _first_places(summary: Mapping[str, Any]) -> list[str]:
    """Returns the systems of the first place, in the order of the ranking."""
    places = summary.get("ranking_by", {}).get("places", [])
    return [each["system"] for each in places if each["place"] == 1] or list(summary["ranking"])


def _first_measured(summary: Mapping[str, Any], benchmark: type[Benchmark[Any, Any, Any]]) -> str | None:
    names = [*(spec.name for spec in benchmark.ranking_metrics()), *benchmark.main_metrics()]
    systems = summary["systems"].values()
    return next((name for name in names if any(system["values"].get(name) is not None for system in systems)), None)


def _value(system: Mapping[str, Any], metric: str) -> str:
    value, interval = system["values"].get(metric), system["intervals"].get(metric)
    if value is None:
        return "not measured"
    between = f" ({fixed(interval[0])} to {fixed(interval[1])})" if interval is not None else ""
    return f"{fixed(value)}{between}"


def _samples(system: Mapping[str, Any]) -> str:
    counts = system["coverage"]["ground_truth"]
    text = f"{counts['read']:,} samples"
    left = [f"{counts[status]:,} {words}" for status, words in _LEFT_OUT.items() if counts[status]]
    return f"{text}, of which {' and '.join(left)}" if left else text


_LEFT_OUT = {
    "missing_prediction": "without a prediction",
    "rejected": "rejected",
    "duplicate": "duplicates",
}
