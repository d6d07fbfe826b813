"""Arrow files: the rows of their record batches, where they can be cut, and what a damaged one gives."""

from __future__ import annotations

import contextlib
import random
import struct
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from beamscore.transforms.io import arrow_batches, arrow_stream, files
from beamscore.transforms.io.arrow_batches import BatchReader, known_columns
from beamscore.transforms.io.arrow_rows import Row
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.parquet import RowLimits
from beamscore.transforms.io.side_columns import SideColumns
from beamscore.transforms.records import InputProblem
from tests.tables import write_arrow

RECORDS = [
    {"sample_id": f"s{index}", "text": "x" * index, "words": ["a", "b"][: index % 3], "inner": {"n": index}}
    for index in range(250)
]
TABLE = pa.Table.from_pylist(RECORDS)


def read(path: Path, part_bytes: int = 1 << 30, limit: int = 10_000, wanted: set[str] | None = None) -> list[Row]:
    (file,) = match_files(0, [str(path)], "--x")
    columns = SideColumns(None if wanted is None else frozenset(wanted), frozenset({"words"}))
    limits = RowLimits(limit, 10)
    return [row for part in split_file(file, part_bytes) for row in BatchReader(part, columns, limits)]


def records(rows: list[Row]) -> list[Any]:
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_the_rows_of_any_parts_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: Any, compression: str | None
) -> None:
    path = tmp_path / "a.arrow"
    with new(path, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    assert records(read(path)) == RECORDS
    monkeypatch.setattr(files, "BYTES_PER_PART", 1000)
    (file,) = match_files(0, [str(path)], "--x")
    parts = list(split_file(file, 2000))
    assert len(parts) > 5
    rows = read(path, 2000)
    assert records(rows) == RECORDS
    assert [row.number for row in rows] == list(range(250))
    assert sum(part.size for part in parts) == file.size


def test_batches_that_share_dictionaries_are_read_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 1000)
    encoded = TABLE.set_column(1, "text", TABLE["text"].dictionary_encode())
    path = tmp_path / "a.arrow"
    with pa.ipc.new_stream(path, encoded.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        writer.write_table(encoded.slice(0, 100), max_chunksize=10)
        writer.write_table(encoded.slice(100), max_chunksize=10)
    (file,) = match_files(0, [str(path)], "--x")
    assert len(list(split_file(file, 2000))) == 1
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


def test_a_batch_beyond_the_limit_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_stream, "MAX_BATCH_BYTES", 10_000)
    path = write_arrow(tmp_path / "a.arrow", RECORDS)
    with pytest.raises(
        InputProblem, match=r"a.arrow: cannot be read as arrow: the record batch at byte \d+ has \d+ bytes"
    ):
        read(path)
    bomb = [{"sample_id": "a", "text": "x" * 100_000}]
    path = write_arrow(tmp_path / "b.arrow", bomb, compression="zstd")
    assert path.stat().st_size < 10_000
    with pytest.raises(InputProblem, match=r"unpacks to \d+ bytes, more than"):
        read(path)


def test_a_batch_that_promises_rows_without_bytes_ends_the_run(tmp_path: Path) -> None:
    table = pa.table({"sample_id": pa.nulls(10_000_000)})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(InputProblem, match=r"has 10000000 rows in \d+ bytes"):
        read(tmp_path / "a.arrow")


@pytest.mark.parametrize(
    "column", [pa.array(["a"] * 3, pa.string_view()), pa.array([["a"]] * 3, pa.list_view(pa.string()))]
)
def test_types_whose_values_share_bytes_are_refused(tmp_path: Path, column: Any) -> None:
    table = pa.table({"sample_id": ["a", "b", "c"], "text": column})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(
        InputProblem, match=r"the column text is of type (string_view|list_view<.*>), which is not read"
    ):
        read(tmp_path / "a.arrow")
    assert len(read(tmp_path / "a.arrow", wanted={"other"})) == 3


def test_a_file_that_was_cut_off_anywhere_is_no_shorter_one(tmp_path: Path) -> None:
    content = write_arrow(tmp_path / "a.arrow", RECORDS[:20], 5).read_bytes()
    for size in range(len(content)):
        (tmp_path / "a.arrow").write_bytes(content[:size])
        with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
            read(tmp_path / "a.arrow")


def test_a_damaged_file_gives_rows_or_one_line_and_never_ends_the_process(tmp_path: Path) -> None:
    content = write_arrow(tmp_path / "a.arrow", RECORDS[:20], 5).read_bytes()
    numbers = random.Random(7)
    problems = 0
    for _ in range(2000):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 4)):
            at = numbers.randrange(len(damaged))
            damaged[at : at + 4] = numbers.choice(
                [bytes([numbers.randrange(256)]), struct.pack("<i", numbers.choice([-1, 0, 1 << 30, -(1 << 31)]))]
            )
        (tmp_path / "a.arrow").write_bytes(damaged)
        with contextlib.suppress(InputProblem):
            read(tmp_path / "a.arrow")
            problems -= 1
        problems += 1
    assert problems > 500


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b'{"sample_id": "a"}\n', b"\xff\xff\xff\xff\0\0\0\0"])
def test_what_is_no_arrow_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    (file,) = match_files(0, [str(tmp_path / "a.arrow")], "--x")
    with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
        known_columns(file)


def test_a_file_without_the_column_of_the_id_is_told(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "a.arrow", [{"id": "a", "text": "x"}])
    with pytest.raises(InputProblem, match="there is no column sample_id, only id, text"):
        read(path)


def test_one_batch_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_arrow(tmp_path / "a.arrow", RECORDS, 10)
    read_batches: list[int] = []
    real = arrow_stream.decoded_batch

    def counted(*arguments: Any) -> Any:
        read_batches.append(1)
        return real(*arguments)

    monkeypatch.setattr(arrow_batches, "decoded_batch", counted)
    (file,) = match_files(0, [str(path)], "--x")
    (part,) = split_file(file, 1 << 30)
    rows = iter(BatchReader(part, SideColumns(None), RowLimits(10_000, 10)))
    for _ in range(11):
        next(rows)
    assert len(read_batches) == 2
