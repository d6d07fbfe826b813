"""Makers of records and files, and what a bundle of a DoFn yields, for the tests of this folder."""

import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.utils.windowed_value import WindowedValue

from beamscore.transforms.io import files
from beamscore.transforms.io.files import FilePart, match_files, part_size, split_file
from beamscore.transforms.read import _ReadRowGroup, _row_groups
from beamscore.transforms.records import JSON, EncodedRecord, Encoding, InputProblem, RecordEncoder
from beamscore.transforms.rows import RowSource
from tests.runs import write_lines
from tests.tables import write_arrow, write_delimited


def encoded(
    side: int = 0, text: Any = b"{}", file: int = 0, position: int = 0, path: str = "f", encoding: Encoding = JSON
) -> EncodedRecord:
    """A record at a place; text: its bytes, or the record itself."""
    content = text if isinstance(text, bytes) else json.dumps(text).encode()
    return EncodedRecord(RecordEncoder(side, file, path).encode(position, position + 1, encoding, content))


def by_tag(outputs: Iterable[Any]) -> defaultdict[str, list[Any]]:
    """The values of outputs by their tag, those of the main output as `main`."""
    found = defaultdict(list)
    for output in outputs:
        tag, value = (output.tag, output.value) if isinstance(output, TaggedOutput) else ("main", output)
        found[tag].append(value.value if isinstance(value, WindowedValue) else value)
    return found


def bundle(do_fn: Any, *elements: Any) -> defaultdict[str, list[Any]]:
    """What one bundle of these elements yields, by tag."""
    do_fn.start_bundle()
    outputs = [output for element in elements for output in do_fn.process(element) or ()]
    return by_tag([*outputs, *do_fn.finish_bundle()])


def row_records(source: RowSource, side: int) -> Iterator[tuple[str, EncodedRecord]]:
    """The records of all files, as the stages of ReadRowBlocks make them."""
    do_fn = _ReadRowGroup({side: source})
    do_fn.setup()
    for element in _row_groups((0, [(side, path) for path in source.files])):
        for sample_id, encoded in do_fn.process(element):
            yield sample_id.decode(), EncodedRecord(encoded)


def store(path: Path, records: Sequence[Any], rows: int = 1000) -> Path:
    """Writes records as the name says, in groups of so many rows."""
    name = path.name
    if name.endswith(".parquet"):
        empty = pa.table({"sample_id": pa.array([], pa.string())})
        pq.write_table(pa.Table.from_pylist(list(records)) if records else empty, path, row_group_size=rows)
    elif name.endswith(".arrow"):
        write_arrow(path, records, rows)
    elif "sv" in name:
        write_delimited(path, records)
    else:
        write_lines(path, records)
    return path


def parts_of(path: Path | str, side: int = 0, size: int | None = None) -> list[FilePart]:
    """The parts of a file, as many as a run of it alone would have, or of `size` bytes."""
    (file,) = match_files(side, [str(path)], "--x")
    return list(split_file(file, part_size([file]) if size is None else size))


def problem_of(call: Callable[..., Any], *arguments: Any) -> str:
    """The one line of the InputProblem that a call raises."""
    with pytest.raises(InputProblem) as problem:
        call(*arguments)
    assert "\n" not in problem.value.message
    return problem.value.message


@contextmanager
def counted_reads() -> Iterator[list[int]]:
    """Gives the sizes of all reads of input files that are opened meanwhile."""
    sizes: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int | None:
            size = super().readinto(buffer)
            sizes.append(size or 0)
            return size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "open_file", lambda path: io.BufferedReader(Counted(path), 64))
        yield sizes
