"""The charts of a batch, and what they share while they are scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metrics.chart.columns import Columns
from metrics.chart.records import Identifier
from metrics.chart.sample import ChartSample, ClassOfChart, Memo


class Batch(NamedTuple):
    """The charts of a batch, by columns.

    samples: the charts, in order. truths, predictions: what each has on the two sides. classes: what the classes of
    charts are, by their names in a record. identifiers: ids as text.
    """

    samples: Sequence[ChartSample]
    truths: Columns
    predictions: Columns
    classes: Memo[str | None, ClassOfChart]
    identifiers: Memo[Identifier, str | None]
