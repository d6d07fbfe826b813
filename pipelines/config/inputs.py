"""The inputs of a pipeline: found, checked, and read."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import apache_beam as beam
import msgspec

from metrics.record_fields import record_fields
from pipelines.config.errors import UsageError
from pipelines.config.explain import nearest
from pipelines.config.reachable import check_reachable
from pipelines.config.settings import Configuration
from pipelines.runtime import launch
from transforms.io.files import Part, SourceFile, match_files, open_parquet
from transforms.io.jsonl import read_lines
from transforms.io.parquet import check_columns, listed
from transforms.io.restriction import BYTES_PER_BUNDLE
from transforms.read import Limits, ReadRecords, SideColumns
from transforms.records import GROUND_TRUTH, InputProblem

RECORDS_LOOKED_AT = 1000
BYTES_LOOKED_AT = 64 << 20


@dataclass(frozen=True)
class Inputs:
    """The files of a run, found and checked.

    systems: the names of the systems, in the order of their numbers. more_columns: the ground-truth columns that
    are needed beside those of the record type. whole: whether all columns of Parquet files are read. warnings: what
    a person should know before the run, a line each.
    """

    configuration: Configuration
    files: tuple[SourceFile, ...]
    systems: tuple[str, ...]
    more_columns: tuple[str, ...]
    whole: bool = False
    warnings: tuple[str, ...] = ()

    def read(self, pipeline: beam.Pipeline) -> beam.pvalue.DoOutputsTuple:
        """Reads all files; see ReadRecords. In this process, nothing is gained by deferring what is read."""
        limits = self.configuration.settings.limits
        return pipeline | "Read" >> ReadRecords(
            launch.files_for_workers(pipeline.options, self.files),
            self.systems,
            self._side_columns(),
            Limits(limits.record_bytes, limits.depth),
            None if launch.is_local(pipeline.options) else BYTES_PER_BUNDLE,
        )

    def _side_columns(self) -> dict[int, SideColumns]:
        benchmark = self.configuration.benchmark
        sides = {GROUND_TRUTH: self._columns_of(benchmark.truth_type, self.more_columns)}
        sides.update({system: self._columns_of(benchmark.prediction_type) for system in range(len(self.systems))})
        return sides

    def _columns_of(self, kind: type[msgspec.Struct], more: Sequence[str] = ()) -> SideColumns:
        fields = record_fields(kind)
        structured = frozenset(name for name, is_text in fields.items() if not is_text)
        return SideColumns(None if self.whole else frozenset(fields) | frozenset(more), structured, tuple(more))


def find_inputs(
    configuration: Configuration, more_columns: Sequence[str], predictions: bool = True, whole: bool = False
) -> Inputs:
    """Finds the files of a configuration, and looks into them for the columns that the run needs.

    predictions: whether the run needs any. whole: whether it needs the records with all their columns. Raises
    UsageError where an input is missing or lacks a column.
    """
    settings = configuration.settings
    if not settings.ground_truth:
        raise UsageError("ground_truth: nothing is given; give --ground-truth GLOB, or ground_truth in the config")
    if predictions and not settings.predictions:
        raise UsageError("predictions: nothing is given; give --predictions [NAME=]GLOB, or predictions in the config")
    systems = settings.predictions if predictions else {}
    check_reachable([*settings.ground_truth, *(glob for globs in systems.values() for glob in globs)])
    try:
        files = match_files(GROUND_TRUTH, settings.ground_truth, "--ground-truth")
        for system, (name, globs) in enumerate(systems.items()):
            files += match_files(system, globs, f"--predictions {name}=")
        inputs = Inputs(configuration, tuple(files), tuple(systems), tuple(more_columns), whole)
        return replace(inputs, warnings=_check_files(inputs))
    except InputProblem as error:
        raise UsageError(error.message) from error


def _check_files(inputs: Inputs) -> tuple[str, ...]:
    """Looks into the first file of each side, and further where a column is missing; returns what is to be warned of.

    The columns of Parquet files are known: one that no file of the ground truth has is a problem. Of JSONL only a
    sample is looked at, and a column that stands nowhere in it may come later.
    """
    for file in {file.side: file for file in reversed(inputs.files)}.values():
        if file.format == "parquet":
            _parquet_columns(file)
    truths = [file for file in inputs.files if file.side == GROUND_TRUTH]
    known: dict[str, None] = {}
    for file in _worth_a_look(truths):
        if all(column in known for column in inputs.more_columns):
            break
        known.update(dict.fromkeys(_parquet_columns(file) if file.format == "parquet" else _first_keys(inputs, file)))
    missing = [column for column in inputs.more_columns if known and column not in known]
    if missing and all(file.format == "parquet" for file in truths):
        others = f" and the {len(truths) - 1} other ground-truth files" if len(truths) > 1 else ""
        raise InputProblem(
            f"{truths[0].path}{others}: there is no column {missing[0]}, only {listed(known)}"
            f"{nearest(missing[0], list(known))}"
        )
    return tuple(
        f"the first ground-truth records have no column {column}{nearest(column, list(known))}, only {listed(known)}"
        for column in missing
    )


def _worth_a_look(truths: Sequence[SourceFile]) -> Iterator[SourceFile]:
    """Yields the first JSONL file and all Parquet files, of which only the schema is read."""
    seen_lines = False
    for file in truths:
        if file.format == "parquet" or not seen_lines:
            yield file
        seen_lines |= file.format == "jsonl"


def _parquet_columns(file: SourceFile) -> list[str]:
    with open_parquet(file) as parquet:
        schema = parquet.schema
    check_columns(file, schema)
    return list(schema.names)


def _first_keys(inputs: Inputs, file: SourceFile) -> list[str]:
    """Returns the keys of the first records of a JSONL file."""
    keys: dict[str, None] = {}
    lines = read_lines(Part(file, 0, BYTES_LOOKED_AT), inputs.configuration.settings.limits.record_bytes)
    for line in itertools.islice(lines, RECORDS_LOOKED_AT):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            keys.update(dict.fromkeys(msgspec.json.decode(line.text, type=dict[str, msgspec.Raw])))
    return list(keys)
