"""report.md: what a person reads first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from ...metrics.benchmark import Benchmark
from ...metrics.common.text import truncated
from ...metrics.statistics.intervals import METHODS
from ...metrics.table import Table
from ...transforms.finalize import SliceResult
from ...transforms.quarantine import CauseCount
from ...transforms.records import Quarantined
from .causes import place_of_entry
from .coverage import STATUSES
from .numbers import fixed, percent
from .run import RunResult, SystemResult, few_units
from .verdict import GateVerdict

AnyBenchmark = Benchmark[Any, Any, Any]
MAX_CELL_LENGTH = 160
SLICES_SHOWN = 200


def report(result: RunResult) -> str:
    """Returns the report in Markdown; whatever comes from the input is escaped."""
    benchmark = result.configuration.benchmark
    sections = [f"# {benchmark.name}: {', '.join(map(cell, result.systems))}", benchmark.summary, _setting(result)]
    sections += [f"**Warning:** {cell(warning)}." for warning in result.warnings]
    if result.verdicts:
        sections += ["## Gates", _gates(result.verdicts)]
    if len(result.systems) > 1:
        sections += ["## Ranking", _ranking(result)]
    for system in result.systems.values():
        sections += [f"## {cell(system.name)}", *_system(system, result)]
    sections += ["## Quarantine", _causes(result.causes)]
    for system in result.systems.values():
        sections += _details(system, benchmark)
    return "\n\n".join(section for section in sections if section) + "\n"


def _setting(result: RunResult) -> str:
    settings = result.configuration.settings
    protocol = getattr(result.configuration.benchmark.options, "protocol", None)
    missing = "counts as wrong" if settings.missing == "wrong" else "is left out of the score"
    lines = [f"A missing prediction {missing}."]
    if protocol is not None:
        lines.insert(0, f"Protocol: `{protocol}`.")
    bootstrap = settings.bootstrap
    if bootstrap.replicates:
        unit = f"clusters by {code(settings.cluster)}" if settings.cluster else "samples"
        lines.append(
            f"Intervals: {percent(bootstrap.confidence)}, {bootstrap.replicates} Poisson-bootstrap replicates over "
            f"{unit} ({METHODS['bounded']}; {METHODS['one_bound']} with one bound)."
        )
    return " ".join(lines)


def _ranking(result: RunResult) -> str:
    metrics = result.configuration.benchmark.main_metrics()
    found = {each.system: each for each in result.places.places} if result.places else {}
    rows = [
        [
            found[name].place if name in found else 1,
            cell(name),
            *(metric_text(result.systems[name].overall, metric) for metric in metrics),
        ]
        for name in result.ranking
    ]
    text = table(["", "system", *metrics], rows)
    if result.places is None:
        return text
    apart = (
        "that the samples cannot tell apart" if result.configuration.settings.bootstrap.replicates else "that are equal"
    )
    lines = [f"By {code(result.places.metric)}; systems {apart} share a place.", text]
    return "\n\n".join([*lines, *(f"**Warning:** {cell(each)}." for each in result.places.warnings)])


def _system(system: SystemResult, result: RunResult) -> list[str]:
    benchmark = result.configuration.benchmark
    sections = [
        "### Coverage",
        _coverage(system),
        "### Main metrics",
        _metrics(system, benchmark, benchmark.main_metrics()),
        *(f"**Warning:** {cell(warning)}." for warning in few_units(result.configuration, system)),
    ]
    if system.slices:
        sections += ["### Slices", _slices(system, benchmark.main_metrics())]
    if system.worst:
        rows = [[cell(sample_id), number(value), status] for value, sample_id, status in system.worst]
        sections.append(f"### Worst samples by `{benchmark.main_sample_metric().name}`")
        sections.append(table(["sample_id", "value", "status"], rows))
    return sections


def _details(system: SystemResult, benchmark: AnyBenchmark) -> list[str]:
    """Returns what most readers skip: all other metrics, and the benchmark's own tables."""
    sections = []
    main = benchmark.main_metrics()
    others = [name for name in system.overall.values if name not in main]
    if others:
        sections += [f"## {cell(system.name)}: all other metrics", _metrics(system, benchmark, others)]
    for each in system.overall.tables:
        sections += [f"## {cell(system.name)}: {cell(each.title)}", data_table(each)]
    return sections


def _coverage(system: SystemResult) -> str:
    rows = []
    for side, statuses in STATUSES.items():
        counts = system.coverage[side]
        parts = ", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in statuses if counts[status])
        rows.append([side.replace("_", " "), counts["read"], parts or "none"])
    extra = [name for name in system.coverage if name not in ("ground_truth", "predictions", "balanced")]
    rows += [[name.replace("_", " "), system.coverage[name], ""] for name in extra]
    return table(["", "records", "of which"], rows)


def _metrics(system: SystemResult, benchmark: AnyBenchmark, names: Sequence[str]) -> str:
    rows = [[code(name), metric_text(system.overall, name), _better(benchmark, name)] for name in names]
    return table(["metric", "value", "better"], rows)


def _better(benchmark: AnyBenchmark, name: str) -> str:
    spec = benchmark.spec_of(name)
    return "lower" if spec is not None and not spec.higher_is_better else "higher"


def _slices(system: SystemResult, headline: Sequence[str]) -> str:
    shown = [name for name in headline if any(each.values.get(name) is not None for each in system.slices.values())]
    rows = []
    for label, found in list(system.slices.items())[:SLICES_SHOWN]:
        samples = sum(count for name, count in found.coverage.items() if name.startswith("ground_truth."))
        rows.append([cell(label), samples, *(metric_text(found, name) for name in shown)])
    text = table(["slice", "samples", *shown], rows)
    left_out = len(system.slices) - SLICES_SHOWN
    return text if left_out <= 0 else f"{text}\n\n{left_out} more slices are in summary.json."


def _causes(causes: Sequence[CauseCount]) -> str:
    if not causes:
        return "Empty: every record was read, paired and scored."
    rows = [
        [cause.count, cell(first.side), first.stage, first.cause, "; ".join(map(_example, cause.examples))]
        for cause in causes
        if (first := cause.example) is not None
    ]
    return table(["records", "side", "stage", "cause", "the first"], rows)


def _example(entry: Quarantined) -> str:
    return f"{cell(place_of_entry(entry))}: {cell(entry.error)}"


def _gates(verdicts: Sequence[GateVerdict]) -> str:
    rows = [
        [
            f"**{each.verdict}**" if each.blocks else each.verdict,
            cell(each.system or ""),
            code(each.gate),
            each.tier,
            number(each.value),
            cell(each.reason),
        ]
        for each in verdicts
    ]
    return table(["verdict", "system", "gate", "tier", "value", "reason"], rows)


def metric_text(found: SliceResult, name: str) -> str:
    """Returns a metric with its interval, such as `0.8123 (0.7811 to 0.8402)`."""
    interval = found.intervals.get(name)
    text = number(found.values.get(name))
    return text if interval is None else f"{text} ({number(interval[0])} to {number(interval[1])})"


def number(value: float | str | None) -> str:
    """Returns a metric with its decimals (`fixed`), a count, which is an int, as it is, and a dash for neither."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return cell(value)
    return f"{value}" if isinstance(value, int) else fixed(value)


def data_table(data: Table) -> str:
    """Returns a benchmark's table in Markdown; a column that holds any metric has four decimals throughout."""
    rows = [list(row) for row in data.rows]
    for column in range(len(data.header)):
        if any(isinstance(row[column], float) for row in rows):
            for row in rows:
                value = row[column]
                row[column] = float(value) if isinstance(value, int) else value
    return table([cell(name) for name in data.header], [[number(value) for value in row] for row in rows])


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table; cells must have been escaped."""
    return tabulate([list(row) for row in rows], headers=list(header), tablefmt="pipe", disable_numparse=True)


def cell(text: str) -> str:
    """Returns text of unknown origin as the content of a Markdown cell: one line, not too long, and nothing but text.

    Words stand as they are. All else stands as code, in which GitHub looks neither for Markdown nor for addresses,
    names of users and issues, formulas or emoji.
    """
    line = _one_line(text)
    return line if _WORDS.fullmatch(line) and not _LINKED.search(line) else code(text)


_WORDS = re.compile(r"(?:[^\W_]+(?:(?:[_=-]|, ?| |(?<=\d)\.(?=\d))[^\W_]+)*)?")
_LINKED = re.compile(r"\bGH-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
"""What GitHub takes for an issue or a commit."""


def code(text: str) -> str:
    """Returns text of unknown origin as code in a Markdown cell.

    A `|` stands between two pieces of code, where every reader of tables knows it for escaped, even after a backslash;
    so does a `<`, lest a reader that knows no code takes what follows for HTML.
    """
    return "".join(_BETWEEN_CODE.get(piece) or _code(piece) for piece in re.split(r"([|<])", _one_line(text)))


_BETWEEN_CODE = {"|": "\\|", "<": "&lt;"}


def _code(piece: str) -> str:
    longest = max(map(len, re.findall("`+", piece)), default=0)
    quote = "`" * (longest + 1)
    # One space at either end is taken for the border of the code.
    if piece.strip(" ") and ({piece[0], piece[-1]} == {" "} or "`" in (piece[0], piece[-1])):
        piece = f" {piece} "
    return f"{quote}{piece}{quote}" if piece else ""


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return truncated(line, MAX_CELL_LENGTH)
