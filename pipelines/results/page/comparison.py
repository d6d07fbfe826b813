"""Makes comparison.html from the document of comparison.json and the samples that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ....metrics.benchmark import Benchmark
from ....transforms.sample_changes import KINDS
from ..numbers import percent
from . import fallback
from .build import MAX_CELL_LENGTH, declared_metric
from .comparison_document import (
    ChangeCounts,
    Changed,
    ComparedCell,
    ComparedSliceRow,
    ComparisonData,
    ComparisonPage,
    FactOfTwo,
)
from .comparison_headline import comparison_headline
from .document import Compared, Count, Difference, Measured, MetricRow
from .facts import facts_of
from .render import render
from .text import command_line, one_line

PAGE = "comparison.html"
MAX_DRAWINGS_LENGTH = 6_000_000
MAX_SLICES = 10_000
SLICES_NAMED = 20

Intervals = Mapping[str, Sequence[float] | None]


@dataclass(frozen=True)
class ComparedRuns:
    """What the page tells of both runs beside their comparison, baseline first.

    runs: the documents of run.json, empty where there is none. intervals: of the metrics of all samples of each run.
    samples: how many samples each run has. command: how the comparison was started. no_records: why the page has no
    records, empty where it has.
    """

    runs: tuple[Mapping[str, Any], Mapping[str, Any]]
    intervals: tuple[Intervals, Intervals]
    samples: tuple[int, int]
    command: tuple[str, ...] = ()
    no_records: str = ""


def page_or_reason(
    document: Mapping[str, Any], benchmark: Benchmark[Any, Any, Any], runs: ComparedRuns, changed: Sequence[Changed]
) -> fallback.MadePage:
    """Returns the page of a comparison; where it cannot be made, a page that says why."""
    make = partial(comparison_page, document, benchmark, runs, changed)
    return fallback.page_or_reason(make, PAGE, "comparison.md and comparison.json")


def comparison_page(
    document: Mapping[str, Any], benchmark: Benchmark[Any, Any, Any], runs: ComparedRuns, changed: Sequence[Changed]
) -> bytes:
    """Returns the page of a comparison. document: of comparison.json. changed: samples to look at, the worst first."""
    return render(build_comparison_page(document, benchmark, runs, changed))


def build_comparison_page(
    document: Mapping[str, Any], benchmark: Benchmark[Any, Any, Any], runs: ComparedRuns, changed: Sequence[Changed]
) -> ComparisonPage:
    """Returns what the page shows."""
    kind = type(benchmark)
    main = [name for name in benchmark.main_metrics() if name in document["metrics"]]
    names = (_side_name(document["baseline"]), _side_name(document["candidate"]))
    compared = _Metrics(kind, document, runs)
    changes = document["changes"]
    return ComparisonPage(
        title=f"{benchmark.name}: {names[1]} against {names[0]}",
        summary=benchmark.summary,
        names=names,
        headline=comparison_headline(document, kind, main),
        warnings=tuple(one_line(each, MAX_CELL_LENGTH) for each in (*document["differences"], *document["missing"])),
        setting=_setting(document),
        counts=tuple(Count(name.replace("_", " "), count) for name, count in document["samples"].items() if count),
        samples=sum(document["samples"].values()),
        other_metrics=tuple(compared.of(name) for name in document["metrics"] if name not in main),
        one_sided=_one_sided(document),
        change_kinds=tuple(name.replace("_", " ") for name in KINDS),
        changes=tuple(
            ChangeCounts(one_line(name, MAX_CELL_LENGTH), tuple(counts[each] for each in KINDS))
            for name, counts in changes["metrics"].items()
        ),
        facts=_facts(runs.runs),
        command=command_line(runs.command),
        absent=_absent(document, runs, changed),
        data=ComparisonData(
            names,
            tuple(compared.of(name) for name in main),
            _slices(document, kind, main),
            tuple(declared_metric(spec) for spec in kind.sample_metrics),
            tuple(_within_limit(changed)),
        ),
    )


def _side_name(side: Mapping[str, str]) -> str:
    return one_line(f"{side['run']}:{side['system']}", MAX_CELL_LENGTH)


@dataclass(frozen=True)
class _Metrics:
    """The metrics of all samples as rows."""

    kind: type[Benchmark[Any, Any, Any]]
    document: Mapping[str, Any]
    runs: ComparedRuns

    def of(self, name: str) -> Compared:
        found, declared = self.document["metrics"][name], _declared(self.kind, name)
        return Compared(
            *(declared.name, declared.meaning, declared.higher_is_better, 0),
            self._side(0, name, found["baseline"]),
            self._side(1, name, found["candidate"]),
            _difference(found),
            found["p"],
            found["detectable"],
        )

    def _side(self, side: int, name: str, value: float | None) -> Measured:
        """Returns a value with the interval of its run, where the run has no samples but those that are compared."""
        interval = self.runs.intervals[side].get(name)
        if interval is None or self.document["samples"].get("compared") != self.runs.samples[side]:
            return Measured(value)
        return Measured(value, interval[0], interval[1])


def _declared(kind: type[Benchmark[Any, Any, Any]], name: str) -> MetricRow:
    spec, shown = kind.spec_of(name), one_line(name, MAX_CELL_LENGTH)
    return declared_metric(spec) if spec is not None else MetricRow(shown, "", True, None, None, False, ())


def _difference(found: Mapping[str, Any]) -> Difference:
    low, high = found["interval"] if found["interval"] is not None else (None, None)
    return Difference(found["difference"], low, high, found["verdict"])


def _slices(
    document: Mapping[str, Any], kind: type[Benchmark[Any, Any, Any]], main: Sequence[str]
) -> tuple[ComparedSliceRow, ...]:
    """Returns the slices: first those with a metric that is worse, then by the loss of the first metric."""

    def order(item: tuple[str, Mapping[str, Any]]) -> tuple[Any, ...]:
        label, found = item
        cells = [found["metrics"].get(name) for name in main]
        worse = sum(cell is not None and cell["verdict"] == "worse" for cell in cells)
        gains = [_gain(kind, name, cell) for name, cell in zip(main, cells, strict=True)]
        return (-worse, min(gains, default=0.0), label)

    return tuple(
        ComparedSliceRow(
            one_line(label, MAX_CELL_LENGTH),
            found.get("samples"),
            tuple(_cell(found["metrics"].get(name)) for name in main),
        )
        for label, found in sorted(document["slices"].items(), key=order)[:MAX_SLICES]
    )


def _gain(kind: type[Benchmark[Any, Any, Any]], name: str, found: Mapping[str, Any] | None) -> float:
    if found is None or found["difference"] is None:
        return 0.0
    spec = kind.spec_of(name)
    return float(found["difference"]) * (1 if spec is None or spec.higher_is_better else -1)


def _cell(found: Mapping[str, Any] | None) -> ComparedCell:
    if found is None:
        return ComparedCell(None, None, Difference())
    return ComparedCell(found["baseline"], found["candidate"], _difference(found))


def _one_sided(document: Mapping[str, Any]) -> tuple[str, ...]:
    lines = []
    for side in ("baseline", "candidate"):
        labels = document[f"slices_of_{side}_alone"]
        if labels:
            more = f" and {len(labels) - SLICES_NAMED:,} more" if len(labels) > SLICES_NAMED else ""
            named = ", ".join(one_line(label, MAX_CELL_LENGTH) for label in labels[:SLICES_NAMED])
            lines.append(f"The {side} alone has {named}{more}.")
    return tuple(lines)


def _setting(document: Mapping[str, Any]) -> tuple[str, ...]:
    bootstrap = document["bootstrap"]
    unit = "clusters" if bootstrap["clusters"] else "samples"
    lines = [
        f"Differences are candidate less baseline, with {percent(document['confidence'])} intervals of "
        f"{bootstrap['replicates']:,} paired bootstrap replicates over {unit}."
    ]
    if document["swaps"]:
        lines.append(
            f"p is that of {document['swaps']:,} swaps, of the metric alone; better and worse hold for all metrics and "
            "slices at once."
        )
    return tuple(lines)


def _facts(runs: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[FactOfTwo, ...]:
    before, after = ({fact.name: fact.value for fact in facts_of(run or None)} for run in runs)
    commands = [command_line(run.get("command") or ()) for run in runs]
    facts = [FactOfTwo(name, before.get(name, "–"), after.get(name, "–")) for name in dict.fromkeys([*before, *after])]
    if any(commands):
        facts.append(FactOfTwo("command", *commands))
    return tuple(facts)


def _absent(document: Mapping[str, Any], runs: ComparedRuns, changed: Sequence[Changed]) -> dict[str, str]:
    """Returns why sections are empty, by section."""
    absent = {}
    if not document["slices"]:
        absent["slices"] = "There are no slices that both runs have."
    if not changed:
        absent["changed"] = "No sample changed."
        if document["missing"]:
            absent["changed"] = "Without the rows of both runs nobody knows which samples changed."
        elif any(count for found in document["changes"]["metrics"].values() for count in found.values()):
            absent["changed"] = "This page was asked to show none of the samples that changed; changes/ lists them."
    if runs.no_records:
        absent["records"] = one_line(runs.no_records, MAX_CELL_LENGTH)
    if not any(runs.runs):
        absent["provenance"] = "Neither run has a run.json, which says what it was made from."
    return absent


def _within_limit(changed: Sequence[Changed]) -> list[Changed]:
    """Returns the samples, the last of them without their drawings where these are too many for a page."""
    kept, left = [], MAX_DRAWINGS_LENGTH
    for sample in changed:
        left -= sum(len(side.drawing or "") for side in sample.sides)
        kept.append(sample if left >= 0 else sample.without_drawings())
    return kept
