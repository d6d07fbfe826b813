"""The inputs of a pipeline: found, checked, and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import apache_beam as beam
import msgspec

from ...metrics.record_fields import record_fields, text_fields
from ...transforms.io.columnar import listed
from ...transforms.io.files import SourceFile, match_files
from ...transforms.io.readers import known_fields
from ...transforms.io.restriction import BYTES_PER_BUNDLE
from ...transforms.io.rows import RowLimits
from ...transforms.io.side_columns import SideColumns
from ...transforms.read import Limits, ReadRecords
from ...transforms.records import GROUND_TRUTH, InputProblem
from ..runtime import launch
from .errors import UsageError
from .explain import nearest
from .first_records import look, look_into
from .mismatch import no_column
from .reachable import check_reachable
from .seen import FirstRecords
from .settings import Configuration, check_field_sides
from .systems import DEFAULT_SYSTEM


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
            self.columns,
            Limits(limits.record_bytes, limits.depth),
            None if launch.is_local(pipeline.options) else BYTES_PER_BUNDLE,
            launch.block_folder(pipeline),
        )

    @property
    def row_limits(self) -> RowLimits:
        """The limits on one record."""
        limits = self.configuration.settings.limits
        return RowLimits(limits.record_bytes, limits.depth)

    @cached_property
    def columns(self) -> dict[int, SideColumns]:
        """What the readers must know of the columns of each side."""
        benchmark = self.configuration.benchmark
        sides = {GROUND_TRUTH: self._columns_of(GROUND_TRUTH, benchmark.truth_type, self.more_columns)}
        for system in range(len(self.systems)):
            sides[system] = self._columns_of(system, benchmark.prediction_type)
        return sides

    def _columns_of(self, side: int, kind: type[msgspec.Struct], more: Sequence[str] = ()) -> SideColumns:
        known = record_fields(kind)
        structured = frozenset(name for name, is_text in known.items() if not is_text)
        wanted = None if self.whole else frozenset(known) | frozenset(more)
        system = None if side == GROUND_TRUTH else self.systems[side]
        return SideColumns(wanted, structured, tuple(more), self.configuration.fields_of(system), text_fields(kind))

    def files_of(self, side: int) -> list[SourceFile]:
        """Returns the files of a side."""
        return [file for file in self.files if file.side == side]

    def first_records(self, side: int) -> FirstRecords:
        """Returns what the first records of a side hold."""
        return look(self.files_of(side), self.columns[side], self.row_limits)


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
        files = match_files(GROUND_TRUTH, settings.ground_truth, "--ground-truth ")
        for system, (name, globs) in enumerate(systems.items()):
            named = "" if name == DEFAULT_SYSTEM else f"{name}="
            files += match_files(system, globs, f"--predictions {named}")
        inputs = Inputs(configuration, tuple(files), tuple(systems), tuple(more_columns), whole)
        check_field_sides(settings)
        return replace(inputs, warnings=_check_files(inputs))
    except InputProblem as error:
        raise UsageError(error.message) from error


def _check_files(inputs: Inputs) -> tuple[str, ...]:
    """Looks into the first file of each side, and further where a column is missing; returns what is to be warned of.

    Some files say which columns they have: one that no file of the ground truth has is a problem. Of JSONL only a
    sample is looked at, and a column that stands nowhere in it may come later.
    """
    for file in {file.side: file for file in reversed(inputs.files)}.values():
        known_fields(file, inputs.columns[file.side].fields)
    truths = inputs.files_of(GROUND_TRUTH)
    known: dict[str, None] = {}
    all_told, seen_lines = True, False
    for file in truths if inputs.more_columns else ():
        if all(column in known for column in inputs.more_columns):
            break
        fields = known_fields(file, inputs.columns[GROUND_TRUTH].fields)
        if fields is None:
            all_told = False
            fields = [] if seen_lines else _first_fields(inputs, file)
            seen_lines = True
        known.update(dict.fromkeys(fields))
    missing = [column for column in inputs.more_columns if known and column not in known]
    if missing and all_told:
        others = f" and the {len(truths) - 1} other ground-truth files" if len(truths) > 1 else ""
        raise InputProblem(no_column(f"{truths[0].path}{others}", missing[0], list(known)))
    return tuple(
        f"the first ground-truth records have no column {column}{nearest(column, list(known))}, only {listed(known)}"
        for column in missing
    )


def _first_fields(inputs: Inputs, file: SourceFile) -> list[str]:
    """Returns the fields of the first records of a file that does not tell them."""
    found = FirstRecords()
    look_into(file, inputs.columns[GROUND_TRUTH], inputs.row_limits, found)
    return list(found.fields)
