"""The documents of a run: the content of summary.json and sums.json, checked when it is read back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from ...metrics.scoring import MEASURED, Missing
from ...metrics.statistics.bootstrap import Bootstrap
from ...metrics.statistics.sum_table import PackedReplicates, SumTable
from ...metrics.statistics.sums import Sums
from ...transforms.hashes import fingerprint_text
from ...transforms.repeats import COUNTED_REPEATS, MISSING_REPEATS

if TYPE_CHECKING:
    # The Python API on records in memory must work without Beam.
    from ...transforms.totals import ComputedSlice

GateWord = Literal["pass", "inconclusive", "invalid", "fail"]
"""The verdict of a gate on a system, from the best to the worst: see WORST_LAST."""
Interval = tuple[float, float]

SUMS_FORMAT = 2
READABLE_SUMS = (1, 2)
STATUSES = {
    "ground_truth": ("scored", "missing_prediction", "rejected", "duplicate"),
    "predictions": ("scored", "unmatched", "duplicate", "rejected"),
}
"""The possible outcomes of a record, by side."""

Coverage = dict[str, dict[str, int] | int | bool]
"""The record counts of each side by outcome, and the counts of the benchmark itself."""


def coverage_document(counts: Mapping[str, int]) -> dict[str, Any]:
    """Returns the coverage of a system.

    counts: by SIDE.read and SIDE.STATUS; the counts of the benchmark have names without a dot.
    """
    sides: dict[str, Any] = {
        side: {status: counts.get(f"{side}.{status}", 0) for status in ("read", *statuses)}
        for side, statuses in STATUSES.items()
    }
    balanced = all(2 * side["read"] == sum(side.values()) for side in sides.values())
    return {**sides, **_extra_counts(counts), "balanced": balanced}


def slice_coverage(counts: Mapping[str, int]) -> dict[str, Any]:
    """Returns the coverage of a slice, without the records that could not be read."""
    sides: dict[str, Any] = {side: {} for side in STATUSES}
    for name in sorted(counts):
        side, dot, status = name.partition(".")
        if dot:
            sides[side][status] = counts[name]
    return {**sides, **_extra_counts(counts)}


def _extra_counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts) if "." not in name}


def coverage_text(coverage: Mapping[str, Any]) -> str:
    """Returns the record counts of a system as text, such as `171 of 396 samples scored, 225 without a prediction`."""
    truths, predictions = coverage["ground_truth"], coverage["predictions"]
    parts = [f"{truths['scored']} of {truths['read']} samples scored"]
    parts += [
        f"{count} {what.format(s='' if count == 1 else 's')}"
        for count, what in [
            (truths["missing_prediction"], "without a prediction"),
            (predictions["unmatched"], "prediction{s} without a sample"),
            (truths["duplicate"] + predictions["duplicate"], "duplicate{s}"),
            (truths["rejected"] + predictions["rejected"], "rejected"),
        ]
        if count
    ]
    # A sample without a prediction lacks every repeat: the repeats have a total of their own.
    missing = coverage.get(MISSING_REPEATS, 0)
    repeats = f"; {missing} of {coverage[COUNTED_REPEATS]} repeats missing" if missing else ""
    return ", ".join(parts) + repeats


class Fingerprint(msgspec.Struct, frozen=True):
    """Which ground truth a run was made on: how many samples, and an order-free hash of them."""

    samples: int
    hash: str


class SliceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One slice in summary.json.

    fingerprint: of the ground truth. In a run of an earlier version, the fingerprints are None, and errors (standard
    errors) is empty.
    """

    coverage: Coverage
    fingerprint: str | None = None
    predictions_fingerprint: str | None = None
    values: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None] = {}
    errors: dict[str, float | None] = {}
    units: dict[str, int | float] = {}

    @classmethod
    def of(cls, result: ComputedSlice, coverage: Mapping[str, Any], truths: int, **more: Any) -> Any:
        """Returns the summary of a computed slice; truths: the fingerprint of its ground truth."""
        return cls(
            coverage=dict(coverage),
            fingerprint=fingerprint_text(truths),
            predictions_fingerprint=fingerprint_text(result.predictions_fingerprint),
            values=result.values,
            intervals=result.intervals,
            errors=result.errors,
            # Some are estimated.
            units={metric: round(units) for metric, units in result.units.items()},
            **more,
        )

    def counts(self, side: str) -> dict[str, int]:
        """Returns the record counts of one side by outcome."""
        counts = self.coverage.get(side, {})
        return counts if isinstance(counts, dict) else {}

    @property
    def samples(self) -> int:
        """How many samples the slice has, scored or not; duplicates do not count."""
        return sum(self.counts("ground_truth").get(name, 0) for name in ("scored", "missing_prediction", "rejected"))

    def measured_samples(self, missing: Missing) -> int:
        """Returns how many samples the metrics rest on; these are compared between two runs.

        missing: what a missing prediction means; the sample is included if it counts as wrong.
        """
        counts = self.counts("ground_truth")
        return sum(counts.get(status, 0) for status in MEASURED[missing])

    def measured_repeats(self, missing: Missing) -> int:
        """Returns how many repeats of all samples together the metrics rest on; 0 in a run without repeats."""
        counted, without_prediction = (self.coverage.get(name, 0) for name in (COUNTED_REPEATS, MISSING_REPEATS))
        assert isinstance(counted, int)
        assert isinstance(without_prediction, int)
        return counted - (0 if missing == "wrong" else without_prediction)

    def left_out(self, missing: Missing, repeats: float | None) -> int:
        """Returns how many samples the metrics do not rest on; repeats: their number, each a part of its sample."""
        measured = self.measured_repeats(missing) / repeats if repeats else self.measured_samples(missing)
        return math.ceil(self.samples - measured)


class SystemSummary(SliceSummary, frozen=True, kw_only=True):
    """One system in summary.json, with its slices by label."""

    tables: list[Any] = []
    slices: dict[str, SliceSummary]
    warnings: list[str] = []

    def slice(self, label: str) -> SliceSummary | None:
        """Returns a slice, all samples if the label is empty; None if it does not exist."""
        return self.slices.get(label) if label else self


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """summary.json. signature: for citation; in a run of an earlier version it is empty, and fingerprint None."""

    benchmark: str
    version: str = ""
    signature: str = ""
    config: dict[str, Any]
    intervals_method: dict[str, str] = {}
    warnings: list[str] = []
    fingerprint: Fingerprint | None = None
    gates: list[dict[str, Any]] = []
    ranking: list[str]
    ranking_by: dict[str, Any] = {}
    systems: dict[str, SystemSummary]

    def document(self) -> dict[str, Any]:
        """Returns the content of summary.json; optional fields are left out if they are empty."""
        written: dict[str, Any] = msgspec.to_builtins(self)
        for document in (written, *written["systems"].values()):
            for name in ("intervals_method", "warnings", "gates", "ranking_by"):
                if not document.get(name, True):
                    del document[name]
        return written


class SliceSums(msgspec.Struct, frozen=True, kw_only=True):
    """The exact sums of one slice in sums.json, in units of 2**-52, with their replicates.

    counts: of its samples, by SIDE.STATUS, and the counts of the benchmark.
    """

    sums: dict[str, int]
    counts: dict[str, int]
    replicates: PackedReplicates

    @classmethod
    def of(cls, result: ComputedSlice, **more: Any) -> Any:
        """Returns the sums of a computed slice."""
        counts = {name: result.coverage[name] for name in sorted(result.coverage)}
        return cls(sums=result.sums.units(), counts=counts, replicates=result.replicates, **more)

    def table(self, replicates: int) -> SumTable:
        """Returns the sums of the slice and, below, of each replicate; raises ValueError if they do not fit."""
        return self.replicates.unpack(replicates).under(Sums(self.sums))


class SystemSums(SliceSums, frozen=True, kw_only=True):
    """One system in sums.json."""

    coverage: Coverage
    slices: dict[str, SliceSums]


class RunSums(msgspec.Struct, frozen=True, kw_only=True):
    """sums.json: exact integers in units of 2**-unit_bits, with their replicates in base64."""

    format: int
    unit_bits: int
    benchmark: str
    config: dict[str, Any]
    bootstrap: Bootstrap
    fingerprint: Fingerprint | None = None
    systems: dict[str, SystemSums]

    def document(self) -> dict[str, Any]:
        """Returns the content of sums.json."""
        written: dict[str, Any] = msgspec.to_builtins(self)
        systems = {name: {"coverage": each["coverage"], **each} for name, each in written["systems"].items()}
        return {**written, "systems": systems}


class StoredProvenance(msgspec.Struct, frozen=True):
    """The required fields of run.json."""

    format: int
    run_id: str
    started: str
    ended: str
    versions: dict[str, Any]
    inputs: dict[str, Any]


WORST_LAST: tuple[GateWord, ...] = get_args(GateWord)


def worst_verdict(verdicts: Iterable[Any]) -> GateWord | None:
    """Returns the worst verdict; None if there are none."""
    return max(verdicts, key=WORST_LAST.index, default=None)


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a gate on one system; `blocks`: whether it changes the exit code.

    value, interval: of the metric. reference: its value in the baseline or the other system. difference: value -
    reference, with its own interval. A number is null if it is not known, or if the gate does not need it.
    """

    gate: str
    tier: Literal["blocking", "advisory"]
    system: str | None
    metric: str
    slice: str | None
    judge: Literal["interval", "point"]
    verdict: GateWord
    blocks: bool
    reason: str
    value: float | None = None
    interval: Interval | None = None
    minimum: float | None = None
    maximum: float | None = None
    not_worse_than: str | None = None
    margin: float | None = None
    reference: float | None = None
    difference: float | None = None
    difference_interval: Interval | None = None


def gate_word(gate: Mapping[str, Any]) -> str:
    """Returns the verdict of a gate in summary.json, marked if it is no pass of an advisory one: `fail (advisory)`."""
    word: str = gate["verdict"]
    return f"{word} (advisory)" if word != "pass" and gate["tier"] == "advisory" else word


def gates_passed(verdicts: Sequence[GateVerdict | Mapping[str, Any]]) -> str:
    """Returns how many verdicts, as structs or as in summary.json, are a pass, such as `3 of 3 gates pass`."""
    words = [each["verdict"] if isinstance(each, Mapping) else each.verdict for each in verdicts]
    return f"{words.count('pass')} of {len(words)} gates pass"


def verdict_lines(document: Mapping[str, Any]) -> list[str]:
    """Returns the verdict in run.json or comparison.json as lines for a console; empty if it has none."""
    verdict = document.get("verdict")
    if verdict is None:
        return []
    lost = [f"slices that lost most: {'; '.join(verdict['lost'])}"] if verdict["lost"] else []
    return [f"{verdict['judgement'].upper()}: {verdict['sentence']}", *lost]
