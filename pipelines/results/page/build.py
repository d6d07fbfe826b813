"""Makes the page of one evaluation from the documents of its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ....metrics.benchmark import Benchmark, MetricSpec
from ....transforms.quarantine import CauseCount
from ..causes import place_of_entry
from ..numbers import percent
from .against import Against, AgainstMetric
from .distributions import distributions
from .document import (
    Card,
    Cause,
    Compared,
    Count,
    CoverageRow,
    Difference,
    GateRow,
    Measured,
    MetricRow,
    Page,
    PageData,
    SampleTable,
    SliceRow,
)
from .facts import facts_of
from .headline import headline
from .tables import table_part
from .text import clipped, command_line, one_line
from .two_systems import TwoSystems

AnyBenchmark = Benchmark[Any, Any, Any]
SIDES = ("ground_truth", "predictions")
MAX_CELL_LENGTH = 300
MAX_NOTE_LENGTH = 1000


@dataclass(frozen=True)
class PageSources:
    """What a page is made of; whatever a run lacks is empty or None.

    summary, run: the documents of summary.json and run.json. failures: why the run fails beside its gates, in words.
    causes: the quarantine by cause. samples: the rows of samples, or None where there are none. cards: samples to look
    at. against: the differences from the baseline, or None where there is none. pair: the difference of two systems, or
    None. spread: the rows of which distributions are shown, where they are not `samples`: of a large run.
    """

    summary: Mapping[str, Any]
    benchmark: type[AnyBenchmark]
    run: Mapping[str, Any] | None = None
    failures: Sequence[str] = ()
    causes: Sequence[CauseCount] = ()
    samples: SampleTable | None = None
    cards: Sequence[Card] = ()
    against: Against | None = None
    pair: TwoSystems | None = None
    spread: SampleTable | None = None


def build_page(sources: PageSources) -> Page:
    """Returns the page of one evaluation."""
    summary, benchmark = sources.summary, sources.benchmark
    systems = tuple(one_line(name, MAX_CELL_LENGTH) for name in summary["systems"])
    main = _metric_rows(summary, benchmark, benchmark.main_metrics(), is_main=True)
    found, against = sources.samples, sources.against
    spread = sources.spread if sources.spread is not None else found
    data = PageData(
        systems,
        main,
        tuple(declared_metric(spec) for spec in benchmark.sample_metrics),
        _differences(against, systems, main) if against is not None else (),
        _pair(sources.pair, main) if sources.pair is not None else (),
        _slices(summary, [row.name for row in main], against),
        distributions(spread, benchmark.sample_metrics, len(systems)) if spread is not None else (),
        found,
        tuple(sources.cards),
    )
    return Page(
        title=f"{benchmark.name}: {', '.join(systems)}",
        summary=benchmark.summary,
        headline=headline(summary, benchmark, sources.failures, against),
        setting=_setting(summary["config"]),
        warnings=_warnings(summary),
        gates=tuple(_gate(verdict) for verdict in summary.get("gates", ())),
        coverage=tuple(
            _coverage(name, side, system["coverage"][side])
            for name, system in zip(systems, summary["systems"].values(), strict=True)
            for side in SIDES
        ),
        causes=tuple(_cause(cause) for cause in sources.causes if cause.example is not None),
        other_metrics=_metric_rows(summary, benchmark, _other_metrics(summary, benchmark), is_main=False),
        tables=tuple(
            table_part(name, table)
            for name, system in zip(systems, summary["systems"].values(), strict=True)
            for table in system.get("tables", ())
        ),
        facts=facts_of(sources.run),
        command=command_line(sources.run.get("command") or ()) if sources.run else "",
        configuration=clipped(json.dumps(summary["config"], indent=1, ensure_ascii=False), 20_000),
        absent=_absent(sources),
        spread=_spread(spread),
        baseline="" if against is None else one_line(against.note, MAX_NOTE_LENGTH),
        pair="" if sources.pair is None else one_line(sources.pair.note, MAX_NOTE_LENGTH),
        data=data,
    )


def _spread(table: SampleTable | None) -> str:
    """Returns in words of which rows the distributions are, where they are not of all."""
    if table is None or len(table.ids) >= table.total:
        return ""
    return f"Of {len(table.ids):,} of the {table.total:,} rows, chosen by a hash of their sample_id."


def _warnings(summary: Mapping[str, Any]) -> tuple[str, ...]:
    of_systems = [
        f"{name}: {each}" for name, system in summary["systems"].items() for each in system.get("warnings", ())
    ]
    return tuple(one_line(warning, MAX_CELL_LENGTH) for warning in (*summary.get("warnings", ()), *of_systems))


def _gate(verdict: Mapping[str, Any]) -> GateRow:
    named = [verdict["metric"], *([f"@ {verdict['slice']}"] if verdict["slice"] else [])]
    return GateRow(
        verdict["verdict"],
        one_line(verdict["gate"], MAX_CELL_LENGTH),
        verdict["tier"],
        one_line(verdict["system"] or "–", MAX_CELL_LENGTH),
        one_line(" ".join(named), MAX_CELL_LENGTH),
        one_line(verdict["reason"], MAX_CELL_LENGTH),
    )


def _absent(sources: PageSources) -> dict[str, str]:
    """Returns why sections are empty, by section."""
    absent = {}
    if not any(system["slices"] for system in sources.summary["systems"].values()):
        absent["slices"] = "This run has no slices; --slice COLUMN gives metrics by a column of the ground truth."
    if sources.samples is None or not sources.samples.ids:
        absent["samples"] = (
            "This run has no samples." if sources.samples else "The rows of samples are not in this page."
        )
        absent["distributions"] = absent["samples"]
    if sources.run is None:
        absent["provenance"] = "This run has no run.json, which says what it was made from."
    return absent


def _other_metrics(summary: Mapping[str, Any], benchmark: type[AnyBenchmark]) -> list[str]:
    main = set(benchmark.main_metrics())
    names = dict.fromkeys(name for system in summary["systems"].values() for name in system["values"])
    return [name for name in names if name not in main]


def _metric_rows(
    summary: Mapping[str, Any], benchmark: type[AnyBenchmark], names: Sequence[str], *, is_main: bool
) -> tuple[MetricRow, ...]:
    rows = []
    for name in names:
        spec = benchmark.spec_of(name)
        declared = declared_metric(spec) if spec else MetricRow(name, "", True, None, None, False, ())
        values = tuple(measured(system, name) for system in summary["systems"].values())
        rows.append(
            msgspec.structs.replace(declared, name=one_line(name, MAX_CELL_LENGTH), main=is_main, values=values)
        )
    return tuple(rows)


def declared_metric(spec: MetricSpec) -> MetricRow:
    """Returns what is declared of a metric, without values."""
    low, high = spec.bounds
    return MetricRow(spec.name, spec.meaning, spec.higher_is_better, low, high, spec.main is not None, ())


def measured(found: Mapping[str, Any], name: str) -> Measured:
    """Returns a metric of a system or slice of summary.json with its interval."""
    interval = found["intervals"].get(name)
    low, high = interval if interval is not None else (None, None)
    return Measured(found["values"].get(name), low, high)


def _differences(against: Against, systems: Sequence[str], main: Sequence[MetricRow]) -> tuple[Compared, ...]:
    """Returns the differences of the main metrics of all samples, by metric and system."""
    return tuple(
        _compared(row, found, number, Measured(found.baseline), row.values[number])
        for row in main
        for number, name in enumerate(systems)
        if (found := against.compared(name, "", row.name)) is not None
    )


def _pair(pair: TwoSystems, main: Sequence[MetricRow]) -> tuple[Compared, ...]:
    """Returns the differences of the main metrics of the two systems of a run."""
    return tuple(_compared(row, pair.found[row.name], 0, *row.values) for row in main if row.name in pair.found)


def _compared(row: MetricRow, found: AgainstMetric, system: int, baseline: Measured, candidate: Measured) -> Compared:
    return Compared(
        *(row.name, row.meaning, row.higher_is_better, system, baseline, candidate),
        *(found.difference, None, found.detectable),
    )


def _slices(summary: Mapping[str, Any], names: Sequence[str], against: Against | None) -> tuple[SliceRow, ...]:
    return tuple(
        SliceRow(
            one_line(label, MAX_CELL_LENGTH),
            number,
            sum(found["coverage"]["ground_truth"].values()),
            tuple(measured(found, name) for name in names),
            () if against is None else tuple(_difference(against, system_name, label, name) for name in names),
        )
        for number, (system_name, system) in enumerate(summary["systems"].items())
        for label, found in system["slices"].items()
    )


def _difference(against: Against, system: str, label: str, metric: str) -> Difference:
    found = against.compared(system, label, metric)
    return Difference() if found is None else found.difference


def _setting(config: Mapping[str, Any]) -> tuple[str, ...]:
    missing = "counts as wrong" if config["missing"] == "wrong" else "is left out of the score"
    lines = [f"A missing prediction {missing}."]
    if "protocol" in config:
        lines.insert(0, f"Protocol: {config['protocol']}.")
    bootstrap = config["bootstrap"]
    if bootstrap["replicates"]:
        unit = f"clusters by {one_line(config['cluster'], 80)}" if config["cluster"] else "samples"
        replicates = f"{bootstrap['replicates']:,} bootstrap replicates"
        lines.append(f"Intervals: {percent(bootstrap['confidence'])}, from {replicates} over {unit}.")
    return tuple(lines)


def _coverage(system: str, side: str, counts: Mapping[str, int]) -> CoverageRow:
    parts = tuple(Count(status.replace("_", " "), count) for status, count in counts.items() if status != "read")
    return CoverageRow(system, side.replace("_", " "), counts["read"], parts)


def _cause(cause: CauseCount) -> Cause:
    example = cause.example
    assert example is not None
    return Cause(
        cause.count,
        one_line(example.side, MAX_CELL_LENGTH),
        example.stage,
        example.cause.replace("_", " "),
        one_line(place_of_entry(example), MAX_CELL_LENGTH),
        one_line(example.error, MAX_CELL_LENGTH),
    )
