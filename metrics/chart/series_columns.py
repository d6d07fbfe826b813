"""The data series of many charts by columns, with their values read as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import astuple

from ..common.arrays import indexes
from .names import labels, numbers
from .options import ChartOptions
from .records import BoxSummary, DataSeries, Scalar
from .similarity import Points

Flags = npt.NDArray[np.bool_]

SUMMARY = BoxSummary.__struct_fields__
NO_SUMMARY = astuple(BoxSummary())


class SeriesKind(Enum):
    """How the data series of a chart are compared; those of box plots as labelled values."""

    BOX_PLOT = "box plot"
    LABELLED = "labelled"
    POINTS = "points"
    FUNCTION = "function"


LABELLED = (SeriesKind.BOX_PLOT, SeriesKind.LABELLED)


class SeriesColumns(NamedTuple):
    """The data series of one side of many charts, one after the other.

    names: of each series. counts: how many points each has, those that cannot be compared too, `[S]`.
    well_formed: whether the data of each have the layout of the chart class; if not, it has no points.
    numeric: whether all y of each are numbers.
    labels: the x of labelled values, else empty. points: those that can be compared; labelled values have no x, and NaN
    for a y that is no number. Those of a function are sorted by x.
    """

    names: list[str]
    counts: npt.NDArray[np.intp]
    well_formed: Flags
    numeric: Flags
    labels: list[str]
    points: Points

    @classmethod
    def of(cls, series: Sequence[DataSeries], kind: SeriesKind, options: ChartOptions) -> SeriesColumns:
        """Returns the columns of series of charts of one kind."""
        names = labels([each.name for each in series], options)
        xs, ys, counts, well_formed = (_summaries if kind is SeriesKind.BOX_PLOT else _points)(series)
        owners = np.repeat(np.arange(len(series)), counts)
        y = numbers(ys)
        unknown = np.isnan(y)
        numeric = np.bincount(owners[unknown], minlength=len(series)) == 0
        if kind in LABELLED:
            points = Points(np.zeros(0), y, counts)
            return cls(names, counts, well_formed, numeric, labels(xs, options), points)
        x = numbers(xs)
        unknown |= np.isnan(x)
        if unknown.any():
            x, y, owners = x[~unknown], y[~unknown], owners[~unknown]
        if kind is SeriesKind.FUNCTION:
            order = np.lexsort((x, owners))
            x, y = x[order], y[order]
        points = Points(x, y, np.bincount(owners, minlength=len(series)))
        return cls(names, counts, well_formed, numeric, [], points)


Columns = tuple[list[Scalar], list[Scalar], npt.NDArray[np.intp], Flags]


def _points(series: Sequence[DataSeries]) -> Columns:
    """Returns x and y of all points, how many each series has, and whether it is a list of them."""
    lists = [each.data if isinstance(each.data, list) else None for each in series]
    points = list(chain.from_iterable(filter(None, lists)))
    counts = indexes([0 if points is None else len(points) for points in lists])
    well_formed = np.array([points is not None for points in lists], dtype=np.bool_)
    return [point.x for point in points], [point.y for point in points], counts, well_formed


def _summaries(series: Sequence[DataSeries]) -> Columns:
    """Returns the numbers of box plots that are there with their names, as `_points` does points."""
    rows = [astuple(each.data) if isinstance(each.data, BoxSummary) else NO_SUMMARY for each in series]
    counts = indexes([len(SUMMARY) - row.count(None) for row in rows])
    xs: list[Scalar] = [*SUMMARY] * len(rows)
    ys: list[Scalar] = list(chain.from_iterable(rows))
    if None in ys:
        held = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
        xs, ys = [x for x, _ in held], [y for _, y in held]
    return xs, ys, counts, counts > 0
