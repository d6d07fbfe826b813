"""Records as files: every column, the same bits."""

import json
import os
import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import apache_beam as beam
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from hypothesis import given, strategies as st

from beamscore.transforms.io import record_files
from beamscore.transforms.io.files import open_uncompressed
from beamscore.transforms.io.record_files import Kind, WriteRecords, kinds_of, merged_columns, schema_of, table_of
from tests.transforms.samples import problem_of

RECORDS = [{"sample_id": f"s{number:02}", "x": number} for number in range(20)]


def write_all(output: WriteRecords, records: list[Any]) -> None:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        _ = (pipeline | beam.Create([record_files.encoded(record) for record in records]),) | output


def test_rows_stand_in_order_whatever_their_order_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of lines, and lists that are there only with records, are in pipelines/test_convert.py."""
    shuffled = random.Random(1).sample(RECORDS, len(RECORDS))
    # The first three lines have 66 bytes.
    for name, limit, sizes in (("ROWS_PER_GROUP", 8, [8, 8, 4]), ("BYTES_PER_GROUP", 65, [3] * 6 + [2])):
        with monkeypatch.context() as patch:
            patch.setattr(record_files, name, limit)
            write_all(WriteRecords(f"{tmp_path}/a.parquet", {}), shuffled)
        table = pq.ParquetFile(tmp_path / "a.parquet")
        assert [table.metadata.row_group(number).num_rows for number in range(table.num_row_groups)] == sizes
        assert table.read().to_pylist() == RECORDS
    write_all(WriteRecords(f"{tmp_path}/a.parquet", {"sample_id": Kind.TEXT, "x": Kind.JSON}), [])
    assert pq.read_table(tmp_path / "a.parquet").schema.names == ["sample_id", "x"], "no records make an empty file"
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst"):
        write_all(WriteRecords(f"{tmp_path}/{name}", {}), [])
        with open_uncompressed(f"{tmp_path}/{name}") as stream:
            assert stream.read() == b""


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text("old\n")
    monkeypatch.setattr(os, "rename", Mock(side_effect=OSError("the disk is full")))
    with pytest.raises(Exception, match=r"--output .*/a\.jsonl: cannot be written: the disk is full"):
        write_all(WriteRecords(f"{tmp_path}/a.jsonl", {}), RECORDS)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.jsonl", "old\n")]


def test_what_an_interrupted_run_left_is_removed_and_nothing_of_another_run(tmp_path: Path) -> None:
    output = WriteRecords(f"{tmp_path}/a.jsonl", {})
    for name in ("a.jsonl", "a.jsonl.other.part", f"a.jsonl.{output._run_id}.part"):
        (tmp_path / name).touch()
    output.remove_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.other.part"]


def test_the_ending_must_tell_the_format() -> None:
    for path in ("a", "a.json", "a.jsonl.bz2", "a.csv", "", ".jsonl", "folder/.parquet"):
        said = f"--output {path}: must end with .jsonl, .jsonl.gz, .jsonl.zst or .parquet"
        assert problem_of(WriteRecords, path, {}) == said


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.text(max_size=4)),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 63, [], {}, [1], {"a": None}]),
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), max_size=5), st.integers(0, 5))
def test_a_parquet_table_holds_every_value_as_it_was(objects: list[dict[str, Any]], cut: int) -> None:
    """A column of one kind has the type of it, any other is JSON."""
    encoded_lines = [json.dumps(each).encode() for each in objects]
    parts = [merged_columns(map(kinds_of, some)) for some in (encoded_lines[:cut], encoded_lines[cut:])]
    schema = schema_of(record_files.ordered_columns(merged_columns(parts), {"a": Kind.NOTHING}))
    is_json = {field.name: "json" in str(field.type) for field in schema}
    for name, found in is_json.items():
        kinds = {type(each[name]) for each in objects if each.get(name) is not None}
        longs = any(type(each.get(name)) is int and not -(1 << 63) <= each[name] < 1 << 63 for each in objects)
        assert found == (len(kinds) > 1 or bool(kinds & {list, dict}) or longs)
    read = [
        {name: json.loads(cell) if is_json[name] else cell for name, cell in row.items() if cell is not None}
        for row in table_of(encoded_lines, schema).to_pylist()
    ]
    assert read == [{name: value for name, value in each.items() if value is not None} for each in objects]
    assert [[type(value) for value in each.values()] for each in read] == [
        [type(each[name]) for name in schema.names if each.get(name) is not None] for each in objects
    ]
