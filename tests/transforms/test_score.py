"""Scoring in batches: every way to fail, what it does to the coverage, and what it leaves alone."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pytest
from msgspec.structs import replace

from beamscore.metrics.benchmark import Pair, RejectedRecord, SampleScore
from beamscore.metrics.scoring import Missing
from beamscore.pipelines.runs.documents import coverage_document
from beamscore.transforms.evaluate import ScoreBatch
from beamscore.transforms.hashes import record_hash
from beamscore.transforms.records import GROUND_TRUTH, EncodedRecord, Quarantined
from beamscore.transforms.repeats import COUNTED_REPEATS, MISSING_REPEATS
from beamscore.transforms.scored import WITHOUT_FIELDS, PairedSample, ScoredSample, ScoringPlan
from beamscore.transforms.slice_labels import Slice, Slicing
from tests.toy import Options, Prediction, ToyBenchmark, Truth
from tests.transforms.samples import by_tag, encoded

REJECTED_TRUTH = "the ground truth of this sample was rejected"


class RecordingBenchmark(ToyBenchmark):
    """Keeps what it was asked to do."""

    batches: ClassVar[list[str]] = []
    calls: ClassVar[list[str]] = []

    def setup(self) -> None:
        self.calls.append("setup")

    def teardown(self) -> None:
        self.calls.append("teardown")

    def score(self, pairs: Sequence[Pair[Truth, Prediction]]) -> list[SampleScore | RejectedRecord]:
        self.batches.append("".join(pair.sample_id for pair in pairs))
        if any(pair.prediction and pair.prediction.text == "batch fails" for pair in pairs):
            raise ArithmeticError
        return super().score(pairs)


def frame(side: int, sample_id: str, record: Any) -> EncodedRecord | None:
    """A record from a dict, the text of a prediction, raw bytes, or None."""
    fields = {"text": record} if isinstance(record, str) else record
    content = fields if isinstance(fields, bytes) or fields is None else {"sample_id": sample_id, **fields}
    return None if content is None else encoded(side, content, path=f"{side}.jsonl")


def sample(sample_id: str, truth: Any, *predictions: Any) -> PairedSample:
    truth_frame = frame(GROUND_TRUTH, sample_id, truth)
    assert truth_frame is not None
    return PairedSample(sample_id, truth_frame, tuple(frame(n, sample_id, each) for n, each in enumerate(predictions)))


def score(
    samples: Sequence[PairedSample], columns: tuple[str, ...] = (), benchmark: ToyBenchmark | None = None, **plan: Any
) -> tuple[list[ScoredSample], list[Quarantined]]:
    """Scores a batch; returns its rows and its quarantine."""
    slicing = Slicing(columns, tuple((column,) for column in columns))
    plan = {"missing": "wrong", "names": ("ours",), "slicing": slicing, **plan}
    do_fn = ScoreBatch(ScoringPlan(benchmark or RecordingBenchmark(Options()), **plan))
    do_fn.setup()
    found = by_tag(do_fn.process(list(samples)))
    do_fn.teardown()
    (scored,) = found["main"]
    assert found["batches"] == [(list(samples), scored)]
    return scored, found["quarantine"]


def one(truth: Any, prediction: Any, missing: Missing = "wrong") -> tuple[ScoredSample, Any]:
    """Scores a sample among two good ones, which must come out as ever; returns it and its quarantine in words."""
    samples = [sample("a", "x", "x"), sample("b", truth, prediction), sample("c", "x", "y")]
    scored, quarantine = score(samples, missing=missing)
    by_id = {each.sample_id: each for each in scored}
    assert len(scored) == len(by_id) == 3
    for neighbour, equal in [("a", 1), ("c", 0)]:
        found = by_id[neighbour]
        assert (found.status, found.statistics) == ("scored", {"samples": 1, "equal": equal, "similarity": 1.0})
        assert found.coverage == {"ground_truth.scored": 1, "predictions.scored": 1}
    assert all(entry.sample_id == "b" and entry.stage == "score" for entry in quarantine)
    code = re.compile(r"\w+\.py:\d+ in \w+\Z")
    return by_id["b"], [(each.side, each.source, each.cause, code.sub("a line", each.error)) for each in quarantine]


def test_a_scored_sample() -> None:
    # The lengths 4 and 3 differ by 1, so the similarity is 1 / (1 + 1).
    expected = ScoredSample(
        *("b", 0, "scored", "scored", "b"),
        coverage={"ground_truth.scored": 1, "predictions.scored": 1},
        slices=(),
        slice_values=(),
        statistics={"samples": 1, "equal": 0, "similarity": 0.5},
        metrics={"exact_match": 0, "similarity": 0.5},
        truth_hash=record_hash(Truth("four")),
        prediction_hash=record_hash(Prediction("six")),
        details=b'{"read":"six"}',
    )
    assert one("four", "six") == (expected, [])
    # The hash is that of the typed record: unknown columns and the order of keys are nothing to it.
    assert one(b'{"words": null, "z": 1, "text": "four"}', "six") == (expected, [])
    for prediction, there in [(None, False), ({"text": 7}, False), ("prediction is bad", True), ("score fails", True)]:
        found, _ = one("four", prediction)
        assert (found.truth_hash is not None, found.prediction_hash is not None) == (True, there)
    assert score([]) == ([], [])


INFINITE = "statistic similarity: a statistic must be finite and at most 4294967296 in magnitude, not inf"


@pytest.mark.parametrize(
    ("statuses", "truth", "prediction", "message"),
    [
        # A missing prediction is wrong or left out, and a rejected one is as good as none.
        ("missing_prediction", "four", None, ""),
        ("missing_prediction rejected", "four", "prediction is bad", "the prediction is bad"),
        ("missing_prediction rejected", "four", {"text": 7}, "Expected `str`, got `int` - at `$.text`"),
        ("missing_prediction rejected", "four", {"words": []}, "Object missing required field `text`"),
        ("missing_prediction rejected", "four", b'{"sample_id": "b", "text": "\xff"}', "a text is not UTF-8"),
        # A rejected truth takes its sample out.
        ("rejected", "truth is bad", None, "the truth is bad"),
        ("rejected unmatched", "truth is bad", "fine", "the truth is bad"),
        ("rejected", {"text": None}, None, "Expected `str`, got `null` - at `$.text`"),
        ("rejected unmatched", {"words": 3, "text": ""}, "x", "Expected `array | null`, got `int` - at `$.words`"),
        # A sample that cannot be scored takes both records out.
        ("rejected rejected", "four", "score fails", "scoring failed: ZeroDivisionError: no luck at a line"),
        ("rejected rejected", "four", "batch fails", "scoring failed: ArithmeticError: ArithmeticError at a line"),
        ("rejected rejected", "four", "score is infinite", INFINITE),
    ],
)
def test_what_is_missing_or_rejected_and_what_that_does_to_the_coverage(
    statuses: str, truth: Any, prediction: Any, message: str
) -> None:
    found, quarantine = one(truth, prediction)
    both = dict(zip(("ground_truth", "predictions"), statuses.split(), strict=False))
    assert (found.status, found.prediction_status) == (both["ground_truth"], both.get("predictions"))
    assert found.coverage == {f"{side}.{status}": 1 for side, status in both.items()}
    wrong = {"samples": 1, "equal": 0, "similarity": 0.0}, {"exact_match": 0.0, "similarity": 0.0}, b'{"read":null}'
    nothing: Any = (None, {}, b"null")
    assert (found.statistics, found.metrics, found.details) == (nothing if found.status == "rejected" else wrong)
    if found.status == "missing_prediction":
        excluded, _ = one(truth, prediction, "exclude")
        assert (excluded.statistics, excluded.metrics, excluded.details) == nothing
        assert (excluded.status, excluded.coverage) == (found.status, found.coverage)
    of_truth, of_prediction = ("ground_truth", "-1.jsonl"), ("ours", "0.jsonl")
    expected = {
        "missing_prediction rejected": [(*of_prediction, "invalid", message)],
        "rejected": [(*of_truth, "invalid", message)],
        "rejected unmatched": [(*of_truth, "invalid", message), (*of_prediction, "unmatched", REJECTED_TRUTH)],
        "rejected rejected": [(*side, "failed", message) for side in (of_truth, of_prediction)],
    }
    assert quarantine == expected.get(statuses, [])


@pytest.mark.parametrize("prediction", ["rejected by the score", {"text": 7}])
def test_a_prediction_and_then_its_truth_are_rejected(prediction: Any) -> None:
    class Stubborn(RecordingBenchmark):
        def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
            raise RejectedRecord("prediction", "no")

    systems = "ours", "theirs"
    (found, _), quarantine = score([sample("a", "x", prediction, None)], names=systems, benchmark=Stubborn(Options()))
    of_truth = [("ground_truth", name, f"no (without a prediction of {name})") for name in systems]
    assert quarantine[0].side == "ours"
    assert [(entry.side, entry.system, entry.error) for entry in quarantine[1:]] == of_truth
    assert found.coverage == {"ground_truth.rejected": 1, "predictions.rejected": 1}
    assert found.prediction_status == "rejected"


def test_what_is_rejected_counts_for_each_system_that_it_concerns() -> None:
    names = ("ours", "theirs", "others")
    scored, quarantine = score([sample("b", {"text": 1}, "x", None, "y")], names=names)
    unmatched = {"ground_truth.rejected": 1, "predictions.unmatched": 1}
    expected = [(0, unmatched), (1, {"ground_truth.rejected": 1}), (2, unmatched)]
    assert [(each.system, each.coverage) for each in scored] == expected
    causes = [("ground_truth", "invalid"), ("ours", "unmatched"), ("others", "unmatched")]
    assert [(entry.side, entry.cause) for entry in quarantine] == causes
    of_pairs = [sample("b", "four", "score fails", "four"), sample("c", "truth is bad", "x", "y")]
    scored, quarantine = score(of_pairs, names=names[:2])
    assert [(each.system, each.status) for each in scored[:2]] == [(0, "rejected"), (1, "scored")]
    entries = [(entry.side, entry.system, entry.error.partition(" (")[2]) for entry in quarantine]
    failed = [("ground_truth", "ours", "with the prediction of ours)"), ("ours", "", "")]
    assert entries == [*failed, ("ground_truth", "", ""), ("ours", "", ""), ("theirs", "", "")]
    # Where a system has no prediction, and that is left out, nothing was rejected for it.
    _, left_out = score([sample("d", "truth is bad", "x", None)], names=names[:2], missing="exclude")
    assert [(entry.side, entry.system) for entry in left_out] == [("ground_truth", "ours"), ("ours", "")]


def test_batches_are_those_that_the_benchmark_likes_and_one_that_fails_is_scored_one_by_one() -> None:
    RecordingBenchmark.batches.clear()
    RecordingBenchmark.calls.clear()
    scored, _ = score([sample(name, "x", "x", "x") for name in "abcde"], names=("ours", "theirs"))
    assert len(scored) == 10
    assert "".join(sorted("".join(RecordingBenchmark.batches))) == "aabbccddee"
    assert max(map(len, RecordingBenchmark.batches)) == RecordingBenchmark.batch_size == 3
    RecordingBenchmark.batches.clear()
    score([sample("a", "x", "x"), sample("b", "x", "batch fails"), sample("c", "x", "x"), sample("d", "x", "x")])
    assert RecordingBenchmark.batches == ["abc", "a", "b", "c", "d"]
    assert RecordingBenchmark.calls == ["setup", "teardown"] * 2


def test_slices_have_the_columns_and_values_of_the_ground_truth_as_they_are() -> None:
    truth = {"text": "x", "tags": ["a", 1.0, None], "source": "web", "unused": 1}
    samples = [sample("a", truth, "x"), sample("b", "x", "x"), sample("c", {"text": 1, "source": "web"}, "x")]
    found = {each.sample_id: each for each in score(samples, columns=("tags", "source", "text"))[0]}
    values = {"a": (["a", 1, None], "web", "x"), "b": (None, None, "x"), "c": (None, "web", 1)}
    assert {name: each.slice_values for name, each in found.items()} == values
    of_b = [Slice(("tags",), ("null",)), Slice(("source",), ("null",)), Slice(("text",), ("x",))]
    assert list(found["b"].slices) == of_b
    # A ground truth that is rejected is in its slices.
    assert [each.values for each in found["c"].slices] == [("null",), ("web",), ("1",)]
    assert [each.values for each in found["a"].slices] == [("a",), ("1",), ("null",), ("web",), ("x",)]


def test_the_unit_of_the_bootstrap_is_the_sample_or_its_cluster() -> None:
    values: list[Any] = ["d1", 1.0, "1", 1.5, None, {"b": 1, "a": 2.0}, {"a": 2, "b": 1}, True, 2.0**53]
    samples = [sample(f"s{i}", {"text": "x", "page": value}, "x") for i, value in enumerate(values)]
    samples.append(sample("s9", "x", "x"))
    assert [each.unit for each in score(samples)[0]] == [f"s{i}" for i in range(10)]
    scored, _ = score(samples, cluster="page", columns=("text",))
    # Without a cluster, a sample is one of its own. From 2**53 on, a float does not tell which integer it is.
    units = ['"d1"', "1", '"1"', "1.5", "sample:s4", *['{"a":2,"b":1}'] * 2, "true", "9007199254740992.0", "sample:s9"]
    assert [(each.unit, each.slice_values) for each in scored] == [(unit, ("x",)) for unit in units]
    # A cluster that is also sliced by is one column, not two.
    scored, _ = score(samples[:2], cluster="page", columns=("page",))
    assert [each.slice_values for each in scored] == [("d1",), (1,)]


def test_a_truth_of_too_many_slices_is_rejected_with_the_columns() -> None:
    tags = ["x", "y", "z"]
    good = sample("a", {"text": "x", "tags": tags, "kinds": [1, 2]}, "x")
    bad = sample("b", {"text": "x", "tags": tags, "kinds": [1, 2, 3]}, "x")
    scored, entries = score([good, bad], slicing=Slicing(("tags", "kinds"), (("tags", "kinds"),), 6))
    causes = [("ground_truth", "b", "invalid"), ("ours", "b", "unmatched")]
    assert [(entry.side, entry.sample_id, entry.cause) for entry in entries] == causes
    assert entries[0].error.startswith("the columns tags (3), kinds (3) put the sample into 9 slices, more than the 6")
    found = {each.sample_id: (each.status, len(each.slices)) for each in scored}
    assert found == {"a": ("scored", 6), "b": ("rejected", 0)}


def settled(result: Exception | None = None, **changed: Any) -> Any:
    """Returns the row of a sample whose score or result is changed, or why it was rejected; others come out as ever."""

    class Changed(ToyBenchmark):
        def score_sample(self, truth: Truth, prediction: Prediction | None) -> Any:
            score = super().score_sample(truth, prediction)
            if truth.text != "changed":
                return score
            if result is not None:
                raise result
            return replace(score, **changed) if changed else None

    samples = [sample("a", "x", "x"), sample("b", "changed", "x"), sample("c", "x", "x")]
    (first, found, last), quarantine = score(samples, benchmark=Changed(Options()))
    assert (first.status, last.status) == ("scored", "scored")
    entries = [(entry.sample_id, entry.cause) for entry in quarantine]
    assert entries == ([] if found.status == "scored" else [("b", "failed")] * 2)
    return quarantine[0].error if quarantine else found


def test_a_metric_is_a_float_without_the_sign_of_a_zero_or_rejects_its_sample() -> None:
    """NaN is neither above nor below anything: a list of the lowest would depend on the order of the samples."""
    for bad in (math.nan, -math.inf, np.float64("nan"), 10**400, "0.5", 1j, [0.5], Decimal("0.5"), np.ones(1)):
        assert settled(metrics={"similarity": bad}).startswith("per-sample metric similarity: ")
    for value, metric in ((1, 1.0), (True, 1.0), (-0.0, 0.0), (np.float32(0.5), 0.5), (np.int64(2), 2.0), (None, None)):
        found = settled(metrics={"similarity": value}).metrics["similarity"]
        assert (found, type(found), str(found)) == (metric, type(metric), str(metric))
    assert settled(metrics={"likeness": 1}) == "per-sample metric likeness: it is not declared in sample_metrics"


def test_a_count_that_the_coverage_cannot_hold_rejects_its_sample() -> None:
    own = (*coverage_document({}), COUNTED_REPEATS, MISSING_REPEATS, *WITHOUT_FIELDS.values())
    for name in (*own, "words.read"):
        said = f"coverage {name}: a count needs another name, without a dot"
        assert settled(coverage={"words": 1, name: 1}) == said
    for bad in (0.5, True, None, "1", np.int64(-1), 2**70):
        said = "coverage words: must be a whole number from 0 to 4294967296, not "
        assert settled(coverage={"words": bad}).startswith(said)
    found = settled(coverage={"words": np.int64(3)})
    assert str(found.coverage) == "{'ground_truth.scored': 1, 'predictions.scored': 1, 'words': 3}"


def test_what_is_no_score_rejects_its_sample_alone() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    for name in ("statistics", "metrics", "coverage"):
        for value in (None, [1], [("n", 1)], {1: 1, "n": 1}, {None: 1}, {"": 1}, {"\ud800": 1}):
            said = f"{name}: found {value!r}; allowed: a dict of numbers by name, which is text and not empty"
            changed: Any = {name: value}
            assert settled(**changed).startswith(said)
    sides: Any = RejectedRecord
    for error, said in (
        (sides("sample", "it took too long"), "it took too long"),
        (sides("sample", None), "None"),
        (sides("sample", 5), "5"),
        (sides("nobody", "no"), "no (found the side 'nobody'; allowed: ground_truth, prediction, sample)"),
        (Unprintable(), "scoring failed: Unprintable: Unprintable at test_score.py"),
    ):
        assert settled(error).startswith(said)
    assert settled() == "the benchmark returned NoneType instead of a SampleScore"
    assert settled(details=object()) == "details: Encoding objects of type object is unsupported"
    assert settled(details="\ud800").startswith("details: 'utf-8' codec can't encode character '\\ud800' in ")


def test_a_batch_of_the_wrong_length_is_scored_one_by_one_or_rejected_with_the_class() -> None:
    class Short(ToyBenchmark):
        least = 1

        def score(self, pairs: Sequence[Pair[Truth, Prediction]]) -> list[SampleScore | RejectedRecord]:
            return super().score(pairs)[: None if len(pairs) == self.least else -1]

    samples = [sample(name, "x", "x") for name in "abc"]
    assert [each.status for each in score(samples, benchmark=Short(Options()))[0]] == ["scored"] * 3
    Short.least = 0
    scored, quarantine = score(samples, benchmark=Short(Options()))
    assert [each.status for each in scored] == ["rejected"] * 3
    assert "Short) returned 0 results where 1 are due" in quarantine[0].error


def test_the_worst_repeat_is_shown_and_one_that_was_scored_before_any_other() -> None:
    class Numbers(ToyBenchmark):
        def score_sample(self, truth: Truth, prediction: Prediction | None) -> SampleScore:
            if prediction is None or prediction.text == "bad":
                raise RejectedRecord("sample", "no number")
            return SampleScore({"samples": 1}, {"similarity": float(prediction.text) if prediction.text else None})

    for texts, worst in ((["", "0.5", "0.2", "0.2"], "2"), (["bad", "0.5", ""], "1"), (["bad", ""], "1")):
        labels = [str(number) for number in range(len(texts))]
        records = [sample("a", "x", {"text": text, "repeat": label}) for text, label in zip(texts, labels, strict=True)]
        predictions = tuple(each.predictions[0] for each in records)
        do_fn = ScoreBatch(ScoringPlan(Numbers(Options()), "wrong", ("ours",), repeats=True))
        do_fn.setup()
        found = by_tag(do_fn.process([PairedSample("a", records[0].truth, predictions)], [(0, n) for n in labels]))
        (((shown,), (scored,)),) = found["batches"]
        assert (json.loads(scored.details)["worst"], shown.predictions) == (worst, (predictions[int(worst)],))
