"""From globs, and folders saved by Hugging Face `datasets`, to numbered files and the parts in which they are read."""

from __future__ import annotations

import contextlib
import io
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import iglob
from typing import Any, BinaryIO, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from ..records import InputProblem
from .storage import beam_files, is_on_disk, open_file, place_of, read_bytes, reason_of

Format = Literal["jsonl", "parquet", "arrow", "csv", "tsv"]

BYTES_PER_PART = 32 << 20
MIN_BYTES_PER_PART = 4 << 20
TARGET_PARTS = 64
"""The input is cut into this many parts, for as many workers, unless they would become too small or too large: a plain
JSONL file into parts of equal size, a Parquet file by row groups up to that size. A JSONL file of BYTES_PER_PART or
less stays whole, since the later parts of a file have no line numbers. CSV and Arrow stay whole too: the start of a
record depends on everything before it."""

BYTES_PER_READ = 1 << 20

_NAMES = re.compile(r"\.(?:(jsonl|ndjson|json|csv|tsv)(?:\.(?:gz|zst|bz2))?|(parquet|pq|arrow))$", re.IGNORECASE)
_FORMATS: dict[str, Format] = {"parquet": "parquet", "pq": "parquet", "arrow": "arrow", "csv": "csv", "tsv": "tsv"}
ENDINGS = ".jsonl, .csv or .tsv, also with .gz, .zst or .bz2, or with .parquet or .arrow"
_PLAIN = re.compile(r"\.(?:jsonl|ndjson|json)$", re.IGNORECASE)

BOM = b"\xef\xbb\xbf"


_CODECS = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of one side: GROUND_TRUTH or the number of a system.

    modified: the time of its last change in seconds since 1970; 0 if the filesystem reports none.
    """

    side: int
    number: int
    path: str
    size: int
    format: Format
    modified: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether the file is uncompressed text."""
        return _PLAIN.search(self.path) is not None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file: the bytes [start, stop) of JSONL, or the row groups [start, stop) of Parquet.

    A line belongs to the part in which it starts. `first_row` is the number of the first row of a part of Parquet, and
    `stored` its share of the bytes of the file. `stop` is None for a file that is read to its end, such as a compressed
    one.
    """

    file: SourceFile
    start: int
    stop: int | None
    first_row: int = 0
    stored: int = 0

    @property
    def size(self) -> int:
        """How many bytes of the file the part takes."""
        if self.file.format == "parquet":
            return self.stored
        return (self.file.size if self.stop is None else self.stop) - self.start


def match_files(side: int, globs: Sequence[str], what: str) -> list[SourceFile]:
    """Returns the files that match any of `globs`, each once, numbered in order of globs and then of paths.

    `what` precedes a path in errors, as on the command line: `--ground-truth ` or `--predictions NAME=`. A folder is
    replaced by the data files in it. Raises InputProblem if a glob matches nothing, cannot be matched, or matches a
    file of unknown format.
    """
    matched: dict[str, tuple[str, int, float]] = {}
    for glob in globs:
        for entry in sorted(_matched_or_in_folder(glob, what)):
            matched.setdefault(place_of(entry[0]), entry)
    files = []
    for number, (path, size, modified) in enumerate(matched.values()):
        kind = name_format(path)
        if kind is None:
            raise InputProblem(f"{what}{path}: the format is unknown; the name must end with {ENDINGS}")
        files.append(SourceFile(side, number, path, size, kind, modified))
    return files


def _matched_or_in_folder(glob: str, what: str) -> list[tuple[str, int, float]]:
    """Returns the files that match; for the folder of a saved data set, its data files."""
    if not re.search(r"[*?[]", glob):
        data_files = files_of_folder(glob, what)
        if data_files is not None:
            return [entry for path in data_files for entry in match_glob(path, what)]
        if os.path.isdir(glob):
            advice = f"; give a pattern of its files, such as '{glob.rstrip('/')}/*.jsonl'"
            if splits := sorted(iglob(posixpath.join(glob, "*", "state.json"))):
                advice = f" of splits; name one, such as '{posixpath.dirname(splits[0])}'"
            raise InputProblem(f"{what}{glob}: this is a folder{advice}")
    return match_glob(glob, what)


def _linked(pattern: str, here: str, known: Collection[str], what: str) -> Iterator[tuple[str, int, float]]:
    """Yields the files in linked folders, which Beam does not enter; raises InputProblem for a link to no file.

    Beam leaves such a link out. A pattern with `**` or `[^` enters no linked folder. known: the paths that Beam found.
    """
    for match in () if "**" in pattern or "[^" in pattern else iglob(pattern):
        path = match.removeprefix(here)
        if path not in known and not os.path.isdir(path):
            try:
                found = os.stat(path)
            except OSError as error:
                reason = "this link leads to no file" if os.path.islink(path) else reason_of(error)
                raise InputProblem(f"{what}{path}: {reason}") from error
            yield path, found.st_size, found.st_mtime


def _as_in_a_shell(expression: str) -> str:
    """Returns the regular expression of Beam for a pattern with what its wildcards stand for in a shell.

    `/**/` may be no folder, and no wildcard is a dot at the start of a name. Such names have metadata of macOS and the
    copies that Jupyter keeps.
    """
    expression = re.sub(r"(?<=/)(?=[.\[])", r"(?!\\.)", expression)
    expression = expression.replace(r"(?!\.).*/", r"(?:(?!\.)[^/]+/)*")
    return expression.replace(".*", r"(?:[^/]|/(?!\.))*")


def match_glob(glob: str, what: str) -> list[tuple[str, int, float]]:
    """Returns path, size and time of the last change of each file that matches; `what` precedes the glob in errors.

    Raises InputProblem if no file matches, or the glob cannot be matched.
    """
    if not glob.strip():
        raise InputProblem(f"{what.strip()}: the path is empty; is a variable of the shell unset?")
    # For a bucket alone Beam's client of S3 retries for minutes.
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^/*?[]+/?", glob):
        advice = f"this is a bucket; give a pattern of files, such as '{glob.rstrip('/')}/*.jsonl'"
        raise InputProblem(f"{what}{glob}: {advice}")
    # Beam has no way to say that a bracket is one.
    is_name = "[" in glob and os.path.isfile(glob)
    # Beam finds nothing for a pattern that starts in the current folder without naming it, such as `*.jsonl`.
    here = "" if "/" in re.split(r"[*?[]", glob, maxsplit=1)[0] else "./"
    pattern = here + (glob.replace("[", "?") if is_name else glob)
    # Beam adds the star later.
    pattern += "*" if pattern.endswith(("/", "\\")) else ""
    try:
        with beam_files(glob) as filesystems:
            # To Beam `/**/` is one folder or more.
            metadata = filesystems.match([re.sub(r"/(\*\*/)+", "/**", pattern)])[0].metadata_list
            expression = _as_in_a_shell(filesystems.get_filesystem(glob).translate_pattern(pattern))
    except (OSError, ValueError) as error:
        raise InputProblem(f"{what}{glob}: cannot be listed: {reason_of(error)}") from error
    files = [
        (entry.path.removeprefix(here), entry.size_in_bytes, float(entry.last_updated_in_seconds or 0.0))
        for entry in metadata
        # Such a path on an object store is the mark of a folder, made in a console.
        if not entry.path.endswith("/") and (entry.path == here + glob if is_name else re.match(expression, entry.path))
    ]
    if is_on_disk(glob) and not is_name:
        files += _linked(pattern, here, {path for path, _, _ in files}, what)
    if not files:
        raise InputProblem(f"{what}{glob}: no file matches; check the path and quote the pattern in the shell")
    for path, _, _ in files:
        if path.encode(errors="replace").decode() != path:
            raise InputProblem(f"{what}{path}: the name is not UTF-8, so no result can name the file; rename it")
    return files


def name_format(path: str) -> Format | None:
    """Returns the format by the ending of a file name; None if it is unknown."""
    name = _NAMES.search(path)
    return _FORMATS.get((name[1] or name[2]).lower(), "jsonl") if name else None


def part_size(files: Iterable[SourceFile]) -> int:
    """Returns the bytes of a part for an input of these files; it depends on nothing else, such as the runner."""
    target = sum(file.size for file in files) // TARGET_PARTS
    return min(BYTES_PER_PART, max(MIN_BYTES_PER_PART, target))


def split_file(file: SourceFile, size: int) -> Iterator[FilePart]:
    """Yields the parts of a file, of `size` bytes, which together cover it.

    Raises InputProblem if a Parquet footer cannot be read.
    """
    if file.format == "parquet":
        yield from _split_parquet(file, size)
    elif not file.is_plain:
        yield FilePart(file, 0, None)
    else:
        step = size if file.size > BYTES_PER_PART else BYTES_PER_PART
        for start in range(0, file.size, step):
            yield FilePart(file, start, min(start + step, file.size))


def _split_parquet(file: SourceFile, part_bytes: int) -> Iterator[FilePart]:
    with open_parquet(file) as parquet:
        metadata = parquet.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    share = file.size / max(1, sum(group.total_byte_size for group in groups))
    start, first_row, row, size = 0, 0, 0, 0
    for number, group in enumerate(groups):
        if size and size + group.total_byte_size > part_bytes:
            yield FilePart(file, start, number, first_row, int(size * share))
            start, first_row, size = number, row, 0
        size += group.total_byte_size
        row += group.num_rows
    if groups:
        yield FilePart(file, start, len(groups), first_row, int(size * share))


@contextlib.contextmanager
def reading(file: SourceFile) -> Iterator[BinaryIO]:
    """Opens a file on any filesystem of Beam, as it is stored.

    Raises InputProblem if it cannot be opened, or if an error within means that it cannot be read to its end.
    """
    try:
        with open_file(file.path) as stream:
            yield stream
    except MemoryError:
        # The MemoryError of pyarrow is an ArrowException, too.
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputProblem(f"{file.path}: cannot be read as {file.format}: {reason_of(error)}") from error


def _uncompressed(raw: BinaryIO, path: str) -> BinaryIO:
    """Returns the text of a file, which cannot be sought if it is compressed.

    Beam's own decompression accepts a truncated file as complete, and Python's a damaged second stream of bz2 as its
    end; that of Arrow raises OSError for both, and is faster for gz and zst. All accept a file of 0 bytes.
    """
    codec = _CODECS.get(path.lower().rpartition(".")[2])
    if codec is None:
        return raw
    if not raw.read(1):
        raise OSError("it was cut off: it has 0 bytes, where even empty text has more if compressed")
    raw.seek(0)
    # Arrow's own stream has no lines.
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec))


@contextlib.contextmanager
def open_text(file: SourceFile, position: int = 0) -> Iterator[BinaryIO]:
    """Opens the text of a file, uncompressed according to its name, from the byte `position` on; see `reading`."""
    with reading(file) as raw:
        stream = _uncompressed(raw, file.path)
        if position:
            stream.seek(position)
        yield stream


@contextlib.contextmanager
def open_uncompressed(path: str) -> Iterator[BinaryIO]:
    """Opens a file on any filesystem of Beam, uncompressed; raises what reading it raises."""
    with open_file(path) as raw:
        yield _uncompressed(raw, path)


@contextlib.contextmanager
def open_parquet(file: SourceFile) -> Iterator[Any]:
    """Opens a Parquet file whose pages are read as needed, and verified if they have checksums; see `reading`."""
    options = {"buffer_size": BYTES_PER_READ, "pre_buffer": False, "page_checksum_verification": True}
    with reading(file) as stream, pq.ParquetFile(stream, **options) as parquet:
        yield parquet


class _SavedFile(msgspec.Struct):
    filename: str


class _Saved(msgspec.Struct):
    files: list[_SavedFile] = msgspec.field(name="_data_files")
    indices: list[_SavedFile] | None = msgspec.field(name="_indices_data_files", default=None)


def files_of_folder(path: str, what: str) -> list[str] | None:
    """Returns the files that state.json names in a folder that `Dataset.save_to_disk` wrote; None if it has none.

    `what` names the input in errors. Raises InputProblem if state.json cannot be read, or if an indices mapping selects
    rows of the files, as old releases of `datasets` write it.
    """
    state = posixpath.join(path, "state.json")
    if not path.strip() or (name_format(path.rstrip("/")) is not None and not os.path.isdir(path)):
        return None
    try:
        saved = msgspec.json.decode(read_bytes(state), type=_Saved)
        if saved.indices:
            raise ValueError("an indices mapping selects the rows; save the data set again after flatten_indices()")
    except OSError:
        return None
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InputProblem(f"{what}{state}: cannot be read: {error}") from error
    return [posixpath.join(path, file.filename) for file in saved.files]
