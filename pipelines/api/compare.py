"""Which of two results is better, from Python: the numbers of `beamscore compare`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pyarrow as pa

from ...transforms.process import quiet_root_logger
from .result import Result

_TEXT, _FLOAT = pa.string(), pa.float64()
_METRICS = pa.schema({
    "slice": _TEXT, "metric": _TEXT, "baseline": _FLOAT, "candidate": _FLOAT, "difference": _FLOAT, "low": _FLOAT,
    "high": _FLOAT, "p": _FLOAT, "verdict": _TEXT,
})  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """Whether a candidate is better than a baseline.

    judgement: in a word, such as `better`, `worse`, `identical` or `no difference shown`. sentence: why. metrics: of
    all samples, by name: a mapping with `baseline`, `candidate`, `difference`, its `interval`, `p` and `verdict`.
    slices: by label, each with `metrics`. samples: how many were compared, and how many could not be. document: the
    content of comparison.json.
    """

    judgement: str
    sentence: str
    metrics: dict[str, dict[str, Any]]
    slices: dict[str, dict[str, Any]]
    samples: dict[str, int]
    document: dict[str, Any] = field(repr=False)
    main_metrics: tuple[str, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        """Returns the verdict in one line."""
        return f"Comparison({self.judgement}: {self.sentence})"

    def _repr_html_(self) -> str:
        """Returns the verdict and the main metrics with their differences as a table, for a notebook."""
        header = "".join(f"<th>{name}</th>" for name in ("metric", "baseline", "candidate", "difference", "verdict"))
        rows = "".join(f"<tr>{self._cells(name)}</tr>" for name in self.main_metrics if name in self.metrics)
        verdict = f"<b>{escape(self.judgement)}</b>: {escape(self.sentence)}"
        return f"{verdict}<table><tr>{header}</tr>{rows}</table>{self.samples.get('compared', 0):,} samples compared"

    def to_pandas(self) -> Any:
        """Returns the metrics of all samples (an empty slice) and of each slice as a frame of pandas, a row for each.

        Columns: slice, metric, baseline, candidate, difference, low and high (its interval), p, verdict.
        """
        labelled = {"": {"metrics": self.metrics}, **self.slices}
        rows = []
        for label, each in labelled.items():
            for name, found in each["metrics"].items():
                low, high = found["interval"] or (None, None)
                given = {key: found[key] for key in ("baseline", "candidate", "difference", "p", "verdict")}
                rows.append({"slice": label, "metric": name, "low": low, "high": high, **given})
        return pa.Table.from_pylist(rows, _METRICS).to_pandas()

    def _cells(self, name: str) -> str:
        found = self.metrics[name]
        values = [_number(found[side]) for side in ("baseline", "candidate")]
        ends = found["interval"]
        interval = "" if ends is None else f" [{ends[0]:+.4g}, {ends[1]:+.4g}]"
        cells = [name, *values, f"{_number(found['difference'], '+')}{interval}", found["verdict"]]
        return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def compare(
    baseline: Result | str | os.PathLike[str],
    candidate: Result | str | os.PathLike[str],
    *,
    allow_differences: bool = False,
    threshold: float = 0.1,
) -> Comparison:
    """Returns whether a candidate is better than a baseline: each a result, or a finished run.

    A run is its folder, or FOLDER:SYSTEM. allow_differences: compare though options, versions or ground truth differ.
    threshold: a larger change of a sample is counted in `document["changes"]`.

    Raises ValueError if a run cannot be read, or the two do not compare, and OSError if the machine fails.
    """
    # Beam is imported in there.
    with quiet_root_logger:
        from .from_files import compare_runs

        sides = [side if isinstance(side, Result) else os.fspath(side) for side in (baseline, candidate)]
        document, main = compare_runs(sides[0], sides[1], allow_differences, threshold)
    verdict = document["verdict"]
    return Comparison(
        verdict["judgement"],
        verdict["sentence"],
        document["metrics"],
        document["slices"],
        document["samples"],
        document,
        main,
    )


def _number(value: float | None, sign: str = "") -> str:
    return "none" if value is None else format(value, f"{sign}.4g")
