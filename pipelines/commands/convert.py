"""`beamscore convert`: converts a benchmark's own file layout to records, by a map over files and a group by sample."""

from __future__ import annotations

import argparse
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import escape, iglob
from operator import itemgetter

import apache_beam as beam
import msgspec
from apache_beam import typehints
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput

from ...metrics.benchmark import error_text
from ...metrics.converter import Converter, Part, UnreadableSource
from ...transforms.blocks import Block, KeyedRecord, ToBlocks, buckets_for, sorted_on_disk, unpack
from ...transforms.io.files import match_glob, open_uncompressed
from ...transforms.io.record_files import encoded, known_columns
from ...transforms.process import faults_end_the_bundle
from ...transforms.records import InputProblem, writable
from ..config.errors import UsageError
from ..config.settings import check_benchmark
from ..runners import launch
from .common import unsupported, write_records
from .messages import DONE


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Converts; returns 1 if a source could not be read; OUTPUT.rejected.jsonl lists these sources."""
    kind = check_benchmark(parsed.benchmark)
    converter = kind.converter
    if converter is None:
        raise unsupported("convert", parsed.benchmark)
    if parsed.input == ["roles"]:
        for role, meaning in converter.roles.items():
            print(f"{role}: {meaning}")
        return DONE
    if not parsed.input or not parsed.output:
        raise UsageError("give --input [ROLE=]GLOB and --output FILE; `--input roles` lists the roles")
    files = launch.files_for_workers(options, find_role_files(converter, parsed.input))
    read, columns = [file.path for file in files], known_columns(kind.truth_type, kind.prediction_type)
    return write_records(parsed, options, lambda pipeline: build_conversion(pipeline, converter, files), read, columns)


_COMPRESSED = re.compile(r"\.(?:gz|bz2|zst)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RoleFile:
    """A file with its role, and its size in bytes."""

    role: str
    path: str
    size: int


def find_role_files(converter: Converter, inputs: Iterable[str]) -> list[RoleFile]:
    """Returns the files that match `inputs`, each [ROLE=]GLOB.

    Raises UsageError if a role is unknown, a glob is a folder, or no file makes a record alone; InputProblem if a glob
    matches nothing.
    """
    files: dict[RoleFile, None] = {}
    for argument in inputs:
        role, equals, glob = argument.partition("=")
        if not equals or "/" in role:
            role, glob = next(iter(converter.roles)), argument
        if role not in converter.roles:
            known = "; ".join(f"{name}: {meaning}" for name, meaning in converter.roles.items())
            raise UsageError(f"--input {argument}: there is no role {role}; the roles are {known}")
        if not glob.endswith("/") and os.path.isdir(glob):
            pattern = "*" if any(map(os.path.isfile, iglob(f"{escape(glob)}/*"))) else f"**/{converter.file_name}"
            pattern = f"{escape(argument)}/{pattern}"
            raise UsageError(f"--input {argument}: a folder; give a pattern of files, such as '{pattern}'")
        matches = match_glob(glob, f"--input {role}=")
        files.update(dict.fromkeys(RoleFile(role, path, size) for path, size, _ in sorted(matches)))
    if files and all(file.role in converter.additions for file in files):
        required = ", ".join(role for role in converter.roles if role not in converter.additions)
        raise UsageError(
            f"--input: {', '.join(sorted(converter.additions))} alone make no records; give {required}=GLOB too"
        )
    return list(files)


def build_conversion(
    pipeline: beam.Pipeline, converter: Converter, files: list[RoleFile]
) -> tuple[beam.PCollection, tuple[beam.PCollection, ...]]:
    """Wires the pipeline; returns the converted records, and lines on sources that cannot be read."""
    folder, buckets = launch.block_folder(pipeline), buckets_for(sum(file.size for file in files))
    parts = (
        pipeline
        | "Files" >> beam.Create(files, reshuffle=True)
        | "Parts" >> beam.FlatMap(read_parts, converter).with_outputs("rejected", main="parts")
    )
    needed = frozenset(file.role for file in files) & converter.additions
    records = (
        parts.parts
        | "Blocks" >> beam.ParDo(ToBlocks(buckets, folder)).with_output_types(typehints.Tuple[int, folder.block_type])
        | "ByBucket" >> beam.GroupByKey()
        | "Build" >> beam.FlatMap(build_records, converter, needed).with_outputs("rejected", main="records")
    )
    return records.records, (parts.rejected, records.rejected)


_PARTS = msgspec.msgpack.Decoder(Part)


def read_parts(file: RoleFile, converter: Converter) -> Iterator[KeyedRecord | TaggedOutput]:
    """Yields each part of a file by its key, both as bytes, or the error of the file or of one of its parts."""
    try:
        with faults_end_the_bundle("converting", _is_of_the_file), open_uncompressed(file.path) as stream:
            # All or nothing: no part of a truncated file counts.
            parts = list(converter.parts(file.role, _COMPRESSED.sub("", file.path), stream))
    except InputProblem:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a file does to a converter must not end the run
        yield _rejected(file.path, error)
        return
    for part in parts:
        if isinstance(part, UnreadableSource):
            yield _rejected(file.path, part)
        elif writable(part[0]) != part[0]:
            yield _rejected(file.path, UnreadableSource("the name of the sample is not UTF-8"))
        else:
            yield part[0].encode(), msgspec.msgpack.encode(Part(file.role, file.path, part[1]))


def build_records(
    bucket: tuple[int, Iterable[Block]], converter: Converter, needed: frozenset[str]
) -> Iterator[tuple[str, bytes] | TaggedOutput]:
    """Yields the records of the keys of a bucket as JSON by sample_id, or the errors of their parts.

    needed: each key must have a part of each of these roles.
    """
    parts = itertools.chain.from_iterable(map(unpack, bucket[1]))
    with sorted_on_disk(parts) as ordered:
        for key, same in itertools.groupby(ordered, key=itemgetter(0)):
            yield from _built(key.decode(), [_PARTS.decode(part) for _, part in same], converter, needed)


def _built(
    key: str, parts: Iterable[Part], converter: Converter, needed: frozenset[str]
) -> Iterator[tuple[str, bytes] | TaggedOutput]:
    ordered = sorted(parts, key=lambda part: (part.role, part.path, part.content))
    try:
        with faults_end_the_bundle("converting", _is_of_the_file):
            records = [encoded(record) for record in converter.records(key, ordered)]
        missing = sorted(needed - {part.role for part in ordered})
        if records and missing:
            raise UnreadableSource(f"{ordered[0].path}: none of the files given as {missing[0]} is of {key!r}")
        yield from records
    except InputProblem:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a file does to a converter must not end the run
        named = (part.path for part in ordered if str(error).startswith(f"{part.path}:"))
        yield _rejected(next(named, ordered[0].path), error)


def _is_of_the_file(error: BaseException) -> bool:
    """Returns whether an error concerns one file: it cannot be opened, or a library cannot read its content.

    Errors of the system, such as a full disk, have a number; a library's error about a broken image has none.
    """
    cannot_open = isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError))
    return cannot_open or (isinstance(error, OSError) and error.errno is None)


def _rejected(path: str, error: Exception) -> TaggedOutput:
    known = isinstance(error, UnreadableSource)
    message = error_text(error) if known else f"cannot be converted: {type(error).__name__}: {error_text(error)}"
    entry = {"source": writable(path), "error": writable(message)}
    return TaggedOutput("rejected", (entry["source"], msgspec.json.encode(entry)))
