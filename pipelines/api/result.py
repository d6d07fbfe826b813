"""The results that the Python API returns: of an evaluation, and of a comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from ..runs.numbers import count_of

if TYPE_CHECKING:
    import os

    from ...transforms.records import Cause, Quarantined
    from ..runs.run import Run

Interval = tuple[float, float]
_NUMBERS = [(name, pa.float64()) for name in ("value", "low", "high")]
_COLUMNS = pa.schema([("slice", pa.string()), ("metric", pa.string()), *_NUMBERS, ("samples", pa.int64())])


@dataclass(frozen=True)
class Rejected:
    """A record that was not scored, with its cause as a word, such as `invalid`, and as a message."""

    side: Literal["ground_truth", "predictions"]
    sample_id: str | None
    message: str
    cause: Cause = "invalid"


@dataclass(frozen=True)
class SliceResult:
    """The metrics of a set of samples, their intervals by name (None if there is none), and the number of samples."""

    values: dict[str, float | None]
    intervals: dict[str, Interval | None]
    samples: int


class RunToSave(NamedTuple):
    """The run and the quarantine that a result is saved as; the run of records in memory is not published."""

    run: Run
    quarantine: list[Quarantined]


@dataclass(frozen=True)
class Result:
    """The result of an evaluation.

    values, intervals: of all samples, by metric. slices: by label, such as `source=web`. coverage: the record counts of
    each side by status, as in `summary.json`. samples: an Arrow table with a row for each sample, with the columns of
    `samples/*.parquet` of a run. rejected: the records that were not scored. sums: the exact sums behind the values, in
    units of 2**-52, as in `sums.json`. warnings: anomalies of the records, a line each, such as that nothing was
    scored, and why. saved: what `save` writes.
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
    saved: RunToSave = field(kw_only=True, repr=False, compare=False)

    def __repr__(self) -> str:
        """Returns the main metrics with their intervals, and the number of samples, in one line."""
        main = [(name, self.values.get(name), self.intervals.get(name)) for name in self.main_metrics]
        metrics = ", ".join(f"{name} {_number(value)}{_ends(interval)}" for name, value, interval in main)
        return f"Result({self.benchmark}: {metrics}; {count_of(self.samples.num_rows, 'sample')})"

    def _repr_html_(self) -> str:
        """Returns all metrics with their intervals as a table, and the coverage, as a notebook shows them."""
        # Not at the top: no other use of the API needs the pages.
        from ..reports.cells import as_html, cell_markdown
        from ..reports.document import Cells, Counts, Measured

        cells: list[tuple[str, Cells]] = [
            *((name, Measured(value, *(self.intervals.get(name) or ()))) for name, value in self.values.items()),
            *((side.replace("_", " "), Counts(self.coverage[side])) for side in ("ground_truth", "predictions")),
        ]
        rows = [f"<tr><td>{as_html(name)}</td><td>{as_html(cell_markdown(cell))}</td></tr>" for name, cell in cells]
        return f"<table>{''.join(rows)}</table>"

    def to_pandas(self) -> Any:
        """Returns the metrics of all samples (an empty slice) and of each slice as a pandas DataFrame, a row for each.

        Columns: slice, metric, value, low and high (the interval; NaN if there is none), samples.
        """
        whole = SliceResult(self.values, self.intervals, self.samples.num_rows)
        rows = [
            (label, metric, value, *(each.intervals.get(metric) or (None, None)), each.samples)
            for label, each in {"": whole, **self.slices}.items()
            for metric, value in each.values.items()
        ]
        # A column without any value has its type, too.
        return pa.Table.from_pylist([dict(zip(_COLUMNS.names, row, strict=True)) for row in rows], _COLUMNS).to_pandas()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the result as a finished run, which `load` and the commands read; an earlier run there is replaced.

        folder: on any filesystem of Beam. Raises ValueError if it cannot be written, or another run owns it.
        """
        # This imports Beam.
        from ...transforms.process import quiet_root_logger

        with quiet_root_logger:
            from .from_files import save

            save(self, folder)

    def warn(self) -> None:
        """Issues the warnings at the caller of the calling function."""
        for line in self.warnings:
            warnings.warn(line, stacklevel=3)


@dataclass(frozen=True)
class Comparison:
    """Whether a candidate is better than a baseline.

    judgement: the verdict, such as `better`, `worse`, `identical` or `no difference shown`. sentence: why. metrics: of
    all samples, by name: a mapping with `baseline`, `candidate`, `difference`, its `interval`, `p` and `verdict`.
    slices: by label, each with `metrics`. samples: the numbers of samples that were and were not compared. document:
    the content of comparison.json.
    """

    judgement: str
    sentence: str
    metrics: dict[str, dict[str, Any]]
    slices: dict[str, dict[str, Any]]
    samples: dict[str, int]
    document: dict[str, Any]

    def __repr__(self) -> str:
        """Returns the verdict in one line."""
        return f"Comparison({self.judgement}: {self.sentence})"


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval[0]:.4g}, {interval[1]:.4g}]"
