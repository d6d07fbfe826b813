"""Lists of samples, such as the changes of a comparison: JSONL or Parquet with a sample_id in each row."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import BeamIOError
from apache_beam.io.filesystems import FileSystems

from ..records import InputProblem
from .storage import STORAGE_ERRORS

COLUMN = "sample_id"


class _Listed(msgspec.Struct):
    sample_id: int | str


def sample_ids(path: str) -> Iterator[str]:
    """Yields the sample_id of each row of a file, in order; other columns are not looked at.

    Raises InputProblem where the file cannot be read, or a row has no sample_id, with its line.
    """
    try:
        yield from _of_parquet(path) if path.endswith(".parquet") else _of_lines(path)
    except (*STORAGE_ERRORS, BeamIOError, pa.ArrowException, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputProblem(
            f"{path}: this is no list of samples: {reason}; give JSONL or Parquet with sample_id"
        ) from error


def _of_parquet(path: str) -> Iterator[str]:
    with FileSystems.open(path, compression_type="uncompressed") as stream, pq.ParquetFile(stream) as file:
        names = file.schema_arrow.names
        kind = file.schema_arrow.field(COLUMN).type if COLUMN in names else None
        if kind not in (pa.string(), pa.large_string()) and not pa.types.is_integer(kind):
            raise ValueError(f"there is no column {COLUMN} of text or integers")
        for batch in file.iter_batches(columns=[COLUMN]):
            for sample_id in batch.column(0).to_pylist():
                if sample_id is None:
                    raise ValueError(f"a row has no {COLUMN}")
                yield str(sample_id)


def _of_lines(path: str) -> Iterator[str]:
    with FileSystems.open(path) as stream:
        for number, line in enumerate(iter(stream.readline, b""), start=1):
            if line.strip():
                try:
                    yield str(msgspec.json.decode(line, type=_Listed).sample_id)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise ValueError(f"line {number}: {error}") from error
