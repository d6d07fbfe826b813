"""A worst-case sample, scored among ordinary ones in a process of its own, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from beamscore.metrics.benchmark import AnyBenchmark, Pair, explain
from beamscore.metrics.scoring import score_pairs
from beamscore.pipelines.config.settings import LimitSettings
from beamscore.transforms.io.readers import nesting_problem
from beamscore.transforms.process import gc_paused
from tests.bench.measure import alone, peak_bytes, processor_seconds
from tests.plain_loop import comparable, make_benchmark

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
        """Tells whether the case is above a limit or did harm."""
        return self.seconds > MAX_SECONDS or self.peak_bytes > MAX_BYTES or self.verdict.startswith(FAILED)


def run_case(benchmark: str, options: dict[str, Any], case: Case, neighbours: Sequence[tuple[Any, Any]]) -> Outcome:
    """Scores `case` in the midst of its neighbours in a fresh process, so that peak memory is its own."""
    texts, *others = [
        (_text(first), None if second is None else _text(second))
        for first, second in ((case.truth, case.prediction), *neighbours)
    ]
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
    benchmark = make_benchmark(name, **options)
    benchmark.setup()
    try:
        neighbours = [_decoded(benchmark, *texts) for texts in others]
        undisturbed = among = _scored(benchmark, neighbours)
        before, middle = processor_seconds(), len(neighbours) // 2
        try:
            pairs = [*neighbours[:middle], _decoded(benchmark, *case), *neighbours[middle:]]
            among = _scored(benchmark, pairs)
            verdict = "; ".join(among.pop(middle)[1])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            verdict = f"rejected: {explain(error)}"
        except Exception as error:  # noqa: BLE001 - whatever a case does is a row of the table
            verdict = f"{FAILED}{type(error).__name__}: {explain(error)}"
        seconds = processor_seconds() - before
    finally:
        benchmark.teardown()
    if among != undisturbed:
        verdict = f"{FAILED}the results of its neighbours change ({verdict})"
    return Outcome(seconds, peak_bytes(), verdict)


def _scored(benchmark: AnyBenchmark, pairs: Sequence[Pair[Any, Any]]) -> list[tuple[bytes, list[str]]]:
    """Returns the result of each pair as bytes, and how it ended; a rejected prediction counts as missing."""
    results = []
    for outcome in score_pairs(benchmark, pairs):
        problems = [each for each in (outcome.prediction_rejected, outcome.rejected) if each is not None]
        said = [f"rejected ({each.side}): {each.message}" for each in problems]
        if outcome.score is not None:
            said.append(f"scored, {len(bytes(outcome.score.details))} bytes of details")
        # What a benchmark did not foresee is rejected too, and harm.
        if any(each.message.startswith(("scoring failed: ", "statistic")) for each in problems):
            said[0] = FAILED + said[0]
        results.append((comparable(outcome.score or problems[-1]), said))
    return results


def _decoded(benchmark: AnyBenchmark, truth: str, prediction: str | None) -> Pair[Any, Any]:
    """Returns a pair as the pipeline makes it of two records; raises msgspec.MsgspecError where one is invalid."""
    for text in (truth, prediction or ""):
        if problem := nesting_problem(text.encode(), LimitSettings().depth):
            raise msgspec.ValidationError(f"the record {problem}")
    kind: Any = benchmark.prediction_type | None
    with gc_paused():
        truth_read = msgspec.json.decode(truth, type=benchmark.truth_type)
        return Pair("", truth_read, msgspec.json.decode(prediction or "null", type=kind))
