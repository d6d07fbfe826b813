"""Scoring in batches: every way to fail, what it does to the coverage, and what it leaves alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pytest
from apache_beam.pvalue import TaggedOutput

from beamscore.metrics.benchmark import MissingTool, Pair, RejectedRecord, SampleScore
from beamscore.metrics.scoring import Missing
from beamscore.transforms.evaluate import ScoreBatch
from beamscore.transforms.hashes import record_hash
from beamscore.transforms.records import GROUND_TRUTH, JSON, EncodedRecord, InputProblem, Origin, Quarantined
from beamscore.transforms.scored import PairedSample, ScoredSample, ScoringPlan
from beamscore.transforms.slice_labels import Slice, Slicing
from tests.toy import Options, Prediction, ToyBenchmark, Truth

REJECTED_TRUTH = "the ground truth of this sample was rejected"


class RecordingBenchmark(ToyBenchmark):
    """Keeps what it was asked to do."""

    batches: ClassVar[list[list[str]]] = []
    calls: ClassVar[list[str]] = []

    def setup(self) -> None:
        self.calls.append("setup")

    def teardown(self) -> None:
        self.calls.append("teardown")

    def score(self, pairs: Sequence[Pair[Truth, Prediction]]) -> list[SampleScore | RejectedRecord]:
        self.batches.append([pair.sample_id for pair in pairs])
        if any(pair.prediction and pair.prediction.text == "batch fails" for pair in pairs):
            raise ArithmeticError
        return super().score(pairs)

    def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
        score = super().score_sample(truth, prediction)
        text = prediction.text if prediction else None
        if text == "details are odd":
            return SampleScore(score.statistics, score.metrics, {"odd": object()})
        if text == "details are surrogates":
            return SampleScore(score.statistics, score.metrics, "\ud800")
        if text == "sample is bad":
            raise RejectedRecord("sample", "it took too long")
        return SampleScore(score.statistics, score.metrics, score.details, {"odd_texts": 1} if text == "odd" else {})


@pytest.fixture(autouse=True)
def _forget() -> None:
    RecordingBenchmark.batches.clear()
    RecordingBenchmark.calls.clear()


def sample(sample_id: str, truth: Any, *predictions: Any) -> PairedSample:
    """A sample of records; a record is a dict, the text of a prediction, raw bytes, or None."""
    frames = [frame(system, sample_id, each) for system, each in enumerate(predictions)]
    truth_frame = frame(GROUND_TRUTH, sample_id, truth)
    assert truth_frame is not None
    return PairedSample(sample_id, truth_frame, tuple(frames))


def frame(side: int, sample_id: str, record: Any) -> EncodedRecord | None:
    if record is None:
        return None
    if isinstance(record, str):
        record = {"text": record}
    content = record if isinstance(record, bytes) else json.dumps({"sample_id": sample_id, **record}).encode()
    return EncodedRecord.of(Origin(side, 0, 5, 2, f"{side}.jsonl"), JSON, content)


def score(
    samples: Sequence[PairedSample],
    missing: Missing = "wrong",
    columns: tuple[str, ...] = (),
    cluster: str | None = None,
    names: tuple[str, ...] = ("ours",),
    benchmark: ToyBenchmark | None = None,
) -> tuple[list[ScoredSample], list[Quarantined]]:
    slicing = Slicing(columns, tuple((index,) for index in range(len(columns))))
    return score_batch(
        ScoringPlan(benchmark or RecordingBenchmark(Options()), missing, names, cluster, slicing), samples
    )


def score_batch(plan: ScoringPlan, samples: Sequence[PairedSample]) -> tuple[list[ScoredSample], list[Quarantined]]:
    """Scores a batch; returns its rows and its quarantine."""
    do_fn = ScoreBatch(plan)
    do_fn.setup()
    scored, *rest, batches = do_fn.process(list(samples))
    do_fn.teardown()
    assert isinstance(batches, TaggedOutput)
    assert (batches.tag, batches.value) == ("batches", (list(samples), scored))
    assert isinstance(scored, list)
    quarantine = []
    for output in rest:
        assert isinstance(output, TaggedOutput)
        assert output.tag == "quarantine"
        quarantine.append(output.value)
    return scored, quarantine


def one(truth: Any, prediction: Any, missing: Missing = "wrong") -> tuple[ScoredSample, list[Quarantined]]:
    """Scores a sample among two good ones, which must come out as ever."""
    scored, quarantine = score([sample("a", "x", "x"), sample("b", truth, prediction), sample("c", "x", "y")], missing)
    by_id = {each.sample_id: each for each in scored}
    assert len(scored) == len(by_id) == 3
    for neighbour, equal in [("a", 1), ("c", 0)]:
        found = by_id[neighbour]
        assert (found.status, found.statistics) == ("scored", {"samples": 1, "equal": equal, "similarity": 1.0})
        assert found.coverage == {"ground_truth.scored": 1, "predictions.scored": 1}
    assert all(entry.sample_id == "b" and entry.stage == "score" for entry in quarantine)
    return by_id["b"], quarantine


def places(quarantine: Sequence[Quarantined]) -> list[tuple[str, str, str, str]]:
    """The entries, with the last frame of a traceback as `a line of code`."""
    frame = re.compile(r"\w+\.py:\d+ in \w+\Z")
    return [(each.side, each.cause, each.source, frame.sub("a line of code", each.error)) for each in quarantine]


def test_a_scored_sample() -> None:
    found, quarantine = one("four", "six")
    # The lengths 4 and 3 differ by 1, so the similarity is 1 / (1 + 1).
    assert found == ScoredSample(
        "b",
        0,
        "scored",
        "scored",
        "b",
        {"ground_truth.scored": 1, "predictions.scored": 1},
        (),
        (),
        {"samples": 1, "equal": 0, "similarity": 0.5},
        {"exact_match": 0, "similarity": 0.5},
        record_hash({"text": "four", "words": None}),
        record_hash({"text": "six"}),
        b'{"read":"six"}',
    )
    assert quarantine == []


def test_a_missing_prediction_is_wrong() -> None:
    found, quarantine = one("four", None)
    assert found.status == "missing_prediction"
    assert found.statistics == {"samples": 1, "equal": 0, "similarity": 0.0}
    assert found.coverage == {"ground_truth.missing_prediction": 1}
    assert quarantine == []


def test_a_missing_prediction_can_be_left_out() -> None:
    found, quarantine = one("four", None, "exclude")
    assert (found.status, found.statistics, found.metrics, found.details) == ("missing_prediction", None, {}, b"null")
    assert found.coverage == {"ground_truth.missing_prediction": 1}
    assert quarantine == []


PREDICTION_PROBLEMS = [
    ("prediction is bad", "the prediction is bad"),
    ({"text": 7}, "Expected `str`, got `int` - at `$.text`"),
    ({"words": []}, "Object missing required field `text`"),
    (b'{"sample_id": "b", "text": "\xff"}', "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
]


@pytest.mark.parametrize(("prediction", "message"), PREDICTION_PROBLEMS)
@pytest.mark.parametrize("missing", ["wrong", "exclude"])
def test_a_rejected_prediction_is_as_good_as_none(prediction: Any, message: str, missing: Missing) -> None:
    found, quarantine = one("four", prediction, missing)
    without, _ = one("four", None, missing)
    assert (found.status, found.statistics, found.metrics) == (without.status, without.statistics, without.metrics)
    assert found.coverage == {"ground_truth.missing_prediction": 1, "predictions.rejected": 1}
    assert places(quarantine) == [("ours", "invalid", "0.jsonl", message)]


@pytest.mark.parametrize("prediction", ["fine", None])
@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ("truth is bad", "the truth is bad"),
        ({"text": None}, "Expected `str`, got `null` - at `$.text`"),
        ({"words": 3, "text": ""}, "Expected `array | null`, got `int` - at `$.words`"),
    ],
)
def test_a_rejected_truth_takes_its_sample_out(truth: Any, message: str, prediction: str | None) -> None:
    found, quarantine = one(truth, prediction)
    assert (found.status, found.statistics, found.metrics, found.details) == ("rejected", None, {}, b"null")
    expected = [("ground_truth", "invalid", "-1.jsonl", message)]
    if prediction is None:
        assert found.coverage == {"ground_truth.rejected": 1}
    else:
        assert found.coverage == {"ground_truth.rejected": 1, "predictions.unmatched": 1}
        expected.append(("ours", "unmatched", "0.jsonl", REJECTED_TRUTH))
    assert places(quarantine) == expected


SAMPLE_PROBLEMS = [
    ("score fails", "scoring failed: ZeroDivisionError: no luck at a line of code"),
    ("batch fails", "scoring failed: ArithmeticError: ArithmeticError at a line of code"),
    ("sample is bad", "it took too long"),
    (
        "score is infinite",
        "statistic similarity: a statistic must be finite and at most 4294967296 in magnitude, not inf",
    ),
    ("details are odd", "Encoding objects of type object is unsupported"),
    ("details are surrogates", "'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed"),
]


@pytest.mark.parametrize(("prediction", "message"), SAMPLE_PROBLEMS)
def test_a_sample_that_cannot_be_scored_takes_both_records_out(prediction: str, message: str) -> None:
    found, quarantine = one("four", prediction)
    assert (found.status, found.statistics) == ("rejected", None)
    assert found.coverage == {"ground_truth.rejected": 1, "predictions.rejected": 1}
    assert places(quarantine) == [
        ("ground_truth", "failed", "-1.jsonl", message),
        ("ours", "failed", "0.jsonl", message),
    ]


def test_a_prediction_and_then_its_truth_are_rejected() -> None:
    class Stubborn(RecordingBenchmark):
        def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
            raise RejectedRecord("ground_truth" if prediction is None else "prediction", "no")

    (found,), quarantine = score([sample("a", "x", "y")], benchmark=Stubborn(Options()))
    assert [entry.side for entry in quarantine] == ["ours", "ground_truth"]
    assert found.coverage == {"ground_truth.rejected": 1, "predictions.rejected": 1}
    assert found.prediction_status == "rejected"


def test_a_rejected_truth_counts_for_each_system() -> None:
    names = ("ours", "theirs", "others")
    scored, quarantine = score([sample("b", {"text": 1}, "x", None, "y")], names=names)
    assert [(each.system, each.coverage) for each in scored] == [
        (0, {"ground_truth.rejected": 1, "predictions.unmatched": 1}),
        (1, {"ground_truth.rejected": 1}),
        (2, {"ground_truth.rejected": 1, "predictions.unmatched": 1}),
    ]
    assert [(entry.side, entry.cause) for entry in quarantine] == [
        ("ground_truth", "invalid"),
        ("ours", "unmatched"),
        ("others", "unmatched"),
    ]


def test_a_sample_that_fails_with_one_system_is_scored_with_the_others() -> None:
    scored, quarantine = score([sample("b", "four", "score fails", "four")], names=("ours", "theirs"))
    assert sorted((each.system, each.status) for each in scored) == [(0, "rejected"), (1, "scored")]
    assert [(entry.side, entry.error.partition(" (")[2]) for entry in quarantine] == [
        ("ground_truth", "with the prediction of ours)"),
        ("ours", ""),
    ]


def test_extra_counts_of_a_score_come_into_the_coverage() -> None:
    found, _ = one("four", "odd")
    assert found.coverage == {"ground_truth.scored": 1, "predictions.scored": 1, "odd_texts": 1}


def test_batches_hold_no_more_than_the_benchmark_likes() -> None:
    samples = [sample(f"s{i}", "x", "x", "x") for i in range(5)]
    scored, _ = score(samples, names=("ours", "theirs"))
    assert len(scored) == 10
    assert sorted(each for batch in RecordingBenchmark.batches for each in batch) == sorted(
        [f"s{i}" for i in range(5)] * 2
    )
    assert max(map(len, RecordingBenchmark.batches)) == RecordingBenchmark.batch_size == 3


def test_a_batch_that_fails_is_scored_again_one_by_one() -> None:
    score([sample("a", "x", "x"), sample("b", "x", "batch fails"), sample("c", "x", "x"), sample("d", "x", "x")])
    assert RecordingBenchmark.batches == [["a", "b", "c"], ["a"], ["b"], ["c"], ["d"]]


def test_a_batch_without_samples_is_no_work() -> None:
    assert score([]) == ([], [])
    assert RecordingBenchmark.batches == []


def test_the_benchmark_is_set_up_and_torn_down() -> None:
    score([sample("a", "x", "x")])
    assert RecordingBenchmark.calls == ["setup", "teardown"]


def test_a_missing_tool_is_a_problem_of_the_input() -> None:
    class Toolless(RecordingBenchmark):
        def setup(self) -> None:
            raise MissingTool("pdflatex is not installed; install texlive")

    with pytest.raises(InputProblem) as problem:
        ScoreBatch(ScoringPlan(Toolless(Options()), "wrong", ("ours",))).setup()
    assert problem.value.message == "pdflatex is not installed; install texlive"


def test_columns_to_slice_by_are_taken_as_they_are() -> None:
    truth = {"text": "x", "tags": ["a", 1, None], "source": "web", "unused": 1}
    scored, _ = score([sample("a", truth, "x"), sample("b", "x", "x")], columns=("tags", "source", "text"))
    assert [each.slice_values for each in scored] == [(["a", 1, None], "web", "x"), (None, None, "x")]


def test_a_truth_that_cannot_be_read_belongs_to_no_slice() -> None:
    (found,), _ = score([sample("a", {"text": 1, "source": "web"}, "x")], columns=("source",))
    assert found.slice_values is None
    assert found.slices == ()


def test_the_unit_of_the_bootstrap_is_the_sample_or_its_cluster() -> None:
    values: list[Any] = ["d1", 1, "1", 1.5, None, {"b": 1, "a": 2}, {"a": 2, "b": 1}, True]
    samples = [sample(f"s{i}", {"text": "x", "page": value}, "x") for i, value in enumerate(values)]
    scored, _ = score(samples)
    assert [each.unit for each in scored] == [f"s{i}" for i in range(len(values))]
    scored, _ = score(samples, cluster="page", columns=("text",))
    assert [each.unit for each in scored] == [
        '"d1"',
        "1",
        '"1"',
        "1.5",
        # Without a cluster, a sample is one of its own.
        "sample:s4",
        '{"a":2,"b":1}',
        '{"a":2,"b":1}',
        "true",
    ]
    assert [each.slice_values for each in scored] == [("x",)] * len(values)
    # A cluster that is also sliced by is one column, not two.
    scored, _ = score(samples, cluster="page", columns=("page",))
    assert [each.slice_values for each in scored[:2]] == [("d1",), (1,)]


def test_samples_without_a_cluster_are_clusters_of_their_own() -> None:
    samples = [sample("a", {"text": "x"}, "x"), sample("b", {"text": "x", "page": None}, "x")]
    scored, _ = score(samples, cluster="page")
    assert [each.unit for each in scored] == ["sample:a", "sample:b"]


def test_a_truth_of_too_many_slices_is_rejected_with_the_columns() -> None:
    plan = ScoringPlan(
        RecordingBenchmark(Options()), "wrong", ("ours",), slicing=Slicing(("tags", "kinds"), ((0, 1),), 6)
    )
    tags = ["x", "y", "z"]
    good = sample("a", {"text": "x", "tags": tags, "kinds": [1, 2]}, "x")
    bad = sample("b", {"text": "x", "tags": tags, "kinds": [1, 2, 3]}, "x")
    scored, entries = score_batch(plan, [good, bad])
    assert [(entry.side, entry.sample_id, entry.cause) for entry in entries] == [
        ("ground_truth", "b", "invalid"),
        ("ours", "b", "unmatched"),
    ]
    assert entries[0].error.startswith("the columns tags (3), kinds (3) put the sample into 9 slices, more than the 6")
    assert {each.sample_id: (each.status, len(each.slices)) for each in scored} == {
        "a": ("scored", 6),
        "b": ("rejected", 0),
    }


def test_slices_have_the_columns_and_values_of_the_ground_truth() -> None:
    truth = {"text": "x", "tags": ["a", 1], "source": None}
    (found,), _ = score([sample("a", truth, "x")], columns=("tags", "source"))
    assert found.slices == (Slice(("tags",), ("a",)), Slice(("tags",), ("1",)), Slice(("source",), ("null",)))


def test_records_have_hashes_as_long_as_they_can_be_decoded() -> None:
    """The hash is that of the typed record: unknown columns and the order of keys are nothing to it."""
    texts = [b'{"sample_id": "a", "text": "x", "words": ["y"], "z": 1}', b'{"words":["y"], "text":"x"}']
    scored, _ = score([sample(str(number), text, "p") for number, text in enumerate(texts)])
    assert {each.truth_hash for each in scored} == {record_hash({"text": "x", "words": ["y"]})}
    assert {each.prediction_hash for each in scored} == {record_hash({"text": "p"})}
    for prediction, there in [(None, False), ({"text": 7}, False), ("prediction is bad", True), ("score fails", True)]:
        (found,), _ = score([sample("a", "x", prediction)])
        assert found.truth_hash == record_hash({"text": "x", "words": None})
        assert (found.prediction_hash is not None) == there
    (found,), _ = score([sample("a", {"text": 1}, "x")])
    assert (found.truth_hash, found.prediction_hash) == (None, None)


# What a benchmark may give for a sample.


class MetricBenchmark(ToyBenchmark):
    """Gives one value as the per-sample metric `similarity` of every sample."""

    value: Any = None

    def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
        return SampleScore({"samples": 1}, {"similarity": self.value})


def settled(value: Any) -> Any:
    """Returns the metric of a sample, or why it was rejected."""
    benchmark = MetricBenchmark(Options())
    benchmark.value = value
    scored, quarantine = score([sample("a", "x", "x")], benchmark=benchmark)
    return scored[0].metrics["similarity"] if scored[0].status == "scored" else quarantine[0].error


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400, "0.5", 1j, [0.5], Decimal("0.5"), np.ones(1)]
)
def test_a_metric_that_cannot_be_ordered_rejects_its_sample_by_name(value: Any) -> None:
    """NaN is neither above nor below anything: a list of the lowest would depend on the order of the samples."""
    assert settled(value).startswith("per-sample metric similarity: ")


@pytest.mark.parametrize(
    ("value", "metric"), [(1, 1.0), (True, 1.0), (-0.0, 0.0), (np.float32(0.5), 0.5), (np.int64(2), 2.0), (None, None)]
)
def test_a_metric_is_a_float_without_the_sign_of_a_zero(value: Any, metric: float | None) -> None:
    found = settled(value)
    assert (found, type(found), str(found)) == (metric, type(metric), str(metric))
