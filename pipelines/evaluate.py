"""The evaluation: read, pair, score, slice, combine, write."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec

from metrics.bootstrap import Bootstrap
from pipelines.errors import UsageError
from pipelines.report import report
from pipelines.result import PARTS, REPORT, SUMMARY, SUMS, RunResult, summary, sums_document
from pipelines.settings import Configuration
from transforms.combine import AddUp, MergeSums
from transforms.figures import ComputeFigures
from transforms.files import SourceFile, match_files, open_parquet
from transforms.pair import PairBySample
from transforms.parquet import check_columns
from transforms.quarantine import CountCauses
from transforms.read import Limits, ReadRecords, SideColumns
from transforms.records import GROUND_TRUTH, InputProblem
from transforms.score import ScoredSample, ScoreSamples, ScoringPlan
from transforms.slice import SliceSamples
from transforms.write import Publish, WriteQuarantine, WriteSamples, encode_json, staging_folder


@dataclass(frozen=True)
class EvaluationPlan:
    """A configuration with its inputs found and checked: all that the pipeline is built from."""

    configuration: Configuration
    files: tuple[SourceFile, ...]
    systems: tuple[str, ...]
    output: str
    run_id: str

    @property
    def slice_columns(self) -> tuple[str, ...]:
        """The ground-truth columns that any slice needs, each once."""
        columns = [column for each in self.configuration.slice_columns() for column in each]
        return tuple(dict.fromkeys(columns))


def plan_evaluation(configuration: Configuration, run_id: str) -> EvaluationPlan:
    """Finds the inputs of a run and looks at the first of each side.

    Raises UsageError where an input is missing or lacks a column.
    """
    settings = configuration.settings
    for key, flag, given in [
        ("ground_truth", "--ground-truth GLOB", settings.ground_truth),
        ("predictions", "--predictions [NAME=]GLOB", settings.predictions),
        ("output", "--output DIR", settings.output),
    ]:
        if not given:
            raise UsageError(f"{key}: nothing is given; give {flag}, or {key} in the configuration")
    try:
        files = match_files(GROUND_TRUTH, settings.ground_truth, "--ground-truth")
        for system, (name, globs) in enumerate(settings.predictions.items()):
            files += match_files(system, globs, f"--predictions {name}=")
        plan = EvaluationPlan(configuration, tuple(files), tuple(settings.predictions), settings.output or "", run_id)
        _check_first_files(plan)
    except InputProblem as error:
        raise UsageError(error.message) from error
    return plan


def _check_first_files(plan: EvaluationPlan) -> None:
    """Looks into the first Parquet file of each side, so that a missing column is told before anything runs."""
    seen: set[int] = set()
    for file in plan.files:
        if file.format != "parquet" or file.side in seen:
            continue
        seen.add(file.side)
        with open_parquet(file) as parquet:
            schema = parquet.schema_arrow
        check_columns(file, schema)
        if file.side == GROUND_TRUTH:
            cluster = plan.configuration.settings.cluster
            for column in [*plan.slice_columns, *([cluster] if cluster else [])]:
                if column not in schema.names:
                    raise InputProblem(f"{file.path}: there is no column {column}, only {', '.join(schema.names)}")


def side_columns(plan: EvaluationPlan) -> dict[int, SideColumns]:
    """Returns for each side which columns of a Parquet file matter."""
    settings, benchmark = plan.configuration.settings, plan.configuration.benchmark
    more = {*plan.slice_columns, *([settings.cluster] if settings.cluster else [])}
    truth = _columns_of(benchmark.truth_type)
    sides = {GROUND_TRUTH: SideColumns(truth.wanted | more, truth.structured)}
    for system in range(len(plan.systems)):
        sides[system] = _columns_of(benchmark.prediction_type)
    return sides


def _columns_of(kind: type[msgspec.Struct]) -> SideColumns:
    info = msgspec.inspect.type_info(kind)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{kind} is no record type")
    structured = {field.encode_name for field in info.fields if not _may_be_text(field.type)}
    return SideColumns(frozenset(field.encode_name for field in info.fields), frozenset(structured))


def _may_be_text(info: Any) -> bool:
    inspect = msgspec.inspect
    if isinstance(info, inspect.UnionType):
        return any(_may_be_text(each) for each in info.types)
    return isinstance(info, (inspect.StrType, inspect.AnyType, inspect.LiteralType, inspect.EnumType))


def build_evaluation(pipeline: beam.Pipeline, plan: EvaluationPlan) -> None:
    """Wires the pipeline of one evaluation."""
    settings, benchmark = plan.configuration.settings, plan.configuration.benchmark
    bootstrap = Bootstrap(settings.bootstrap.replicates, settings.bootstrap.seed)
    limits = Limits(settings.limits.record_bytes, settings.limits.depth)
    scoring = ScoringPlan(benchmark, settings.missing, plan.systems, plan.slice_columns, settings.cluster)
    slices = [[plan.slice_columns.index(column) for column in each] for each in plan.configuration.slice_columns()]

    read = pipeline | "Read" >> ReadRecords(plan.files, plan.systems, side_columns(plan), limits)
    paired = read.records | "Pair" >> PairBySample(plan.systems)
    scored = paired.samples | "Score" >> ScoreSamples(scoring)
    figures = (
        scored.samples
        | "Slice" >> SliceSamples(plan.slice_columns, slices, bootstrap)
        | "Combine" >> beam.CombinePerKey(AddUp(bootstrap))
        | "Figures" >> ComputeFigures(benchmark, settings.bootstrap.confidence)
    )
    entries = (
        (read.quarantine, paired.quarantine, scored.quarantine)
        | "AllQuarantined" >> beam.Flatten()
        | "Entries" >> beam.Values()
    )
    parts = {
        "figures": figures,
        "tally": (read.tally, paired.tally)
        | "AllTallies" >> beam.Flatten()
        | "Tally" >> beam.CombinePerKey(MergeSums()),
        "worst": _worst(scored.samples, benchmark.worst_by, settings.worst_samples),
        "causes": entries | "Causes" >> CountCauses(),
        "sample_files": scored.samples
        | "WriteSamples" >> WriteSamples(_staged(plan, "samples"), plan.systems, tuple(benchmark.sample_columns)),
        "quarantine_files": entries | "WriteQuarantine" >> WriteQuarantine(_staged(plan, "quarantine")),
    }
    make = partial(make_result, plan.configuration, plan.systems)
    _ = parts | "Publish" >> Publish(plan.output, plan.run_id, PARTS, make, SUMMARY)


def _staged(plan: EvaluationPlan, folder: str) -> str:
    return staging_folder(plan.output, plan.run_id, folder)


def _worst(samples: beam.PCollection, column: str, count: int) -> beam.PCollection:
    """Returns pairs (system, the `count` samples with the lowest figure, ties by sample_id)."""

    def keyed(sample: ScoredSample) -> list[tuple[int, tuple[float, str, str]]]:
        figure = sample.figures.get(column)
        return [] if figure is None else [(sample.system, (figure, sample.sample_id, sample.status))]

    return samples | "Lowest" >> beam.FlatMap(keyed) | "Worst" >> beam.combiners.Top.SmallestPerKey(max(1, count))


def make_result(configuration: Configuration, systems: Sequence[str], parts: dict[str, list[Any]]) -> dict[str, bytes]:
    """Returns the files that stand at the top of the output folder, by name."""
    result = RunResult.of(
        configuration, systems, parts["figures"], dict(parts["tally"]), dict(parts["worst"]), parts["causes"]
    )
    return {
        SUMS: encode_json(sums_document(result)),
        REPORT: report(result).encode(),
        SUMMARY: encode_json(summary(result)),
    }


def summary_path(output: str) -> str:
    """Returns where the summary of a run stands."""
    return posixpath.join(output, SUMMARY)
