"""The inputs of a pipeline: lists, checks and reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import iglob
from itertools import chain

import apache_beam as beam

from ...metrics.common.text import nearest, some_of
from ...transforms.blocks import bucket_count
from ...transforms.io.field_map import SideColumns
from ...transforms.io.files import SourceFile, match_files, split_file
from ...transforms.io.readers import NAMES_LISTED, RecordLimits, known_fields, read_part
from ...transforms.pictures import folder_problem
from ...transforms.read import BYTES_PER_BUNDLE, ReadPlan, ReadRecords, checked_record
from ...transforms.records import GROUND_TRUTH, InputProblem, RecordEncoder
from ..config.errors import as_input_errors
from ..config.settings import DEFAULT_SYSTEM, Configuration, check_field_sides
from ..runners import launch
from ..runners.reachable import check_reachable
from .mismatch import RECORDS_LOOKED_AT, FirstRecords, columns_of_side, no_column

BYTES_LOOKED_AT = 64 << 20
FILES_LOOKED_AT = 100


@dataclass(frozen=True)
class Inputs:
    """The existing files of a run, checked.

    systems: the names of the systems, in the order of their numbers. more_columns: the ground-truth columns that
    are needed in addition to the record type. whole: whether all columns of Parquet files are read. warnings: to show
    before the run, one line each.
    """

    configuration: Configuration
    files: tuple[SourceFile, ...]
    systems: tuple[str, ...]
    more_columns: tuple[str, ...]
    whole: bool = False
    warnings: tuple[str, ...] = ()

    def read(self, pipeline: beam.Pipeline) -> beam.pvalue.DoOutputsTuple:
        """Reads all files; see ReadRecords. In a local run, deferring reads has no benefit."""
        bundle_bytes = None if launch.is_local(pipeline.options) else BYTES_PER_BUNDLE
        buckets, folder = bucket_count(self.files), launch.block_folder(pipeline)
        plan = ReadPlan(self.systems, self.columns, self.limits, buckets, folder, bundle_bytes)
        return pipeline | "Read" >> ReadRecords(launch.files_for_workers(pipeline.options, self.files), plan)

    @property
    def limits(self) -> RecordLimits:
        """The limits on one record."""
        limits = self.configuration.settings.limits
        return RecordLimits(limits.record_bytes, limits.depth)

    @cached_property
    def columns(self) -> dict[int, SideColumns]:
        """The columns of each side, for the readers."""
        sides = (GROUND_TRUTH, *range(len(self.systems)))
        return {side: columns_of_side(self, side, self.more_columns, self.whole) for side in sides}

    def files_of(self, side: int) -> list[SourceFile]:
        """Returns the files of a side."""
        return [file for file in self.files if file.side == side]

    def first_records(self, side: int) -> FirstRecords:
        """Returns a summary of the first records of a side."""
        return preview(self.files_of(side), self.columns[side], self.limits)


def find_inputs(
    configuration: Configuration, more_columns: Sequence[str], predictions: bool = True, whole: bool = False
) -> Inputs:
    """Finds the files of a configuration, and checks that they have the columns that the run needs.

    predictions: whether the run needs any. whole: whether it needs the records with all their columns. Raises
    UsageError if an input is missing or lacks a column.
    """
    configuration.check_sides(predictions)
    settings = configuration.settings
    systems = settings.predictions if predictions else {}
    check_reachable([*settings.ground_truth, *(glob for globs in systems.values() for glob in globs)])
    with as_input_errors():
        files = match_files(GROUND_TRUTH, settings.ground_truth, "--ground-truth ")
        for system, (name, globs) in enumerate(systems.items()):
            prefix = "" if name == DEFAULT_SYSTEM else f"{name}="
            try:
                files += match_files(system, globs, f"--predictions {prefix}")
            except InputProblem as problem:
                raise InputProblem(f"{problem.message}{_other_name(prefix, globs)}") from problem
        inputs = Inputs(configuration, tuple(files), tuple(systems), tuple(more_columns), whole)
        check_field_sides(settings)
        no_folder = folder_problem(settings.pictures)
        return replace(inputs, warnings=(*_check_files(inputs), *([no_folder] if no_folder else [])))


def _other_name(prefix: str, globs: Iterable[str]) -> str:
    """Returns a hint if an equals sign in one of `globs` was meant otherwise: as part of a path, or behind a name.

    prefix: the name of the system with its equals sign, empty if it has none.
    """
    for glob in globs:
        path, (name, equals, _) = f"./{prefix}{glob}", glob.partition("=")
        if prefix and any(iglob(path)):
            return f"; if {prefix}{glob} is the path, give {path}"
        if not prefix and equals and "/" not in name:
            return "; the name of a system has only letters, digits and the characters _ . -"
    return ""


def _check_files(inputs: Inputs) -> tuple[str, ...]:
    """Checks the first file of each side, and more files if a column is missing; returns warnings.

    If the files list their columns, a column that no ground-truth file has is a problem. JSONL does not: only its first
    records are read, and a column that is in none of them may come later, so it is a warning.
    """
    for file in {file.side: file for file in reversed(inputs.files)}.values():
        known_fields(file, inputs.columns[file.side].fields)
    truths, known, mapped = inputs.files_of(GROUND_TRUTH), dict[str, int](), inputs.columns[GROUND_TRUTH].fields
    for file in truths:
        missing = [column for column in inputs.more_columns if column not in known]
        if not missing:
            return ()
        fields = known_fields(file, mapped)
        if fields is None:
            known |= preview([file], inputs.columns[GROUND_TRUTH], inputs.limits).fields
            return tuple(
                f"the first ground-truth records have no column {column}{nearest(column, list(known))}, "
                f"only {some_of(known, NAMES_LISTED)}{mapped.dotted(known)}"
                for column in missing
                if known and column not in known
            )
        known |= dict.fromkeys(fields, 0)
    missing = [column for column in inputs.more_columns if column not in known]
    if missing:
        others = f" and the {len(truths) - 1} other ground-truth files" if len(truths) > 1 else ""
        raise InputProblem(no_column(f"{truths[0].path}{others}", missing[0], list(known), mapped))
    return ()


def preview(files: Iterable[SourceFile], columns: SideColumns, limits: RecordLimits) -> FirstRecords:
    """Returns a summary of the first records of some files, of a damaged one those before the damage."""
    first, bytes_read = FirstRecords(), 0
    for number, file in enumerate(files):
        if number >= FILES_LOOKED_AT:
            first.whole = False
            break
        try:
            first.fields = dict.fromkeys(known_fields(file, columns.fields) or (), 0) | first.fields
            encoder = RecordEncoder(file.side, file.number, file.path)
            parts = split_file(file, file.size)
            for item in chain.from_iterable(read_part(part, columns, limits) for part in parts):
                if first.read >= RECORDS_LOOKED_AT or bytes_read >= BYTES_LOOKED_AT:
                    first.whole = False
                    return first
                record, _, problem = checked_record(encoder, item, columns.fields, limits)
                bytes_read += record.size
                first.add(record, problem and problem[1], columns.repeats)
        except InputProblem as error:
            first.unreadable, first.whole = first.unreadable or error.message, False
    return first
