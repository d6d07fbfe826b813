"""One measured run: `python -m tests.bench.run floor|evaluate|score|steps BENCHMARK TRUTH PREDICTIONS [PROCESSES]`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import apache_beam as beam
import msgspec
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker

from beamscore.metrics.benchmark import Benchmark, Pair
from beamscore.metrics.registry import benchmark_class
from beamscore.metrics.scoring import score_pairs
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.pipelines import evaluate as evaluation
from beamscore.pipelines.commands import main
from beamscore.pipelines.commands.messages import use_format
from beamscore.pipelines.runners import launch
from beamscore.transforms.blocks import Block, BlockFolder, bucket_count
from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.files import SourceFile, match_files, part_size, split_file
from beamscore.transforms.io.restriction import RecordRange, RecordRangeTracker
from beamscore.transforms.io.rows import RecordLimits
from beamscore.transforms.pair import DeduplicateAndPair, samples_per_batch
from beamscore.transforms.process import gc_paused, one_blas_thread
from beamscore.transforms.publish import SampleWriter
from beamscore.transforms.read import ReadPart
from beamscore.transforms.records import GROUND_TRUTH
from beamscore.transforms.scored_batch import BatchDecoder, ScoredBatch, ScoringPlan, settle
from beamscore.transforms.slice import SumSlices
from tests.bench.measure import Cost, cost_of
from tests.plain_loop import decoded_pairs, make_benchmark, read_records

CHUNK = 1000
T = TypeVar("T")


class _Key(msgspec.Struct):
    sample_id: str


def _keyed(line: bytes) -> tuple[str, bytes]:
    return msgspec.json.decode(line, type=_Key).sample_id, line


def floor(benchmark: str, truth: str, predictions: str) -> Cost:
    """Beam's own floor: reads both sides, keys them, groups them, counts the groups; scores nothing."""

    def build(pipeline: beam.Pipeline) -> None:
        sides = {
            name: pipeline
            | f"Read {name}" >> beam.io.ReadFromText(path, coder=beam.coders.BytesCoder())
            | f"Key {name}" >> beam.Map(_keyed).with_output_types(tuple[str, bytes])
            for name, path in [("truth", truth), ("prediction", predictions)]
        }
        _ = (
            sides
            | beam.CoGroupByKey()
            | beam.Map(lambda group: sum(1 for side in group[1].values() for _ in side))
            | beam.combiners.Count.Globally()
        )

    return cost_of(lambda: launch.run(PipelineOptions([]), build))


def evaluate(benchmark: str, truth: str, predictions: str, processes: str = "1") -> Cost:
    """The whole evaluation, with intervals, samples and report; and what of it scoring, decoding and the page took."""
    scoring = _watch(benchmark_class(benchmark), "score")
    decoding = _watch(BatchDecoder, "decode")
    page = _watch(evaluation, "run_reports")
    _watch(evaluation.DrawCard, "process", page)
    with tempfile.TemporaryDirectory() as output:
        arguments = ["evaluate", benchmark, "--ground-truth", truth, "--predictions", predictions, "--output", output]
        codes: list[int] = []
        cost = cost_of(lambda: codes.append(main.main([*arguments, "--quiet", "--processes", processes])))
        if codes != [0]:
            raise RuntimeError(f"the evaluation exits with code {codes[0]}")
    return replace(cost, scoring_seconds=scoring[0], decoding_seconds=decoding[0], page_seconds=page[0])


def _watch(owner: Any, name: str, total: list[float] | None = None) -> list[float]:
    """Adds up the processor time of a function where it is called in this process; returns the running sum."""
    total = [0.0] if total is None else total
    function = getattr(owner, name)

    @functools.wraps(function)
    def watched(*arguments: Any, **named: Any) -> Any:
        started = time.thread_time()
        try:
            found = function(*arguments, **named)
            return list(found) if inspect.isgenerator(found) else found
        finally:
            total[0] += time.thread_time() - started

    setattr(owner, name, watched)
    return total


def score(benchmark: str, truth: str, predictions: str) -> Cost:
    """The scoring functions alone, on records that have been decoded."""
    made = make_benchmark(benchmark)
    truths, predicted = read_records(Path(truth)), read_records(Path(predictions))
    samples, seconds = list(truths), 0.0
    made.setup()
    one_blas_thread.__enter__()
    for start in range(0, len(samples), CHUNK):
        pairs = decoded_pairs(made, {key: truths[key] for key in samples[start : start + CHUNK]}, predicted)
        seconds += cost_of(lambda pairs=pairs: score_in_batches(made, pairs)).seconds  # type: ignore[misc]
    made.teardown()
    return Cost(seconds, 0)


def score_in_batches(benchmark: Benchmark[Any, Any, Any], pairs: Sequence[Pair[Any, Any]]) -> None:
    """Scores pairs as the pipeline does, a batch at a time."""
    for start in range(0, len(pairs), benchmark.batch_size):
        benchmark.score(pairs[start : start + benchmark.batch_size])


def steps(benchmark: str, truth: str, predictions: str) -> Cost:
    """The steps of the path one after the other, without a runner; `steps` of the cost tells the seconds of each."""
    made = make_benchmark(benchmark)
    inputs = [match_files(side, [path], path)[0] for side, path in ((GROUND_TRUTH, truth), (0, predictions))]
    clock = Steps()
    made.setup()
    one_blas_thread.__enter__()
    batches = clock.timed("pair: sort, pair, make batches", paired(clock, made, inputs))
    plan = ScoringPlan(made, "wrong", ("ours",))
    decoder, sums = BatchDecoder(plan), SumSlices((), Bootstrap(), 1)
    sums.setup()
    sums.start_bundle()
    with tempfile.TemporaryFile() as stream:
        writer = SampleWriter(("ours",), made.sample_metric_names(), (), b"rules", stream)
        for batch in batches:
            scored = ScoredBatch(("ours",))
            with clock.of("score: decode records"), gc_paused():
                decoded = decoder.decode(batch)
            with clock.of("score: hash records"), gc_paused():
                jobs = decoder.jobs(batch, decoded, scored)
            with clock.of("score: scoring functions"):
                outcomes = score_pairs(made, [job.sample.pair for job in jobs])
            with clock.of("score: settle"):
                for job, outcome in zip(jobs, outcomes, strict=True):
                    settle(job, outcome, scored)
            with clock.of("score: free what was decoded"):
                del decoded, jobs, job
            with clock.of("slice: add up with 200 replicates"):
                exhaust(sums.process(scored.samples))
            with clock.of("write: tables, Parquet"):
                writer.write(scored.samples)
        with clock.of("write: tables, Parquet"):
            writer.close()
    made.teardown()
    return Cost(sum(clock.seconds.values()), 0, steps=clock.seconds)


class Steps:
    """The processor seconds of each step; a step that takes what another yields does not count the other's."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = 0.0

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Counts what is done within, but for the steps within that."""
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def timed(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """Yields the items, and counts what making them takes."""
        iterator = iter(items)
        while True:
            with self.of(name):
                item = next(iterator, None)
            if item is None:
                return
            yield item

    def _switch(self) -> None:
        now = time.thread_time()
        if self._running:
            name = self._running[-1]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now


def paired(clock: Steps, benchmark: Benchmark[Any, Any, Any], inputs: Sequence[SourceFile]) -> Iterator[Any]:
    """Yields the batches of samples of two files, read and paired without a runner, with blocks as in a local run."""
    buckets = bucket_count(inputs)
    pairing = DeduplicateAndPair(["ours"], samples_per_batch(benchmark.batch_size))
    groups: dict[int, list[Block]] = {}
    with tempfile.TemporaryDirectory() as folder:
        columns = {side: SideColumns(None, frozenset()) for side in (GROUND_TRUTH, 0)}
        reader = ReadPart(["ours"], columns, RecordLimits(), buckets=buckets, folder=BlockFolder(folder))
        with clock.of("read: lines, sample_ids, blocks"):
            reader.start_bundle()
            for part in (part for file in inputs for part in split_file(file, part_size(inputs))):
                tracker = ThreadsafeRestrictionTracker(RecordRangeTracker(RecordRange()))
                for output in reader.process(part, RestrictionTrackerView(tracker)):
                    if not isinstance(output, TaggedOutput):
                        groups.setdefault(output[0], []).append(output[1])
            for last in reader.finish_bundle():
                if not isinstance(last, TaggedOutput):
                    groups.setdefault(last.value[0], []).append(last.value[1])
        pairing.start_bundle()
        for group in groups.items():
            yield from (batch for batch in pairing.process(group) if not isinstance(batch, TaggedOutput))
        yield from (last.value for last in pairing.finish_bundle() if not isinstance(last, TaggedOutput))


def exhaust(items: Iterable[Any]) -> None:
    """Takes all items."""
    for _ in items:
        pass


if __name__ == "__main__":
    use_format("text", False)
    cost = {"floor": floor, "evaluate": evaluate, "score": score, "steps": steps}[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(asdict(cost)))
