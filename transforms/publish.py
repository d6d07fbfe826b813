"""Writes the result: rows of samples and the quarantine, bundle by bundle, and finally the summary."""

from __future__ import annotations

import contextlib
import functools
import json
import posixpath
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import apache_beam as beam
import msgspec
import pyarrow.parquet as pq
from apache_beam import typehints
from apache_beam.pvalue import TaggedOutput

from .blocks import at_end
from .io.publication import Layout, LostClaim, beat_from_worker, publish, run_folder
from .io.storage import as_os_errors, create_file, make_folder, new_run_id, output_problems
from .records import CauseCount, Quarantined
from .rows import SLICE_PREFIX, sample_schema, sample_table
from .scored import ScoredSample

ROWS_PER_GROUP = 4096
BYTES_PER_GROUP = 16 << 20
Owned = Callable[[], contextlib.AbstractContextManager[None]]


class SampleWriter:
    """Writes lists of ScoredSample to a stream as Parquet, in row groups of about ROWS_PER_GROUP or BYTES_PER_GROUP.

    names: of the systems. metrics: the per-sample metrics. slice_columns: the columns that the run slices by.
    signature: see transforms.hashes.scoring_signature.
    """

    def __init__(
        self,
        names: Sequence[str],
        metrics: Sequence[str],
        slice_columns: Sequence[str],
        signature: bytes,
        stream: BinaryIO,
    ) -> None:
        self._columns = names, metrics, slice_columns, signature
        self._rows: list[ScoredSample] = []
        self._bytes = 0
        repeated = ["system", "status", "prediction_status", "coverage"]
        repeated += [f"{SLICE_PREFIX}{name}" for name in slice_columns]
        schema = sample_schema(metrics, slice_columns)
        self._writer = pq.ParquetWriter(stream, schema, compression="zstd", use_dictionary=repeated)

    def write(self, samples: Sequence[ScoredSample]) -> None:
        """Buffers rows, and writes a row group when there are enough."""
        self._rows += samples
        self._bytes += sum(len(sample.details) for sample in samples)
        if len(self._rows) >= ROWS_PER_GROUP or self._bytes >= BYTES_PER_GROUP:
            self._flush()

    def close(self) -> None:
        """Writes the remaining rows and the end of the file."""
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        rows, self._rows, self._bytes = self._rows, [], 0
        self._writer.write_table(sample_table(rows, *self._columns))


def quarantine_line(entry: Quarantined) -> bytes:
    """Returns the line of a quarantine file that holds an entry."""
    return msgspec.json.encode(entry) + b"\n"


GROUPED = typehints.Tuple[typehints.Tuple[str, str, str, str], CauseCount]
"""The type of pairs (group, CauseCount)."""


class CountCauses(beam.PTransform):
    """Input: Quarantined. Output: CauseCount, one for each group."""

    def expand(self, entries: beam.PCollection) -> beam.PCollection:
        """Counts by cause."""
        return (
            entries
            | "ByCause" >> beam.Map(by_cause).with_output_types(GROUPED)
            | "Count" >> beam.CombinePerKey(merge_causes)
            | "Counts" >> beam.Values()
        )


def by_cause(entry: Quarantined) -> tuple[tuple[str, str, str, str], CauseCount]:
    """Returns the group of an entry, and the count of it alone."""
    return entry.group, CauseCount(1, (entry,))


def merge_causes(counts: Iterable[CauseCount]) -> CauseCount:
    """Adds up the counts of a cause; Beam also adds up none, but does not output that."""
    return functools.reduce(CauseCount.merge, counts, CauseCount())


class Publish(beam.PTransform):
    """Waits for all parts of the result, makes its documents from them, and publishes everything as a whole.

    A run that has lost its claim on the output in the meantime ends without a result.

    parts: named collections; those that begin with FOLDER_files hold the names of the staged files of a folder of the
    layout.
    make: from {name: list of elements} to {file name: content}. owned: makes the run the owner of the output while it
    publishes; by default it is the owner already.
    """

    def __init__(
        self,
        output: str,
        run_id: str,
        layout: Layout,
        make: Callable[[dict[str, list[Any]]], dict[str, bytes]],
        owned: Owned = contextlib.nullcontext,
    ) -> None:
        super().__init__()
        self._output = output
        self._run_id = run_id
        self._layout = layout
        self._make = make
        self._owned = owned

    def expand(self, parts: dict[str, beam.PCollection]) -> beam.PCollection:
        """Runs once, with each part as a side input.

        Grouped under one key, all parts would be one element, and a shuffle holds only elements of about 10 MB.
        """
        pipeline = next(iter(parts.values())).pipeline
        gathered = {name: beam.pvalue.AsList(part) for name, part in parts.items()}
        return pipeline | "Start" >> beam.Create([None]) | "Publish" >> beam.Map(self._publish, **gathered)

    def _publish(self, _: None, **parts: list[Any]) -> bool:
        with self._owned():
            files = self._make(parts)
            staged = {
                folder: [file for name, part in parts.items() if name.startswith(f"{folder}_files") for file in part]
                for folder in self._layout.folders
            }
            try:
                publish(self._output, self._run_id, self._layout, files, staged)
            except LostClaim:
                # The command, if it still waits, detects that the result belongs to a different run.
                return False
        return True


def encode_json(document: Any) -> bytes:
    """Returns a JSON document for people and programs: indented, keys as given, no NaN."""
    # The standard library takes four times as long to indent.
    return msgspec.json.format(json.dumps(document, ensure_ascii=False, allow_nan=False).encode(), indent=1) + b"\n"


Writer = Any
"""Writes elements to a stream by `write`; `close` writes the remaining ones."""


@dataclass(frozen=True)
class StagedFolder:
    """The files of one folder of a result before its run is published."""

    output: str
    run_id: str
    name: str

    @property
    def path(self) -> str:
        """The folder of the files."""
        return posixpath.join(run_folder(self.output, self.run_id), self.name)

    def new_name(self, suffix: str) -> str:
        """Returns the name of a new file."""
        return f"{self.name}-{new_run_id()}{suffix}"

    def create(self, name: str) -> BinaryIO:
        """Opens a file for writing."""
        make_folder(self.path)
        return create_file(posixpath.join(self.path, name))


class StageBundles(beam.DoFn):
    """Writes the elements of each bundle to a new file in a staged folder, and yields its name when it is whole.

    A bundle that fails leaves a file whose name is never yielded; when it is retried it writes a new one. So the names
    that arrive downstream belong to whole files with each element once, even if bundles were retried.

    open_writer: makes the writer of a stream; by default that is the stream, and elements are bytes. file_s: after how
    many seconds a file ends and a new one begins, so that whole files exist while a long bundle is still running; None:
    one file for each bundle.

    Raises InputProblem if the output cannot be written.
    """

    def __init__(
        self,
        folder: StagedFolder,
        suffix: str,
        open_writer: Callable[[BinaryIO], Writer] | None = None,
        file_s: float | None = None,
    ) -> None:
        self._folder = folder
        self._suffix = suffix
        self._open_writer = open_writer
        self._file_s = file_s
        self._stream: BinaryIO | None = None
        self._writer: Writer | None = None

    def start_bundle(self) -> None:
        """Starts without a file: a bundle without elements writes none."""
        self._writer = None
        self._ended: list[str] = []

    def teardown(self) -> None:
        """Closes the file of a failed bundle, its writer first: an unclosed writer would write to the closed file."""
        for opened in (self._writer, self._stream):
            with contextlib.suppress(OSError), as_os_errors(self._folder.output):
                if opened is not None:
                    opened.close()

    def process(self, element: Any) -> None:
        """Writes one element."""
        with output_problems(self._folder.output):
            writer = self._writer or self._open()
            writer.write(element)
        if self._file_s is not None and time.monotonic() - self._opened >= self._file_s:
            self._end()

    def finish_bundle(self) -> Iterator[Any]:
        """Ends the file and yields the names of all files of the bundle."""
        self._end()
        return at_end(self._ended)

    def _end(self) -> None:
        if self._writer and self._stream:
            with output_problems(self._folder.output):
                if self._writer is not self._stream:
                    self._writer.close()
                # If closing fails, `teardown` does not try again.
                stream, self._stream, self._writer = self._stream, None, None
                stream.close()
            beat_from_worker(self._folder.output, self._folder.run_id)
            self._ended.append(self._name)

    def _open(self) -> Writer:
        self._opened = time.monotonic()
        self._name = self._folder.new_name(self._suffix)
        self._stream = self._folder.create(self._name)
        self._writer = self._open_writer(self._stream) if self._open_writer else self._stream
        return self._writer


class StageQuarantine(StageBundles):
    """Writes the entries of each bundle as lines, see StageBundles, and counts them by cause.

    From Quarantined to names of files. Other output, by tag: `causes`, pairs (group, CauseCount).
    """

    def __init__(self, folder: StagedFolder) -> None:
        super().__init__(folder, ".jsonl")

    def start_bundle(self) -> None:
        """Starts without a file and with no counts."""
        super().start_bundle()
        self._counts: defaultdict[tuple[str, str, str, str], CauseCount] = defaultdict(CauseCount)

    def process(self, entry: Quarantined) -> None:
        """Writes and counts an entry."""
        super().process(quarantine_line(entry))
        group, count = by_cause(entry)
        self._counts[group] = self._counts[group].merge(count)

    def finish_bundle(self) -> Iterator[Any]:
        """Yields the names of the files, and the counts."""
        yield from super().finish_bundle()
        yield from at_end(TaggedOutput("causes", each) for each in self._counts.items())


class WriteQuarantine(beam.PTransform):
    """Writes entries to a staged folder, and counts them.

    Input: collections of Quarantined. Output, by name: `quarantine_files0` and so on, the names of the files of each;
    `causes`, CauseCount, one for each group.
    """

    def __init__(self, folder: StagedFolder) -> None:
        super().__init__()
        self._stage = beam.ParDo(StageQuarantine(folder)).with_outputs("causes", main="files")

    def expand(self, entries: tuple[beam.PCollection, ...]) -> dict[str, beam.PCollection]:
        """Flattens counts, not entries: a local runner holds in memory whatever is flattened."""
        parts, counts = dict[str, beam.PCollection](), []
        for number, each in enumerate(entries):
            staged = each | f"Write{number}" >> self._stage
            staged.causes.element_type = GROUPED
            counts.append(staged.causes)
            parts[f"quarantine_files{number}"] = staged.files
        causes = counts | beam.Flatten() | "Count" >> beam.CombinePerKey(merge_causes) | "Counts" >> beam.Values()
        return {**parts, "causes": causes}
