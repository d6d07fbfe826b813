"""The document of one run, and the report.md and report.html that it is rendered to where the result is published."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from ...metrics.benchmark import MetricSpec
from ...metrics.statistics.intervals import METHODS
from ...metrics.statistics.measured import AnyBenchmark
from ...transforms.records import InputProblem
from ...transforms.rows import SLICE_PREFIX, read_rows, sample_schema
from ...transforms.totals import truth_count
from ..config.settings import predictions_of
from ..runs.causes import quarantine_causes
from ..runs.gates import coverage_failures
from ..runs.numbers import percent
from ..runs.run import PAGE, REPORT, Run
from ..runs.verdict import GateVerdict
from .against import NOTHING, Against, Moved, against_baseline, two_systems
from .cards import within_limit
from .document import (
    Card,
    Compared,
    CoverageRow,
    Document,
    Fact,
    ListedSample,
    Measured,
    Metric,
    Notes,
    SampleTable,
    Slice,
    TablePart,
)
from .judgement import by_evidence, judge_difference, judge_run, lead_first
from .render import Reports, write_reports
from .samples import MAX_ROWS, columns_of, distributions, hashed_share, matrix_cells, sample_table, sort_worst_first
from .text import MAX_ID_LENGTH, one_line, some_of

FILES_NAMED = 5
MAX_ROWS_OF_CELLS = 10_000
"""In larger runs nobody looks up which samples a cell of a confusion matrix counts."""


class RunSources(NamedTuple):
    """What the reports of a result are made of, beside the result.

    summary, run: the documents of summary.json and run.json. samples: the paths of the rows of the samples; None: there
    is no page. cards: samples to look at. baseline: the run that this one is compared with.
    """

    summary: Mapping[str, Any]
    run: Mapping[str, Any]
    samples: Sequence[str] | None
    cards: Sequence[Card] = ()
    baseline: Run | None = None


def run_reports(result: Run, sources: RunSources) -> Reports:
    """Returns report.md and, where there are samples for it, report.html."""
    summary, settings = sources.summary, result.configuration.settings
    document = build_run(
        summary,
        result.configuration.benchmark,
        sources.run,
        coverage_failures(summary["systems"], settings),
        against_baseline(result, sources.baseline),
        two_systems(result),
    )
    listed = tuple(
        tuple(ListedSample(sample_id, (value,), status) for value, sample_id, status in result.worst.get(name, ()))
        for name in result.systems
    )
    document = msgspec.structs.replace(document, listed=listed, causes=tuple(quarantine_causes(result.causes)))
    paths = sources.samples
    page = None if paths is None else (lambda: with_samples(document, result, paths, sources.cards))
    return write_reports(document, REPORT, page, PAGE, "report.md and summary.json")


def build_run(
    summary: Mapping[str, Any],
    benchmark: AnyBenchmark,
    run: Mapping[str, Any] | None = None,
    failures: Sequence[str] = (),
    against: Against = NOTHING,
    pair: Against = NOTHING,
) -> Document:
    """Returns the document of a run without its samples.

    run: of run.json. failures: why the run fails beside its gates. against: the differences from the baseline; pair: of
    its two systems.
    """
    kind, systems = type(benchmark), tuple(summary["systems"])
    found = list(summary["systems"].values())
    main = benchmark.main_metrics()
    others = dict.fromkeys(name for system in found for name in system["values"] if name not in main)
    metrics = tuple(metric_of(kind, name, found) for name in main)
    differences = tuple(
        _compared(each, against.moved(name, "", each.name), number, each.values[number])
        for each in metrics
        for number, name in enumerate(systems)
        if (name, "", each.name) in against.found
    )
    slices = tuple(by_evidence(_slices(summary, main, against), metrics, lead_first(kind)))
    verdict = judge_difference(lead_first(kind), main, differences, slices, systems, "The run")
    gates = tuple(msgspec.convert(each, GateVerdict) for each in summary.get("gates", ()))
    places = summary.get("ranking_by", {})
    return Document(
        kind="evaluation",
        title=f"{benchmark.name}: {some_of(systems, 3)}",
        benchmark=benchmark.name,
        summary=benchmark.summary,
        systems=systems,
        header=_header(summary, run, against),
        verdict=judge_run(summary, kind, gates, failures, verdict),
        setting=setting_of(summary["config"]),
        warnings=_warnings(summary),
        gates=gates,
        places=tuple((each["place"], systems.index(each["system"])) for each in places.get("places", ())),
        ranked_by=places.get("metric", ""),
        coverage=tuple(
            CoverageRow(number, side, system["coverage"][side]["read"],
                        {name: count for name, count in system["coverage"][side].items() if name != "read"})
            for number, system in enumerate(found) for side in ("ground_truth", "predictions")
        ),
        extra_counts=tuple(
            {name: count for name, count in system["coverage"].items() if not isinstance(count, (bool, Mapping))}
            for system in found
        ),
        metrics=metrics,
        other_metrics=tuple(metric_of(kind, name, found) for name in others),
        differences=differences,
        pair=tuple(
            _compared(each, pair.moved("", "", each.name), 0, each.values[1], each.values[0])
            for each in metrics
            if ("", "", each.name) in pair.found
        ),
        slices=slices,
        tables=tuple(
            TablePart(number, each["title"], is_matrix(each["header"], each["rows"]), each["header"], each["rows"])
            for number, system in enumerate(found) for each in system.get("tables", ())
        ),
        listed_by=benchmark.main_sample_metric().name,
        sample_metrics=tuple(declared(spec) for spec in benchmark.sample_metrics),
        facts=facts_of(run),
        command=shlex.join(run.get("command") or ()) if run else "",
        draw=_draw_command(run),
        configuration=json.dumps(summary["config"], indent=1, ensure_ascii=False),
        notes=Notes(against.note, pair.note),
    )  # fmt: skip


def metric_of(kind: type[AnyBenchmark], name: str, systems: Sequence[Mapping[str, Any]] = ()) -> Metric:
    """Returns a metric with its values in the systems of summary.json; one that nobody declares has no meaning."""
    spec = kind.spec_of(name)
    found = declared(spec) if spec is not None else Metric(name)
    return msgspec.structs.replace(found, name=name, values=tuple(measured(system, name) for system in systems))


def declared(spec: MetricSpec) -> Metric:
    """Returns what is declared of a metric, without values."""
    return Metric(spec.name, spec.meaning, spec.higher_is_better, *spec.bounds, spec.main is not None)


def measured(found: Mapping[str, Any], name: str) -> Measured:
    """Returns a metric of a system or slice of summary.json with its interval."""
    return Measured(found["values"].get(name), *(found["intervals"].get(name) or (None, None)))


def _compared(
    metric: Metric, found: Moved, system: int, candidate: Measured, baseline: Measured | None = None
) -> Compared:
    sides = baseline or Measured(found.baseline), candidate
    words = metric.name, metric.meaning, metric.higher_is_better
    return Compared(*words, system, *sides, found.difference, None, found.detectable)


def _slices(summary: Mapping[str, Any], names: Sequence[str], against: Against) -> Iterator[Slice]:
    for number, (system_name, system) in enumerate(summary["systems"].items()):
        for label, found in system["slices"].items():
            samples = sum(found["coverage"]["ground_truth"].values())
            values = tuple(measured(found, name) for name in names)
            moved = [against.moved(system_name, label, name) for name in names] if against.found else []
            before, differences = tuple(each.baseline for each in moved), tuple(each.difference for each in moved)
            yield Slice(one_line(label), number, samples, values, before, differences, columns_of(label))


def _header(summary: Mapping[str, Any], run: Mapping[str, Any] | None, against: Against) -> tuple[Fact, ...]:
    facts = [Fact("benchmark", (summary["benchmark"],))]
    if run is not None:
        facts += [Fact("run", (run["run_id"],)), Fact("started", (run["started"][:16].replace("T", " "),))]
    return (
        *facts,
        *([Fact("baseline", (against.path,))] if against.path else []),
        *([Fact("signature", (summary["signature"],))] if summary.get("signature") else []),
    )


def _draw_command(run: Mapping[str, Any] | None) -> str:
    """Returns the command that draws a sample of the run, without its id; empty where that is not known."""
    command = list((run or {}).get("command") or ())
    if command[1:2] != ["evaluate"] or command[2:3] == [] or command[2].startswith("-"):
        return ""
    kept, is_kept = ["beamscore", "draw", command[2]], False
    for word in command[3:]:
        if word.startswith("--"):
            is_kept = word.partition("=")[0] in ("--ground-truth", "--predictions")
        if is_kept:
            kept.append(word)
    return shlex.join(kept)


def setting_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns how a run was scored, a sentence each."""
    missing = "counts as wrong" if config["missing"] == "wrong" else "is left out of the score"
    lines = [f"Protocol: {config['protocol']}."] if "protocol" in config else []
    lines.append(f"A missing prediction {missing}.")
    bootstrap = config["bootstrap"]
    if bootstrap["replicates"]:
        unit = f"clusters by {config['cluster']}" if config["cluster"] else "samples"
        lines.append(
            f"Intervals: {percent(bootstrap['confidence'])}, {bootstrap['replicates']:,} Poisson-bootstrap replicates "
            f"over {unit} ({METHODS['bounded']}; {METHODS['one_bound']} with one bound)."
        )
    return tuple(lines)


def _warnings(summary: Mapping[str, Any]) -> tuple[str, ...]:
    found, of_all = summary["systems"], {each: list(summary["systems"]) for each in summary.get("warnings", ())}
    systems = {each: [name for name in found if each in found[name].get("warnings", ())]
               for system in found.values() for each in system.get("warnings", ())}  # fmt: skip
    return (*of_all, *(f"{some_of(names, 3)}: {each}" if len(found) > 1 else each for each, names in systems.items()))


def is_matrix(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> bool:
    """Tells whether a table counts classes against classes: whole numbers, its rows named as some of its columns."""
    shared = sum(row[0] in header[1:] for row in rows)
    return (
        len(set(header[1:])) > 1
        and shared >= max(1, len(rows) - 2)
        and all(isinstance(value, int) and value >= 0 for row in rows for value in row[1:])
    )


def facts_of(run: Mapping[str, Any] | None) -> tuple[Fact, ...]:
    """Returns the provenance of a run, a line each: when, where, with what, from what; of none, nothing."""
    if not run:
        return ()
    versions = run["versions"]
    named = {"beamscore": versions["beamscore"], "Python": versions["python"], **versions["packages"]}
    facts = {
        "started": f"{run['started']}, {run['seconds']:,.1f} s",
        "run": run["run_id"],
        "runner": f"{run['runner']} on {run['host']}",
        "platform": versions["platform"],
        "versions": ", ".join(f"{name} {version}" for name, version in {**named, **versions["tools"]}.items()),
        "ground truth": _input(run["inputs"]["ground_truth"]),
        **{predictions_of(name): _input(side) for name, side in run["inputs"]["predictions"].items()},
    }
    return tuple(Fact(name, (value,)) for name, value in facts.items())


def _input(side: Mapping[str, Any]) -> str:
    text = f"{side['records']:,} records"
    if "files" not in side:
        return text
    left = side["count"] - len(side["files"][:FILES_NAMED])
    paths = ", ".join(file["path"] for file in side["files"][:FILES_NAMED]) + (f" and {left:,} more" * (left > 0))
    files = f"{side['count']:,} file{'s' * (side['count'] != 1)} of {side['bytes']:,} bytes"
    return f"{text} in {files}: {paths}; digest {side['digest']}"


def with_samples(document: Document, result: Run, paths: Sequence[str], cards: Sequence[Card]) -> Document:
    """Returns the document with the rows of the samples, their distributions, and cards.

    A run of more than MAX_ROWS rows shows those of the cards alone, and the distributions of about MAX_ROWS others.
    """
    specs, systems = result.configuration.benchmark.sample_metrics, list(result.systems)
    total = sum(truth_count(system.counts) for system in result.sums.systems.values())
    matrices = {each.title for each in document.tables if each.is_matrix} if total <= MAX_ROWS_OF_CELLS else set()
    rows = _rows(paths, result, min(1.0, MAX_ROWS / max(1, total)), ["statistics"] if matrices else [])
    spread = None
    if rows is None or total > MAX_ROWS:
        spread = None if rows is None else sample_table(rows, systems, specs, total)
        rows = _rows_of_cards(cards, systems, [spec.name for spec in specs])
    rows = sort_worst_first(rows, specs)
    table = sample_table(rows, systems, specs, total)
    if matrices and "statistics" in rows.schema.names:
        cells = matrix_cells(result.configuration.benchmark, rows["statistics"].to_pylist(), matrices)
        table = msgspec.structs.replace(table, cells=cells)
    keys = zip(rows["system"].to_pylist(), rows["sample_id"].to_pylist(), strict=True)
    places = {key: place for place, key in enumerate(keys)}
    placed = [msgspec.structs.replace(card, row=places[systems[card.system], card.sample_id]) for card in cards]
    return samples_shown(document, specs, table, placed, spread)


def samples_shown(
    document: Document,
    specs: Sequence[MetricSpec],
    table: SampleTable,
    cards: Sequence[Card],
    spread: SampleTable | None = None,
) -> Document:
    """Returns the document with a table of samples. spread: the rows of which the distributions are, if not `table`."""
    metrics, source = document.sample_metrics, spread or table
    empty = "" if table.ids else "This run has no samples."
    chosen = empty
    if table.ids and len(source.ids) < source.total:
        chosen = f"Of {len(source.ids):,} of the {source.total:,} rows, chosen by a hash of their sample_id."
    notes = msgspec.structs.replace(document.notes, samples=empty, distributions=chosen)
    shown = distributions(source, specs, len(document.systems))
    if any(card.change is not None for card in cards):
        main = next(each for each in metrics if each.main)
        change = Metric("change", f"{main.name} less that of the baseline, of the samples that are here with their "
                        "records", main.higher_is_better, is_change=True)  # fmt: skip
        changes: list[float | None] = [None] * len(table.ids)
        for card in cards:
            changes[card.row] = card.change
        metrics = (*metrics, change)
        table = msgspec.structs.replace(table, metrics={**table.metrics, change.name: changes})
    short = [msgspec.structs.replace(card, sample_id=one_line(card.sample_id, MAX_ID_LENGTH)) for card in cards]
    return msgspec.structs.replace(
        document, samples=table, cards=within_limit(short), sample_metrics=metrics, distributions=shown, notes=notes
    )


def _rows(samples: Sequence[str], result: Run, share: float, more: Sequence[str]) -> Any | None:
    """Returns the rows of a run, or `share` of them by a hash of their sample_id; None where they cannot be read.

    more: columns that are wanted beside those that the page shows.

    The names of the files, and which rows are in which, differ between equal runs: nothing may follow from them.
    """
    benchmark, columns = result.configuration.benchmark, result.configuration.columns()
    metrics = benchmark.sample_metric_names()
    wanted = ["sample_id", "system", "status", *(f"{SLICE_PREFIX}{name}" for name in columns), *metrics, *more]
    schema = sample_schema(metrics, columns)
    tables = [pa.schema([schema.field(name) for name in wanted]).empty_table()]
    try:
        for path in samples:
            batches = [each if share >= 1 else hashed_share(each, share) for each in read_rows(path, wanted)]
            tables.append(pa.Table.from_batches(batches, tables[0].schema))
    except InputProblem:
        # An earlier attempt to publish has moved the files on, and broke off.
        return None
    return pa.concat_tables(tables)


def _rows_of_cards(cards: Sequence[Card], systems: Sequence[str], metrics: Sequence[str]) -> Any:
    columns: dict[str, list[Any]] = {
        "sample_id": [card.sample_id for card in cards],
        "system": [systems[card.system] for card in cards],
        "status": [card.sides[0].status for card in cards],
    }
    columns |= {name: [card.sides[0].metrics.get(name) for card in cards] for name in metrics}
    types = {name: pa.float64() if name in metrics else pa.string() for name in columns}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})
