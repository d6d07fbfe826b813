"""report.html of an evaluation, made where its result is published."""

from __future__ import annotations

import html
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

from metrics.common.errors import explain
from pipelines.results.gates import coverage_failures
from pipelines.results.page.build import PageSources, build_page
from pipelines.results.page.document import Card
from pipelines.results.page.render import render
from pipelines.results.page.rows import MAX_ROWS, sample_table
from pipelines.results.run import RunResult
from transforms.io.storage import STORAGE_ERRORS
from transforms.sample_schema import SLICE_PREFIX, sample_schema

_log = logging.getLogger(__name__)
_NO_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>beamscore</title></head>
<body><h1>This page could not be made</h1><p>{reason}</p>
<p>report.md and summary.json have the result.</p></body></html>
"""

MAX_DRAWINGS_LENGTH = 6_000_000
"""Of all drawings of a page; those of the last cards are left out beyond it."""


def page_or_reason(
    result: RunResult,
    document: Mapping[str, Any],
    run: Mapping[str, Any],
    samples: Sequence[str],
    cards: Sequence[Card],
) -> bytes:
    """Returns the page of a result; where it cannot be made, a page that says why: no result is lost for its page."""
    try:
        return evaluation_page(result, document, run, samples, cards)
    except Exception as error:  # noqa: BLE001 - the result is there, and must be published
        _log.exception("report.html could not be made")
        reason = html.escape(f"{type(error).__name__}: {explain(error)}")
        return _NO_PAGE.format(reason=reason).encode("utf-8", "replace")


def evaluation_page(
    result: RunResult,
    document: Mapping[str, Any],
    run: Mapping[str, Any],
    samples: Sequence[str],
    cards: Sequence[Card],
) -> bytes:
    """Returns the page of a result.

    document, run: those of summary.json and run.json. samples: the paths of the Parquet files of the samples. A run of
    more than MAX_ROWS rows shows those of the cards alone.
    """
    configuration = result.configuration
    kind, systems = type(configuration.benchmark), list(result.systems)
    rows, total = _rows(samples, result, cards)
    table = sample_table(rows, systems, kind.sample_metrics, total)
    failures = coverage_failures(document["systems"], configuration.settings.max_rejected_fraction)
    sources = PageSources(document, kind, run, failures, result.causes, table, _within_limit(cards))
    return render(build_page(sources))


def _rows(samples: Sequence[str], result: RunResult, cards: Sequence[Card]) -> tuple[Any, int]:
    """Returns the rows of samples that the page shows, and how many there are."""
    benchmark, columns = result.configuration.benchmark, result.configuration.columns()
    metrics = benchmark.sample_metric_names()
    total = sum(
        count
        for system in result.systems.values()
        for name, count in system.overall.coverage.items()
        if name.startswith("ground_truth.")
    )
    if total > MAX_ROWS:
        return _rows_of_cards(cards, list(result.systems), metrics), total
    wanted = ["sample_id", "system", "status", *(f"{SLICE_PREFIX}{name}" for name in columns), *metrics]
    schema = sample_schema(metrics, columns)
    tables = [pa.schema([schema.field(name) for name in wanted]).empty_table()]
    try:
        for path in samples:
            with FileSystems.open(path, compression_type="uncompressed") as stream:
                tables.append(pq.read_table(pa.PythonFile(stream, mode="r"), columns=wanted))
    except STORAGE_ERRORS:
        # An earlier attempt to publish has moved the files on, and broke off.
        return _rows_of_cards(cards, list(result.systems), metrics), total
    return pa.concat_tables(tables), total


def _rows_of_cards(cards: Sequence[Card], systems: Sequence[str], metrics: Sequence[str]) -> Any:
    columns: dict[str, list[Any]] = {
        "sample_id": [card.sample_id for card in cards],
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
