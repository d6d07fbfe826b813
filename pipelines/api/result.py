"""What the Python API returns of many samples."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from ..runs.numbers import count_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ...transforms.records import Cause
    from ...transforms.totals import SliceResult as FinalisedSlice
    from ..config.settings import Configuration
    from ..runs.run import Run

Interval = tuple[float, float]
Side = Literal["ground_truth", "predictions"]
_TEXT, _FLOAT = pa.string(), pa.float64()
_METRICS = pa.schema(
    {"slice": _TEXT, "metric": _TEXT, "value": _FLOAT, "low": _FLOAT, "high": _FLOAT, "samples": pa.int64()}
)


@dataclass(frozen=True)
class Rejected:
    """A record that was not scored, and why: the cause in a word, such as `invalid`, and in a sentence."""

    side: Side
    sample_id: str | None
    message: str
    cause: Cause = "invalid"


@dataclass(frozen=True)
class SliceResult:
    """The metrics of a set of samples, their intervals by name (None where there is none), and how many samples."""

    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    samples: int


class Scored(NamedTuple):
    """What a finished run is made of: under which configuration records in memory were scored, and what came out.

    slices: by label, that of all samples under the empty one. warnings: those of summary.json.
    """

    configuration: Configuration
    slices: Mapping[str, FinalisedSlice]
    warnings: list[str]


class Finished(NamedTuple):
    """A finished run of one system, with its sums, and the lines of its quarantine."""

    run: Run
    quarantine: list[bytes]


@dataclass(frozen=True)
class Result:
    """The result of an evaluation.

    values, intervals: of all samples, by metric. slices: by label, such as `source=web`. coverage: what became of the
    records of each side, as in `summary.json`. samples: an Arrow table with a row for each sample, the columns of
    `samples/*.parquet` of a run. rejected: the records that were not scored. sums: the exact sums behind the values, in
    units of 2**-52, as in `sums.json`. warnings: what is odd about the records, a line each, such as that nothing was
    scored, and why. origin: what `save` writes.
    """

    benchmark: str
    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    slices: dict[str, SliceResult]
    coverage: dict[str, Any]
    samples: pa.Table
    rejected: list[Rejected]
    sums: dict[str, int]
    warnings: list[str] = field(default_factory=list)
    main_metrics: tuple[str, ...] = ()
    origin: Scored | Finished = field(kw_only=True, repr=False, compare=False)

    def __repr__(self) -> str:
        """Returns the main metrics with their intervals, and the number of samples, in one line."""
        metrics = ", ".join(self._metric(name) for name in self.main_metrics)
        return f"Result({self.benchmark}: {metrics}; {count_of(self.samples.num_rows, 'sample')})"

    def _repr_html_(self) -> str:
        """Returns all metrics with their intervals as a table, and the coverage, for a notebook."""
        rows = [f"<tr><td>{escape(name)}</td><td>{self._value(name)}</td></tr>" for name in self.values]
        counts = [f"{side.replace('_', ' ')}: {self._counts(side)}" for side in ("ground_truth", "predictions")]
        return f"<table>{''.join(rows)}</table>{escape(self.benchmark)}; {'; '.join(counts)}"

    def to_pandas(self) -> Any:
        """Returns the metrics of all samples (an empty slice) and of each slice as a frame of pandas, a row for each.

        Columns: slice, metric, value, low and high (the interval; NaN where there is none), samples.
        """
        whole = SliceResult(self.values, self.intervals, self.samples.num_rows)
        rows = [
            (label, metric, value, *(each.intervals.get(metric) or (None, None)), each.samples)
            for label, each in {"": whole, **self.slices}.items()
            for metric, value in each.values.items()
        ]
        rows_by_name = [dict(zip(_METRICS.names, row, strict=True)) for row in rows]
        return pa.Table.from_pylist(rows_by_name, _METRICS).to_pandas()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the result as a finished run, which `load` and the commands read; an earlier run there is replaced.

        folder: on any filesystem of Beam. Raises ValueError if it cannot be written, or another run owns it.
        """
        # Beam is imported in there.
        from ...transforms.process import quiet_root_logger

        with quiet_root_logger:
            from .from_files import save

            save(self, folder)

    def _metric(self, name: str) -> str:
        return f"{name} {self._value(name)}"

    def _value(self, name: str) -> str:
        value, ends = self.values.get(name), self.intervals.get(name)
        interval = "" if ends is None else f" [{ends[0]:.4g}, {ends[1]:.4g}]"
        return f"{'none' if value is None else format(value, '.4g')}{interval}"

    def _counts(self, side: str) -> str:
        return ", ".join(f"{status.replace('_', ' ')} {count:,}" for status, count in self.coverage[side].items())

    def warn(self) -> None:
        """Warns whoever called the caller of this."""
        for line in self.warnings:
            warnings.warn(line, stacklevel=3)
