"""Damaged corpora of every benchmark: counts, and the sums and values of each slice, are those of a plain reading."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord, SampleScore
from beamscore.metrics.statistics.bootstrap import Bootstrap
from tests.attacks.corpora import BENCHMARKS, FLAGS, MAX_DEPTH, REPLICATES, SEEDS, corpus, damaged, rng_of
from tests.plain_loop import make_benchmark
from tests.runs import evaluate_records, plain_sums, unpack_replicates

TRUTH, PREDICTIONS = "ground_truth", "predictions"
Line = tuple[int, bytes]
"""The number of a line, from 1, and its text."""


class _Key(msgspec.Struct):
    sample_id: str


class _Columns(msgspec.Struct):
    source: Any = None


class PlainReading:
    """What becomes of every record, read one by one: the statuses of each side, of samples, and what is quarantined."""

    def __init__(self, benchmark: AnyBenchmark, truths: Sequence[bytes], predictions: Sequence[bytes]) -> None:
        self.benchmark = benchmark
        self.statuses: Counter[tuple[str, str]] = Counter()
        self.quarantined: Counter[tuple[str, int]] = Counter()
        self.samples: dict[str, str] = {}
        self.scores: list[tuple[str, Any, SampleScore]] = []
        """Of each sample its id, its `source` and its score."""
        first, predicted = self._first(TRUTH, truths), self._first(PREDICTIONS, predictions)
        for sample_id, (number, line) in first.items():
            place, prediction = predicted.pop(sample_id, (0, None))
            self.samples[sample_id], status = self._score(sample_id, line, prediction)
            self._count(TRUTH, self.samples[sample_id], number)
            if prediction is not None:
                self._count(PREDICTIONS, status, place)
        for number, _ in predicted.values():
            self._count(PREDICTIONS, "unmatched", number)

    def _first(self, side: str, lines: Sequence[bytes]) -> dict[str, Line]:
        """Returns the first line of each id."""
        first: dict[str, Line] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip(b" \t\r\x0b\x0c"):
                continue
            self.statuses[side, "read"] += 1
            key = _decoded(line, _Key) if _depth(line) <= MAX_DEPTH else None
            if key is None or not 1 <= len(key.sample_id) <= 1024:
                self._count(side, "rejected", number)
            elif key.sample_id in first:
                self._count(side, "duplicate", number)
            else:
                first[key.sample_id] = number, line
        return first

    def _count(self, side: str, status: str, number: int) -> None:
        self.statuses[side, status] += 1
        if status not in ("scored", "missing_prediction"):
            self.quarantined[side, number] += 1

    def _score(self, sample_id: str, line: bytes, predicted: bytes | None) -> tuple[str, str]:
        """Scores a sample, where a missing prediction counts as wrong; returns its status and its prediction's."""
        benchmark = self.benchmark
        truth = _decoded(line, benchmark.truth_type)
        columns = _decoded(line, _Columns)
        if truth is None or columns is None:
            return "rejected", "unmatched"
        prediction = None if predicted is None else _decoded(predicted, benchmark.prediction_type)
        (result,) = benchmark.score([Pair("s", truth, prediction)])
        if isinstance(result, RejectedRecord) and result.side == "prediction":
            prediction = None
            (result,) = benchmark.score([Pair("s", truth, None)])
        status_of_prediction = "rejected" if prediction is None else "scored"
        if isinstance(result, RejectedRecord):
            is_unmatched = result.side == "ground_truth" and prediction is not None
            return "rejected", "unmatched" if is_unmatched else "rejected"
        self.scores.append((sample_id, columns.source, result))
        return "missing_prediction" if prediction is None else "scored", status_of_prediction


def _depth(line: bytes) -> int:
    """Returns how deep brackets are nested outside of strings."""
    brackets = re.sub(rb'"(?:\\.|[^"\\])*"?|[^][{}"]', b"", line, flags=re.DOTALL)
    return max(accumulate(1 if each in b"[{" else -1 for each in brackets), default=0)


def _decoded(line: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


@pytest.fixture(scope="module", params=BENCHMARKS)
def benchmark(request: pytest.FixtureRequest) -> Iterator[AnyBenchmark]:
    made = make_benchmark(request.param)
    made.setup()
    yield made
    made.teardown()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.attacks) for seed in SEEDS[1:])])
def test_counts_and_sums_are_those_of_a_plain_reading(benchmark: AnyBenchmark, tmp_path: Path, seed: int) -> None:
    rng = rng_of(benchmark.name, seed)
    truths, predictions = (damaged(rng, side) for side in corpus(benchmark.name, 25, seed))
    expected = PlainReading(benchmark, truths, predictions)
    run = evaluate_records(tmp_path / "out", truths, predictions, *FLAGS, config=benchmark.name)
    assert run.code == 0, run.stderr
    system, stored = run.summary["systems"][PREDICTIONS], run.sums["systems"][PREDICTIONS]
    coverage = system["coverage"]
    assert coverage["balanced"]
    statuses = {(side, name): n for side in (TRUTH, PREDICTIONS) for name, n in coverage[side].items()}
    assert expected.statuses == Counter(statuses)
    assert {row["sample_id"]: row["status"] for row in run.samples} == expected.samples
    assert Counter((entry["side"], entry["line"]) for entry in run.quarantine) == expected.quarantined
    for entry in run.quarantine:
        *before, line = (truths if entry["side"] == TRUTH else predictions)[: entry["line"]]
        assert (entry["position"], "\n" in entry["error"]) == (sum(len(each) + 1 for each in before), False)
        assert entry["text"] == line.decode("utf-8", "replace").rstrip("\r")[:2000]
    for source in (None, "web", "scan", "book"):
        label = f"source={source}"
        documents = (each["slices"][label] if source else each for each in (system, stored))
        own = [(sample_id, score) for sample_id, other, score in expected.scores if source in (None, other)]
        sums, *replicates = plain_sums(own, Bootstrap(REPLICATES, 0))
        told, kept = documents
        assert own, label
        assert json.dumps(kept["sums"]) == json.dumps(sums.units())
        assert unpack_replicates(kept["replicates"], REPLICATES) == replicates
        assert told["values"] == json.loads(json.dumps(benchmark.values(sums)))
