"""report.html of an evaluation, made where its result is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from ....transforms.records import InputProblem
from ....transforms.rows import read_rows
from ....transforms.sample_schema import SLICE_PREFIX, sample_schema
from ..baseline import Baseline
from ..gates import coverage_failures
from ..run import RunResult
from . import fallback
from .against import against_baseline
from .build import PageSources, build_page
from .cards import PickedCard
from .document import Card
from .render import render
from .rows import MAX_ROWS, hashed_share, sample_table, sort_worst_first
from .two_systems import two_systems

MAX_DRAWINGS_LENGTH = 6_000_000
"""Of all drawings of a page; those of the last cards are left out beyond it."""


class PageInputs(NamedTuple):
    """What the page of a result is made of, beside the result.

    document, run: of summary.json and run.json. samples: the paths of the Parquet files of the samples. cards: samples
    to look at, not yet with their rows. baseline: the run that this one is compared with.
    """

    document: Mapping[str, Any]
    run: Mapping[str, Any]
    samples: Sequence[str]
    cards: Sequence[PickedCard] = ()
    baseline: Baseline | None = None


def page_or_reason(result: RunResult, inputs: PageInputs) -> fallback.MadePage:
    """Returns the page of a result; where it cannot be made, a page that says why: no result is lost for its page."""
    return fallback.page_or_reason(lambda: evaluation_page(result, inputs), "report.html", "report.md and summary.json")


def evaluation_page(result: RunResult, inputs: PageInputs) -> bytes:
    """Returns the page of a result.

    A run of more than MAX_ROWS rows shows those of the cards alone, and the distributions of about MAX_ROWS others.
    """
    configuration, systems = result.configuration, list(result.systems)
    kind = type(configuration.benchmark)
    total = _total(result)
    rows = _rows(inputs.samples, result, min(1.0, MAX_ROWS / max(1, total)))
    spread = None
    if rows is None or total > MAX_ROWS:
        spread = None if rows is None else sample_table(rows, systems, kind.sample_metrics, total)
        rows = _rows_of_cards(inputs.cards, systems, configuration.benchmark.sample_metric_names())
    rows = sort_worst_first(rows, kind.sample_metrics)
    cards = _within_limit(_with_rows(inputs.cards, rows, systems))
    table = sample_table(rows, systems, kind.sample_metrics, total)
    failures = coverage_failures(inputs.document["systems"], configuration.settings)
    against = None
    if inputs.baseline is not None:
        against = against_baseline(result, inputs.document, inputs.baseline)
    documents = (inputs.document, kind, inputs.run, failures, result.causes)
    return render(build_page(PageSources(*documents, table, cards, against, two_systems(result), spread)))


def _total(result: RunResult) -> int:
    """Returns how many rows a run has: one for each sample and system."""
    return sum(
        count
        for system in result.systems.values()
        for name, count in system.overall.coverage.items()
        if name.startswith("ground_truth.")
    )


def _rows(samples: Sequence[str], result: RunResult, share: float) -> Any | None:
    """Returns the rows of a run, or `share` of them by a hash of their sample_id; None where they cannot be read.

    The names of the files, and which rows are in which, differ between equal runs: nothing may follow from them.
    """
    benchmark, columns = result.configuration.benchmark, result.configuration.columns()
    metrics = benchmark.sample_metric_names()
    wanted = ["sample_id", "system", "status", *(f"{SLICE_PREFIX}{name}" for name in columns), *metrics]
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


def _with_rows(cards: Sequence[PickedCard], rows: Any, systems: Sequence[str]) -> list[Card]:
    """Returns the cards with their places among the rows of the page, which hold each of them."""
    keys = zip(rows["system"].to_pylist(), rows["sample_id"].to_pylist(), strict=True)
    places = {key: place for place, key in enumerate(keys)}
    return [msgspec.structs.replace(card, row=places[systems[card.system], sample_id]) for sample_id, card in cards]


def _rows_of_cards(picked: Sequence[PickedCard], systems: Sequence[str], metrics: Sequence[str]) -> Any:
    cards = [each.card for each in picked]
    columns: dict[str, list[Any]] = {
        "sample_id": [each.sample_id for each in picked],
        "system": [systems[card.system] for card in cards],
        "status": [card.status for card in cards],
    }
    columns |= {name: [card.metrics.get(name) for card in cards] for name in metrics}
    types = {name: pa.float64() if name in metrics else pa.string() for name in columns}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def _within_limit(cards: Sequence[Card]) -> list[Card]:
    """Returns the cards, the last of them without their drawings where these are too many for a page."""
    kept, left = [], MAX_DRAWINGS_LENGTH
    for card in cards:
        left -= len(card.drawing or "")
        kept.append(card if left >= 0 or card.drawing is None else card.without_drawing())
    return kept
