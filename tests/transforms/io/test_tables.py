"""The rows of Parquet and Arrow files as records, and what a damaged file gives."""

from __future__ import annotations

import contextlib
import math
import random
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import files
from beamscore.transforms.io import readers as reading
from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.readers import RecordLimits, Row, RowsOfBatch, read_table
from beamscore.transforms.records import InputProblem
from tests.abuse import readers
from tests.transforms.samples import counted_reads, parts_of, problem_of

DEPTH = 8
LIMITS = RecordLimits(16 << 20, DEPTH)
RECORDS = [
    {"sample_id": f"s{index}", "text": "x" * index, "words": ["a", "b"][: index % 3], "inner": {"n": index}}
    for index in range(150)
]
TABLE = pa.Table.from_pylist(RECORDS)
BOTH = pytest.mark.parametrize("ending", ["parquet", "arrow"])


def write(path: Path, table: Any, rows: int = 7, **options: Any) -> Path:
    """Writes a table in row groups, or batches, of so many rows."""
    if path.suffix == ".parquet":
        try:
            pq.write_table(table, path, row_group_size=rows, **options)
        except pa.ArrowNotImplementedError as error:
            pytest.skip(f"pyarrow {pa.__version__}: {error}")
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def rows_of(
    path: Path, columns: Collection[str] | None = None, structured: Collection[str] = (), limits: RecordLimits = LIMITS
) -> list[Row]:
    side = SideColumns(None if columns is None else frozenset(columns), frozenset(structured))
    return [row for part in parts_of(path) for row in read_table(part, side, limits)]


def records_of(path: Path, columns: Collection[str] | None = None, structured: Collection[str] = ()) -> list[Any]:
    rows = rows_of(path, columns, structured)
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_the_rows_are_those_of_the_batches(tmp_path: Path, new: Any, compression: str | None) -> None:
    with new(tmp_path / "a.arrow", TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    assert records_of(tmp_path / "a.arrow") == RECORDS


@BOTH
def test_rows_are_numbered_through_groups_parts_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = write(tmp_path / f"a.{ending}", TABLE)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    monkeypatch.setattr(reading, "BYTES_AT_ONCE", 10)
    for part_size in (1, 1 << 20):
        monkeypatch.setattr(files, "BYTES_PER_PART", part_size)
        assert [(row.number, row.sample_id) for row in rows_of(path, ())] == [(i, f"s{i}") for i in range(150)]


MAP = pa.array([[("k", 1), ("l", 2)], [], None], pa.map_(pa.string(), pa.int64()))
JSON_TYPE = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"x": 1}', "null", None], pa.string()))
JSON_TEXT = ['{"a": [1, 2]}', None, "[]"]
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]


@BOTH
@pytest.mark.parametrize(
    ("column", "values"),
    [
        # A null is left out, a nested column is kept.
        (pa.array([{"x": 1, "y": 2.5}, None, {"x": None, "y": 0.0}]), [{"x": 1, "y": 2.5}, None, {"x": None, "y": 0}]),
        (pa.array([{"w": 1, "tags": ["é", ""]}] * 3), [{"w": 1, "tags": ["é", ""]}] * 3),
        (pa.array([True, None, False]), [True, None, False]),
        # The float32 nearest to 0.1; numbers keep their values.
        (pa.array([0.1, 1.0, -math.inf], pa.float32()), [0.10000000149011612, 1.0, -math.inf]),
        (pa.array([2**63 - 1, -(2**63), 0]), [2**63 - 1, -(2**63), 0]),
        (MAP, [{"k": 1, "l": 2}, {}, None]),
        (pa.array([["a"]] * 3, pa.large_list(pa.string())), [["a"]] * 3),
        # Parquet's own JSON is JSON in any column; text is that in a column that never holds text.
        (JSON_TYPE, [{"x": 1}, None, None]),
        *((pa.array(JSON_TEXT, kind), JSON_TEXT) for kind in TEXT_TYPES),
    ],
)
def test_values_are_those_of_json_and_a_null_is_left_out(tmp_path: Path, ending: str, column: Any, values: Any) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"sample_id": list("abc"), "x": column, "unwanted": [b"y"] * 3}))
    expected = [{"sample_id": each} | ({} if x is None else {"x": x}) for each, x in zip("abc", values, strict=True)]
    assert records_of(path, {"x", "absent"}) == expected
    assert records_of(path, ()) == [{"sample_id": each} for each in "abc"]
    if values is JSON_TEXT:
        assert [record.get("x") for record in records_of(path, {"x"}, {"x"})] == [{"a": [1, 2]}, None, []]


def test_nan_is_a_value_and_names_of_any_characters_are_columns(tmp_path: Path) -> None:
    names = ["a\nb", 'c"d', "e'f", "g\\h", "i.j", "", "\x00"]
    columns = {"sample_id": ["s"], "x": [math.nan], **{name: [number] for number, name in enumerate(names)}}
    (record,) = records_of(write(tmp_path / "a.parquet", pa.table(columns)))
    assert math.isnan(record.pop("x"))
    assert record == {"sample_id": "s", **{name: number for number, name in enumerate(names)}}


def test_a_column_that_cannot_be_decoded_does_no_harm_where_it_is_not_wanted(tmp_path: Path) -> None:
    table = pa.table({"sample_id": ["a"] * 50, "junk": ["junk"] * 50})
    path = write(tmp_path / "a.parquet", table, 50, compression="none")
    path.write_bytes(path.read_bytes().replace(b"junk", b"\xff\xff\xff\xff", 1))
    assert records_of(path, ()) == [{"sample_id": "a"}] * 50


DEEP = "[" * (DEPTH + 1) + "]" * (DEPTH + 1)
TOO_DEEP = f"column x is nested deeper than the {DEPTH} levels of limits.depth"


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (pa.array([b"good", b"\xff\xfe", b"fine"], pa.binary()).view(pa.string()), "'utf-8' codec can't decode byte"),
        (pa.array([0, 2**60, 1], pa.timestamp("ms")), ""),
        (pa.array(["[1]", "{broken", "[2]"]), "column x holds no JSON: "),
        (pa.array(["[1]", "[NaN]", "[2]"]), "column x holds no JSON: "),
        (pa.array(["[1]", DEEP, "[2]"]), TOO_DEEP),
        (pa.array(["[1]", "[" * 100_000, "[2]"]), TOO_DEEP),
    ],
)
def test_a_value_that_makes_no_record_rejects_its_row_alone(tmp_path: Path, column: Any, error: str) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": list("abc"), "x": column}))
    is_json = "column x" in error
    first, bad, last = rows_of(path, None, {"x"} if is_json else set())
    assert (first.sample_id, first.error, last.sample_id, last.error) == ("a", None, "c", None)
    assert (bad.number, bad.sample_id, bad.payload) == (1, "b" if is_json else None, b"\xc0")
    assert str(bad.error).startswith(error)


@BOTH
def test_a_column_of_the_id_that_is_missing_or_there_twice_ends_the_run(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"id": ["a"], "text": ["t"]}))
    assert problem_of(lambda: rows_of(path, {"text"})) == f"{path}: there is no column sample_id, only id, text"
    write(path, pa.Table.from_arrays([pa.array(["a"])] * 3, ["sample_id", "text", "text"]))
    assert problem_of(lambda: rows_of(path, {"text"})) == f"{path}: two columns are called 'text'; rename one"


def test_a_small_file_of_many_equal_texts_is_read_a_few_rows_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A legal file: 5,000 rows of one prediction of 30 kB take some kB, and 150 MB as records."""
    converted: list[int] = []
    original = RowsOfBatch.of

    def counted(rows: RowsOfBatch, batch: Any, first: int) -> Any:
        converted.append(batch.num_rows)
        return original(rows, batch, first)

    monkeypatch.setattr(RowsOfBatch, "of", counted)
    count = 5_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * 30_000]))
    table = pa.table({"sample_id": np.arange(count), "text": texts})
    path = write(tmp_path / "a.parquet", table, count, compression="zstd")
    assert path.stat().st_size < 1 << 18
    sizes = [len(row.payload) for part in parts_of(path) for row in read_table(part, SideColumns(None), LIMITS)]
    assert (len(sizes), sum(converted), min(sizes) > 30_000) == (count, count, True)
    for rows in (1, 30):
        converted.clear()
        large = pa.table({"sample_id": [*map(str, range(rows))], "text": ["x" * 1_000_000] * rows})
        assert len(rows_of(write(path, large, rows))) == sum(converted) == rows
        assert max(converted) * 1_000_000 <= reading.BYTES_AT_ONCE


def test_one_batch_is_read_at_a_time(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", TABLE, 10)
    (part,) = parts_of(path)
    with counted_reads() as sizes:
        rows = iter(read_table(part, SideColumns(None), LIMITS))
        for _ in range(11):
            next(rows)
    assert sum(sizes) < path.stat().st_size / 4


def test_an_arrow_file_that_was_cut_off_anywhere_is_no_shorter_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", TABLE.slice(0, 20), 5)
    content = path.read_bytes()
    # Messages end at multiples of 8.
    for size in [*range(0, len(content), 8), *range(1, len(content), 97)]:
        path.write_bytes(content[:size])
        assert problem_of(lambda: rows_of(path)).startswith(f"{path}: cannot be read as arrow: ")


@BOTH
def test_a_damaged_file_gives_rows_or_a_problem_and_never_ends_the_process(tmp_path: Path, ending: str) -> None:
    """A damaged length may ask for more memory than there is."""
    path = tmp_path / f"a.{ending}"
    write(path, TABLE.slice(0, 20).select(["sample_id", "text"]), 5)
    content, numbers, problems = path.read_bytes(), random.Random(7), 0
    for _ in range(200):
        damaged = bytearray(content)
        for _ in range(numbers.randint(1, 4)):
            at = numbers.randrange(len(damaged))
            length = struct.pack("<i", numbers.choice([-1, 0, 1 << 30, -(1 << 31)]))
            damaged[at : at + 4] = numbers.choice([bytes([numbers.randrange(256)]), length])
        path.write_bytes(damaged)
        with contextlib.suppress(InputProblem, MemoryError):
            rows_of(path)
            continue
        problems += 1
    assert problems > 40


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("an encrypted file", "Could not read encrypted metadata, no decryption found in reader"),
        ("an encrypted column", "Cannot decrypt ColumnMetadata"),
        ("a codec that nobody has built in", "LZO compression"),
        ("a codec that does not exist", ""),
    ],
)
def test_what_cannot_be_unpacked_is_a_problem_of_one_line(tmp_path: Path, name: str, problem: str) -> None:
    path = tmp_path / "a.parquet"
    readers.FILES[name][1](path)
    found = problem_of(lambda: list(readers.read(str(path))))
    assert found.startswith(f"{path}: cannot be read as parquet: ")
    assert problem in found
