"""The oracle of all counts: a plain reading of two files of lines, record by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Benchmark, Pair, RejectedRecord, SampleScore

TRUTH, PREDICTIONS = "ground_truth", "predictions"


class _Key(msgspec.Struct):
    sample_id: str


class _Columns(msgspec.Struct):
    source: Any = None


@dataclass
class Counts:
    """What becomes of every record: by side, by sample, and the line of each that is quarantined."""

    sides: dict[str, Counter[str]] = field(default_factory=lambda: {TRUTH: Counter(), PREDICTIONS: Counter()})
    samples: dict[str, str] = field(default_factory=dict)
    quarantined: Counter[tuple[str, int]] = field(default_factory=Counter)
    scores: dict[str, SampleScore] = field(default_factory=dict)


def plain_counts(
    benchmark: Benchmark[Any, Any, Any], truths: Sequence[bytes], predictions: Sequence[bytes], depth: int
) -> Counts:
    """Returns what becomes of the records; missing predictions count as wrong."""
    counts = Counts()
    read = {
        TRUTH: _first_by_id(counts, TRUTH, truths, depth),
        PREDICTIONS: _first_by_id(counts, PREDICTIONS, predictions, depth),
    }
    for sample_id, (number, _) in read[PREDICTIONS].items():
        if sample_id not in read[TRUTH]:
            _reject(counts, PREDICTIONS, "unmatched", number)
    for sample_id, (number, line) in read[TRUTH].items():
        _score(counts, benchmark, sample_id, (number, line), read[PREDICTIONS].get(sample_id))
    return counts


def _first_by_id(counts: Counts, side: str, lines: Sequence[bytes], depth: int) -> dict[str, tuple[int, bytes]]:
    first: dict[str, tuple[int, bytes]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \t\r\x0b\x0c"):
            continue
        counts.sides[side]["read"] += 1
        sample_id = _sample_id(line, depth)
        if sample_id is None:
            _reject(counts, side, "rejected", number)
        elif sample_id in first:
            _reject(counts, side, "duplicate", number)
        else:
            first[sample_id] = number, line
    return first


def _sample_id(line: bytes, depth: int) -> str | None:
    if _depth(line) > depth:
        return None
    try:
        sample_id = msgspec.json.decode(line, type=_Key).sample_id
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return sample_id if 1 <= len(sample_id) <= 1024 else None


def _depth(line: bytes) -> int:
    """Returns how deep brackets are nested outside of strings."""
    deepest = level = 0
    within = escaped = False
    for byte in line:
        if within:
            within = escaped or byte != ord('"')
            escaped = not escaped and byte == ord("\\")
        elif byte == ord('"'):
            within = True
        elif byte in b"[{":
            level += 1
            deepest = max(deepest, level)
        elif byte in b"]}":
            level -= 1
    return deepest


def _score(
    counts: Counts,
    benchmark: Benchmark[Any, Any, Any],
    sample_id: str,
    truth: tuple[int, bytes],
    prediction: tuple[int, bytes] | None,
) -> None:
    decoded = _decoded(truth[1], benchmark.truth_type)
    if decoded is None or _decoded(truth[1], _Columns) is None:
        _reject_truth(counts, sample_id, truth[0], prediction)
        return
    given = None if prediction is None else _decoded(prediction[1], benchmark.prediction_type)
    result = _result(benchmark, sample_id, decoded, given)
    if isinstance(result, RejectedRecord) and result.side == "prediction" and given is not None:
        given, result = None, _result(benchmark, sample_id, decoded, None)
    if prediction is not None and given is None and isinstance(result, SampleScore):
        _reject(counts, PREDICTIONS, "rejected", prediction[0])
    if isinstance(result, RejectedRecord):
        if result.side == "ground_truth":
            # A prediction that cannot be decoded is rejected for that, whatever becomes of the ground truth.
            _reject_truth(counts, sample_id, truth[0], prediction, "rejected" if given is None else "unmatched")
            return
        counts.sides[TRUTH]["rejected"] += 1
        counts.samples[sample_id] = "rejected"
        counts.quarantined[TRUTH, truth[0]] += 1
        if prediction is not None:
            _reject(counts, PREDICTIONS, "rejected", prediction[0])
        return
    status = "missing_prediction" if given is None else "scored"
    counts.samples[sample_id] = status
    counts.scores[sample_id] = result
    counts.sides[TRUTH][status] += 1
    if given is not None:
        counts.sides[PREDICTIONS]["scored"] += 1


def _decoded(line: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _result(benchmark: Benchmark[Any, Any, Any], sample_id: str, truth: Any, prediction: Any) -> Any:
    (result,) = benchmark.score([Pair(sample_id, truth, prediction)])
    return result


def _reject_truth(
    counts: Counts, sample_id: str, number: int, prediction: tuple[int, bytes] | None, became: str = "unmatched"
) -> None:
    _reject(counts, TRUTH, "rejected", number)
    counts.samples[sample_id] = "rejected"
    if prediction is not None:
        _reject(counts, PREDICTIONS, became, prediction[0])


def _reject(counts: Counts, side: str, status: str, number: int) -> None:
    counts.sides[side][status] += 1
    counts.quarantined[side, number] += 1
