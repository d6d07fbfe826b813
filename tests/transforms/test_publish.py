"""Rows become columns, bundles become files, and all parts together a result."""

from __future__ import annotations

import gc
import io
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms import publish as write
from beamscore.transforms.io.publication import Claim, Layout, Process, find_published, mark_abandoned, own_output
from beamscore.transforms.publish import CountCauses, Publish, SampleWriter, StageBundles, StagedFolder, encode_json
from beamscore.transforms.records import Cause, CauseCount, InputProblem, Quarantined
from beamscore.transforms.rows import sample_schema
from beamscore.transforms.scored import ScoredSample
from tests.transforms.line_writer import LineWriter

LAYOUT = Layout("evaluation", ("first.json", "last.json"), ("samples",))


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def put(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def staged(output: Path, lines: list[bytes], fails: bool = False) -> list[str]:
    """Writes lines as one bundle, which may fail before its end, and returns the names that it yields."""
    do_fn = StageBundles(StagedFolder(str(output), "new", "quarantine"), ".jsonl", LineWriter)
    do_fn.start_bundle()
    for line in lines:
        do_fn.process(line)
    names = [] if fails else [each.value for each in do_fn.finish_bundle()]
    do_fn.teardown()
    return names


def test_each_bundle_that_ends_gives_one_whole_file(tmp_path: Path) -> None:
    folder = tmp_path / ".runs" / "new" / "quarantine"
    assert staged(tmp_path, []) == []
    assert not folder.exists()
    assert staged(tmp_path, [b"a", b"b"], fails=True) == []
    (first,), (second,) = staged(tmp_path, [b"a", b"b"]), staged(tmp_path, [b"c"])
    assert first.startswith("quarantine-")
    assert first.endswith(".jsonl")
    assert ((folder / first).read_bytes(), (folder / second).read_bytes()) == (b"a\nb\n", b"c\n")


def test_a_bundle_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    message = (
        rf"--output {tmp_path}/out: cannot be written: .*Not a directory.*; a file has the name of a folder of it; "
    )
    with pytest.raises(InputProblem, match=message):
        staged(tmp_path / "out", [b"a"])


def rows(count: int) -> list[ScoredSample]:
    return [
        ScoredSample(
            f"s{i}",
            i % 2,
            "scored",
            "rejected" if i % 2 else None,
            f"u{i}",
            {"ground_truth.scored": 1},
            slice_values=("web", {"b": i, "a": None}, None),
            statistics={"n": i, "share": 0.1},
            metrics={"score": i / 2, "other": None},
            truth_hash=f"{i:032x}",
            details=b'{"i":%d}' % i,
        )
        for i in range(count)
    ]


def tables_of(samples: list[ScoredSample], batch: int = 1) -> list[Any]:
    """Returns the row groups of a file of samples, or the empty table of a file without any."""
    sink = io.BytesIO()
    columns = ("ours", "theirs"), ("score", "other", "absent"), ("source", "dict", "none")
    writer = SampleWriter(*columns, b"rules", sink)
    for start in range(0, len(samples), batch):
        writer.write(samples[start : start + batch])
    writer.close()
    file = pq.ParquetFile(sink)
    return [file.read_row_group(number) for number in range(file.num_row_groups)]


def test_rows_of_samples_become_columns() -> None:
    (table,) = tables_of(rows(3))
    assert table.schema == sample_schema(["score", "other", "absent"], ["source", "dict", "none"])
    text, number = pa.string(), pa.float64()
    assert table.schema == pa.schema(
        [
            *((name, text) for name in ("sample_id", "system", "status", "prediction_status", "unit")),
            *((name, text) for name in ("slice.source", "slice.dict", "slice.none")),
            *((name, number) for name in ("score", "other", "absent")),
            *(
                (name, text)
                for name in ("statistics", "coverage", "truth_hash", "prediction_hash", "details", "row_hash")
            ),
        ]
    )
    row = table.to_pylist()[1]
    assert len(row.pop("row_hash")) == 32
    assert row == {
        "sample_id": "s1",
        "system": "theirs",
        "status": "scored",
        "prediction_status": "rejected",
        "unit": "u1",
        "slice.source": '"web"',
        "slice.dict": '{"a":null,"b":1}',
        "slice.none": None,
        "score": 0.5,
        "other": None,
        "absent": None,
        "statistics": '{"n":1,"share":0.1}',
        "coverage": '{"ground_truth.scored":1}',
        "truth_hash": "0" * 31 + "1",
        "prediction_hash": None,
        "details": '{"i":1}',
    }


def test_a_sample_that_was_not_scored_has_no_statistics() -> None:
    (table,) = tables_of([ScoredSample("s", 0, "rejected", None, "s", {"ground_truth.rejected": 1})])
    (row,) = table.to_pylist()
    assert (row["statistics"], row["details"], row["slice.source"], row["truth_hash"]) == (None, "null", None, None)


def test_statistics_of_any_kind_of_number_are_exact() -> None:
    numbers: dict[str, Any] = {"a": np.int64(7), "b": np.float64(0.1), "c": np.float32(0.5), "d": 2**32, "e": 1 / 3}
    (table,) = tables_of([ScoredSample("s", 0, "scored", None, "s", {}, statistics=numbers)])
    found = json.loads(table.to_pylist()[0]["statistics"])
    assert found == {"a": 7, "b": 0.1, "c": 0.5, "d": 2**32, "e": 1 / 3}
    assert [type(value) for value in found.values()] == [int, float, float, int, float]


def test_tables_are_cut_and_no_row_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS_PER_GROUP", 4)
    for count in (0, 1, 4, 5, 8):
        tables = tables_of(rows(count))
        assert [table.num_rows for table in tables] == [4] * (count // 4) + [count % 4] * bool(count % 4)
        assert [each["sample_id"] for table in tables for each in table.to_pylist()] == [f"s{i}" for i in range(count)]
    assert [table.num_rows for table in tables_of(rows(8), batch=3)] == [6, 2]
    monkeypatch.setattr(write, "BYTES_PER_GROUP", 16)
    assert [table.num_rows for table in tables_of(rows(5))] == [3, 2], "the details of three rows have 21 bytes"


def test_json_documents_are_for_people_and_programs() -> None:
    document = {"b": {"é": [1, 0.1]}, "a": None}
    assert json.loads(encode_json(document)) == document
    assert encode_json(document).startswith(b'{\n "b": {\n  "\xc3\xa9"')
    with pytest.raises(ValueError, match="JSON"):
        encode_json({"a": math.nan})


def publish(output: Path, run_id: str) -> None:
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        parts = {
            "numbers": pipeline | "Numbers" >> beam.Create([1, 2, 3]),
            "samples_files": pipeline | "Names" >> beam.Create(["samples-a.parquet"]),
            "none": pipeline | "None" >> beam.Create([]),
        }
        _ = parts | Publish(str(output), run_id, LAYOUT, counted)


def counted(parts: dict[str, list[Any]]) -> dict[str, bytes]:
    counts = {name: len(part) for name, part in parts.items()}
    return {"last.json": json.dumps(counts, sort_keys=True).encode(), "first.json": b"{}"}


def test_parts_are_gathered_and_published(tmp_path: Path) -> None:
    own_output(str(tmp_path), Claim("run", Process("", 0, "")), LAYOUT)
    put(tmp_path, {".runs/run/samples/samples-a.parquet": "rows"})
    publish(tmp_path, "run")
    found = find_published(str(tmp_path), LAYOUT)
    assert found
    assert {name: found.read(name) for name in found.files} == {
        "first.json": b"{}",
        "last.json": b'{"none": 0, "numbers": 3, "samples_files": 1}',
        "samples/samples-a.parquet": b"rows",
    }


def test_a_run_that_was_abandoned_publishes_nothing(tmp_path: Path) -> None:
    own_output(str(tmp_path), Claim("run", Process("", 0, "")), LAYOUT)
    put(tmp_path, {".runs/run/samples/samples-a.parquet": "rows", "last.json": "earlier"})
    mark_abandoned(str(tmp_path), "run")
    put(tmp_path, {".runs/run/samples/samples-a.parquet": "rows that were still on their way"})
    publish(tmp_path, "run")
    assert (tmp_path / "last.json").read_text() == "earlier"
    assert not (tmp_path / "samples").exists()


def test_a_bundle_that_failed_closes_its_table_before_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else pyarrow writes to the closed file when the table is forgotten, and Python prints a traceback."""
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    schema = pa.schema([("a", pa.int64())])
    do_fn = StageBundles(
        StagedFolder(str(tmp_path), "new", "samples"), ".parquet", lambda s: pq.ParquetWriter(s, schema)
    )
    do_fn.start_bundle()
    do_fn.process(pa.table({"a": [1]}, schema=schema))
    do_fn.teardown()
    del do_fn
    gc.collect()
    assert complaints == []


def entry(position: int, side: str = "ours", cause: Cause = "duplicate", source: str = "a.jsonl") -> Quarantined:
    return Quarantined(side, "s", source, position, None, "pair", cause, "twice", "{}")


ENTRIES = [entry(3), entry(1), entry(2), entry(9, source="a"), entry(5, source="b.jsonl")]


@given(st.permutations(ENTRIES), st.integers(0, 5))
def test_counts_merge_in_any_order_to_the_first_by_place(entries: Sequence[Quarantined], cut: int) -> None:
    halves = [CauseCount(), CauseCount()]
    for index, each in enumerate(entries):
        half = int(index >= cut)
        halves[half] = halves[half].merge(CauseCount(1, (each,)))
    assert (
        halves[0].merge(halves[1])
        == halves[1].merge(halves[0])
        == CauseCount(5, (entry(9, source="a"), entry(1), entry(2)))
    )


def test_causes_are_counted_by_side_and_cause() -> None:
    entries = [entry(4), entry(2), entry(7, side="theirs"), entry(8, cause="unmatched"), entry(1, side="theirs")]
    expected = [
        CauseCount(2, (entry(2), entry(4))),
        CauseCount(2, (entry(1, side="theirs"), entry(7, side="theirs"))),
        CauseCount(1, (entry(8, cause="unmatched"),)),
    ]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        assert_that(pipeline | beam.Create(entries) | CountCauses(), equal_to(expected))
