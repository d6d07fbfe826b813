"""The inputs of a pipeline: found, checked, and read."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import apache_beam as beam
import msgspec

from metrics.record_fields import record_fields
from pipelines import launch
from pipelines.errors import UsageError
from pipelines.reachable import check_reachable
from pipelines.settings import Configuration
from transforms.blocks import BYTES_PER_BUNDLE
from transforms.files import Part, SourceFile, match_files, open_parquet
from transforms.jsonl import read_lines
from transforms.parquet import check_columns
from transforms.read import Limits, ReadRecords, SideColumns
from transforms.records import GROUND_TRUTH, InputProblem

RECORDS_LOOKED_AT = 1000


@dataclass(frozen=True)
class Inputs:
    """The files of a run, found and checked.

    systems: the names of the systems, in the order of their numbers. more_columns: the ground-truth columns that
    are needed beside those of the record type. whole: whether all columns of Parquet files are read.
    """

    configuration: Configuration
    files: tuple[SourceFile, ...]
    systems: tuple[str, ...]
    more_columns: tuple[str, ...]
    whole: bool = False

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
        return SideColumns(None if self.whole else frozenset(fields) | frozenset(more), structured)


def find_inputs(
    configuration: Configuration, more_columns: Sequence[str], predictions: bool = True, whole: bool = False
) -> Inputs:
    """Finds the files of a configuration and looks into the first Parquet file of each side.

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
        _check_first_files(inputs)
    except InputProblem as error:
        raise UsageError(error.message) from error
    return inputs


def _check_first_files(inputs: Inputs) -> None:
    """Looks into the first file of each side for the columns that the run needs."""
    seen: set[int] = set()
    for file in inputs.files:
        if file.side in seen:
            continue
        seen.add(file.side)
        needed = inputs.more_columns if file.side == GROUND_TRUTH else ()
        if file.format == "parquet":
            with open_parquet(file) as parquet:
                schema = parquet.schema_arrow
            check_columns(file, schema)
            known = list(schema.names)
        else:
            known = _first_keys(inputs, file) if needed else []
        for column in needed if known else ():
            if column not in known:
                raise InputProblem(f"{file.path}: there is no column {column}, only {', '.join(known)}")


def _first_keys(inputs: Inputs, file: SourceFile) -> list[str]:
    """Returns the keys of the first records of a JSONL file; a column that stands in none of them is mistyped."""
    keys: dict[str, None] = {}
    lines = read_lines(Part(file, 0, None), inputs.configuration.settings.limits.record_bytes)
    for line in itertools.islice(lines, RECORDS_LOOKED_AT):
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            keys.update(dict.fromkeys(msgspec.json.decode(line.text, type=dict[str, msgspec.Raw])))
    return list(keys)
