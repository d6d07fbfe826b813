"""The evaluation: read, pair, score, slice, combine, finalise, publish.

Records travel in blocks, samples in batches; see docs/architecture.md.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import apache_beam as beam

from ..metrics.benchmark import Benchmark
from ..metrics.statistics.bootstrap import Bootstrap
from ..transforms.blas import one_blas_thread
from ..transforms.blocks import bucket_count
from ..transforms.combine import MergeSums, SumStatistics
from ..transforms.earlier_rows import EarlierRows, ReusedRows
from ..transforms.faults import faults_end_the_bundle
from ..transforms.finalize import ComputeValues
from ..transforms.hashes import scoring_signature
from ..transforms.io.published import check_not_replaced
from ..transforms.io.staging import StagedFolder
from ..transforms.io.storage import prepare_output
from ..transforms.pair import PairBySample, samples_per_batch
from ..transforms.pick import KeepPicked, PickedSample, Picks, order_of_picked
from ..transforms.publish import Publish, WriteQuarantine, WriteSamples, encode_json, no_samples
from ..transforms.quarantine import CountCauses
from ..transforms.records import EARLIER_ROWS, REUSED_ROWS
from ..transforms.rows import ReadRowBlocks
from ..transforms.score import ScoreSamples, ScoringPlan
from ..transforms.slice import CheckSliceCount, SliceSamples
from ..transforms.slice_labels import Slicing
from .config.errors import UsageError
from .config.gates import check_targets
from .config.inputs import Inputs, find_inputs
from .config.settings import Configuration
from .results.baseline import Baseline
from .results.causes import quarantine_causes
from .results.gates import judged
from .results.page.cards import PickedCard, make_card
from .results.page.evaluation import PageInputs, page_or_reason
from .results.provenance import UNKNOWN_LAUNCH, Launch, problems_of_page, run_document
from .results.report import report
from .results.run import (
    LAYOUT,
    PAGE,
    REPORT,
    RUN,
    SUMMARY,
    SUMS,
    RunResult,
    summary,
    sums_document,
)
from .runtime.launch import block_folder

ROWS_FILE_S = 30.0
"""How long a worker of a run that may be resumed writes to one file of rows: what is lost of it at most."""


@dataclass(frozen=True)
class EvaluationPlan:
    """A configuration with its inputs found and checked: all that the pipeline is built from.

    launch: how the run was started, for run.json. baseline: the run that gates compare with. reuse: the
    rows of an earlier run, of which unchanged samples take their scores. page: whether there is a report.html. resume:
    whether another run shall be able to go on where this one is interrupted. earlier: the rows of the baseline, for the
    samples that changed since.
    """

    configuration: Configuration
    inputs: Inputs
    output: str
    run_id: str
    launch: Launch = UNKNOWN_LAUNCH
    baseline: Baseline | None = None
    reuse: ReusedRows | None = None
    page: bool = False
    resume: bool = False
    earlier: EarlierRows | None = None

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order of their numbers."""
        return self.inputs.systems

    def picks(self) -> Picks:
        """Returns which samples are picked: those that report.md names, and where there is a page, what it shows."""
        configuration = self.configuration
        settings, metric = configuration.settings, configuration.benchmark.main_sample_metric()
        if not self.page:
            return Picks(metric, listed=settings.worst_samples)
        shown = settings.page
        return Picks(metric, shown.worst, shown.flips, shown.random, settings.worst_samples, self.earlier)


def plan_evaluation(configuration: Configuration, run_id: str) -> EvaluationPlan:
    """Finds the inputs of a run, and makes sure that there is a place for its result.

    Raises UsageError where an input is missing or wrong, InputProblem where the output cannot be written or would
    replace an input.
    """
    settings = configuration.settings
    inputs = find_inputs(configuration, configuration.truth_columns())
    check_targets(settings.gates, type(configuration.benchmark), inputs.systems, configuration.slice_columns())
    if not settings.output:
        raise UsageError("output: nothing is given; give --output DIR, or output in the configuration")
    check_not_replaced(settings.output, LAYOUT, (file.path for file in inputs.files))
    prepare_output(settings.output)
    return EvaluationPlan(configuration, inputs, settings.output, run_id)


def build_evaluation(pipeline: beam.Pipeline, plan: EvaluationPlan) -> None:
    """Wires the pipeline of one evaluation."""
    settings, benchmark = plan.configuration.settings, plan.configuration.benchmark
    bootstrap = Bootstrap(settings.bootstrap.replicates, settings.bootstrap.seed)
    limits = settings.limits
    slicing = Slicing(plan.configuration.columns(), plan.configuration.slice_indexes(), limits.slices_per_sample)
    picks = plan.picks()
    scoring = ScoringPlan(benchmark, settings.missing, plan.systems, settings.cluster, slicing, plan.reuse, picks)

    read = plan.inputs.read(pipeline)
    paired = _with_rows(pipeline, plan, read.records) | "Pair" >> PairBySample(
        plan.systems, samples_per_batch(benchmark.batch_size)
    )
    scored = paired.batches | "Score" >> ScoreSamples(scoring)
    totals = (
        scored.samples
        | "Slice" >> SliceSamples(slicing.columns, bootstrap, limits.slices)
        | "Combine" >> beam.CombinePerKey(SumStatistics(bootstrap))
        | "SliceCount" >> CheckSliceCount(slicing.columns, limits.slices)
        | "Values" >> ComputeValues(benchmark, settings.bootstrap.confidence, settings.cluster is not None)
    )
    file_s = ROWS_FILE_S if plan.resume else None
    quarantined = (read.quarantine, paired.quarantine, scored.quarantine) | "AllQuarantined" >> beam.Flatten()
    picked = scored.picked | "Pick" >> KeepPicked(picks)
    parts = {
        "slices": totals,
        "outcomes": (read.outcomes, paired.outcomes)
        | "AllOutcomes" >> beam.Flatten()
        | "Outcomes" >> beam.CombinePerKey(MergeSums()),
        "worst": picked.listed,
        "causes": quarantined | "Causes" >> CountCauses(),
        "samples_files": scored.samples
        | "WriteSamples"
        >> WriteSamples(
            _staged(plan, "samples"),
            plan.systems,
            benchmark.sample_metric_names(),
            slicing.columns,
            scoring_signature(benchmark, settings.missing),
            file_s,
        ),
        "quarantine_files": quarantined | "WriteQuarantine" >> WriteQuarantine(_staged(plan, "quarantine")),
    }
    if plan.page:
        parts["cards"] = picked.shown | "Draw" >> beam.ParDo(DrawCard(benchmark))
    samples = _staged(plan, "samples").path if plan.page else None
    make = partial(make_result, plan.configuration, plan.systems, plan.run_id, plan.launch, plan.baseline, samples)
    _ = parts | "Publish" >> Publish(plan.output, plan.run_id, LAYOUT, make)


def _with_rows(pipeline: beam.Pipeline, plan: EvaluationPlan, records: beam.PCollection) -> beam.PCollection:
    """Returns the blocks of the records, and those of the rows of earlier runs that join them."""
    sources = {REUSED_ROWS: plan.reuse, EARLIER_ROWS: plan.earlier if plan.page else None}
    sources_given = {side: source for side, source in sources.items() if source is not None}
    if not sources_given:
        return records
    rows = ReadRowBlocks(sources_given, bucket_count(plan.inputs.files), block_folder(pipeline))
    return (records, pipeline | "EarlierRuns" >> rows) | "WithRows" >> beam.Flatten()


def _staged(plan: EvaluationPlan, folder: str) -> StagedFolder:
    return StagedFolder(plan.output, plan.run_id, folder)


class DrawCard(beam.DoFn):
    """Draws samples that were picked: from PickedSample to (its place in order, PickedCard)."""

    def __init__(self, benchmark: Benchmark[Any, Any, Any]) -> None:
        self._benchmark = benchmark

    def setup(self) -> None:
        """Makes what the benchmark needs in this worker."""
        one_blas_thread()
        with faults_end_the_bundle("the start of drawing"):
            self._benchmark.setup()

    def teardown(self) -> None:
        """Removes what `setup` made."""
        self._benchmark.teardown()

    def process(self, sample: PickedSample) -> Iterator[tuple[Any, PickedCard]]:
        """Yields the card of a sample."""
        with faults_end_the_bundle("drawing"):
            card = make_card(self._benchmark, sample)
        yield order_of_picked(sample), card


def make_result(
    configuration: Configuration,
    systems: Sequence[str],
    run_id: str,
    launch: Launch,
    baseline: Baseline | None,
    samples_folder: str | None,
    parts: dict[str, list[Any]],
) -> dict[str, bytes]:
    """Returns the files that stand at the top of the output folder, by name.

    A run without any sample gets a file of no rows too, so that whoever reads the samples finds their columns.
    samples_folder: where the files of the samples are staged, which report.html shows; None: there is no such page.
    """
    outcomes = dict(parts["outcomes"])
    result = RunResult.of(configuration, systems, parts["slices"], outcomes, dict(parts["worst"]), parts["causes"])
    result = judged(result, baseline)
    records = {side: round(counts["read"]) for side, counts in outcomes.items()}
    run = run_document(launch, run_id, configuration.benchmark, systems, records, quarantine_causes(result.causes))
    document = summary(result)
    files = {
        SUMS: encode_json(sums_document(result)),
        REPORT: report(result).encode(),
        SUMMARY: encode_json(document),
    }
    if samples_folder is not None:
        cards = [card for _, card in sorted(parts["cards"], key=itemgetter(0))]
        samples = [posixpath.join(samples_folder, name) for name in sorted(parts["samples_files"])]
        page = page_or_reason(result, PageInputs(document, run, samples, cards, baseline))
        files[PAGE] = page.content
        run |= problems_of_page(page.problem)
    files[RUN] = encode_json(run)
    if not parts["samples_files"]:
        files[f"samples/samples-{run_id}.parquet"] = no_samples(
            configuration.benchmark.sample_metric_names(), configuration.columns()
        )
    return files
