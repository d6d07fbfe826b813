"""comparison.md: what a person reads of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...metrics.statistics.measured import AnyBenchmark
from .numbers import percent, signed
from .report import cell, code, number, table

SLICES_SHOWN = 200
MARKS = {"better": "**better**", "worse": "**worse**"}


def report(document: Mapping[str, Any], benchmark: AnyBenchmark, first: Sequence[Mapping[str, Any]]) -> str:
    """Returns the report in Markdown; first: the rows of the samples that changed most."""
    sections = [
        f"# {benchmark.name}: {code(side_name(document['candidate']))} against {code(side_name(document['baseline']))}",
        verdict_line(document),
        samples_line(document["samples"]),
    ]
    sections += [f"**Warning:** {cell(each)}." for each in document["differences"]]
    sections += [f"**Missing:** {cell(each)}. {_WITHOUT_ROWS}" for each in document["missing"]]
    main = [name for name in benchmark.main_metrics() if name in document["metrics"]]
    sections += ["## Main metrics", metrics_table(document["metrics"], main)]
    sections += _slices(document, main)
    sections += _changes(document, benchmark, first)
    others = [name for name in document["metrics"] if name not in main]
    if others:
        sections += ["## All other metrics", metrics_table(document["metrics"], others)]
    return "\n\n".join([*sections, _legend(document)]) + "\n"


_WITHOUT_ROWS = "Without them there is no swap test, no verdict, and no list of samples that changed."


def side_name(side: Mapping[str, Any]) -> str:
    """Returns a side of a comparison as the command line names it."""
    return f"{side['run']}:{side['system']}"


def verdict_line(document: Mapping[str, Any]) -> str:
    """Returns in one sentence how many metrics of how many slices are better or worse."""
    verdicts, slices = document["verdicts"], len(document["slices"])
    counts = ", ".join(f"{verdicts[name]} {name}" for name in verdicts)
    return f"Metrics of all samples and of {slices} slices: {counts}."


def samples_line(counts: Mapping[str, int]) -> str:
    """Returns in one sentence how many samples were compared, and how many could not be."""
    others = [f"{count} {_LEFT_OUT[name]}" for name, count in counts.items() if count and name in _LEFT_OUT]
    return f"{counts.get('compared', 0)} samples compared" + (f"; {', '.join(others)}" if others else "") + "."


_LEFT_OUT = {
    "only_baseline": "that only the baseline scored",
    "only_candidate": "that only the candidate scored",
    "neither": "that neither scored",
    "other_ground_truth": "with another ground truth",
}


def metrics_table(metrics: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> str:
    """Returns the table of some metrics."""
    header = ["metric", "baseline", "candidate", "difference", "verdict", "p", "detectable"]
    return table(header, [[code(name), *_row(metrics[name])] for name in names])


def _row(found: Mapping[str, Any]) -> list[str]:
    return [
        number(found["baseline"]),
        number(found["candidate"]),
        difference_text(found),
        MARKS.get(found["verdict"], found["verdict"]),
        _p(found["p"]),
        number(found["detectable"]),
    ]


def difference_text(found: Mapping[str, Any]) -> str:
    """Returns a difference with its interval, such as `+0.0123 (-0.0020 to +0.0266)`."""
    text, interval = signed(found["difference"]), found["interval"]
    return text if interval is None else f"{text} ({signed(interval[0])} to {signed(interval[1])})"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _slices(document: Mapping[str, Any], main: Sequence[str]) -> list[str]:
    slices = document["slices"]
    sections = []
    if slices:
        # What differs for sure comes first.
        labels = sorted(slices, key=lambda label: (not _decided(slices[label]), label))
        rows = [
            [cell(label), slices[label].get("samples", "–"), *(_slice_cell(slices[label], name) for name in main)]
            for label in labels[:SLICES_SHOWN]
        ]
        sections += ["## Slices", table(["slice", "samples", *main], rows)]
        if len(labels) > SLICES_SHOWN:
            sections.append(f"{len(labels) - SLICES_SHOWN} more slices are in comparison.json.")
    for side in ("baseline", "candidate"):
        labels = document[f"slices_of_{side}_alone"]
        if labels:
            shown = ", ".join(map(cell, labels[:10])) + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")
            sections.append(f"Slices of the {side} alone, not compared: {shown}.")
    return sections


def _decided(found: Mapping[str, Any]) -> bool:
    return any(each["verdict"] in MARKS for each in found["metrics"].values())


def _slice_cell(found: Mapping[str, Any], name: str) -> str:
    metric = found["metrics"].get(name)
    if metric is None or metric["difference"] is None:
        return "–"
    mark = MARKS.get(metric["verdict"])
    return signed(metric["difference"]) + (f" {mark}" if mark else "")


def _changes(document: Mapping[str, Any], benchmark: AnyBenchmark, first: Sequence[Mapping[str, Any]]) -> list[str]:
    changes = document["changes"]
    if not changes["metrics"]:
        return []
    beyond = f"by more than {changes['threshold']:g}"
    header = ["per-sample metric", "wrong to right", "right to wrong", "better", beyond, "worse", beyond]
    kinds = ("wrong_to_right", "right_to_wrong", "better", "better_beyond", "worse", "worse_beyond")
    rows = [[code(name), *(found[kind] for kind in kinds)] for name, found in changes["metrics"].items()]
    sections = ["## Samples that changed", table(header, rows)]
    if first:
        main = benchmark.main_sample_metric().name
        shown = [
            [cell(row["sample_id"]), *(number(row[f"{side}.{main}"]) for side in ("baseline", "candidate")),
             signed(row["change"]), row["kind"].replace("_", " ")]
            for row in first
        ]  # fmt: skip
        sections += [
            f"Those that changed most in `{main}`; `changes/` lists more, and `beamscore draw --sample ID` draws one.",
            table(["sample_id", "baseline", "candidate", "change", "kind"], shown),
        ]
    return sections


def _legend(document: Mapping[str, Any]) -> str:
    unit = "clusters" if document["bootstrap"]["clusters"] else "samples"
    replicates = document["bootstrap"]["replicates"]
    text = (
        f"Differences are candidate - baseline, with {percent(document['confidence'])} intervals of {replicates} "
        f"paired bootstrap replicates over {unit}. A true difference as large as `detectable` is found with a chance "
        "of 80 %."
    )
    if not document["swaps"]:
        return text
    return (
        f"{text} p is that of {document['swaps']} swaps, of the metric alone; `better` and `worse` hold for all "
        "metrics and slices at once."
    )
