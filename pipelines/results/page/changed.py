"""Samples that changed from one run to the other: what changed in words, both records, both drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ....metrics.benchmark import Benchmark
from ....transforms.changed_records import ChangedRecords
from .cards import MAX_WORDS, Beginning, drawing_of, record_text, words_of
from .comparison_document import Changed, ChangedSide
from .rows import DECIMALS, MAX_ID_LENGTH
from .text import one_line

SIDES = ("baseline", "candidate")


def make_changed(benchmark: Benchmark[Any, Any, Any], found: ChangedRecords, no_records: str = "") -> Changed:
    """Returns what the page shows of a sample that changed. no_records: why there are none, where nobody looked."""
    row = found.row
    names = [spec.name for spec in benchmark.sample_metrics]
    sides = []
    for number, side in enumerate(SIDES):
        details = found.details[number]
        metrics = {name: _rounded(row[f"{side}.{name}"]) for name in names}
        truth, prediction = found.truth, found.predictions[number]
        drawing, problem = None, no_records or "the records of this sample were not found in the inputs of the runs"
        if truth is not None:
            problem = ""
            drawing, problem = drawing_of(benchmark, Beginning(*truth), prediction and Beginning(*prediction))
        sides.append(
            ChangedSide(
                row[f"{side}.status"],
                metrics,
                None if prediction is None else record_text(Beginning(*prediction)),
                () if details is None else words_of(benchmark, msgspec.json.decode(details)),
                drawing,
                problem,
            )
        )
    before, after = sides
    return Changed(
        one_line(row["sample_id"], MAX_ID_LENGTH),
        row["kind"],
        _rounded(row["change"]),
        None if found.truth is None else record_text(Beginning(*found.truth)),
        tuple(what_changed(benchmark.main_sample_metric().name, before, after)),
        (before, after),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS) + 0.0


def what_changed(main: str, before: ChangedSide, after: ChangedSide) -> Iterator[str]:
    """Yields what changed, a line each: status, metrics, then what matched what on one side alone."""
    if before.status != after.status:
        yield f"status was {before.status.replace('_', ' ')}, and is {after.status.replace('_', ' ')}"
    names = sorted(before.metrics, key=lambda name: name != main)
    moved = [name for name in names if before.metrics[name] != after.metrics.get(name)]
    for name in moved[:MAX_WORDS]:
        yield f"{name}: {_number(before.metrics[name])} → {_number(after.metrics.get(name))}"
    if len(moved) > MAX_WORDS:
        yield f"{len(moved) - MAX_WORDS} more metrics changed"
    yield from (f"only in the baseline: {line}" for line in _only(before.words, after.words))
    yield from (f"only in the candidate: {line}" for line in _only(after.words, before.words))


def _number(value: float | None) -> str:
    return "no value" if value is None else f"{value:.4f}".rstrip("0").rstrip(".")


def _only(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    return list((Counter(lines) - Counter(others)).elements())


ChangeOrder = tuple[float, str]
"""The change of the main per-sample metric, and the sample_id as it is: what is shown of two may be the same."""


def worst_first(row: Mapping[str, Any]) -> ChangeOrder:
    """Returns the key that sorts samples: those that lost most first, those that won most last."""
    return (0.0 if row["change"] is None else row["change"], row["sample_id"])
