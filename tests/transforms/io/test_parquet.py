"""The rows of Parquet files as records."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import files
from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import BYTES_AT_ONCE, RecordLimits, Row, RowsOfBatch, read_table
from beamscore.transforms.records import InputProblem
from tests.abuse import readers

DEPTH = 8
LIMITS = RecordLimits(16 << 20, DEPTH)


def write(path: Path, table: Any, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


def rows_of(
    path: Path, columns: Collection[str] | None, structured: Collection[str] = (), limits: RecordLimits = LIMITS
) -> list[Row]:
    (file,) = match_files(0, [str(path)], "--predictions")
    side = SideColumns(None if columns is None else frozenset(columns), frozenset(structured))
    return [row for part in split_file(file, files.part_size([file])) for row in read_table(part, side, limits)]


def records_of(path: Path, columns: Collection[str] | None, structured: Collection[str] = ()) -> list[Any]:
    return [msgspec.msgpack.decode(row.payload) for row in rows_of(path, columns, structured)]


def test_rows_are_numbered_through_groups_parts_and_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": [f"s{i}" for i in range(20)]}), row_group_size=7)
    monkeypatch.setattr("beamscore.transforms.io.readers.ROWS_PER_BATCH", 3)
    for part_size in (1, 1 << 20):
        monkeypatch.setattr("beamscore.transforms.io.files.BYTES_PER_PART", part_size)
        assert [(row.number, row.sample_id) for row in rows_of(path, set())] == [(i, f"s{i}") for i in range(20)]


def test_nulls_are_left_out_and_nested_columns_are_kept(tmp_path: Path) -> None:
    records = [
        {"sample_id": "a", "box": {"x": 1, "y": 2.5}, "words": ["u", "v"], "note": None, "flag": True},
        {"sample_id": "b", "box": None, "words": [], "note": "n", "flag": None},
    ]
    path = write(tmp_path / "a.parquet", pa.Table.from_pylist(records))
    assert records_of(path, {"box", "words", "note", "flag"}) == [
        {"sample_id": "a", "box": {"x": 1, "y": 2.5}, "words": ["u", "v"], "flag": True},
        {"sample_id": "b", "words": [], "note": "n"},
    ]


def test_only_the_columns_that_matter_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"image": [b"x" * 100], "sample_id": ["a"], "text": ["t"]}))
    assert records_of(path, {"text", "absent"}) == [{"sample_id": "a", "text": "t"}]
    assert records_of(path, set()) == [{"sample_id": "a"}]


def test_a_column_that_cannot_be_decoded_does_no_harm_where_it_is_not_wanted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a"] * 50, "junk": ["junk"] * 50}), compression="none")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"junk", b"\xff\xff\xff\xff", 1))
    assert records_of(path, set()) == [{"sample_id": "a"}] * 50


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_in_a_structured_column_is_json(tmp_path: Path, kind: Any) -> None:
    texts = pa.array(['{"a": [1, 2]}', None, "[]"], kind)
    table = pa.table({"sample_id": ["a", "b", "c"], "rules": texts, "text": texts})
    try:
        path = write(tmp_path / "a.parquet", table)
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} cannot write a column of {kind}")
    assert records_of(path, {"rules", "text"}, {"rules"}) == [
        {"sample_id": "a", "rules": {"a": [1, 2]}, "text": '{"a": [1, 2]}'},
        {"sample_id": "b"},
        {"sample_id": "c", "rules": [], "text": "[]"},
    ]


def test_a_column_of_the_json_type_is_json_wherever_it_stands(tmp_path: Path) -> None:
    column = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"x": 1}', "null", None], pa.string()))
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a", "b", "c"], "meta": column}))
    assert records_of(path, {"meta"}) == [{"sample_id": "a", "meta": {"x": 1}}, {"sample_id": "b"}, {"sample_id": "c"}]


def test_bad_json_rejects_its_row_alone(tmp_path: Path) -> None:
    deep = "[" * (DEPTH + 1) + "]" * (DEPTH + 1)
    texts = ["[1]", "{broken", deep, "[NaN]", "[" * 100_000, "[2]"]
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": list("abcdef"), "rules": texts}))
    rows = rows_of(path, {"rules"}, {"rules"})
    assert [row.sample_id for row in rows] == list("abcdef")
    assert [row.number for row in rows if row.error is None] == [0, 5]
    errors = [row.error or "" for row in rows[1:5]]
    assert [error.partition(":")[0] for error in errors] == [
        "column rules holds no JSON",
        f"column rules is nested deeper than the {DEPTH} levels of limits.depth",
        "column rules holds no JSON",
        f"column rules is nested deeper than the {DEPTH} levels of limits.depth",
    ]
    assert all(row.payload == b"\xc0" for row in rows[1:5])


def test_text_that_is_not_utf8_rejects_its_row_alone(tmp_path: Path) -> None:
    texts = pa.array([b"good", b"\xff\xfe", b"fine"], pa.binary()).view(pa.string())
    ids = pa.array([b"a", b"b", b"\xffc"], pa.binary()).view(pa.string())
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ids, "text": texts}))
    rows = rows_of(path, {"text"})
    assert [(row.number, row.sample_id, row.error is None) for row in rows] == [
        (0, "a", True),
        (1, "b", False),
        (2, None, False),
    ]
    assert "utf-8" in (rows[1].error or "")
    assert "column text" in (rows[1].error or "")


def test_numbers_keep_their_values(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.parquet",
        pa.table(
            {
                "sample_id": ["a"],
                "f32": pa.array([0.1], pa.float32()),
                "i64": pa.array([2**63 - 1], pa.int64()),
                "nan": [math.nan],
                "inf": [-math.inf],
            }
        ),
    )
    (record,) = records_of(path, {"f32", "i64", "nan", "inf"})
    assert record["f32"] == 0.10000000149011612  # the float32 nearest to 0.1
    assert record["i64"] == 9223372036854775807
    assert math.isnan(record["nan"])
    assert record["inf"] == -math.inf


def test_a_map_column_is_an_object(tmp_path: Path) -> None:
    column = pa.array([[("k", 1), ("l", 2)], [], None], pa.map_(pa.string(), pa.int64()))
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": list("abc"), "counts": column}))
    assert records_of(path, {"counts"}) == [
        {"sample_id": "a", "counts": {"k": 1, "l": 2}},
        {"sample_id": "b", "counts": {}},
        {"sample_id": "c"},
    ]


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
    assert [row.sample_id for row in rows_of(path, set())] == found


def test_a_file_without_sample_id_is_a_problem_of_the_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"id": ["a"], "text": ["t"]}))
    with pytest.raises(InputProblem, match=r"a\.parquet: there is no column sample_id, only id, text"):
        rows_of(path, {"text"})


def test_a_column_that_stands_twice_is_a_problem_of_the_input(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["t"]), pa.array(["u"])], ["sample_id", "text", "text"])
    path = write(tmp_path / "a.parquet", table)
    with pytest.raises(InputProblem, match=r"two columns are called text; rename one"):
        rows_of(path, {"text"})


def test_damaged_data_are_a_problem_of_the_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": [f"{i * i}" for i in range(3000)]}), compression="zstd")
    content = bytearray(path.read_bytes())
    content[40:400] = b"\xaa" * 360
    path.write_bytes(content)
    with pytest.raises(InputProblem, match=r"a\.parquet: cannot be read as parquet: "):
        rows_of(path, set())


def test_records_are_those_of_json(tmp_path: Path) -> None:
    records = [
        {"sample_id": f"s{i}", "points": [[i, 2.5], [3, -i]], "box": {"w": i, "tags": ["é", ""]}, "name": None}
        for i in range(5)
    ]
    table = pa.Table.from_pylist(
        records,
        pa.schema(
            [
                ("sample_id", pa.string()),
                ("points", pa.list_(pa.list_(pa.float64()))),
                ("box", pa.struct([("w", pa.int64()), ("tags", pa.list_(pa.string()))])),
                ("name", pa.string()),
            ]
        ),
    )
    path = write(tmp_path / "a.parquet", table)
    expected = [{key: value for key, value in record.items() if value is not None} for record in records]
    assert records_of(path, {"points", "box", "name"}) == json.loads(json.dumps(expected))


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


def test_a_small_file_of_many_equal_texts_is_read(tmp_path: Path) -> None:
    """A legal file: 20,000 rows of one prediction of 30 kB take 40 kB, and 600 MB as records."""
    path, count = tmp_path / "a.parquet", 20_000
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * 30_000]))
    write(path, pa.table({"sample_id": np.arange(count), "text": texts}), compression="zstd")
    assert path.stat().st_size < 1 << 18
    (file,) = match_files(0, [str(path)], "--predictions")
    (part,) = split_file(file, 1 << 30)
    sizes = [len(row.payload) for row in read_table(part, SideColumns(None), LIMITS) if row.error is None]
    assert len(sizes) == count
    assert min(sizes) > 30_000


@pytest.mark.parametrize("count", [1, 70])
def test_large_rows_become_objects_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    converted: list[int] = []
    original = RowsOfBatch.of

    def counted(rows: RowsOfBatch, batch: Any, first: int) -> Any:
        converted.append(batch.num_rows)
        return original(rows, batch, first)

    monkeypatch.setattr(RowsOfBatch, "of", counted)
    path = write(
        tmp_path / "a.parquet", pa.table({"sample_id": map(str, range(count)), "text": ["x" * 1_000_000] * count})
    )
    assert len(rows_of(path, None)) == count
    assert max(converted) * 1_000_000 <= BYTES_AT_ONCE
    assert sum(converted) == count


def test_a_row_that_is_too_large_is_put_aside_with_its_id(tmp_path: Path) -> None:
    words = [["x"], ["x" * 10_000] * 300, ["x"]]
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a", "large", "b"], "words": words}))
    rows = rows_of(path, None, limits=RecordLimits(1 << 20, DEPTH))
    assert [(row.number, row.sample_id, row.error is None) for row in rows] == [
        (0, "a", True),
        (1, "large", False),
        (2, "b", True),
    ]
    # 1 for two fields, 10 and 6 for their names, 6 for the id, 3 for the head of the list, and 10,003 for each text.
    assert (rows[1].cause, rows[1].payload) == ("too_large", b"\xc0")
    assert rows[1].error == "the record has 3000926 bytes, more than the 1048576 of limits.record_bytes"


def test_pages_that_make_no_sense_are_a_problem_of_the_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a"], "text": ["x"]}), compression="none")
    whole, problems = path.read_bytes(), 0
    for position in range(4, 60):
        for byte in (0x00, 0x7F, 0xFF):
            path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
            try:
                rows_of(path, None)
            except InputProblem:
                problems += 1
    assert problems > 20


def test_names_of_any_characters_are_columns(tmp_path: Path) -> None:
    names = ["a\nb", 'c"d', "e'f", "g\\h", "i.j", "", "\x00"]
    columns = {"sample_id": ["s"], **{name: [number] for number, name in enumerate(names)}}
    path = write(tmp_path / "a.parquet", pa.table(columns))
    assert records_of(path, None) == [{"sample_id": "s", **{name: number for number, name in enumerate(names)}}]


def test_values_that_python_cannot_hold_reject_their_row_alone(tmp_path: Path) -> None:
    dates = pa.array([0, 2**60, 1], pa.timestamp("ms"))
    path = write(tmp_path / "a.parquet", pa.table({"sample_id": ["a", "b", "c"], "date": dates}))
    rows = rows_of(path, None)
    assert [(row.sample_id, row.error is None) for row in rows] == [("a", True), ("b", False), ("c", True)]
    assert (rows[1].error or "").startswith("column date: ")
