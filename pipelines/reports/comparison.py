"""The document of two runs that are compared, from comparison.json and the samples that changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

from ...metrics.statistics.measured import AnyBenchmark
from ...transforms.records import writable
from ..runs.comparison import REPORT
from ..runs.numbers import percent
from .cards import SIDES, within_limit
from .document import (
    Card,
    Coded,
    Compared,
    Difference,
    Document,
    Fact,
    ListedSample,
    Measured,
    Metric,
    Notes,
    SampleTable,
    Slice,
    Verdict,
)
from .evaluation import declared, facts_of, metric_of
from .judgement import by_evidence, judge_difference, lead_first, word_of
from .render import Reports, write_reports
from .samples import columns_of, slice_column
from .text import MAX_ID_LENGTH, one_line

PAGE = "comparison.html"
MAX_SLICES = 10_000
WITHOUT_ROWS = "Without them there is no swap test, and no list of samples that changed."

Intervals = Mapping[str, Sequence[float] | None]


@dataclass(frozen=True)
class ComparedRuns:
    """What is told of both runs beside their comparison, baseline first.

    runs: the documents of run.json, empty where there is none. intervals: of the metrics of all samples of each run.
    samples: how many samples each run has. links: the pages of the runs. command: how the comparison was started.
    no_records: why the page has no records, empty where it has.
    """

    runs: tuple[Mapping[str, Any], Mapping[str, Any]] = field(default=({}, {}))
    intervals: tuple[Intervals, Intervals] = field(default=({}, {}))
    samples: tuple[int, int] = (0, 0)
    links: tuple[str | None, str | None] = (None, None)
    command: tuple[str, ...] = ()
    no_records: str = ""


NOTHING_KNOWN = ComparedRuns()


def comparison_reports(
    found: Mapping[str, Any],
    benchmark: AnyBenchmark,
    first: Sequence[Mapping[str, Any]],
    runs: ComparedRuns | None,
    cards: Sequence[Card],
) -> Reports:
    """Returns comparison.md and, where `runs` are given for it, comparison.html.

    found: of comparison.json. first: the rows of the samples that changed most. cards: samples to look at.
    """
    document = build_comparison(found, benchmark, runs or NOTHING_KNOWN, first)
    page = None if runs is None else partial(with_changed, document, found, cards)
    return write_reports(document, REPORT, page, PAGE, "comparison.md and comparison.json")


def build_comparison(
    found: Mapping[str, Any],
    benchmark: AnyBenchmark,
    runs: ComparedRuns = NOTHING_KNOWN,
    first: Sequence[Mapping[str, Any]] = (),
) -> Document:
    """Returns the document of a comparison without the samples that changed."""
    kind = type(benchmark)
    main = [name for name in benchmark.main_metrics() if name in found["metrics"]]
    names = tuple(writable(f"{found[side]['run']}:{found[side]['system']}") for side in SIDES)
    compared = {name: _compared(kind, name, found, runs) for name in found["metrics"]}
    differences = tuple(compared[name] for name in main)
    slices = tuple(by_evidence(_slices(found, main), differences, lead_first(kind))[:MAX_SLICES])
    metric = benchmark.main_sample_metric().name
    return Document(
        kind="comparison",
        title=f"{benchmark.name}: {names[1]} against {names[0]}",
        benchmark=benchmark.name,
        summary=benchmark.summary,
        systems=SIDES,
        header=(Fact("benchmark", (benchmark.name,)), *map(Fact, SIDES, ((name,) for name in names), runs.links)),
        verdict=judge_comparison(found, kind, differences, slices, main),
        setting=_setting(found),
        warnings=(*found["differences"], *(f"{each}. {WITHOUT_ROWS.rstrip('.')}" for each in found["missing"])),
        counts={name: count for name, count in found["samples"].items() if count},
        differences=differences,
        other_differences=tuple(each for name, each in compared.items() if name not in main),
        slices=slices,
        one_sided={side: found[f"slices_of_{side}_alone"] for side in SIDES},
        verdicts=found["verdicts"],
        changes=found["changes"]["metrics"],
        threshold=found["changes"]["threshold"],
        listed=(tuple(_listed(row, metric) for row in first),),
        listed_by=metric,
        sample_metrics=tuple(declared(spec) for spec in kind.sample_metrics),
        facts=_facts(runs.runs),
        command=shlex.join(runs.command),
        notes=Notes(records=runs.no_records),
    )


def judge_comparison(
    found: Mapping[str, Any],
    kind: type[AnyBenchmark],
    differences: Sequence[Compared],
    slices: Sequence[Slice],
    main: Sequence[str],
) -> Verdict:
    """Returns the verdict of a comparison: that of the report of the candidate, where the baseline is its baseline.

    What holds for all metrics and slices at once is asked of a stricter test, which has words of its own.
    """
    verdict = judge_difference(lead_first(kind), main, differences, slices, ["candidate"], "The candidate")
    if verdict is None and all(values["candidate"] is None for values in found["metrics"].values()):
        return Verdict("fail", "Nothing was scored in the candidate.")
    if verdict is None:
        return Verdict("not judged", "No main metric is measured on both sides.")
    decided = [each for each in differences if word_of(each) in ("better", "worse")]
    unsure = [each.name for each in decided if each.difference.verdict != word_of(each)]
    sentence = verdict.sentence
    if found["missing"]:
        sentence += " Without the rows of both runs there is no swap test."
    elif unsure:
        sentence += f" For all metrics and slices at once that is not shown in {', '.join(unsure)}."
    elif decided:
        sentence += " That holds for all metrics and slices at once."
    words = [{metric["verdict"] for metric in each["metrics"].values()} for each in found["slices"].values()]
    if words and verdict.judgement != "identical":
        worse, better = (sum(word in each for each in words) for word in ("worse", "better"))
        counts = f"{worse:,} {'is' if worse == 1 else 'are'} worse in some metric and {better:,} better"
        sentence += f" Of {len(words):,} slice{'s' * (len(words) != 1)}, {counts}."
    return msgspec.structs.replace(verdict, sentence=sentence)


def _compared(kind: type[AnyBenchmark], name: str, found: Mapping[str, Any], runs: ComparedRuns) -> Compared:
    metric, values = metric_of(kind, name), found["metrics"][name]
    sides = []
    for number, side in enumerate(SIDES):
        # A side has its interval where the run has no samples but those that are compared.
        is_whole = found["samples"].get("compared") == runs.samples[number]
        interval = runs.intervals[number].get(name) if is_whole else None
        sides.append(Measured(values[side], *(interval or (None, None))))
    words = metric.name, metric.meaning, metric.higher_is_better
    return Compared(*words, 0, sides[0], sides[1], _difference(values), values["p"], values["detectable"])


def _difference(found: Mapping[str, Any]) -> Difference:
    low, high = found["interval"] or (None, None)
    return Difference(found["difference"], low, high, found["verdict"])


def _slices(found: Mapping[str, Any], main: Sequence[str]) -> Iterator[Slice]:
    absent = {"baseline": None, "candidate": None, "difference": None, "interval": None, "verdict": "not compared"}
    for label, each in found["slices"].items():
        row = [each["metrics"].get(name, absent) for name in main]
        values, before = tuple(Measured(cell["candidate"]) for cell in row), tuple(cell["baseline"] for cell in row)
        differences = tuple(map(_difference, row))
        yield Slice(one_line(label), 0, each.get("samples"), values, before, differences, columns_of(label))


def _setting(found: Mapping[str, Any]) -> tuple[str, ...]:
    bootstrap = found["bootstrap"]
    unit = "clusters" if bootstrap["clusters"] else "samples"
    lines = [
        f"Differences are candidate less baseline, with {percent(found['confidence'])} intervals of "
        f"{bootstrap['replicates']:,} paired bootstrap replicates over {unit}.",
        "A true difference as large as detectable is found with a chance of 80 %.",
    ]
    if found["swaps"]:
        lines.append(
            f"p is that of {found['swaps']:,} swaps, of the metric alone; better and worse in the tables hold for all "
            "metrics and slices at once."
        )
    return tuple(lines)


def _listed(row: Mapping[str, Any], metric: str) -> ListedSample:
    values = (*(row[f"{side}.{metric}"] for side in SIDES), row["change"])
    return ListedSample(row["sample_id"], values, row["kind"].replace("_", " "))


def _facts(runs: Sequence[Mapping[str, Any]]) -> tuple[Fact, ...]:
    before, after = ({fact.name: fact.values[0] for fact in facts_of(run)} for run in runs)
    commands = tuple(shlex.join(run.get("command") or ()) for run in runs)
    facts = [Fact(name, (before.get(name, "–"), after.get(name, "–"))) for name in {**before, **after}]
    return (*facts, *([Fact("command", commands)] if any(commands) else []))


def with_changed(document: Document, found: Mapping[str, Any], cards: Sequence[Card]) -> Document:
    """Returns the document with samples that changed, which stand in the order of the cards."""
    empty = "No sample changed."
    if found["missing"]:
        empty = "Without the rows of both runs nobody knows which samples changed."
    elif any(count for each in document.changes.values() for count in each.values()):
        empty = "This page was asked to show none of the samples that changed; changes/ lists them."
    notes = msgspec.structs.replace(document.notes, samples="" if cards else empty)
    main = next(metric for metric in document.sample_metrics if metric.main)
    kinds = list(dict.fromkeys(card.why for card in cards))
    names = dict.fromkeys(name for card in cards for name in card.slices)
    metrics = (
        Metric("change", f"{main.name}, candidate less baseline", main.higher_is_better, main=True, is_change=True),
        *(Metric(side, f"{main.name} in the {side}", main.higher_is_better) for side in SIDES),
    )
    table = SampleTable(
        len(cards),
        [one_line(card.sample_id, MAX_ID_LENGTH) for card in cards],
        [0] * len(cards),
        Coded(kinds, [kinds.index(card.why) for card in cards]),
        {name: slice_column(pa.array([card.slices.get(name) for card in cards], pa.string())) for name in names},
        {
            "change": [card.change for card in cards],
            **{side: [card.sides[n].metrics.get(main.name) for card in cards] for n, side in enumerate(SIDES)},
        },
    )
    shown = [
        msgspec.structs.replace(card, row=row, sample_id=table.ids[row], slices={})
        for row, card in enumerate(within_limit(cards))
    ]
    return msgspec.structs.replace(document, samples=table, cards=tuple(shown), sample_metrics=metrics, notes=notes)
