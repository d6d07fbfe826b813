"""The document of one run, and the report.md and report.html that are rendered from it when the result is published."""

from __future__ import annotations

import itertools
import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from ...metrics.benchmark import AnyBenchmark, MetricSpec, Table
from ...metrics.common.text import some_of
from ...metrics.statistics.intervals import METHODS
from ...transforms.records import CauseCount, InputProblem
from ...transforms.rows import SLICE_PREFIX, is_one_of, read_rows, sample_schema
from ...transforms.scored import Worst
from ...transforms.totals import truth_count
from ..config.errors import UsageError
from ..config.settings import predictions_of
from ..runs.causes import quarantine_causes
from ..runs.documents import GateVerdict
from ..runs.gates import RecordFailure, record_failures
from ..runs.named import named_system, operand
from ..runs.numbers import count_of, percent
from ..runs.run import PAGE, REPORT, Run
from . import document as doc, tables
from .against import BaselineDiff, against_baseline, two_systems
from .cards import within_limit
from .judgement import by_evidence, judge_difference, judge_run, lead_first
from .render import Reports, write_reports
from .samples import (
    MAX_ROWS,
    columns_of,
    distributions,
    hashed_share,
    matrix_cells,
    page_rows,
    rounded,
    sort_worst_first,
)
from .text import MAX_ID_LENGTH, distinct_line

FILES_NAMED = 5
MAX_OPEN_TABLES = 4
MAX_OPEN_COUNTS = 6
MAX_ROWS_OF_CELLS = 10_000
"""Above this, the page does not list the samples of each cell of a confusion matrix: nobody looks them up."""


def run_reports(
    result: Run, run: Mapping[str, Any], samples: Sequence[str] | None, cards: Sequence[doc.Card], baseline: Run | None
) -> Reports:
    """Returns report.md and, if there are samples, report.html.

    run: of run.json. samples: the paths of the sample rows; None for no page. cards: samples to look at. baseline: the
    run that this one is compared with.
    """
    summary, settings = result.summary.document(), result.configuration.settings
    document = build_run(
        summary,
        result.configuration.benchmark,
        run,
        record_failures(summary["systems"], settings, quarantine_causes(result.causes)),
        against_baseline(result, baseline),
        two_systems(result),
        result.causes,
        result.worst,
        settings.output,
    )
    page = None if samples is None else lambda: [with_samples(document, result, samples, cards, baseline)]
    return write_reports([document], REPORT, page, PAGE, "report.md and summary.json")


def build_run(
    summary: Mapping[str, Any],
    benchmark: AnyBenchmark,
    run: Mapping[str, Any],
    failures: Sequence[RecordFailure],
    against: BaselineDiff,
    pair: BaselineDiff,
    causes: Sequence[CauseCount],
    worst: Mapping[str, Sequence[Worst]],
    output: str | None,
) -> doc.Document:
    """Returns the document of a run without its samples.

    run: of run.json, if it has one. failures: why the run fails, other than its gates. against, pair: the differences
    from the baseline, and of its two systems. causes: why records were quarantined. worst: the worst samples of each
    system. output: the folder of the run.
    """
    kind, systems = type(benchmark), tuple(summary["systems"])
    main = benchmark.main_metrics()
    metrics = tuple(doc.Metric.of(kind.spec_of(name), name, list(summary["systems"].values())) for name in main)
    differences = tuple(
        msgspec.structs.replace(compared, candidate=metric.values[number])
        for metric in metrics
        for number, name in enumerate(systems)
        if (compared := against.differences.get((name, "", metric.name)))
    )
    slices = tuple(by_evidence(_slices(summary, main, against), metrics, lead_first(kind)))
    gates = tuple(msgspec.convert(each, GateVerdict) for each in summary.get("gates", ()))
    document = doc.Document(
        kind="evaluation",
        title=f"{benchmark.name}: {some_of(systems, 3)}",
        benchmark=benchmark.name,
        summary=benchmark.summary,
        systems=systems,
        header=tuple(_header(summary, run, against)),
        verdict=judge_run(
            summary, kind, gates, failures,
            judge_difference(lead_first(kind), main, differences, slices, systems, "The run"),
        ),
        metrics=metrics,
        lead=lead_first(kind)[0],
        differences=differences,
        slices=slices,
        sample_metrics=tuple(doc.Metric.of(spec, spec.name) for spec in benchmark.sample_metrics),
        draw=tuple(_draw_commands(summary, run)) if "draw" in benchmark.abilities() else (),
        more=dict(_more(summary, against.others, output)) if output else {},
    )  # fmt: skip
    verdict = [doc.Slot("verdict", "both"), *tables.gate_blocks(gates), *_remarks(summary)]
    samples = [doc.Slot("samples"), *_worst(benchmark.main_sample_metric().name, worst)]
    provenance = [
        *provenance_blocks({"this run": run}, run.get("command") or ()),
        doc.Text("Configuration with all defaults", "heading"),
        doc.Text(json.dumps(summary["config"], indent=1, ensure_ascii=False), "code"),
    ]
    sections = (
        doc.Section("verdict", "Verdict", verdict),
        doc.Section("coverage", "Coverage", [*_coverage(summary["systems"], causes, bool(failures))]),
        doc.Section("metrics", "Main metrics", [*_metrics(document, summary, pair, against)]),
        doc.Section("slices", "Slices", [*_slice_blocks(document, summary["config"].get("slices"))]),
        doc.Section("distributions", "Distribution of the per-sample metrics", [doc.Slot("distributions")]),
        doc.Section("tables", "Tables", [*_tables(kind, metrics, summary["systems"])]),
        doc.Section("samples", "Samples", samples),
        doc.Section("provenance", "Provenance", provenance, "page"),
    )
    return msgspec.structs.replace(document, sections=sections)


def _remarks(summary: Mapping[str, Any]) -> Iterator[doc.Text]:
    """Yields the warnings, and how the run was scored."""
    systems, of_all = summary["systems"], {warning: list(summary["systems"]) for warning in summary.get("warnings", ())}
    of_some = {warning: [name for name in systems if warning in systems[name].get("warnings", ())]
               for system in systems.values() for warning in system.get("warnings", ())}  # fmt: skip
    for warning, names in {**of_all, **of_some}.items():
        is_named = len(systems) > 1 and warning not in of_all
        yield doc.Text(f"{some_of(names, 3)}: {warning}." if is_named else f"{warning}.", label="Warning")
    yield doc.Text(" ".join(_setting(summary["config"])), "setting")
    yield doc.Text(("signature", doc.Code(summary["signature"])), "setting", where="markdown")


def _coverage(systems: Mapping[str, Any], causes: Sequence[CauseCount], is_failed: bool) -> Iterator[doc.Block]:
    """Yields how many records have each status, in one line if all were scored and nothing is wrong with them."""
    coverages = {name: system["coverage"] for name, system in systems.items()}
    sides = [side for each in coverages.values() for side in (each["ground_truth"], each["predictions"])]
    if not (causes or is_failed) and all(counts["scored"] == counts["read"] for counts in sides):
        more = f" in each of {len(systems)} systems" if len(systems) > 1 else ""
        samples = count_of(sides[0]["read"] if sides else 0, "sample")
        yield doc.Text(f"Every record was read, paired and scored: {samples}{more}.")
    else:
        rows: list[Sequence[doc.Cells]] = [
            (name, *_record_cells(coverage["ground_truth"], number), *_record_cells(coverage["predictions"], None))
            for number, (name, coverage) in enumerate(coverages.items())
        ]
        header = ("system", "ground truth", "outcome", "predictions", "outcome")
        yield doc.Table("Records of each side", header, rows)
    extra = [
        (name, label.replace("_", " "), count)
        for name in coverages for label, count in coverages[name].items() if not isinstance(count, (bool, Mapping))
    ]  # fmt: skip
    if extra:
        yield doc.Table(
            "Counts of the benchmark", ("system", "what", "count"), extra, folded=len(extra) > MAX_OPEN_COUNTS
        )
    if causes:
        yield doc.Text("Quarantine", "heading")
        rows = [_cause(each, list(coverages)) for each in sorted(causes, key=lambda each: each.order)]
        yield doc.Table("Quarantined records by cause", ("records", "side", "stage", "cause", "the first"), rows)
        yield doc.Text("Every quarantined record is in quarantine/, with its text.")


def _record_cells(counts: Mapping[str, int], system: int | None) -> tuple[doc.Cell, doc.Cell]:
    """Returns how many records a side has, and how many of each status. system: whose samples are linked, if any."""
    return counts["read"], doc.Counts({status: count for status, count in counts.items() if status != "read"}, system)


def _cause(cause_count: CauseCount, systems: Sequence[str]) -> Sequence[doc.Cells]:
    """Returns the row of a quarantine cause; its examples link to the samples that it cost."""
    (cause,) = quarantine_causes([cause_count])
    name = cause.system or cause.side
    system = None if name == "ground_truth" else systems.index(name)
    examples: list[doc.Cell] = []
    for entry, record in zip(cause_count.examples, cause.examples, strict=True):
        # The sample of an unpaired prediction is unknown, unless its ground truth was rejected.
        is_known = cause.cause != "unmatched" or cause.stage == "score"
        filters = {"id": distinct_line(entry.sample_id, MAX_ID_LENGTH)} if entry.sample_id and is_known else None
        examples += [doc.Link(record.place, filters, system), record.error + ";" * (record is not cause.examples[-1])]
    side = f"{cause.side} ({cause.system})" if cause.system else cause.side
    return cause.records, side, cause.stage, cause.cause, tuple(examples)


def _metrics(
    document: doc.Document, summary: Mapping[str, Any], pair: BaselineDiff, against: BaselineDiff
) -> Iterator[doc.Block]:
    metrics, systems, places = document.metrics, document.systems, summary.get("ranking_by", {})
    if len(systems) > 2:
        numbers = [(each["place"], systems.index(each["system"])) for each in places.get("places", ())]
        yield doc.Text("Ranking", "heading")
        ranked_by = places.get("metric", "name")
        first = sorted(metrics, key=lambda metric: metric.name != ranked_by)
        yield tables.leaderboard(first, systems, numbers or [(0, number) for number in range(len(systems))])
        if numbers:
            tie = f"A system shares the place above unless the interval of its difference in {ranked_by} from the "
            yield doc.Text(f"{tie}first system of that place excludes 0.", "caption")
    elif len(systems) > 1 or not document.differences:
        yield tables.metric_table("Main metrics with intervals", metrics, systems)
    if pair.differences:
        # In the order of the metrics.
        pairs = [each for metric in metrics for (_, _, name), each in pair.differences.items() if name == metric.name]
        yield doc.Text("Difference of the systems", "heading")
        yield doc.Text(pair.note, "caption")
        yield tables.compared_table("Difference of the systems", pairs, (), systems)
        yield doc.Text(tables.DETECTABLE, "caption")
    if against.note:
        yield doc.Text("Against the baseline", "heading")
        yield doc.Text(against.note, "caption")
    if document.differences:
        yield tables.compared_table(
            "Differences from the baseline", document.differences, systems, ["baseline", "this run"]
        )
        yield doc.Text(tables.DETECTABLE, "caption")


def _slice_blocks(document: doc.Document, columns: Any) -> Iterator[doc.Block]:
    if not document.slices:
        note = "This run has no slices; --slice COLUMN gives metrics by a column of the ground truth."
        yield doc.Text("No sample is in a slice." if columns else note)
        return
    yield doc.Slot("slices")
    below = "the baseline" if document.differences else "all samples"
    note = "Each bar is an interval on the range of its metric, with the value as a dot; the thin line is the value of "
    note += f"all samples. Slices with the strongest evidence of being worse than {below} come first, by the "
    note += "end of the interval nearest to it."
    if document.differences:
        note += " A difference from the baseline is called better or worse if its interval, widened for all slices "
        note += "and main metrics at once (Bonferroni), excludes zero."
    yield doc.Text(note, "caption", where="page")
    yield from tables.slice_blocks(document.slices, document.metrics, document.systems, False, "summary.json")


def _tables(kind: type[AnyBenchmark], metrics: Sequence[doc.Metric], systems: Mapping[str, Any]) -> Iterator[doc.Block]:
    """Yields all other metrics, and the tables of the benchmark."""
    main, all_tables = [each.name for each in metrics], {name: data_tables(each) for name, each in systems.items()}
    others = dict.fromkeys(name for each in systems.values() for name in each["values"] if name not in main)
    if others:
        rest = [doc.Metric.of(kind.spec_of(name), name, list(systems.values())) for name in others]
        yield tables.metric_table(f"{len(rest)} other metrics", rest, list(systems), folded=True)
    for number, (name, own) in enumerate(all_tables.items()):
        for place, table in enumerate(own):
            is_folded = number > 0 or place >= MAX_OPEN_TABLES
            yield tables.benchmark_table(table, number, name if len(systems) > 1 else "", is_folded)
    if any(map(tables.is_matrix, itertools.chain(*all_tables.values()))):
        caption = "Rows of a confusion matrix are the ground truth, columns the prediction; the darker, the larger the "
        yield doc.Text(f"{caption}share of the row. Correct cells have a frame.", "caption", where="page")


def data_tables(system: Mapping[str, Any]) -> list[Table]:
    """Returns the tables of a system of summary.json."""
    return [Table(each["title"], each["header"], each["rows"]) for each in system.get("tables", ())]


def _worst(metric: str, worst: Mapping[str, Sequence[Worst]]) -> Iterator[doc.Block]:
    for name, samples in worst.items():
        if samples:
            yield doc.Text(
                f"Worst samples of {name}" if len(worst) > 1 else "Worst samples", "heading", where="markdown"
            )
            rows = [(sample_id, value, status.replace("_", " ")) for value, sample_id, status in samples]
            yield doc.Table("Worst samples", ("sample_id", metric, "status"), rows, where="markdown")


def provenance_blocks(runs: Mapping[str, Mapping[str, Any]], command: Sequence[str]) -> Iterator[doc.Block]:
    """Yields the provenance of named runs, equal values once, and the command as it was typed."""
    all_facts = [facts_of(run) for run in runs.values()]
    if len(runs) > 1:
        for facts, run in zip(all_facts, runs.values(), strict=True):
            facts |= {"command": shlex.join(run.get("command") or ())} if run else {}
    if any(all_facts):
        rows = []
        for name in dict.fromkeys(name for facts in all_facts for name in facts):
            first, *others = (facts.get(name) or "–" for facts in all_facts)
            rows.append((name, first, *("the same" if other == first else other for other in others)))
        yield doc.Table("Provenance", ("", *runs), rows)
    else:
        yield doc.Text(f"There is no run.json of {' and '.join(runs)}, which says what it was made from.")
    if command:
        yield doc.Text("Command", "heading")
        yield doc.Text(shlex.join(command), "code")


def _slices(summary: Mapping[str, Any], names: Sequence[str], against: BaselineDiff) -> Iterator[doc.Sliced]:
    for number, (system_name, system) in enumerate(summary["systems"].items()):
        for label, slice_summary in system["slices"].items():
            samples = sum(slice_summary["coverage"]["ground_truth"].values())
            values = tuple(doc.measured(slice_summary, name) for name in names)
            moved = [against.differences.get((system_name, label, name)) for name in names if against.differences]
            differences = tuple(each.difference if each else doc.Difference() for each in moved)
            yield doc.Sliced(distinct_line(label), number, samples, values, differences, columns_of(label))


def _header(
    summary: Mapping[str, Any], run: Mapping[str, Any], against: BaselineDiff
) -> Iterator[tuple[str, doc.Cell]]:
    yield "benchmark", summary["benchmark"]
    if run:
        yield "run", run["run_id"]
        yield "started", run["started"][:16].replace("T", " ")
    if against.path:
        yield "baseline", doc.Link(against.path, address=against.link)
    yield "signature", summary["signature"]


def _draw_commands(summary: Mapping[str, Any], run: Mapping[str, Any]) -> Iterator[str]:
    """Yields the command that draws a sample of each system, without the sample_id, as far as it is known."""
    command, config = list(run.get("command") or ()), summary["config"]
    if command[1:2] != ["evaluate"] or not command[2:3] or command[2].startswith("-"):
        yield from ["beamscore draw CONFIG"] * len(summary["systems"])
        return
    options = [f"--set={word}" for flag, word in itertools.pairwise(command) if flag == "--set"]
    options += [word for word in command if word.startswith("--set=")]
    for name in summary["systems"]:
        inputs = [f"--ground-truth={path}" for path in config["ground_truth"]]
        inputs += [f"--predictions={name}={path}" for path in config["predictions"].get(name, ())]
        yield shlex.join(["beamscore", "draw", command[2], *options, *inputs])


def _more(summary: Mapping[str, Any], others: Mapping[str, str], output: str) -> Iterator[tuple[str, doc.More]]:
    """Yields the samples of which a page may hold only some: those that moved, and those of each status.

    others: see BaselineDiff. Of several systems, each has a command of its own, and all together have none.
    """
    several = len(summary["systems"]) > 1
    commands = {"": ""} if several and others else {}
    for name, other in others.items():
        sides = operand(other), operand(named_system(output, name))
        command = shlex.join(["beamscore", "compare", *sides, "--output", "compared"])
        commands[f"&system={name}" if several else ""] = command
    yield from ((f"why={why}{of}", doc.More(each)) for of, each in commands.items() for why in ("lost", "won"))
    counts = Counter[str]()
    for name, system in summary["systems"].items():
        for status, count in system["coverage"]["ground_truth"].items():
            counts.update({f"status={status}": count, f"status={status}&system={name}": count})
    yield from ((filters, doc.More("", count)) for filters, count in counts.items())


def _setting(config: Mapping[str, Any]) -> Iterator[str]:
    """Yields sentences on how a run was scored."""
    if "protocol" in config:
        yield f"Protocol: {config['protocol']}."
    yield f"A missing prediction {'counts as wrong' if config['missing'] == 'wrong' else 'is left out of the score'}."
    bootstrap = config["bootstrap"]
    if bootstrap["replicates"]:
        unit = f"clusters by {config['cluster']}" if config["cluster"] else "samples"
        intervals = f"{percent(bootstrap['confidence'])}, {bootstrap['replicates']:,} Poisson-bootstrap replicates"
        yield f"Intervals: {intervals} over {unit} ({METHODS['bounded']}; {METHODS['one_bound']} with one bound)."


def facts_of(run: Mapping[str, Any]) -> dict[str, str]:
    """Returns the provenance of a run by name: when, where, with what, from what; empty if it has none."""
    if not run:
        return {}
    versions = run["versions"]
    packages = {"beamscore": versions["beamscore"], "Python": versions["python"], **versions["packages"]}
    return {
        "started": f"{run['started']}, {run['seconds']:,.1f} s",
        "run": run["run_id"],
        "runner": f"{run['runner']} on {run['host']}",
        "platform": versions["platform"],
        "versions": ", ".join(f"{name} {version}" for name, version in {**packages, **versions["tools"]}.items()),
        "ground truth": _input(run["inputs"]["ground_truth"]),
        **{predictions_of(name): _input(side) for name, side in run["inputs"]["predictions"].items()},
    }


def _input(side: Mapping[str, Any]) -> str:
    text = count_of(side["records"], "record")
    if "files" not in side:
        return text
    rest = side["count"] - len(side["files"][:FILES_NAMED])
    paths = ", ".join(file["path"] for file in side["files"][:FILES_NAMED]) + (f" and {rest:,} more" * (rest > 0))
    files = f"{count_of(side['count'], 'file')} of {side['bytes']:,} bytes"
    return f"{text} in {files}: {paths}; digest {side['digest']}"


def with_samples(
    document: doc.Document, result: Run, paths: Sequence[str], cards: Sequence[doc.Card], baseline: Run | None
) -> doc.Document:
    """Returns the document with the rows of the samples and their changes, their distributions, and cards.

    A run of more than MAX_ROWS rows shows only the rows of the cards, and the distributions of about MAX_ROWS rows.
    """
    specs, systems = result.configuration.benchmark.sample_metrics, list(result.systems)
    total = sum(truth_count(system.counts) for system in result.sums.systems.values())
    all_tables = [each for system in result.summary.document()["systems"].values() for each in data_tables(system)]
    matrices = {each.title for each in all_tables if tables.is_matrix(each)} if total <= MAX_ROWS_OF_CELLS else set()
    spread = None
    try:
        more = ["truth_hash", *(["statistics"] if matrices else [])]
        rows = _rows(paths, result, more, min(1.0, MAX_ROWS / max(1, total)))
        if total > MAX_ROWS:
            spread = page_rows(rows, systems, specs, total)
            rows = _rows(paths, result, more[:1], where=is_one_of("sample_id", [card.sample_id for card in cards]))
    except InputProblem:
        # An earlier attempt to publish moved the files and was then interrupted.
        return document
    rows = sort_worst_first(rows, specs)
    table = page_rows(rows, systems, specs, total)
    if matrices:
        cells = matrix_cells(result.configuration.benchmark, rows["statistics"].to_pylist(), matrices)
        table = msgspec.structs.replace(table, cells=cells)
    keys = zip(rows["system"].to_pylist(), rows["sample_id"].to_pylist(), strict=True)
    places = {key: place for place, key in enumerate(keys)}
    placed = [msgspec.structs.replace(card, row=places[systems[card.system], card.sample_id]) for card in cards]
    changes = _changes(rows, result, baseline)
    if any(change is not None for change in changes):
        main = next(each for each in document.sample_metrics if each.main)
        meaning = f"the change of {main.name} since the baseline, negative if it got worse"
        # A benchmark may have a metric of that name.
        name = "change since the baseline" if "change" in table.metrics else "change"
        change = doc.Metric(name, meaning, is_change=True)
        table = msgspec.structs.replace(table, metrics={**table.metrics, change.name: changes})
        document = msgspec.structs.replace(document, sample_metrics=(*document.sample_metrics, change))
    return samples_shown(document, specs, table, placed, spread)


def _changes(rows: Any, result: Run, baseline: Run | None) -> list[float | None]:
    """Returns the change of the main per-sample metric of each row since the baseline, negative if it got worse.

    None: only one run has a value, or the ground truth has changed. Empty if no row of the baseline can be read.
    """
    if baseline is None:
        return []
    systems, spec = list(result.systems), result.configuration.benchmark.main_sample_metric()
    names = ("sample_id", "system", "truth_hash", spec.name)
    sample_ids, of_systems, truths, values = (rows[name].to_pylist() for name in names)
    try:
        earlier = baseline.earlier_rows(result.configuration, systems)
        if earlier is None or not (known := earlier.read(sample_ids)):
            return []
    except (UsageError, InputProblem):
        # The baseline has gone, or was damaged, since the run began.
        return []
    theirs = dict(zip(systems, earlier.systems, strict=True))
    before = (known.get((each, theirs[system] or "", truth))
              for each, system, truth in zip(sample_ids, of_systems, truths, strict=True))  # fmt: skip
    return [
        None if old is None or new is None else rounded(spec.signed_value(new) - spec.signed_value(old))
        for old, new in zip(before, values, strict=True)
    ]


def samples_shown(
    document: doc.Document,
    specs: Sequence[MetricSpec],
    table: doc.SampleTable,
    cards: Sequence[doc.Card],
    spread: doc.SampleTable | None,
) -> doc.Document:
    """Returns the document with a table of samples. spread: the rows for the distributions, if not `table`."""
    source = spread or table
    metric_distributions = distributions(source, specs, len(document.systems))
    note = "" if metric_distributions else "No sample has a value."
    if metric_distributions and len(source.ids) < source.total:
        note = f"Of {len(source.ids):,} of the {source.total:,} rows, chosen by a hash of their sample_id."
    short = [msgspec.structs.replace(card, sample_id=distinct_line(card.sample_id, MAX_ID_LENGTH)) for card in cards]
    return msgspec.structs.replace(
        document, samples=table, cards=within_limit(short), distributions=metric_distributions,
        samples_note="" if table.ids else "This run has no samples.", distributions_note=note,
    )  # fmt: skip


def _rows(samples: Sequence[str], result: Run, more: Sequence[str] = (), share: float = 1.0, where: Any = None) -> Any:
    """Returns the rows of a run: all, those that match `where`, or a `share` selected by a hash of the sample_id.

    more: columns to read in addition to those that the page shows.

    File names, and which rows are in which file, differ between equal runs: nothing may depend on them.
    """
    benchmark, columns = result.configuration.benchmark, result.configuration.columns()
    metrics = benchmark.sample_metric_names()
    names = ["sample_id", "system", "status", *(f"{SLICE_PREFIX}{name}" for name in columns), *metrics, *more]
    schema = sample_schema(metrics, columns)
    parts = [pa.schema([schema.field(name) for name in names]).empty_table()]
    for path in samples:
        batches = [each if share >= 1 else hashed_share(each, share) for each in read_rows(path, names, where)]
        parts.append(pa.Table.from_batches(batches, parts[0].schema))
    return pa.concat_tables(parts)
