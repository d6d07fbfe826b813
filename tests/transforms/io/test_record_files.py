"""Records as files: every column, every shard, the same bits."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.transforms import blocks
from beamscore.transforms.blocks import sorted_on_disk
from beamscore.transforms.io.record_files import (
    Kind,
    WriteRecords,
    columns_of,
    encoded,
    kind_of,
    kinds_of,
    merged_columns,
    ordered_columns,
    schema_of,
    table_of,
)
from beamscore.transforms.records import InputProblem, zstd
from tests.pipelines.test_full_disk import small_disk

RECORDS = [{"sample_id": f"s{number:02}", "x": number} for number in range(20)]


def write_all(output: WriteRecords, records: list[Any]) -> None:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        _ = pipeline | beam.Create([encoded(record) for record in records]) | output


def lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.splitlines()]


def test_records_stand_in_order_whatever_their_order_was(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(RECORDS, len(RECORDS))
    write_all(WriteRecords(f"{tmp_path}/a.jsonl", {}), shuffled)
    assert lines((tmp_path / "a.jsonl").read_bytes()) == RECORDS
    write_all(WriteRecords(f"{tmp_path}/a.jsonl.gz", {}), shuffled)
    assert lines(gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes())) == RECORDS
    write_all(WriteRecords(f"{tmp_path}/a.jsonl.zst", {}), RECORDS)
    assert lines(zstd.decompress((tmp_path / "a.jsonl.zst").read_bytes())) == RECORDS
    write_all(WriteRecords(f"{tmp_path}/a.parquet", {}), shuffled)
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == RECORDS
    assert len(list(tmp_path.iterdir())) == 4


def test_a_shard_does_not_depend_on_the_other_records(tmp_path: Path) -> None:
    places = []
    for number, records in enumerate((RECORDS, RECORDS[::3])):
        output = WriteRecords(f"{tmp_path}/{number}.jsonl", {}, shards=3)
        write_all(output, records)
        places.append(
            {
                record["sample_id"]: shard
                for shard, path in enumerate(output.paths)
                for record in lines(Path(path).read_bytes())
            }
        )
    assert len(places[0]) == len(RECORDS)
    assert set(places[0].values()) == {0, 1, 2}
    assert places[1] == {record["sample_id"]: places[0][record["sample_id"]] for record in RECORDS[::3]}


def test_only_numbered_files_count_as_those_of_an_earlier_run(tmp_path: Path) -> None:
    others = ["a-train-of-tests.jsonl", "a-00000-of-00002.jsonl.gz", "b-00000-of-00003.jsonl"]
    for name in ["a-00002-of-00003.jsonl", "a-00001-of-00002.jsonl", *others]:
        (tmp_path / name).touch()
    WriteRecords(f"{tmp_path}/a.jsonl", {}, shards=2).remove_older()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["a-00001-of-00002.jsonl", *others])


def test_no_records_make_empty_files(tmp_path: Path) -> None:
    write_all(WriteRecords(f"{tmp_path}/a.jsonl", {}), [])
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    write_all(WriteRecords(f"{tmp_path}/a.parquet", {"sample_id": Kind.TEXT, "x": Kind.JSON}), [])
    assert pq.read_table(tmp_path / "a.parquet").schema.names == ["sample_id", "x"]


def test_a_list_is_written_only_where_there_is_anything_to_list(tmp_path: Path) -> None:
    """S3 accepts no upload without content; what an earlier run has listed does not speak for this one."""
    listed = tmp_path / "a.jsonl"
    write_all(WriteRecords(str(listed), {}, only_if_any=True), RECORDS)
    assert len(listed.read_bytes().splitlines()) == len(RECORDS)
    for _ in range(2):
        write_all(WriteRecords(str(listed), {}, only_if_any=True), [])
        assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text("old\n")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(Exception, match=r"--output .*/a\.jsonl: cannot be written: the disk is full"):
        write_all(WriteRecords(f"{tmp_path}/a.jsonl", {}), RECORDS)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    assert (tmp_path / "a.jsonl").read_text() == "old\n"


def test_what_a_run_that_was_broken_off_left_is_removed(tmp_path: Path) -> None:
    output = WriteRecords(f"{tmp_path}/a.jsonl", {})
    (tmp_path / f"a.jsonl.{output._run_id}.part").write_text("half")
    (tmp_path / "a.jsonl.other.part").write_text("of another run")
    output.remove_leftovers()
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl.other.part"]


@pytest.mark.parametrize("path", ["a", "a.json", "a.jsonl.bz2", "a.csv", "", ".jsonl", "folder/.parquet", "a.jsonl\n"])
def test_the_ending_must_tell_the_format(path: str) -> None:
    with pytest.raises(InputProblem, match=r"must end with \.jsonl, \.jsonl\.gz, \.jsonl\.zst or \.parquet"):
        WriteRecords(path, {})


def test_columns_of_a_benchmark_that_are_never_text_are_known() -> None:
    formula = benchmark_class("formula")
    assert columns_of(formula.truth_type, formula.prediction_type) == {"sample_id": Kind.TEXT}
    figure_text = benchmark_class("figure_text")
    assert columns_of(figure_text.truth_type) == {"sample_id": Kind.TEXT, "regions": Kind.JSON}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, Kind.NOTHING),
        ("", Kind.TEXT),
        (True, Kind.TRUTH),
        (-(1 << 63), Kind.INTEGER),
        (1 << 63, Kind.JSON),
        (0.0, Kind.NUMBER),
        ([], Kind.JSON),
        ({"a": 1}, Kind.JSON),
    ],
)
def test_kinds(value: Any, kind: Kind) -> None:
    assert kind_of(value) == kind


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), max_size=5), st.integers(0, 5))
def test_a_parquet_table_holds_every_value_as_it_was(objects: list[dict[str, Any]], cut: int) -> None:
    encoded_lines = [json.dumps(each).encode() for each in objects]
    parts = [merged_columns(map(kinds_of, some)) for some in (encoded_lines[:cut], encoded_lines[cut:])]
    schema = schema_of(ordered_columns(merged_columns(parts), {"a": Kind.NOTHING}))
    is_json = {field.name: "json" in str(field.type) for field in schema}
    rows = table_of(encoded_lines, schema).to_pylist()
    read = [
        {name: json.loads(cell) if is_json[name] else cell for name, cell in row.items() if cell is not None}
        for row in rows
    ]
    assert read == [{name: value for name, value in each.items() if value is not None} for each in objects]
    assert [[type(value) for value in each.values()] for each in read] == [
        [type(each[name]) for name in schema.names if each.get(name) is not None] for each in objects
    ]


@given(st.lists(st.tuples(st.binary(max_size=4), st.binary(max_size=4))), st.integers(1, 20))
def test_sorting_on_disk_is_sorting(items: list[tuple[bytes, bytes]], room: int) -> None:
    with sorted_on_disk(iter(items), bytes_in_memory=room) as found:
        assert list(found) == sorted(items)


def test_few_items_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spilled = []
    spill = blocks._spilled

    def count(items: list[blocks.KeyedRecord]) -> Any:
        spilled.append(len(items))
        return spill(items)

    monkeypatch.setattr(blocks, "_spilled", count)
    items = [(b"%03d" % (number * 37 % 100), b"x" * 7) for number in range(100)]
    of_ten = 10 * (3 + 7 + blocks._BYTES_PER_ITEM)
    with sorted_on_disk(items, bytes_in_memory=of_ten - 5) as found:
        assert list(found) == sorted(items)
    assert spilled == [10] * 10


def test_a_temporary_folder_without_room_is_told_as_that_not_as_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 16) as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        with (
            pytest.raises(InputProblem, match=rf"{disk}: temporary files cannot be written .* TMPDIR "),
            sorted_on_disk([(b"key", b"x" * 100_000)], bytes_in_memory=100),
        ):
            pass
