"""The document of a comparison of two runs, from comparison.json and the samples that changed; and its plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa

from ...metrics.benchmark import AnyBenchmark
from ...metrics.common.text import some_of
from ...metrics.statistics.comparison import significance_level
from ...transforms.io.storage import reason_of
from ...transforms.records import GROUND_TRUTH, InputProblem, writable
from ...transforms.sample_changes import RUN_SIDES
from ..config.errors import UsageError
from ..config.settings import GROUND_TRUTH_FIELDS, PREDICTION_FIELDS, Configuration
from ..inputs.inputs import Inputs, find_inputs
from ..runs.comparison import REPORT
from ..runs.named import SystemRun, operand
from ..runs.numbers import count_of, percent
from ..runs.provenance import input_sides
from . import document as doc
from .against import page_link
from .cards import within_limit
from .cells import LEFT_OUT
from .evaluation import provenance_blocks
from .judgement import by_evidence, difference_word, judge_difference, lead_first
from .render import Reports, write_reports
from .samples import columns_of, slice_column
from .tables import DETECTABLE, compared_table, slice_blocks
from .text import MAX_ID_LENGTH, distinct_line

PAGE = "comparison.html"
MAX_INPUT_BYTES = 16 << 30
"""Larger inputs are not read again only for the few samples of a page."""
MAX_SLICES = 10_000
LABELS_NAMED = 20
METRICS_NAMED = 3


@dataclass(frozen=True)
class ComparisonPage:
    """What a page shows in addition to the comparison.

    runs: the documents of run.json, baseline first, empty if missing. links: the pages of the runs. command: how the
    comparison was started. count: of samples that lost most, and of those that won most. inputs: of both runs, read
    again for the records of these samples; None: not read, and `no_records` says why. output: the folder of the
    comparison, as the user calls it. changes: the list of the changed samples.
    """

    runs: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    links: tuple[str | None, str | None] = (None, None)
    command: tuple[str, ...] = ()
    count: int = 0
    output: str = ""
    inputs: Inputs | None = None
    no_records: str = ""
    changes: str = ""


def plan_page(
    baseline: SystemRun, candidate: SystemRun, count: int, command: Sequence[str], output: str
) -> ComparisonPage:
    """Returns the plan of the page that a comparison of two systems writes to `output`."""
    runs = (baseline.run, candidate.run)
    links = (page_link(baseline.run.path, output, "."), page_link(candidate.run.path, output, "."))
    page = ComparisonPage((runs[0].provenance, runs[1].provenance), links, tuple(command), count, output)
    try:
        return replace(page, inputs=_inputs((baseline, candidate)) if count else None)
    except (UsageError, InputProblem, OSError, ValueError) as error:
        return replace(page, no_records=f"The inputs are not read: {reason_of(error)}")


def _inputs(sides: Sequence[SystemRun]) -> Inputs:
    """Returns the ground truth of the baseline, with the predictions of both as its systems `baseline`, `candidate`.

    Raises UsageError if files are missing or have changed since the runs read them.
    """
    before = sides[0].run.configuration
    predictions, fields = {}, {}
    for name, (run, system) in zip(RUN_SIDES, sides, strict=True):
        settings = run.configuration.settings
        predictions[name] = settings.predictions.get(system, [])
        fields[name] = {**settings.fields.get(PREDICTION_FIELDS, {}), **settings.fields.get(system, {})}
    if GROUND_TRUTH_FIELDS in before.settings.fields:
        fields[GROUND_TRUTH_FIELDS] = before.settings.fields[GROUND_TRUTH_FIELDS]
    merged = msgspec.structs.replace(before.settings, predictions=predictions, fields=fields, slices=[], gates={})
    inputs = find_inputs(Configuration(merged, before.benchmark), ())
    size = sum(file.size for file in inputs.files)
    if size > MAX_INPUT_BYTES:
        raise UsageError(f"they have {size:,} bytes, more than the {MAX_INPUT_BYTES:,} that are read for a page")
    current = dict(input_sides(inputs.files))
    expected: list[tuple[int, SystemRun, tuple[str, ...]]] = [(GROUND_TRUTH, sides[0], ("ground_truth",))]
    expected += [(number, side, ("predictions", side.system)) for number, side in enumerate(sides)]
    for side, (run, _), keys in expected:
        what, recorded = keys[0].replace("_", " "), run.provenance.get("inputs")
        for key in (*keys, "digest"):
            recorded = recorded.get(key) if isinstance(recorded, dict) else None
        if recorded is None:
            raise UsageError(f"{run.path} does not say which {what} it read")
        if side not in current or recorded != current[side].digest:
            raise UsageError(f"the {what} of {run.path} have changed since that run")
    return inputs


def comparison_reports(
    comparison: Mapping[str, Any],
    benchmark: AnyBenchmark,
    first: Sequence[Mapping[str, Any]],
    page: ComparisonPage | None,
    cards: Sequence[doc.Card],
) -> Reports:
    """Returns comparison.md and, unless `page` is None, comparison.html.

    comparison: of comparison.json. first: the rows of the samples that changed most. cards: of them, to look at.
    """
    document = comparison_document(comparison, benchmark, page or ComparisonPage(), first)
    make = None if page is None else lambda: [with_changed(document, comparison, cards)]
    return write_reports([document], REPORT, make, PAGE, "comparison.md and comparison.json")


def comparison_document(
    comparison: Mapping[str, Any], benchmark: AnyBenchmark, page: ComparisonPage, first: Sequence[Mapping[str, Any]]
) -> doc.Document:
    """Returns the document of a comparison without the samples that changed."""
    kind = type(benchmark)
    main = [name for name in benchmark.main_metrics() if name in comparison["metrics"]]
    names = tuple(writable(f"{comparison[side]['run']}:{comparison[side]['system']}") for side in RUN_SIDES)
    compared = {name: compared_metric(kind, name, comparison) for name in comparison["metrics"]}
    differences = tuple(compared[name] for name in main)
    metrics = tuple(each.metric for each in differences)
    slices = tuple(by_evidence(_slices(comparison, main), metrics, lead_first(kind))[:MAX_SLICES])
    others = [each for name, each in compared.items() if name not in main]
    started = (run.get("started", "")[:16].replace("T", " ") for run in page.runs)
    links = ((doc.Link(name, address=link), date) for name, link, date in zip(names, page.links, started, strict=True))
    count = {name: count for name, count in comparison["samples"].items() if count}
    tables = [compared_table("Main metrics of both runs and their difference", differences, (), RUN_SIDES)]
    if others:
        tables.append(compared_table(f"{len(others)} other metrics", others, (), RUN_SIDES, folded=True))
    provenance, signature = dict(zip(RUN_SIDES, page.runs, strict=True)), comparison["signature"]
    return doc.Document(
        kind="comparison",
        title=f"{benchmark.name}: {names[1]} against {names[0]}",
        benchmark=benchmark.name,
        summary=benchmark.summary,
        systems=RUN_SIDES,
        header=(("benchmark", benchmark.name), *zip(RUN_SIDES, links, strict=True), ("signature", signature)),
        verdict=judge_comparison(comparison, kind, differences, slices, main),
        sections=(
            doc.Section("verdict", "Verdict", [doc.Slot("verdict", "both"), *_remarks(comparison)]),
            doc.Section("coverage", "Samples paired", [doc.Text(doc.Counts(count))]),
            doc.Section("metrics", "Main metrics", tables),
            doc.Section("slices", "Slices", [*_slice_blocks(comparison, slices, metrics)]),
            doc.Section("samples", "Samples that changed", [*_changes(comparison, benchmark, first)]),
            doc.Section("provenance", "Provenance", [*provenance_blocks(provenance, page.command)], "page"),
        ),
        metrics=metrics,
        lead=lead_first(kind)[0],
        differences=differences,
        slices=slices,
        sample_metrics=tuple(doc.Metric.of(spec, spec.name) for spec in kind.sample_metrics),
        samples_note=page.no_records,
        more=dict(_more(comparison, benchmark.main_sample_metric().name, page.changes)),
    )  # fmt: skip


def judge_comparison(
    comparison: Mapping[str, Any],
    kind: type[AnyBenchmark],
    differences: Sequence[doc.Compared],
    slices: Sequence[doc.Sliced],
    main: Sequence[str],
) -> doc.Verdict:
    """Returns the verdict of a comparison, better or worse as in a report of the candidate with this baseline.

    A stricter test decides what holds for all metrics and slices at once; the sentence says so separately.
    """
    if all(values["candidate"] is None for values in comparison["metrics"].values()):
        return doc.Verdict("fail", "No metric of the candidate has a value.")
    samples = {text: comparison["samples"].get(status, 0) for status, text in LEFT_OUT.items() if status != "neither"}
    unpaired = [f"{count_of(count, 'sample')} {text}" for text, count in samples.items() if count]
    apart = f"; not compared: {', '.join(unpaired)}" if unpaired else ""
    verdict = judge_difference(lead_first(kind), main, differences, slices, ["candidate"], "The candidate", apart)
    if verdict is None:
        return doc.Verdict("not judged", "No main metric is measured on both sides.")
    decided = [each for each in differences if each.difference.verdict in ("better", "worse")]
    corrected = {each.name: comparison["metrics"][each.name]["verdict"] for each in decided}
    untested = [name for name, word in corrected.items() if word == "not tested"]
    withheld = [each.name for each in decided if corrected[each.name] not in ("not tested", each.difference.verdict)]
    # The test may be significant, and the interval that allows for rare losses contain 0.
    level = significance_level(comparison["confidence"])
    hiding = [name for name in withheld if comparison["metrics"][name]["simultaneous_p"] <= level]
    unsure = [name for name in withheld if name not in hiding]
    sentence = verdict.sentence
    if unsure:
        sentence += f" The test of all metrics and slices at once does not confirm {some_of(unsure, METRICS_NAMED)}."
    if hiding:
        sentence += f" In {some_of(hiding, METRICS_NAMED)}, few units differ by much, which may hide rare, large "
        sentence += "changes the other way."
    if untested:
        verb = "was" if len(untested) == 1 else "were"
        sentence += f" {some_of(untested, METRICS_NAMED)} {verb} not tested for all metrics and slices at once."
    if decided and not withheld and not untested:
        sentence += f" The test of all metrics and slices at once confirms {some_of([*corrected], METRICS_NAMED)}."
    words = [[metric["verdict"] for metric in each["metrics"].values()] for each in comparison["slices"].values()]
    if words and verdict.judgement != "identical":
        worse, better = (sum(word in each for each in words) for word in ("worse", "better"))
        if worse or better:
            counts = f"{worse:,} {'is' if worse == 1 else 'are'} worse in some metric and {better:,} better"
            sentence += f" Of {count_of(len(words), 'slice')}, {counts}."
        else:
            sentence += " No slice is better or worse in any metric."
    return msgspec.structs.replace(verdict, sentence=sentence)


def compared_metric(kind: type[AnyBenchmark], name: str, comparison: Mapping[str, Any]) -> doc.Compared:
    """Returns a metric of all samples of comparison.json, judged alone where its verdict is that on all at once."""
    values, metric = comparison["metrics"][name], doc.Metric.of(kind.spec_of(name), name)
    difference, word = _difference(values), values["verdict"]
    if word != "identical":
        word = difference_word(difference, metric.higher_is_better, may_differ=True, has_few=word == "too few differ")
    before, after = (doc.Measured(values[side]) for side in RUN_SIDES)
    difference = msgspec.structs.replace(difference, verdict=word)
    return doc.Compared(metric, 0, before, after, difference, values["p"], values["detectable"])


def _difference(values: Mapping[str, Any]) -> doc.Difference:
    low, high = values["interval"] or (None, None)
    return doc.Difference(values["difference"], low, high, values["verdict"])


def _slices(comparison: Mapping[str, Any], main: Sequence[str]) -> Iterator[doc.Sliced]:
    for label, slice_summary in comparison["slices"].items():
        row = [slice_summary["metrics"].get(name) for name in main]
        values = tuple(doc.Measured(cell and cell["candidate"]) for cell in row)
        differences = tuple(_difference(cell) if cell else doc.Difference() for cell in row)
        yield doc.Sliced(distinct_line(label), 0, slice_summary.get("samples"), values, differences, columns_of(label))


def _remarks(comparison: Mapping[str, Any]) -> Iterator[doc.Text]:
    """Yields the differences in how both runs were made, and how they are compared."""
    for difference in comparison["differences"]:
        yield doc.Text(f"{difference}.", label="Warning")
    bootstrap = comparison["bootstrap"]
    unit = "clusters" if bootstrap["clusters"] else "samples"
    setting = f"Differences are candidate minus baseline, with {percent(comparison['confidence'])} intervals of "
    setting += f"{bootstrap['replicates']:,} paired bootstrap replicates over {unit}. {DETECTABLE} Verdicts "
    setting += "corrected for all metrics and slices need a larger one."
    if swaps := comparison["swaps"]:
        setting += f" p is from a test with {swaps:,} swaps, for each metric alone."
    yield doc.Text(setting, "setting")
    yield doc.Text(("signature", doc.Code(comparison["signature"])), "setting", where="markdown")


def _slice_blocks(
    comparison: Mapping[str, Any], slices: Sequence[doc.Sliced], metrics: Sequence[doc.Metric]
) -> Iterator[doc.Block]:
    if slices:
        yield doc.Slot("slices")
        yield doc.Text(
            "Each cell is candidate minus baseline, with its interval as a bar around zero. Slices are sorted by "
            "the end of the interval nearest to zero, largest loss first, so that noise does not lead. Better and "
            "worse are corrected for all metrics and slices.", "caption", where="page",
        )  # fmt: skip
        yield from slice_blocks(slices, metrics, RUN_SIDES, True, "comparison.json")
    else:
        yield doc.Text("There are no slices that both runs have.")
    for side in RUN_SIDES:
        if labels := comparison[f"slices_of_{side}_alone"]:
            yield doc.Text(f"Slices of the {side} alone, not compared: {some_of(labels, LABELS_NAMED)}.")


def _changes(
    comparison: Mapping[str, Any], benchmark: AnyBenchmark, first: Sequence[Mapping[str, Any]]
) -> Iterator[doc.Block]:
    """Yields how many samples changed in each metric, and the samples that changed most."""
    main = benchmark.main_sample_metric().name
    changes, threshold = comparison["changes"]["metrics"], f" by more than {comparison['changes']['threshold']:g}"
    if changes:
        kinds = list(next(iter(changes.values())))
        names = [kind.replace("_beyond", threshold).replace("_", " ") for kind in kinds]
        rows: list[Sequence[doc.Cells]] = [
            (
                doc.Code(name),
                *(doc.Link(counts[kind], _filters(kind) if counts[kind] and name == main else None) for kind in kinds),
            )
            for name, counts in changes.items()
        ]
        yield doc.Table("How many samples changed", ("per-sample metric", *names), rows)
    yield doc.Slot("samples")
    if first:
        yield doc.Text(f"Those that changed most by {main}. All are in changes/.", where="markdown")
        if "draw" in benchmark.abilities():
            yield doc.Text(("Draw one with", doc.Code("beamscore draw CONFIG --sample ID")), where="markdown")
        rows = [
            (row["sample_id"], *(row[f"{side}.{main}"] for side in RUN_SIDES), doc.Difference(row["change"]),
             row["kind"].replace("_", " ")) for row in first
        ]  # fmt: skip
        header = ("sample_id", *RUN_SIDES, "change", "kind")
        yield doc.Table("Samples that changed most", header, rows, where="markdown")


def _filters(kind: str) -> dict[str, str]:
    """Returns the filters for samples by how they changed; those that became wrong are among those that lost."""
    return {"worse": {"why": "lost"}, "better": {"why": "won"}}.get(kind, {"status": kind})


def _more(comparison: Mapping[str, Any], main: str, changes: str) -> Iterator[tuple[str, doc.More]]:
    """Yields by filter how many samples changed, with the command that writes all that `changes` lists."""
    run, system = comparison["candidate"].values()
    command = ["beamscore", "select", operand(f"{run}:{system}"), "--samples", changes, "--output", "changed.jsonl"]
    for kind, count in comparison["changes"]["metrics"].get(main, {}).items() if changes else ():
        for name, value in _filters(kind).items():
            yield f"{name}={value}", doc.More(shlex.join(command), count)


def with_changed(document: doc.Document, comparison: Mapping[str, Any], cards: Sequence[doc.Card]) -> doc.Document:
    """Returns the document with the samples that changed, the largest losses first, the largest gains last."""
    cards = sorted(cards, key=lambda card: (card.change or 0.0, card.sample_id))
    note = f"Their records are not here. {document.samples_note}." if document.samples_note else ""
    if not cards:
        is_changed = any(count for each in comparison["changes"]["metrics"].values() for count in each.values())
        note = "This page was asked to show none of the samples that changed; changes/ lists them."
        note = note if is_changed else "No sample changed."
    main = next(metric for metric in document.sample_metrics if metric.main)
    names = dict.fromkeys(name for card in cards for name in card.slices)
    metrics = (
        doc.Metric("change", f"the change of {main.name}, negative if it got worse", main=True, is_change=True),
        *(doc.Metric(side, f"{main.name} in the {side}", main.higher_is_better) for side in RUN_SIDES),
    )
    values = {side: [card.sides[n].metrics.get(main.name) for card in cards] for n, side in enumerate(RUN_SIDES)}
    table = doc.SampleTable(
        len(cards),
        [distinct_line(card.sample_id, MAX_ID_LENGTH) for card in cards],
        [0] * len(cards),
        [card.whys[0] for card in cards],
        {name: slice_column(pa.array([card.slices.get(name) for card in cards], pa.string())) for name in names},
        {"change": [card.change for card in cards], **values},
    )
    shown = tuple(
        msgspec.structs.replace(card, row=row, sample_id=table.ids[row], slices={})
        for row, card in enumerate(within_limit(cards))
    )
    return msgspec.structs.replace(document, samples=table, cards=shown, sample_metrics=metrics, samples_note=note)
