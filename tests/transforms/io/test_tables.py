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
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import RecordLimits, Row, RowsOfBatch, read_table, schema_of
from beamscore.transforms.records import InputProblem
from tests.abuse import readers
from tests.transforms.counted import counted_reads

DEPTH = 8
LIMITS = RecordLimits(16 << 20, DEPTH)
RECORDS = [
    {"sample_id": f"s{index}", "text": "x" * index, "words": ["a", "b"][: index % 3], "inner": {"n": index}}
    for index in range(250)
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
    (file,) = match_files(0, [str(path)], "--predictions")
    side = SideColumns(None if columns is None else frozenset(columns), frozenset(structured))
    return [row for part in split_file(file, files.part_size([file])) for row in read_table(part, side, limits)]


def records_of(path: Path, columns: Collection[str] | None = None, structured: Collection[str] = ()) -> list[Any]:
    rows = rows_of(path, columns, structured)
    assert [row.error for row in rows] == [None] * len(rows)
    return [msgspec.msgpack.decode(row.payload) for row in rows]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_the_rows_are_those_of_the_batches(tmp_path: Path, new: Any, compression: str | None) -> None:
    path = tmp_path / "a.arrow"
    with new(path, TABLE.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(TABLE, max_chunksize=7)
    assert records_of(path) == RECORDS
    assert [row.number for row in rows_of(path)] == list(range(250))


def test_batches_share_dictionaries_that_grow(tmp_path: Path) -> None:
    encoded = TABLE.set_column(1, "text", TABLE["text"].dictionary_encode())
    path = tmp_path / "a.arrow"
    with pa.ipc.new_stream(path, encoded.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as writer:
        writer.write_table(encoded.slice(0, 100), max_chunksize=10)
        writer.write_table(encoded.slice(100), max_chunksize=10)
    assert records_of(path) == RECORDS


def test_rows_are_numbered_through_groups_parts_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", TABLE)
    monkeypatch.setattr(reading, "ROWS_PER_BATCH", 3)
    for part_size in (1, 1 << 20):
        monkeypatch.setattr(files, "BYTES_PER_PART", part_size)
        assert [(row.number, row.sample_id) for row in rows_of(path, ())] == [(i, f"s{i}") for i in range(250)]


MAP = pa.array([[("k", 1), ("l", 2)], [], None], pa.map_(pa.string(), pa.int64()))
JSON_TYPE = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"x": 1}', "null", None], pa.string()))
JSON_TEXT = ['{"a": [1, 2]}', None, "[]"]


@BOTH
@pytest.mark.parametrize(
    ("column", "values"),
    [
        # A null is left out, a nested column is kept.
        (pa.array([{"x": 1, "y": 2.5}, None, {"x": None, "y": 0.0}]), [{"x": 1, "y": 2.5}, None, {"x": None, "y": 0}]),
        (pa.array([[[1.0, 2.5], []], [], None]), [[[1.0, 2.5], []], [], None]),
        (pa.array([{"w": 1, "tags": ["é", ""]}] * 3), [{"w": 1, "tags": ["é", ""]}] * 3),
        (pa.array([True, None, False]), [True, None, False]),
        # The float32 nearest to 0.1; numbers keep their values.
        (pa.array([0.1, 1.0, -math.inf], pa.float32()), [0.10000000149011612, 1.0, -math.inf]),
        (pa.array([2**63 - 1, -(2**63), 0]), [2**63 - 1, -(2**63), 0]),
        (MAP, [{"k": 1, "l": 2}, {}, None]),
        (pa.array([["a"]] * 3, pa.large_list(pa.string())), [["a"]] * 3),
        # Parquet's own JSON is JSON in any column; text is that in a column that never holds text.
        (JSON_TYPE, [{"x": 1}, None, None]),
        *((pa.array(JSON_TEXT, kind), JSON_TEXT) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    ],
)
def test_values_are_those_of_json_and_a_null_is_left_out(tmp_path: Path, ending: str, column: Any, values: Any) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"sample_id": list("abc"), "x": column, "unwanted": [b"y"] * 3}))
    expected = [{"sample_id": each} | ({} if x is None else {"x": x}) for each, x in zip("abc", values, strict=True)]
    assert records_of(path, {"x", "absent"}) == expected
    assert records_of(path, ()) == [{"sample_id": each} for each in "abc"]


@BOTH
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_in_a_structured_column_is_json(tmp_path: Path, ending: str, kind: Any) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"sample_id": list("abc"), "x": pa.array(JSON_TEXT, kind)}))
    found = [record.get("x") for record in records_of(path, None, {"x"})]
    assert found == [{"a": [1, 2]}, None, []]


def test_nan_is_a_value(tmp_path: Path) -> None:
    (record,) = records_of(write(tmp_path / "a.parquet", pa.table({"sample_id": ["a"], "x": [math.nan]})))
    assert math.isnan(record["x"])


def test_names_of_any_characters_are_columns(tmp_path: Path) -> None:
    names = ["a\nb", 'c"d', "e'f", "g\\h", "i.j", "", "\x00"]
    columns = {"sample_id": ["s"], **{name: [number] for number, name in enumerate(names)}}
    path = write(tmp_path / "a.parquet", pa.table(columns))
    assert records_of(path) == [{"sample_id": "s", **{name: number for number, name in enumerate(names)}}]


def test_a_column_that_cannot_be_decoded_does_no_harm_where_it_is_not_wanted(tmp_path: Path) -> None:
    table = pa.table({"sample_id": ["a"] * 50, "junk": ["junk"] * 50})
    path = write(tmp_path / "a.parquet", table, 50, compression="none")
    path.write_bytes(path.read_bytes().replace(b"junk", b"\xff\xff\xff\xff", 1))
    assert records_of(path, ()) == [{"sample_id": "a"}] * 50


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (pa.array([1, 2]), ["1", "2"]),
        (pa.array([1.0, 2.0]), [1.0, 2.0]),
        (pa.array([None, "b"]), [None, "b"]),
        (pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
    ],
)
def test_sample_ids_are_given_as_text_where_they_are_integers(tmp_path: Path, ids: Any, found: list[Any]) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ids}))
    assert [row.sample_id for row in rows_of(path, ())] == found


NOT_UTF8 = pa.array([b"good", b"\xff\xfe", b"fine"], pa.binary()).view(pa.string())
NOT_A_DATE = pa.array([0, 2**60, 1], pa.timestamp("ms"))
DEEP = "[" * (DEPTH + 1) + "]" * (DEPTH + 1)
TOO_DEEP = f"column x is nested deeper than the {DEPTH} levels of limits.depth"


@pytest.mark.parametrize(
    ("column", "error"),
    [
        (NOT_UTF8, "column x: 'utf-8' codec can't decode byte 0xff"),
        (NOT_A_DATE, "column x: "),
        (pa.array(["[1]", "{broken", "[2]"]), "column x holds no JSON: "),
        (pa.array(["[1]", "[NaN]", "[2]"]), "column x holds no JSON: "),
        (pa.array(["[1]", DEEP, "[2]"]), TOO_DEEP),
        (pa.array(["[1]", "[" * 100_000, "[2]"]), TOO_DEEP),
    ],
)
def test_a_value_that_makes_no_record_rejects_its_row_alone(tmp_path: Path, column: Any, error: str) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": list("abc"), "x": column}))
    structured = set() if column in (NOT_UTF8, NOT_A_DATE) else {"x"}
    first, bad, last = rows_of(path, None, structured)
    assert (first.sample_id, first.error, last.sample_id, last.error) == ("a", None, "c", None)
    assert (bad.number, bad.sample_id, bad.payload) == (1, "b", b"\xc0")
    assert (bad.error or "").startswith(error)


def test_an_id_that_is_not_utf8_is_none(tmp_path: Path) -> None:
    (row,) = rows_of(write(tmp_path / "a.parquet", pa.table({"sample_id": NOT_UTF8.slice(1, 1)})))
    assert (row.sample_id, row.error is None) == (None, False)


@BOTH
def test_a_row_that_is_too_large_is_rejected_with_its_id(tmp_path: Path, ending: str) -> None:
    words = [["x"], ["x" * 10_000] * 300, ["x"]]
    path = write(tmp_path / f"a.{ending}", pa.table({"sample_id": ["a", "large", "b"], "words": words}))
    rows = rows_of(path, limits=RecordLimits(1 << 20, DEPTH))
    assert [(row.number, row.sample_id, row.cause) for row in rows if row.error] == [(1, "large", "too_large")]
    # 1 for two fields, 10 and 6 for their names, 6 for the id, 3 for the head of the list, and 10,003 for each text.
    assert rows[1].error == "the record has 3000926 bytes, more than the 1048576 of limits.record_bytes"
    assert rows[1].payload == b"\xc0"


@BOTH
def test_a_column_of_the_id_that_is_missing_or_there_twice_ends_the_run(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.{ending}", pa.table({"id": ["a"], "text": ["t"]}))
    with pytest.raises(InputProblem, match=rf"a\.{ending}: there is no column sample_id, only id, text"):
        rows_of(path, {"text"})
    twice = pa.Table.from_arrays([pa.array(["a"])] * 3, ["sample_id", "text", "text"])
    with pytest.raises(InputProblem, match=r"two columns are called text; rename one"):
        rows_of(write(path, twice), {"text"})


def test_a_small_file_of_many_equal_texts_is_read(tmp_path: Path) -> None:
    """A legal file: 20,000 rows of one prediction of 30 kB take 40 kB, and 600 MB as records."""
    count = 20_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * 30_000]))
    table = pa.table({"sample_id": np.arange(count), "text": texts})
    path = write(tmp_path / "a.parquet", table, count, compression="zstd")
    assert path.stat().st_size < 1 << 18
    (file,) = match_files(0, [str(path)], "--predictions")
    (part,) = split_file(file, 1 << 30)
    sizes = [len(row.payload) for row in read_table(part, SideColumns(None), LIMITS) if row.error is None]
    assert len(sizes) == count
    assert min(sizes) > 30_000


@pytest.mark.parametrize("count", [1, 30])
def test_large_rows_become_objects_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    converted: list[int] = []
    original = RowsOfBatch.of

    def counted(rows: RowsOfBatch, batch: Any, first: int) -> Any:
        converted.append(batch.num_rows)
        return original(rows, batch, first)

    monkeypatch.setattr(RowsOfBatch, "of", counted)
    table = pa.table({"sample_id": [*map(str, range(count))], "text": ["x" * 1_000_000] * count})
    assert len(rows_of(write(tmp_path / "a.parquet", table, count))) == count
    assert max(converted) * 1_000_000 <= reading.BYTES_AT_ONCE
    assert sum(converted) == count


def test_one_batch_is_read_at_a_time(tmp_path: Path) -> None:
    (file,) = match_files(0, [str(write(tmp_path / "a.arrow", TABLE, 10))], "--x")
    (part,) = split_file(file, 1 << 30)
    with counted_reads() as sizes:
        rows = iter(read_table(part, SideColumns(None), LIMITS))
        for _ in range(11):
            next(rows)
    assert sum(sizes) < file.size / 5


def test_an_arrow_file_that_was_cut_off_anywhere_is_no_shorter_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", TABLE.slice(0, 20), 5)
    content = path.read_bytes()
    # Messages end at multiples of 8.
    for size in [*range(0, len(content), 8), *range(1, len(content), 97)]:
        path.write_bytes(content[:size])
        with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
            rows_of(path)


def test_a_damaged_arrow_file_gives_rows_or_an_error_and_never_ends_the_process(tmp_path: Path) -> None:
    """A damaged length may ask for more memory than there is."""
    path = write(tmp_path / "a.arrow", TABLE.slice(0, 20), 5)
    content, numbers, problems = path.read_bytes(), random.Random(7), 0
    for _ in range(300):
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
    assert problems > 60


def test_damaged_pages_of_parquet_are_rows_or_a_problem_of_the_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a"], "text": ["x"]}), compression="none")
    whole, problems = path.read_bytes(), 0
    for position in range(4, 60):
        for byte in (0x00, 0x7F, 0xFF):
            path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
            try:
                rows_of(path)
            except InputProblem:
                problems += 1
    assert problems > 20


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b'{"sample_id": "a"}\n', b"\xff\xff\xff\xff\0\0\0\0"])
def test_what_is_no_arrow_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    (file,) = match_files(0, [str(tmp_path / "a.arrow")], "--x")
    with pytest.raises(InputProblem, match=r"a.arrow: cannot be read as arrow: "):
        schema_of(file)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("an encrypted file", "Could not read encrypted metadata, no decryption found in reader"),
        ("an encrypted column", "Cannot decrypt ColumnMetadata"),
        ("a codec that nobody has built in", "LZO compression"),
        ("a codec that does not exist", "cannot be read as parquet: "),
    ],
)
def test_what_cannot_be_unpacked_is_a_problem_of_one_line(tmp_path: Path, name: str, problem: str) -> None:
    path = tmp_path / "a.parquet"
    readers.FILES[name][1](path)
    with pytest.raises(InputProblem, match=problem) as found:
        list(readers.read(str(path)))
    assert found.value.message.startswith(f"{path}: cannot be read as parquet: ")
    assert "\n" not in found.value.message
