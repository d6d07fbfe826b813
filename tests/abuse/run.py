"""A worst-case sample, scored among ordinary ones in a process of its own, and what it costs."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from beamscore.metrics.benchmark import AnyBenchmark, Pair, RejectedRecord, SampleScore, error_text
from beamscore.metrics.statistics.bootstrap import checked_statistics
from beamscore.pipelines.config.settings import LimitSettings
from beamscore.transforms.io.readers import nesting_problem
from beamscore.transforms.process import gc_paused
from tests.bench.measure import alone, peak_bytes, processor_seconds
from tests.plain_loop import comparable, make_benchmark, ready

MAX_SECONDS = 5.0
MAX_BYTES = 1 << 30
FAILED = "failed: "
"""A verdict that starts so ends `make abuse` with 1, whatever it cost."""

_TIMEOUT_S = 60
_ADDRESS_SPACE = 8 << 30
"""Enough to see by how much a case is above MAX_BYTES, and too little to harm the machine."""

Texts = tuple[str, "str | None"]
"""The records of a pair as JSON text."""


class Case(NamedTuple):
    """A sample by what it abuses; `truth` and `prediction` are records without `sample_id`."""

    name: str
    truth: dict[str, Any]
    prediction: dict[str, Any] | None


class Outcome(NamedTuple):
    """What a case cost and how it ended: processor seconds of the process and its children, peak memory, in words."""

    seconds: float
    peak_bytes: int
    verdict: str

    @property
    def failed(self) -> bool:
        return self.seconds > MAX_SECONDS or self.peak_bytes > MAX_BYTES or self.verdict.startswith(FAILED)


def run_case(benchmark: str, options: dict[str, Any], case: Case, neighbours: Sequence[tuple[Any, Any]]) -> Outcome:
    """Scores `case` in the midst of its neighbours in a fresh process, so that peak memory is its own."""
    pairs = (case.truth, case.prediction), *neighbours
    texts, *others = [(_text(first), None if second is None else _text(second)) for first, second in pairs]
    limit = LimitSettings().record_bytes
    if (largest := max(len((text or "").encode()) for text in texts)) > limit:
        return Outcome(0.0, 0, f"{FAILED}no case: a record of {largest} bytes is never scored, at most {limit}")
    return isolated(score_among, benchmark, options, texts, others)


def _text(record: dict[str, Any]) -> str:
    return json.dumps({"sample_id": "worst case", **record}, ensure_ascii=False, separators=(",", ":"))


def isolated(work: Callable[..., Outcome], *arguments: Any) -> Outcome:
    """Returns what `work` does in a fresh process, with limits on its time and memory."""
    try:
        return alone(work, *arguments, seconds=_TIMEOUT_S, most_bytes=_ADDRESS_SPACE)
    except TimeoutError:
        return Outcome(_TIMEOUT_S, 0, f"{FAILED}killed")
    except ChildProcessError as error:
        return Outcome(0.0, 0, f"{FAILED}{error}")


def score_among(name: str, options: dict[str, Any], case: Texts, others: Sequence[Texts]) -> Outcome:
    """Scores the neighbours alone, then with the case in their midst, which is what is measured."""
    with ready(make_benchmark(name, **options)) as benchmark:
        neighbours = [_decoded(benchmark, *texts, f"neighbour {n}") for n, texts in enumerate(others)]
        undisturbed = among = [comparable(result) for result in benchmark.score(neighbours)]
        before = processor_seconds()
        try:
            among, verdict = _score_among(benchmark, case, neighbours)
        except Exception as error:  # noqa: BLE001 - whatever a case does is a row of the table
            verdict = f"{FAILED}{type(error).__name__}: {error_text(error)}"
        seconds = processor_seconds() - before
        truth, prediction = case
        # Of a large prediction against a ground truth that is rejected, nothing is scored.
        if 4 * len(truth) < len(prediction or ""):
            _, of_truth = _score_among(benchmark, (truth, None), [])
            if not of_truth.startswith("scored, "):
                verdict = f"{FAILED}no case: the ground truth alone is {of_truth}"
    if among != undisturbed:
        verdict = f"{FAILED}the results of its neighbours change ({verdict})"
    return Outcome(seconds, peak_bytes(), verdict)


def _score_among(benchmark: AnyBenchmark, case: Texts, neighbours: list[Pair[Any, Any]]) -> tuple[list[bytes], str]:
    """Returns the neighbours' results as bytes, and how the case ended; a rejected prediction counts as missing."""
    try:
        pair = _decoded(benchmark, *case, "worst case")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return [comparable(result) for result in benchmark.score(neighbours)], f"rejected: {error_text(error)}"
    middle = len(neighbours) // 2
    results = benchmark.score([*neighbours[:middle], pair, *neighbours[middle:]])
    result = results.pop(middle)
    verdict = _verdict(result)
    if isinstance(result, RejectedRecord) and result.side == "prediction" and pair.prediction is not None:
        [result] = benchmark.score([Pair(pair.sample_id, pair.truth, None)])
        verdict += f"; without a prediction: {_verdict(result)}"
    return [comparable(each) for each in results], verdict


def _decoded(benchmark: AnyBenchmark, truth: str, prediction: str | None, sample_id: str) -> Pair[Any, Any]:
    """Returns a pair as the pipeline makes it of two records; raises msgspec.MsgspecError where one is invalid."""
    for text in (truth, prediction or ""):
        if problem := nesting_problem(text.encode(), LimitSettings().depth):
            raise msgspec.ValidationError(f"the record {problem}")
    with gc_paused():
        of_truth = msgspec.json.decode(truth, type=benchmark.truth_type)
        read = None if prediction is None else msgspec.json.decode(prediction, type=benchmark.prediction_type)
    return Pair(sample_id, of_truth, read)


def _verdict(result: SampleScore | RejectedRecord) -> str:
    if isinstance(result, RejectedRecord):
        return f"rejected ({result.side}): {result.message}"
    checked_statistics(result.statistics)
    return f"scored, {len(msgspec.json.encode(result.details))} bytes of details"
