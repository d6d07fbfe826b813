"""The charts of a batch, and what they share while they are scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeVar

from .columns import Columns
from .records import Identifier
from .sample import ChartSample, ClassOfChart, Memo

# Charts are scored together up to so many pairs of elements or points, which bounds the memory.
MAX_CELLS = 1 << 18

TruthT = TypeVar("TruthT")
PredictionT = TypeVar("PredictionT")


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

    def rows(
        self, truths: Sequence[TruthT | None], predictions: Sequence[PredictionT | None]
    ) -> Iterable[tuple[ChartSample, TruthT | None, PredictionT | None]]:
        """Returns each chart with what it has in a column of either side; nothing where no ground truth has any."""
        if not truths:
            return ()
        return zip(self.samples, truths, predictions or [None] * len(truths), strict=True)


class HasCells(Protocol):
    """A chart that is made ready to compare."""

    @property
    def cells(self) -> int:
        """The pairs of elements or points."""


ChartT = TypeVar("ChartT", bound=HasCells)


def parts_of(charts: Sequence[ChartT]) -> Iterator[list[ChartT]]:
    """Yields the charts in parts of `MAX_CELLS` pairs at most, or of one chart."""
    part: list[ChartT] = []
    cells = 0
    for chart in charts:
        count = chart.cells
        if part and cells + count > MAX_CELLS:
            yield part
            part, cells = [], 0
        part.append(chart)
        cells += count
    if part:
        yield part
