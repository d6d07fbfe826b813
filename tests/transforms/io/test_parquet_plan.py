"""Bounds of Parquet column chunks by their pages, and how row groups are read within them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io import parquet_pages, parquet_plan
from beamscore.transforms.io.arrow_rows import Row, RowsOfBatch
from beamscore.transforms.io.files import match_files, open_parquet, split_file
from beamscore.transforms.io.parquet import RowLimits, read_rows
from beamscore.transforms.io.parquet_pages import ChunkBounds, chunk_bounds
from beamscore.transforms.io.parquet_plan import plan_group
from beamscore.transforms.io.parquet_sizes import row_sizes
from beamscore.transforms.io.side_columns import SideColumns
from beamscore.transforms.records import InputProblem

LIMITS = RowLimits(1 << 20, 50)


def lists(values: Any, lengths: list[int]) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), values)


def bounds_of(path: Path, leaf: int, long: int) -> ChunkBounds:
    metadata = pq.ParquetFile(path).metadata
    with path.open("rb") as stream:
        return chunk_bounds(
            stream, metadata.row_group(0).column(leaf), metadata.schema.column(leaf).max_repetition_level, long
        )


def rows_of(path: Path, limits: RowLimits = LIMITS) -> list[Row]:
    (file,) = match_files(0, [str(path)], "--predictions")
    return [row for part in split_file(file, 1 << 30) for row in read_rows(part, SideColumns(None), limits)]


@given(
    rows=st.lists(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=5) | st.none(), min_size=1, max_size=60),
    long=st.integers(1, 6),
    version=st.sampled_from(["1.0", "2.0"]),
    compression=st.sampled_from(["none", "zstd", "snappy", "gzip", "lz4"]),
    page_bytes=st.sampled_from([1, 64, 1 << 20]),
)
def test_long_rows_are_found_by_the_levels_of_any_writer(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    long: int,
    version: Any,
    compression: Any,
    page_bytes: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "levels.parquet"
    table = pa.table({"words": pa.array(rows, pa.list_(pa.list_(pa.int64())))})
    options: Any = {"data_page_version": version, "compression": compression, "data_page_size": page_bytes}
    pq.write_table(table, path, write_batch_size=4, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_pages, "BYTES_NOT_LOOKED_INTO", 0)
        found = bounds_of(path, 0, long)
    # An empty list, and a null, take a place in the levels too.
    counts = [sum(max(1, len(inner)) for inner in row) if row else 1 for row in rows]
    assert found.long_rows == [(row, count) for row, count in enumerate(counts) if count > long]
    assert found.row_bytes >= found.page_bytes * (not found.dictionary_bytes)


def test_a_chunk_is_not_looked_into_where_its_headers_bound_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"words": lists(pa.array(range(1000)), [400, 600])}), path, use_dictionary=False)
    found = bounds_of(path, 0, 10)
    assert found.long_rows == []
    assert found.row_bytes >= 8000  # integers of 8 bytes


def test_the_size_of_a_dictionary_and_of_the_largest_page_are_those_of_the_headers(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["x" * 5000] * 100}), path, compression="zstd")
    found = bounds_of(path, 0, 10)
    assert (found.dictionary_bytes, found.page_bytes) == (5004, 5004)  # the text, and 4 bytes of its length
    pq.write_table(pa.table({"text": ["x" * 5000] * 10}), path, compression="zstd", use_dictionary=False)
    found = bounds_of(path, 0, 10)
    assert found.dictionary_bytes == 0
    assert 50_040 <= found.page_bytes < 50_100
    pq.write_table(
        pa.table({"text": ["x" * 5000] * 10}), path, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}
    )
    assert bounds_of(path, 0, 10).row_bytes >= 5000


def test_pages_that_make_no_sense_are_a_problem_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": ["a"], "text": ["x"]}), path, compression="none")
    whole = path.read_bytes()
    for position in range(4, 60):
        for byte in (0x00, 0x7F, 0xFF):
            path.write_bytes(whole[:position] + bytes([byte]) + whole[position + 1 :])
            with contextlib.suppress(InputProblem):
                rows_of(path)


@given(
    values=st.lists(
        st.fixed_dictionaries(
            {
                "text": st.none() | st.text(max_size=5),
                "list": st.none() | st.lists(st.none() | st.floats(allow_nan=False) | st.none(), max_size=4),
                "map": st.none() | st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
                "inner": st.none()
                | st.fixed_dictionaries({"a": st.booleans(), "b": st.lists(st.text(max_size=2), max_size=3)}),
                "pair": st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
                "data": st.none() | st.binary(max_size=4),
            }
        ),
        min_size=1,
        max_size=8,
    ),
    start=st.integers(0, 3),
)
def test_the_size_of_a_row_is_never_more_than_its_record(values: list[dict[str, Any]], start: int) -> None:
    kinds = {
        "text": pa.dictionary(pa.int8(), pa.string()),
        "list": pa.list_(pa.float64()),
        "map": pa.map_(pa.string(), pa.int64()),
        "inner": pa.struct([("a", pa.bool_()), ("b", pa.large_list(pa.large_string()))]),
        "pair": pa.list_(pa.int64(), 2),
        "data": pa.binary(),
    }
    for name, kind in kinds.items():
        cells = [value[name] for value in values]
        column = pa.array(cells, kind if name != "text" else pa.string())
        column = column.dictionary_encode() if name == "text" else column
        part = column.slice(start)
        sizes = np.zeros(len(part), np.int64) + row_sizes(part)
        assert len(sizes) == len(part)
        for size, cell in zip(sizes.tolist(), part.to_pylist(maps_as_pydicts="lossy"), strict=True):
            encoded = len(msgspec.msgpack.encode(cell))
            assert size <= encoded or cell is None
            assert name == "inner" or cell is None or encoded <= 9 * size


def test_a_row_that_is_too_large_is_put_aside_before_it_becomes_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * 10_000]))
    pq.write_table(pa.table({"sample_id": ["a", "large", "b"], "words": lists(texts, [1, 2998, 1])}), path)
    converted: list[int] = []
    original = RowsOfBatch.of

    def counted(rows: RowsOfBatch, batch: Any, first: int) -> Any:
        converted.append(int(np.sum(row_sizes(batch.column(1)))))
        return original(rows, batch, first)

    monkeypatch.setattr(RowsOfBatch, "of", counted)
    rows = rows_of(path)
    assert [(row.number, row.sample_id, row.cause, row.error is None) for row in rows] == [
        (0, "a", "unreadable", True),
        (1, "large", "too_large", False),
        (2, "b", "unreadable", True),
    ]
    # 2,998 texts of 10,000 bytes, each with a byte of its own, and the list: 29,982,999; the id adds 6, 5 and a head.
    assert rows[1].error == "the record has at least 29983005 bytes, more than the 1048576 of limits.record_bytes"
    assert sum(converted) < 30_000


def test_large_columns_are_read_in_small_batches_and_nested_text_as_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(300, np.int32)), pa.array(["x" * 12_000_000]))
    pq.write_table(pa.table({"sample_id": [str(i) for i in range(300)], "text": texts}), path, compression="zstd")
    (file,) = match_files(0, [str(path)], "--predictions")
    with open_parquet(file) as opened:
        plan = plan_group(opened, 0, ["sample_id", "text"], 1 << 20)
        assert plan.batch_rows * 12_000_000 <= parquet_plan.BYTES_PER_BATCH
        assert plan_group(opened, 0, ["sample_id"], 1 << 20).batch_rows == 256
    pq.write_table(pa.table({"sample_id": ["a"], "words": lists(texts, [300])}), path, compression="zstd")
    with open_parquet(file) as opened:
        assert plan_group(opened, 0, ["sample_id", "words"], 1 << 20).dictionaries == ("words.list.element",)
    assert [row.cause for row in rows_of(path)] == ["too_large"]


@pytest.mark.parametrize("large", [0, 1, 5, 9])
def test_rows_behind_one_that_cannot_be_skipped_are_put_aside_with_their_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(parquet_plan, "MAX_ROW_VALUES", 3_000_000)
    path = tmp_path / "a.parquet"
    lengths = [3_000_001 if row == large else 2 for row in range(10)]
    words = lists(pa.array(np.ones(sum(lengths), bool)), lengths)
    table = pa.table({"sample_id": [f"s{row}" for row in range(10)], "words": words})
    pq.write_table(pa.concat_tables([table, table.slice(0, 0)]), path)
    rows = rows_of(path)
    assert [(row.number, row.sample_id) for row in rows] == [(row, f"s{row}") for row in range(10)]
    expected = ["read"] * large + ["too_large"] + ["unreadable"] * (9 - large)
    assert [row.cause if row.error else "read" for row in rows] == expected
    assert rows[large].error == "column words.list.element: the row has 3000001 values, more than 3000000"
    if large < 9:
        assert (rows[9].error or "").startswith(
            f"it stands {9 - large} rows behind one that is too large to be skipped"
        )
    # A record may be allowed to have as many bytes: then the row is decoded, and its bytes are counted.
    rows = rows_of(path, RowLimits(3_000_001, 50))
    assert [row.cause for row in rows if row.error] == ["too_large"]
    assert "at least" in (rows[large].error or "")


def test_a_page_that_is_too_large_rejects_its_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_plan, "MAX_PAGE_BYTES", 5000)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": list("abcd"), "text": ["x", "y" * 5000, "z", "z"]}), path, row_group_size=2)
    rows = rows_of(path)
    assert [(row.sample_id, row.cause if row.error else "") for row in rows] == [
        ("a", "too_large"),
        ("b", "too_large"),
        ("c", ""),
        ("d", ""),
    ]
    assert "a page of the row group unpacks to" in (rows[0].error or "")
    pq.write_table(pa.table({"sample_id": ["x" * 6000]}), path)
    with pytest.raises(InputProblem, match="a page of the column sample_id unpacks to"):
        rows_of(path)


def test_names_of_any_characters_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    names = ["a\nb", 'c"d', "e'f", "g\\h", "i.j", "", "\x00"]
    pq.write_table(pa.table({"sample_id": ["s"], **{name: [number] for number, name in enumerate(names)}}), path)
    (row,) = rows_of(path)
    assert msgspec.msgpack.decode(row.payload) == {"sample_id": "s", **{name: n for n, name in enumerate(names)}}


def test_values_that_python_cannot_hold_reject_their_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    dates = pa.array([0, 2**60, 1], pa.timestamp("ms"))
    pq.write_table(pa.table({"sample_id": ["a", "b", "c"], "date": dates}), path)
    rows = rows_of(path)
    assert [(row.sample_id, row.error is None) for row in rows] == [("a", True), ("b", False), ("c", True)]
    assert (rows[1].error or "").startswith("column date: ")


def test_a_schema_nested_deeper_than_the_limit_is_a_problem_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    kind: Any = pa.int64()
    for _ in range(4):
        kind = pa.struct([("a", kind)])
    pq.write_table(pa.table({"sample_id": ["s"], "deep": pa.nulls(1, kind)}), path)
    assert len(rows_of(path, RowLimits(1 << 20, 5))) == 1  # the record, four structs
    with pytest.raises(InputProblem, match=r"the column deep is nested deeper than the 4 levels of limits\.depth"):
        rows_of(path, RowLimits(1 << 20, 4))
