"""Scores a batch of decoded pairs and returns their outcomes: the core of the pipeline and of the Python API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from numbers import Integral
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from .benchmark import (
    ENVIRONMENT_FAULTS,
    AnyBenchmark,
    Benchmark,
    DrawnPair,
    Pair,
    RejectedRecord,
    ResultT,
    SampleScore,
    error_text,
    error_with_place,
    finite_number,
    place_of,
)
from .statistics.bootstrap import checked_statistics
from .statistics.sums import MAX_STATISTIC

Missing = Literal["wrong", "exclude"]
Status = Literal["scored", "missing_prediction", "rejected"]
MEASURED: Mapping[Missing, tuple[Status, ...]] = {"wrong": ("scored", "missing_prediction"), "exclude": ("scored",)}
"""The statuses of the samples on which metrics rest, by what a missing prediction means."""
ScoreOrRejection = SampleScore | RejectedRecord
PairT = TypeVar("PairT", bound=Pair[Any, Any])
ScoreFunction = Callable[[Sequence[Pair[Any, Any]]], "list[ScoreOrRejection]"]

RESERVED_COUNTS = frozenset(
    {
        *("ground_truth", "predictions", "balanced", "repeats", "missing_repeats"),
        *("ground_truth_without_fields", "predictions_without_fields"),
    }
)
"""What else the coverage of a run holds; a name with a dot is that of a status."""


SLICE_PREFIX = "slice."
TEXT_COLUMNS = ("sample_id", "system", "status", "prediction_status", "unit")
CONTENT_COLUMNS = ("statistics", "coverage", "truth_hash", "prediction_hash", "details", "row_hash")
"""The columns of the rows of a run, but for its slices, `slice.NAME`, and for the per-sample metrics."""


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
    score: ScoreFunction | None = None,
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
    again: Mapping[int, ScoreOrRejection | None] = dict.fromkeys(refused)
    if missing == "wrong":
        again = _scored(benchmark, without, score)
    final = {**results, **again}
    return [
        _outcome(without.get(number, pair), final.get(number), refused.get(number)) for number, pair in enumerate(pairs)
    ]


def _outcome(pair: Pair[Any, Any], result: ScoreOrRejection | None, refused: RejectedRecord | None) -> Outcome:
    if isinstance(result, RejectedRecord):
        return Outcome("rejected", rejected=result, prediction_rejected=refused)
    return Outcome("missing_prediction" if pair.prediction is None else "scored", result, prediction_rejected=refused)


def _scored(
    benchmark: Benchmark[Any, Any, Any], pairs: Mapping[int, Pair[Any, Any]], score: ScoreFunction
) -> dict[int, ScoreOrRejection]:
    results = _in_batches(benchmark, [*pairs.values()], score, "scoring")
    declared = frozenset(benchmark.sample_metric_names())
    return {number: _checked(result, declared) for number, result in zip(pairs, results, strict=True)}


def draw_pairs(benchmark: AnyBenchmark, pairs: Sequence[DrawnPair[Any, Any]]) -> list[str | RejectedRecord]:
    """Returns the picture of each pair, in order, or why it has none.

    Raises one of ENVIRONMENT_FAULTS if the machine fails.
    """
    drawings = _in_batches(benchmark, pairs, benchmark.draw_batch, "drawing")
    return [
        drawing
        if isinstance(drawing, (str, RejectedRecord))
        else RejectedRecord("sample", f"the benchmark returned {type(drawing).__name__} instead of an SVG document")
        for drawing in drawings
    ]


def explained(benchmark: AnyBenchmark, details: Any) -> list[str]:
    """Returns what matched what in words, as `Benchmark.explain`, or why there are none.

    Raises one of ENVIRONMENT_FAULTS if the machine fails.
    """
    try:
        lines = list(benchmark.explain(details))
        # Raises an error if they are no text, or not UTF-8.
        "".join(lines).encode()
        return lines
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - no sample may end the run through its explanation
        return [f"{type(error).__name__}: {error_text(error)}".encode("utf-8", "backslashreplace").decode()]


def _in_batches(
    benchmark: AnyBenchmark,
    pairs: Sequence[PairT],
    function: Callable[[Sequence[PairT]], list[ResultT | RejectedRecord]],
    what: str,
    size: int | None = None,
) -> list[ResultT | RejectedRecord]:
    """Returns the results of all batches; the pairs of a batch that fails as a whole are processed one by one."""
    results: list[ResultT | RejectedRecord] = []
    size = size or benchmark.batch_size
    for start in range(0, len(pairs), size):
        batch = pairs[start : start + size]
        try:
            of_batch = list(function(batch))
            if len(of_batch) != len(batch):
                raise ValueError(f"{place_of(benchmark)} returned {len(of_batch)} results where {len(batch)} are due")
            results += of_batch
        except ENVIRONMENT_FAULTS:
            raise
        except Exception as error:  # noqa: BLE001 - no failure of a metric on a sample may end the run
            if len(batch) > 1:
                results += _in_batches(benchmark, batch, function, what, 1)
                continue
            results.append(RejectedRecord("sample", f"{what} failed: {error_with_place(error)}"))
    return results


def _checked(result: Any, declared: Set[str]) -> ScoreOrRejection:
    """Returns a score with its details as JSON; rejects a score that cannot be added up, ordered or written.

    result: what the benchmark returned. declared: the names of the per-sample metrics that are written.
    """
    if isinstance(result, RejectedRecord):
        return result
    part = ""
    try:
        if not isinstance(result, SampleScore):
            raise TypeError(f"the benchmark returned {type(result).__name__} instead of a SampleScore")
        _check_names("statistics", result.statistics)
        statistics = checked_statistics(result.statistics)
        _check_names("metrics", result.metrics)
        if unknown := result.metrics.keys() - declared:
            raise ValueError(f"per-sample metric {min(unknown)}: it is not declared in sample_metrics")
        metrics = {
            name: None if value is None else finite_number("per-sample metric", name, value)
            for name, value in result.metrics.items()
        }
        _check_names("coverage", result.coverage)
        coverage = {name: _count(name, count) for name, count in result.coverage.items()}
        part = "details: "
        details = msgspec.Raw(_DETAILS.encode(result.details))
        return SampleScore(statistics, metrics, details, coverage)
    except ENVIRONMENT_FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - a score may hold anything, with methods of the user
        return RejectedRecord("sample", part + error_text(error))


def _check_names(what: str, numbers: Any) -> None:
    """Raises ValueError if numbers are not a mapping whose names can be written."""
    # A check against an abstract class costs more than everything else here.
    if isinstance(numbers, (dict, Mapping)):
        try:
            "".join(numbers).encode()
        except (TypeError, UnicodeEncodeError):
            pass
        else:
            if "" not in numbers:
                return
    raise ValueError(f"{what}: found {numbers!r:.80}; allowed: a dict of numbers by name, which is text and not empty")


_DETAILS = msgspec.json.Encoder()


def _count(name: str, count: Any) -> int:
    """Returns a count of the benchmark; raises ValueError if it cannot be added to the coverage."""
    if "." in name or name in RESERVED_COUNTS:
        raise ValueError(f"coverage {name:.80}: a count needs another name, without a dot")
    if isinstance(count, bool) or not isinstance(count, (int, Integral)) or not 0 <= int(count) <= MAX_STATISTIC:
        raise ValueError(f"coverage {name:.80}: must be a whole number from 0 to {MAX_STATISTIC}, not {count!r:.80}")
    return int(count)
