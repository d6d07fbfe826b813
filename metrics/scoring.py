"""Scores a batch of decoded pairs and returns their outcomes: the core of the pipeline and of the Python API."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence, Set
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from .benchmark import ENVIRONMENT_FAULTS, Benchmark, DrawnPair, Pair, RejectedRecord, ResultT, SampleScore, explain
from .statistics.bootstrap import check_statistics
from .statistics.sums import MAX_STATISTIC

Missing = Literal["wrong", "exclude"]
Status = Literal["scored", "missing_prediction", "rejected"]
Result = SampleScore | RejectedRecord
PairT = TypeVar("PairT", bound=Pair[Any, Any])
ScoreBatch = Callable[[Sequence[Pair[Any, Any]]], "list[Result]"]

RESERVED_COUNTS = frozenset(
    {
        *("ground_truth", "predictions", "balanced", "repeats", "missing_repeats"),
        *("ground_truth_without_fields", "predictions_without_fields"),
    }
)
"""What else the coverage of a run holds; a name with a dot is that of a status."""


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one pair.

    score: None if the sample was rejected, or its prediction is missing and missing predictions are left out. Its
    details are JSON. rejected: why the sample was rejected, if it was. prediction_rejected: why only its prediction was
    rejected; the sample then counts as one without a prediction.
    """

    status: Status
    score: SampleScore | None = None
    rejected: RejectedRecord | None = None
    prediction_rejected: RejectedRecord | None = None


def status_of_prediction(outcome: Outcome, has_record: bool, decoded: bool) -> str | None:
    """Returns the status of the prediction of a pair, by its outcome; None without a record.

    decoded: whether the record could be decoded; if not, it is rejected. A prediction whose ground truth is
    rejected is unmatched.
    """
    if not has_record:
        return None
    if not decoded or outcome.prediction_rejected is not None:
        return "rejected"
    if outcome.rejected is None:
        return "scored"
    return "unmatched" if outcome.rejected.side == "ground_truth" else "rejected"


def score_pairs(
    benchmark: Benchmark[Any, Any, Any],
    pairs: Sequence[Pair[Any, Any]],
    missing: Missing = "wrong",
    score: ScoreBatch | None = None,
) -> list[Outcome]:
    """Returns the outcome of each pair, in order; missing: whether a missing prediction counts as wrong or is excluded.

    A pair whose prediction is rejected is scored again without it. `score` scores one batch, by default
    `benchmark.score`; if it fails as a whole, each pair is scored alone, and those that fail are rejected.

    Raises one of ENVIRONMENT_FAULTS if the machine fails: no record is at fault, and no pair has an outcome.
    """
    score = score or benchmark.score
    due = {number: pair for number, pair in enumerate(pairs) if pair.prediction is not None or missing == "wrong"}
    results = _scored(benchmark, due, score)
    refused = {
        number: result
        for number, result in results.items()
        if isinstance(result, RejectedRecord) and result.side == "prediction" and due[number].prediction is not None
    }
    without = {number: replace(pairs[number], prediction=None) for number in refused}
    again: Mapping[int, Result | None] = dict.fromkeys(refused)
    if missing == "wrong":
        again = _scored(benchmark, without, score)
    final = {**results, **again}
    return [
        _outcome(without.get(number, pair), final.get(number), refused.get(number)) for number, pair in enumerate(pairs)
    ]


def _outcome(pair: Pair[Any, Any], result: Result | None, refused: RejectedRecord | None) -> Outcome:
    if isinstance(result, RejectedRecord):
        return Outcome("rejected", rejected=result, prediction_rejected=refused)
    return Outcome("missing_prediction" if pair.prediction is None else "scored", result, prediction_rejected=refused)


def _scored(
    benchmark: Benchmark[Any, Any, Any], pairs: Mapping[int, Pair[Any, Any]], score: ScoreBatch
) -> dict[int, Result]:
    results = _in_batches([*pairs.values()], score, benchmark.batch_size, "scoring")
    declared = frozenset(benchmark.sample_metric_names())
    return {number: _checked(result, declared) for number, result in zip(pairs, results, strict=True)}


def draw_pairs(benchmark: Benchmark[Any, Any, Any], pairs: Sequence[DrawnPair[Any, Any]]) -> list[str | RejectedRecord]:
    """Returns the picture of each pair, in order, or why it has none.

    Raises one of ENVIRONMENT_FAULTS if the machine fails.
    """
    return _in_batches(pairs, benchmark.draw_batch, benchmark.batch_size, "drawing")


def _in_batches(
    pairs: Sequence[PairT],
    function: Callable[[Sequence[PairT]], list[ResultT | RejectedRecord]],
    size: int,
    what: str,
) -> list[ResultT | RejectedRecord]:
    """Returns the results of all batches; the pairs of a batch that fails as a whole are processed one by one."""
    results: list[ResultT | RejectedRecord] = []
    for start in range(0, len(pairs), size):
        batch = pairs[start : start + size]
        try:
            results += function(batch)
        except ENVIRONMENT_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - no failure of a metric on a sample may end the run
            if len(batch) > 1:
                results += _in_batches(batch, function, 1, what)
                continue
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
            reason = f"{what} failed: {type(error).__name__}: {explain(error)} at {place}"
            results.append(RejectedRecord("sample", reason))
    return results


def _checked(result: Any, declared: Set[str]) -> Result:
    """Returns a score with its details as JSON; rejects a score that cannot be added up, ordered or written.

    result: what the benchmark returned. declared: the names of the per-sample metrics that are written.
    """
    if isinstance(result, RejectedRecord):
        return result
    if not isinstance(result, SampleScore):
        return RejectedRecord("sample", f"the benchmark returned {type(result).__name__} instead of a SampleScore")
    try:
        check_statistics(result.statistics)
        if unknown := result.metrics.keys() - declared:
            raise ValueError(f"per-sample metric {min(unknown)}: it is not declared in sample_metrics")
        metrics = {name: None if value is None else _measured(name, value) for name, value in result.metrics.items()}
        for name, count in result.coverage.items():
            _check_count(name, count)
        details = msgspec.Raw(_DETAILS.encode(result.details))
        return SampleScore(result.statistics, metrics, details, result.coverage)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        return RejectedRecord("sample", explain(error))


_DETAILS = msgspec.json.Encoder()


def _measured(name: str, value: Any) -> float:
    """Returns a per-sample metric as a float without the sign of a zero; NaN cannot be ordered.

    Raises ValueError if it is not a finite number.
    """
    # A check against an abstract class costs more than everything else here.
    if isinstance(value, (float, int, Real)):
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if isfinite(number):
            return number + 0.0
    raise ValueError(f"per-sample metric {name}: must be a finite number or null, not {value!r:.80}")


def _check_count(name: Any, count: Any) -> None:
    """Raises ValueError if a count of the benchmark cannot be added to the coverage."""
    if not isinstance(name, str) or "." in name or name in RESERVED_COUNTS:
        raise ValueError(f"coverage {name!s:.80}: a count needs another name, without a dot")
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_STATISTIC:
        raise ValueError(f"coverage {name:.80}: must be a whole number from 0 to {MAX_STATISTIC}, not {count!r:.80}")
