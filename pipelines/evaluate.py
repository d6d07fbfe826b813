"""The evaluation of files: read, evaluate, publish.

Records travel in blocks, samples in batches; see docs/explanation/architecture.md.
"""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

import apache_beam as beam
import msgspec

from ..transforms.blocks import bucket_count
from ..transforms.draw import Draw, draw_together
from ..transforms.evaluate import RECORD_STREAMS, Evaluated, EvaluateRecords
from ..transforms.hashes import scoring_signature
from ..transforms.io.publication import check_not_replaced
from ..transforms.io.storage import prepare_output
from ..transforms.pick import PickedSample, PickSamples, Selection, order_of_picked
from ..transforms.process import faults_end_the_bundle
from ..transforms.publish import (
    Owned,
    Publish,
    SampleWriter,
    StageBundles,
    StagedFolder,
    WriteQuarantine,
    encode_json,
)
from ..transforms.read import ReadRowBlocks
from ..transforms.records import EARLIER_ROWS, REUSED_ROWS
from ..transforms.rows import EarlierRows, ReusedRows, encode_table, sample_schema
from .api.scorer import core_of
from .config.gates import check_targets
from .config.settings import Configuration, check_field_names
from .inputs.inputs import Inputs, find_inputs
from .reports.cards import make_cards
from .reports.document import Card
from .reports.evaluation import run_reports
from .runners.launch import block_folder
from .runs.causes import quarantine_causes
from .runs.gates import gate_verdicts
from .runs.provenance import PAGE_PROBLEM, Invocation, run_document
from .runs.run import LAYOUT, RUN, SUMMARY, SUMS, Run

ROWS_FILE_S = 30.0
"""How long a worker of a resumable run writes to one file of rows: an interrupt loses at most this much."""


@dataclass(frozen=True)
class EvaluationPlan:
    """A configuration with its located and checked inputs: all that the pipeline is built from.

    invocation: how the run was started, for run.json. baseline: the run that gates compare with. reuse: the rows of an
    earlier run, whose scores unchanged samples reuse. page: whether there is a report.html. resume: whether a later run
    can resume this one if it is interrupted. earlier: the rows of the baseline, for the samples that changed since.
    """

    configuration: Configuration
    inputs: Inputs
    output: str
    run_id: str
    invocation: Invocation = field(default_factory=Invocation)
    baseline: Run | None = None
    reuse: ReusedRows | None = None
    page: bool = False
    resume: bool = False
    earlier: EarlierRows | None = None

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order of their numbers."""
        return self.inputs.systems

    def picks(self) -> Selection:
        """Returns which samples are picked: those that report.md lists, and those on the page if there is one."""
        configuration = self.configuration
        settings, metric = configuration.settings, configuration.benchmark.main_sample_metric()
        if not self.page:
            return Selection(metric, listed=settings.worst_samples)
        shown = settings.page
        others = tuple(spec for spec in configuration.benchmark.sample_metrics if spec.name != metric.name)
        return Selection(metric, shown.worst, shown.flips, shown.random, settings.worst_samples, self.earlier, others)


def inputs_of(configuration: Configuration) -> Inputs:
    """Finds the inputs of an evaluation, with which `fields` and the gates must agree; raises UsageError if not."""
    inputs = find_inputs(configuration, configuration.truth_columns())
    check_field_names(configuration)
    gates, kind = configuration.settings.gates, type(configuration.benchmark)
    check_targets(gates, kind, inputs.systems, configuration.slice_columns())
    return inputs


def plan_evaluation(configuration: Configuration, run_id: str) -> EvaluationPlan:
    """Locates the inputs of a run, and checks that its output can be written.

    Raises UsageError if an input is missing or wrong, InputProblem if the output cannot be written or would replace an
    input.
    """
    inputs, output = inputs_of(configuration), configuration.output()
    check_not_replaced(output, LAYOUT, (file.path for file in inputs.files))
    prepare_output(output)
    return EvaluationPlan(configuration, inputs, output, run_id)


def build_evaluation(pipeline: beam.Pipeline, plan: EvaluationPlan) -> None:
    """Wires the pipeline of one evaluation."""
    read = plan.inputs.read(pipeline)
    streams = {name: read[name] for name in RECORD_STREAMS}
    streams["records"] = _with_rows(pipeline, plan, read.records)
    # Each later step would hold the paths of all files, and a graph has a limit of 10 MB.
    plan = replace(
        plan,
        inputs=replace(plan.inputs, files=()),
        reuse=plan.reuse and replace(plan.reuse, files=()),
        earlier=plan.earlier and replace(plan.earlier, files=()),
    )
    evaluated = streams | "Evaluate" >> EvaluateRecords(core_of(plan.configuration, plan.systems, plan.reuse))
    _ = evaluated | "Publish" >> PublishRun(plan)


class PublishRun(beam.PTransform):
    """Publishes a run: from Evaluated to whether the result was published. owned: see transforms.publish.Publish."""

    def __init__(self, plan: EvaluationPlan, owned: Owned = contextlib.nullcontext) -> None:
        super().__init__()
        self._plan = plan
        self._owned = owned

    def expand(self, evaluated: tuple[beam.PCollection, ...]) -> beam.PCollection:
        """Writes rows and the quarantine, picks and draws samples, and publishes them with the documents."""
        plan, outputs = self._plan, Evaluated(*evaluated)
        configuration, benchmark = plan.configuration, plan.configuration.benchmark
        picks = plan.picks()
        rows, quarantine = (StagedFolder(plan.output, plan.run_id, folder) for folder in LAYOUT.folders)
        signature = scoring_signature(benchmark, configuration.settings.missing)
        metrics, columns = benchmark.sample_metric_names(), configuration.columns()
        open_rows = partial(SampleWriter, plan.systems, metrics, columns, signature)
        file_s = ROWS_FILE_S if plan.resume else None
        picked = outputs.batches | "Pick" >> PickSamples(picks)
        parts = {
            "slices": outputs.slices,
            "outcomes": outputs.outcomes,
            "worst": picked.listed,
            **(outputs.quarantine | "Quarantine" >> WriteQuarantine(quarantine)),
            "samples_files": outputs.samples
            | "WriteSamples" >> beam.ParDo(StageBundles(rows, ".parquet", open_rows, file_s)).with_output_types(str),
        }
        if plan.page:
            draw = DrawCards(benchmark, configuration.settings.pictures)
            parts["cards"] = picked.shown | "Draw" >> draw_together(draw)
        published: beam.PCollection = parts | "Publish" >> Publish(
            plan.output, plan.run_id, LAYOUT, partial(make_result, plan), self._owned
        )
        return published


def _with_rows(pipeline: beam.Pipeline, plan: EvaluationPlan, records: beam.PCollection) -> beam.PCollection:
    """Returns the blocks of the records together with those of the rows of earlier runs."""
    optional = {REUSED_ROWS: plan.reuse, EARLIER_ROWS: plan.earlier}
    sources = {side: source for side, source in optional.items() if source is not None}
    if not sources:
        return records
    rows = ReadRowBlocks(sources, bucket_count(plan.inputs.files), block_folder(pipeline))
    return (records, pipeline | "EarlierRuns" >> rows) | "WithRows" >> beam.Flatten()


class DrawCards(Draw):
    """Draws picked samples: from lists of PickedSample to pairs (sort key, Card)."""

    def process(self, samples: Sequence[PickedSample]) -> Iterator[tuple[Any, Card]]:
        """Yields the cards of a batch of samples."""
        with faults_end_the_bundle("drawing"):
            cards = make_cards(self._benchmark, samples, self._places)
        yield from zip(map(order_of_picked, samples), cards, strict=True)


def make_result(plan: EvaluationPlan, parts: dict[str, list[Any]]) -> dict[str, bytes]:
    """Returns the files at the top of the output folder, by name.

    A run without any sample gets a file without rows too, so that readers of the samples find their columns.
    """
    configuration, outcomes, names = plan.configuration, dict(parts["outcomes"]), sorted(parts["samples_files"])
    run = Run.of(configuration, plan.systems, parts["slices"], outcomes, dict(parts["worst"]), parts["causes"])
    records = {side: round(counts["read"]) for side, counts in outcomes.items()}
    cards = [card for _, card in sorted(parts.get("cards", ()), key=itemgetter(0))]
    run.staged = [posixpath.join(StagedFolder(plan.output, plan.run_id, "samples").path, name) for name in names]
    samples = run.staged if plan.page else None
    files = result_files(run, plan.run_id, plan.invocation, records, plan.baseline, samples, cards)
    if not names:
        schema = sample_schema(configuration.benchmark.sample_metric_names(), configuration.columns())
        files[f"samples/samples-{plan.run_id}.parquet"] = encode_table(schema.empty_table())
    return files


def result_files(
    run: Run,
    run_id: str,
    invocation: Invocation,
    records: Mapping[int, int],
    baseline: Run | None,
    samples: Sequence[str] | None,
    cards: Sequence[Card] = (),
) -> dict[str, bytes]:
    """Returns the documents of a computed run, with the verdicts of its gates, by name.

    records: the number of records read from each side. samples: the files of the samples, which report.html shows with
    the `cards`; None: no such page.
    """
    causes = quarantine_causes(run.causes)
    # The gates need the versions in it.
    run.provenance = run_document(invocation, run_id, run.configuration.benchmark, list(run.systems), records, causes)
    judged = run.changed(gates=msgspec.to_builtins(gate_verdicts(run.configuration, run, baseline)))
    return files_of(judged, run.provenance, samples, cards, baseline)


def files_of(
    run: Run,
    provenance: Mapping[str, Any],
    samples: Sequence[str] | None,
    cards: Sequence[Card] = (),
    baseline: Run | None = None,
) -> dict[str, bytes]:
    """Returns the documents of a run as it is, by name; provenance: run.json, empty for a run of an earlier version."""
    document = run.summary.document()
    # The page of a run that is loaded and saved is made anew.
    provenance = {name: each for name, each in provenance.items() if name != PAGE_PROBLEM}
    reports = run_reports(run, provenance, samples, cards, baseline)
    return {
        **reports.files,
        SUMS: encode_json(run.sums.document()),
        SUMMARY: encode_json(document),
        RUN: encode_json({**provenance, **reports.about} if provenance else provenance),
    }
