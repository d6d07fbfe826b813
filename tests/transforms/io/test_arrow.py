"""Arrow files: the rows of their record batches, and what a damaged one gives."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import RecordLimits, Row, read_table, schema_of
from beamscore.transforms.records import InputProblem
from tests.tables import write_arrow
from tests.transforms.counted import counted_reads

RECORDS = [
    {"sample_id": f"s{index}", "text": "x" * index, "words": ["a", "b"][: index % 3], "inner": {"n": index}}
    for index in range(250)
]
TABLE = pa.Table.from_pylist(RECORDS)


def read(path: Path, part_bytes: int = 1 << 30, limit: int = 10_000, wanted: set[str] | None = None) -> list[Row]:
    (file,) = match_files(0, [str(path)], "--x")
    columns = SideColumns(None if wanted is None else frozenset(wanted), frozenset({"words"}))
    limits = RecordLimits(limit, 10)
    return [row for part in split_file(file, part_bytes) for row in read_table(part, columns, limits)]


def records(rows: list[Row]) -> list[Any]:
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_the_rows_are_those_of_the_batches(tmp_path: Path, new: Any, compression: str | None) -> None:
    path = tmp_path / "a.arrow"
    with new(path, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    rows = read(path, 1000)
    assert records(rows) == RECORDS
    assert [row.number for row in rows] == list(range(250))


def test_batches_share_dictionaries_that_grow(tmp_path: Path) -> None:
    encoded = TABLE.set_column(1, "text", TABLE["text"].dictionary_encode())
    path = tmp_path / "a.arrow"
    with pa.ipc.new_stream(path, encoded.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        writer.write_table(encoded.slice(0, 100), max_chunksize=10)
        writer.write_table(encoded.slice(100), max_chunksize=10)
    assert records(read(path)) == RECORDS


def test_only_the_columns_that_are_wanted_are_decoded(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "a.arrow", RECORDS)
    assert records(read(path, wanted={"text"})) == [{k: each[k] for k in ("sample_id", "text")} for each in RECORDS]


def test_a_row_beyond_the_limit_is_rejected_alone(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "a.arrow", RECORDS, 100)
    rows = read(path, limit=240)
    bad = [row for row in rows if row.error]
    assert bad
    assert {row.cause for row in bad} == {"too_large"}
    assert [row.sample_id for row in rows] == [each["sample_id"] for each in RECORDS]


@pytest.mark.parametrize(
    "column", [pa.array(["a"] * 3, pa.string_view()), pa.array([["a"]] * 3, pa.large_list(pa.string()))]
)
def test_other_types_of_text_and_lists_are_read(tmp_path: Path, column: Any) -> None:
    table = pa.table({"sample_id": ["a", "b", "c"], "text": column})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert records(read(tmp_path / "a.arrow")) == table.to_pylist()


def test_a_file_that_was_cut_off_anywhere_is_no_shorter_one(tmp_path: Path) -> None:
    content = write_arrow(tmp_path / "a.arrow", RECORDS[:20], 5).read_bytes()
    # Messages end at multiples of 8.
    for size in [*range(0, len(content), 8), *range(1, len(content), 97)]:
        (tmp_path / "a.arrow").write_bytes(content[:size])
        with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
            read(tmp_path / "a.arrow")


def test_a_damaged_file_gives_rows_or_an_error_and_never_ends_the_process(tmp_path: Path) -> None:
    """A damaged length may ask for more memory than there is."""
    content = write_arrow(tmp_path / "a.arrow", RECORDS[:20], 5).read_bytes()
    numbers = random.Random(7)
    problems = 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 4)):
            at = numbers.randrange(len(damaged))
            damaged[at : at + 4] = numbers.choice(
                [bytes([numbers.randrange(256)]), struct.pack("<i", numbers.choice([-1, 0, 1 << 30, -(1 << 31)]))]
            )
        (tmp_path / "a.arrow").write_bytes(damaged)
        with contextlib.suppress(InputProblem, MemoryError):
            read(tmp_path / "a.arrow")
            continue
        problems += 1
    assert problems > 60


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b'{"sample_id": "a"}\n', b"\xff\xff\xff\xff\0\0\0\0"])
def test_what_is_no_arrow_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    (file,) = match_files(0, [str(tmp_path / "a.arrow")], "--x")
    with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
        schema_of(file)


def test_a_file_without_the_column_of_the_id_is_told(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "a.arrow", [{"id": "a", "text": "x"}])
    with pytest.raises(InputProblem, match="there is no column sample_id, only id, text"):
        read(path)


def test_one_batch_is_read_at_a_time(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "a.arrow", RECORDS, 10)
    (file,) = match_files(0, [str(path)], "--x")
    (part,) = split_file(file, 1 << 30)
    with counted_reads() as sizes:
        rows = iter(read_table(part, SideColumns(None), RecordLimits(10_000, 10)))
        for _ in range(11):
            next(rows)
    assert sum(sizes) < file.size / 5
