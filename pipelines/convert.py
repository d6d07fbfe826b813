"""The conversion of a benchmark's own layout: a map over files, a group by sample, a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems
from apache_beam.pvalue import TaggedOutput

from metrics.convert import Converter, Part, UnreadableSource
from pipelines.errors import UsageError, one_line
from pipelines.records import WriteRecords
from transforms.records import InputProblem


@dataclass(frozen=True, slots=True)
class RoleFile:
    """One file and the role that it plays."""

    role: str
    path: str


def find_role_files(converter: Converter, inputs: Iterable[str]) -> list[RoleFile]:
    """Returns the files that `inputs`, each [ROLE=]GLOB, name.

    Raises UsageError where a role is unknown or a glob matches nothing.
    """
    files: dict[RoleFile, None] = {}
    for each in inputs:
        role, equals, glob = each.partition("=")
        if not equals or "/" in role:
            role, glob = next(iter(converter.roles)), each
        if role not in converter.roles:
            known = "; ".join(f"{name}: {meaning}" for name, meaning in converter.roles.items())
            raise UsageError(f"--input {each}: there is no role {role}; the roles are {known}")
        try:
            paths = [entry.path for entry in FileSystems.match([glob])[0].metadata_list]
        except (BeamIOError, ValueError) as error:
            raise UsageError(f"--input {each}: cannot be listed: {one_line(error)}") from error
        if not paths:
            raise UsageError(f"--input {each}: no file matches; check the path and quote the pattern in the shell")
        files.update(dict.fromkeys(RoleFile(role, path) for path in sorted(paths)))
    return list(files)


def build_conversion(
    pipeline: beam.Pipeline, converter: Converter, files: list[RoleFile], write: WriteRecords, rejected: WriteRecords
) -> None:
    """Wires the pipeline: converted records go to `write`, sources that cannot be read to `rejected`."""
    parts = (
        pipeline
        | "Files" >> beam.Create(files, reshuffle=True)
        | "Parts" >> beam.ParDo(ReadParts(converter)).with_outputs("rejected", main="parts")
    )
    records = (
        parts.parts
        | "ByKey" >> beam.GroupByKey()
        | "Build" >> beam.ParDo(BuildRecords(converter)).with_outputs("rejected", main="records")
    )
    _ = records.records | "Write" >> write
    bad = (parts.rejected, records.rejected) | "Rejected" >> beam.Flatten()
    _ = bad | "Count" >> beam.combiners.Count.Globally() | "Tell" >> beam.Map(Rejections.count.inc)
    _ = bad | "WriteRejected" >> rejected


class Rejections:
    """Counts what could not be converted."""

    count = beam.metrics.Metrics.counter("beamscore", "sources_rejected")


class ReadParts(beam.DoFn):
    """Takes the keyed parts out of a file."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def process(self, file: RoleFile) -> Iterator[tuple[str, Part] | TaggedOutput]:
        """Yields (key, Part) for each part, or what is wrong with the file."""
        try:
            stream = FileSystems.open(file.path)
        except (OSError, BeamIOError) as error:
            raise InputProblem(f"{file.path}: cannot be opened: {one_line(error)}") from error
        with stream:
            try:
                for key, content in self._converter.parts(file.role, file.path, stream):
                    yield key, Part(file.role, file.path, content)
            except UnreadableSource as error:
                yield TaggedOutput("rejected", {"source": file.path, "error": str(error)})


class BuildRecords(beam.DoFn):
    """Builds the records of one key."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def process(self, group: tuple[str, Iterable[Part]]) -> Iterator[Any]:
        """Yields the records, or what is wrong with the parts."""
        key, parts = group
        ordered = sorted(parts, key=lambda part: (part.role, part.path, part.content))
        try:
            yield from self._converter.records(key, ordered)
        except UnreadableSource as error:
            yield TaggedOutput("rejected", {"source": ordered[0].path, "error": str(error)})
