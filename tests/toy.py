"""A benchmark of a few lines, to test how samples travel without the weight of a real metric."""

import errno
import os
import signal
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
import pytest

from beamscore.metrics.benchmark import Benchmark, MetricSpec, Pair, RejectedRecord, SampleScore, Table
from beamscore.metrics.registry import BUILT_IN
from beamscore.metrics.statistics.ratios import ratio
from beamscore.metrics.statistics.sums import Sums


class Truth(msgspec.Struct, frozen=True):
    text: str
    words: list[str] | None = None


class Prediction(msgspec.Struct, frozen=True):
    text: str


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    protocol: Literal["published", "released"] = "published"
    batch: int = 3


class ToyBenchmark(Benchmark[Truth, Prediction, Options]):
    """Exact match of two strings, and 1 / (1 + difference in length); some texts go wrong, each in its way."""

    name = "toy"
    summary = "Exact match of strings."
    truth_type = Truth
    prediction_type = Prediction
    options_type = Options
    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        MetricSpec("exact_match", "share of equal strings", main=1, rank=1, denominator="samples", per_sample=1),
        MetricSpec("similarity", "mean similarity", main=2, rank=2, denominator="samples", per_sample=1),
    )
    sample_metrics: ClassVar[tuple[MetricSpec, ...]] = (
        MetricSpec("exact_match", "1 where equal", binary=True),
        MetricSpec("similarity", "similarity", main=1),
    )
    batch_size = 3

    def score(self, pairs: Sequence[Pair[Truth, Prediction]]) -> list[SampleScore | RejectedRecord]:
        assert len(pairs) <= self.batch_size
        return super().score(pairs)

    def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
        text = prediction.text if prediction else None
        if truth.text == "truth is bad":
            raise RejectedRecord("ground_truth", "the truth is bad")
        if truth.text == "disk is full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if truth.text == "process ends":
            os._exit(7)
        if truth.text == "process is terminated":
            os.kill(os.getpid(), signal.SIGTERM)
        if text == "prediction is bad":
            raise RejectedRecord("prediction", "the prediction is bad")
        if text == "score fails":
            raise ZeroDivisionError("no luck")
        similarity = 0.0 if text is None else 1 / (1 + abs(len(text) - len(truth.text)))
        if text == "score is infinite":
            similarity = float("inf")
        equal = int(text == truth.text)
        metrics = {"exact_match": equal, "similarity": similarity}
        return SampleScore({"samples": 1, "equal": equal, "similarity": similarity}, metrics, {"read": text})

    def values(self, sums: Sums) -> dict[str, float | None]:
        samples = sums["samples"]
        return {"exact_match": ratio(sums["equal"], samples), "similarity": ratio(sums["similarity"], samples)}

    def tables(self, sums: Sums) -> list[Table]:
        return [Table("Counts", ["what", "count"], [["samples", sums["samples"]], ["equal", sums["equal"]]])]


def register() -> None:
    BUILT_IN["toy"] = "tests.toy:ToyBenchmark"


def scored_pairs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Returns a list that gets the texts of each pair scored from now on in this process; of no prediction, `""`."""
    pairs: list[tuple[str, str]] = []
    score = ToyBenchmark.score_sample

    def recorded(self: ToyBenchmark, truth: Truth, prediction: Prediction | None) -> SampleScore:
        pairs.append((truth.text, prediction.text if prediction else ""))
        return score(self, truth, prediction)

    monkeypatch.setattr(ToyBenchmark, "score_sample", recorded)
    return pairs


def sample(index: int, seed: int) -> tuple[dict[str, Any], dict[str, Any] | None]:
    truth = {"sample_id": f"s{index}", "text": "x" * (index % 7), "words": ["a", "b"][: index % 3], "kind": index % 2}
    if index % 11 == 5:
        return truth, None
    return truth, {"sample_id": f"s{index}", "text": "x" * ((index + index % 3) % 7)}
