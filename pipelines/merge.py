"""Merges runs over disjoint samples to one run: their sums are added, their rows and quarantine are copied."""

from __future__ import annotations

import heapq
import posixpath
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import apache_beam as beam
import msgspec
import pyarrow.dataset as ds
from apache_beam.io.filesystems import FileSystems

from ..metrics.benchmark import Benchmark
from ..transforms.io.staging import StageBundles, StagedFolder
from ..transforms.io.storage import STORAGE_ERRORS
from ..transforms.publish import Publish, encode_json
from ..transforms.quarantine import CountCauses
from ..transforms.records import GROUND_TRUTH, InputProblem, Quarantined, printable
from ..transforms.rows import read_rows
from .config.errors import UsageError, one_line
from .config.settings import Configuration
from .results.baseline import Baseline
from .results.causes import quarantine_causes
from .results.gates import judged
from .results.merged import Worst, merged_result
from .results.page.evaluation import PageInputs, page_or_reason
from .results.provenance import Launch, problems_of_page, run_document
from .results.report import report
from .results.run import LAYOUT, PAGE, REPORT, RUN, SUMMARY, SUMS, summary, sums_document, worst_first
from .results.stored import Run

COPY_BYTES = 1 << 20
OVERLAPS_SHOWN = 5


@dataclass(frozen=True)
class MergePlan:
    """The runs that are merged, by folder with the id that each must still have, and where the result goes.

    page: whether there is a report.html, which has the rows of all samples and none of their records.
    """

    runs: tuple[tuple[str, str], ...]
    configuration: Configuration
    output: str
    run_id: str
    launch: Launch
    baseline: Baseline | None = None
    page: bool = False


@dataclass(frozen=True)
class _File:
    """A file of one of the runs, by the place of the run."""

    run: int
    path: str


def build_merge(pipeline: beam.Pipeline, plan: MergePlan, runs: Sequence[Run]) -> None:
    """Wires the pipeline; `runs` are those of the plan, for their files."""
    benchmark = plan.configuration.benchmark
    samples = [_File(number, path) for number, run in enumerate(runs) for path in run.rows]
    entries = [_File(number, path) for number, run in enumerate(runs) for path in run.published.folder("quarantine")]
    rows = pipeline | "Samples" >> beam.Create(samples) | "SpreadSamples" >> beam.Reshuffle()
    lines = pipeline | "Quarantine" >> beam.Create(entries) | "SpreadQuarantine" >> beam.Reshuffle()
    system = next(iter(runs[0].summary.systems))
    ids = (
        rows | "SampleIds" >> beam.FlatMap(_sample_ids, system).with_output_types(tuple[str, int]),
        lines | "QuarantinedIds" >> beam.FlatMap(_quarantined_ids).with_output_types(tuple[str, int]),
    )
    most = max(1, plan.configuration.settings.worst_samples)
    parts = {
        "overlaps": ids
        | "AllIds" >> beam.Flatten()
        | "RunsOfId" >> beam.CombinePerKey(_union)
        | "Overlaps" >> beam.Filter(_is_shared)
        | "FirstOverlaps" >> beam.CombineGlobally(_Overlaps()),
        "worst": rows
        | "WorstOfFile" >> beam.FlatMap(_worst_of_file, benchmark, most).with_output_types(tuple[str, Worst])
        | "Worst" >> beam.combiners.Top.PerKey(most, key=worst_first(benchmark), reverse=True),
        "causes": lines | "Entries" >> beam.FlatMap(_entries) | "Causes" >> CountCauses(),
        "samples_files": rows | "CopySamples" >> _copy(plan, "samples", ".parquet"),
        "quarantine_files": lines | "CopyQuarantine" >> _copy(plan, "quarantine", ".jsonl"),
    }
    _ = parts | "Publish" >> Publish(plan.output, plan.run_id, LAYOUT, partial(_make, plan))


def _make(plan: MergePlan, parts: dict[str, list[Any]]) -> dict[str, bytes]:
    """Returns the files of the merged result; raises InputProblem where runs have samples in common."""
    ((count, shown),) = parts["overlaps"]
    if count:
        named = ", ".join(f"{printable(sample)} ({_named(plan, runs)})" for sample, runs in shown)
        raise InputProblem(
            f"{count} sample_ids are in more than one of the runs, such as {named}; merge runs over disjoint samples"
        )
    try:
        return _documents(plan, parts)
    except UsageError as error:
        raise InputProblem(str(error)) from error


def _documents(plan: MergePlan, parts: dict[str, list[Any]]) -> dict[str, bytes]:
    runs = [Run(path) for path, _ in plan.runs]
    for run, (path, run_id) in zip(runs, plan.runs, strict=True):
        if run.run_id != run_id:
            raise InputProblem(f"{path}: another run has replaced the result meanwhile; merge again")
    result = merged_result(plan.configuration, runs, dict(parts["worst"]), parts["causes"])
    result = judged(result, plan.baseline)
    systems = list(result.systems)
    records = {number: result.systems[name].coverage["predictions"]["read"] for number, name in enumerate(systems)}
    records[GROUND_TRUTH] = result.systems[systems[0]].coverage["ground_truth"]["read"]
    causes = quarantine_causes(result.causes)
    document = run_document(plan.launch, plan.run_id, plan.configuration.benchmark, systems, records, causes)
    summary_of_all = summary(result)
    files = {
        SUMS: encode_json(sums_document(result)),
        REPORT: report(result).encode(),
        SUMMARY: encode_json(summary_of_all),
    }
    if plan.page:
        folder = StagedFolder(plan.output, plan.run_id, "samples").path
        samples = [posixpath.join(folder, name) for name in sorted(parts["samples_files"])]
        page = page_or_reason(result, PageInputs(summary_of_all, document, samples, baseline=plan.baseline))
        files[PAGE] = page.content
        document |= problems_of_page(page.problem)
    files[RUN] = encode_json(document)
    return files


def _named(plan: MergePlan, runs: int) -> str:
    return " and ".join(path for number, (path, _) in enumerate(plan.runs) if runs >> number & 1)


def _sample_ids(file: _File, system: str) -> Iterator[tuple[str, int]]:
    """Yields each sample of a run with the bit of the run; all systems have the same."""
    for batch in read_rows(file.path, ["sample_id"], ds.field("system") == system):
        for sample_id in batch.column(0).to_pylist():
            yield sample_id, 1 << file.run


def _quarantined_ids(file: _File) -> Iterator[tuple[str, int]]:
    """Yields what was quarantined too: a prediction that one run could not pair may belong to a sample of another."""
    for entry in _entries(file):
        if entry.sample_id is not None:
            yield entry.sample_id, 1 << file.run


def _union(bits: Iterable[int]) -> int:
    union = 0
    for each in bits:
        union |= each
    return union


def _is_shared(found: tuple[str, int]) -> bool:
    return found[1].bit_count() > 1


class _Overlaps(beam.CombineFn):
    """Counts the ids that runs share, and keeps the first of them by name."""

    def create_accumulator(self) -> tuple[int, list[tuple[str, int]]]:
        return 0, []

    def add_input(self, total: tuple[int, list[Any]], found: tuple[str, int]) -> tuple[int, list[Any]]:
        return total[0] + 1, heapq.nsmallest(OVERLAPS_SHOWN, [*total[1], found])

    def merge_accumulators(self, totals: Iterable[tuple[int, list[Any]]]) -> tuple[int, list[Any]]:
        count = 0
        shown: list[tuple[str, int]] = []
        for each in totals:
            count, shown = count + each[0], heapq.nsmallest(OVERLAPS_SHOWN, [*shown, *each[1]])
        return count, shown

    def extract_output(self, total: tuple[int, list[Any]]) -> tuple[int, list[Any]]:
        return total


def _worst_of_file(file: _File, benchmark: Benchmark[Any, Any, Any], most: int) -> Iterator[tuple[str, Worst]]:
    """Yields the worst rows of each system in a file."""
    order, metric = worst_first(benchmark), benchmark.main_sample_metric().name
    worst: dict[str, list[Worst]] = {}
    for batch in read_rows(file.path, [metric, "sample_id", "status", "system"], ds.field(metric).is_valid()):
        for *sample, name in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            worst.setdefault(name, []).append(tuple(sample))
        worst = {name: heapq.nsmallest(most, found, key=order) for name, found in worst.items()}
    for name, found in worst.items():
        yield from ((name, each) for each in found)


def _entries(file: _File) -> Iterator[Quarantined]:
    try:
        with FileSystems.open(file.path, compression_type="uncompressed") as stream:
            for line in stream:
                yield msgspec.json.decode(line, type=Quarantined)
    except (*STORAGE_ERRORS, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputProblem(f"{file.path}: cannot be read as a file of a finished run: {one_line(error)}") from error


def _copy(plan: MergePlan, folder: str, suffix: str) -> beam.PTransform:
    return _CopyFiles(StagedFolder(plan.output, plan.run_id, folder), suffix)


class _CopyFiles(beam.PTransform):
    """Copies files to a staged folder, each to one of its own; returns their names there."""

    def __init__(self, folder: StagedFolder, suffix: str) -> None:
        super().__init__()
        self._folder, self._suffix = folder, suffix

    def expand(self, files: beam.PCollection) -> beam.PCollection:
        """Parquet files are not joined by writing one behind the other."""
        return files | "Copy" >> beam.ParDo(_CopyFile(self._folder, self._suffix)).with_output_types(str)


class _CopyFile(beam.DoFn):
    """Copies one file; a bundle that fails leaves a file whose name nobody learns."""

    def __init__(self, folder: StagedFolder, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix

    def process(self, file: _File) -> Iterator[str]:
        """Yields the name of the copy."""
        stage = StageBundles(self._folder, self._suffix, _Copier)
        stage.start_bundle()
        stage.process(file)
        yield from (each.value for each in stage.finish_bundle())


class _Copier:
    """Writes the content of files to a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, file: _File) -> None:
        """Writes the content of a file."""
        with FileSystems.open(file.path, compression_type="uncompressed") as source:
            shutil.copyfileobj(source, self._stream, COPY_BYTES)

    def close(self) -> None:
        """Has nothing left to write."""
