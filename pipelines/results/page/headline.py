"""The verdict of a run in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metrics.benchmark import Benchmark
from pipelines.results.page.document import Headline
from pipelines.results.page.text import one_line

MAX_REASON_LENGTH = 400


def headline(
    summary: Mapping[str, Any], benchmark: type[Benchmark[Any, Any, Any]], failures: Sequence[str]
) -> Headline:
    """Returns whether the run passes and why, and otherwise what it measured."""
    gates = len(summary["config"].get("gates", ())) * len(summary["systems"])
    measured = _measured(summary, benchmark)
    if failures:
        count = "one check" if len(failures) == 1 else f"{len(failures)} checks"
        reasons = tuple(one_line(failure, MAX_REASON_LENGTH) for failure in failures)
        return Headline("fail", f"The run failed {count}. {measured}", reasons)
    if gates:
        count = "The gate passes" if gates == 1 else f"All {gates} gates pass"
        return Headline("pass", f"{count}. {measured}")
    return Headline("none", measured)


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
    return f"{ranking[0]} ranks first of {len(ranking)} systems: {shown}."


def _first_measured(summary: Mapping[str, Any], benchmark: type[Benchmark[Any, Any, Any]]) -> str | None:
    names = [*(spec.name for spec in benchmark.ranking_metrics()), *benchmark.main_metrics()]
    systems = summary["systems"].values()
    return next((name for name in names if any(system["values"].get(name) is not None for system in systems)), None)


def _value(system: Mapping[str, Any], metric: str) -> str:
    value, interval = system["values"].get(metric), system["intervals"].get(metric)
    if value is None:
        return "not measured"
    between = f" ({interval[0]:.4f} to {interval[1]:.4f})" if interval is not None else ""
    return f"{round(value, 4) + 0.0:.4f}{between}"


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
