"""Files are written whole or not at all, and nothing of others is touched."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from transforms import write
from transforms.sample_schema import sample_schema
from transforms.score import ScoredSample
from transforms.stage import (
    StageBundles,
    delete_files,
    give_up,
    new_run_id,
    publish_folder,
    remove_staging,
    staging_folder,
    write_file,
)
from transforms.write import LineWriter, Publish, RowsToTables, encode_json


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def put(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)


def test_a_file_is_written_with_its_folder_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    for content in ("first", "second and longer", "3rd"):
        write_file(str(tmp_path / "new" / "a.json"), content.encode())
        assert tree(tmp_path) == {"new/a.json": content}


def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("earlier")

    def fail(sources: list[str], targets: list[str]) -> None:
        assert path.read_text() == "earlier"
        raise OSError("disk full")

    monkeypatch.setattr(FileSystems, "rename", fail)
    with pytest.raises(OSError, match="disk full"):
        write_file(str(path), b"later")
    assert tree(tmp_path) == {"a.json": "earlier"}


def test_staged_files_move_into_place_and_those_of_earlier_runs_go(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            ".staging/new/samples/samples-n0.parquet": "n0",
            ".staging/new/samples/samples-n1.parquet": "n1",
            "samples/samples-old.parquet": "o0",
            "samples/notes.txt": "mine",
            "samples/samples-notes.txt": "mine too",
            "quarantine/quarantine-old.jsonl": "q",
        },
    )
    publish_folder(str(tmp_path), "samples", "new", ["samples-n0.parquet", "samples-n1.parquet"])
    remove_staging(str(tmp_path), "new")
    assert tree(tmp_path) == {
        "samples/samples-n0.parquet": "n0",
        "samples/samples-n1.parquet": "n1",
        "samples/notes.txt": "mine",
        "samples/samples-notes.txt": "mine too",
        "quarantine/quarantine-old.jsonl": "q",
    }
    assert not (tmp_path / ".staging").exists()


def test_a_second_attempt_keeps_what_the_first_one_moved(tmp_path: Path) -> None:
    put(tmp_path, {".staging/new/samples/samples-0.parquet": "n0", ".staging/new/samples/samples-1.parquet": "n1"})
    publish_folder(str(tmp_path), "samples", "new", ["samples-0.parquet"])
    for _ in range(2):
        publish_folder(str(tmp_path), "samples", "new", ["samples-0.parquet", "samples-1.parquet"])
        assert tree(tmp_path) == {"samples/samples-0.parquet": "n0", "samples/samples-1.parquet": "n1"}


def test_files_of_attempts_that_failed_are_never_published(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            ".staging/new/samples/samples-cut-off.parquet": "PAR1 but no more",
            ".staging/new/samples/samples-second.parquet": "rows",
            "samples/samples-first.parquet": "the same rows, from an attempt that broke off while it published",
        },
    )
    publish_folder(str(tmp_path), "samples", "new", ["samples-second.parquet"])
    remove_staging(str(tmp_path), "new")
    assert tree(tmp_path) == {"samples/samples-second.parquet": "rows"}


def test_a_result_without_one_of_its_files_is_not_published(tmp_path: Path) -> None:
    put(tmp_path, {".staging/new/samples/samples-0.parquet": "n0", "samples/samples-old.parquet": "old"})
    before = tree(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"\.staging/new/samples/samples-1\.parquet: written by this run, but gone"
    ):
        publish_folder(str(tmp_path), "samples", "new", ["samples-0.parquet", "samples-1.parquet"])
    assert tree(tmp_path) == before


def staged(folder: Path, lines: list[bytes], fails: bool = False) -> list[str]:
    """Writes lines as one bundle, which may fail before its end, and returns the names that it gives."""
    do_fn = StageBundles(str(folder), ".jsonl", LineWriter)
    do_fn.start_bundle()
    for line in lines:
        do_fn.process(line)
    names = [] if fails else [each.value for each in do_fn.finish_bundle()]
    do_fn.teardown()
    return names


def test_each_bundle_that_ends_gives_one_whole_file(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "quarantine"
    assert staged(folder, []) == []
    assert not folder.exists()
    assert staged(folder, [b"a", b"b"], fails=True) == []
    (first,), (second,) = staged(folder, [b"a", b"b"]), staged(folder, [b"c"])
    assert first.startswith("quarantine-")
    assert first.endswith(".jsonl")
    assert ((folder / first).read_bytes(), (folder / second).read_bytes()) == (b"a\nb\n", b"c\n")


def test_the_staging_of_another_run_stays(tmp_path: Path) -> None:
    put(tmp_path, {".staging/mine/samples/a.parquet": "a", ".staging/other/samples/b.parquet": "b"})
    remove_staging(str(tmp_path), "mine")
    assert tree(tmp_path) == {".staging/other/samples/b.parquet": "b"}
    remove_staging(str(tmp_path), "other")
    assert not (tmp_path / ".staging").exists()
    remove_staging(str(tmp_path), "other")


def test_only_files_that_are_there_are_deleted(tmp_path: Path) -> None:
    put(tmp_path, {"a": "a", "b": "b"})
    delete_files([str(tmp_path / "a"), str(tmp_path / "missing")])
    delete_files([])
    assert tree(tmp_path) == {"b": "b"}


def test_runs_have_names_of_their_own() -> None:
    assert len({new_run_id() for _ in range(100)}) == 100
    assert staging_folder("out", "run", "samples") == "out/.staging/run/samples"


def rows(count: int) -> list[ScoredSample]:
    return [
        ScoredSample(f"s{i}", i % 2, "scored", "u", (), {}, {"score": i / 2, "other": None}, b'{"i":%d}' % i, {})
        for i in range(count)
    ]


def tables_of(samples: list[ScoredSample]) -> list[Any]:
    do_fn = RowsToTables(("ours", "theirs"), ("score", "other", "absent"))
    do_fn.start_bundle()
    tables = [table for sample in samples for table in do_fn.process(sample)]
    return tables + [each.value for each in do_fn.finish_bundle()]


def test_rows_of_samples_become_columns() -> None:
    (table,) = tables_of(rows(3))
    assert table.schema == sample_schema(["score", "other", "absent"])
    assert table.schema == pa.schema(
        [
            ("sample_id", pa.string()),
            ("system", pa.string()),
            ("status", pa.string()),
            ("score", pa.float64()),
            ("other", pa.float64()),
            ("absent", pa.float64()),
            ("details", pa.string()),
        ]
    )
    assert table.to_pylist()[1] == {
        "sample_id": "s1",
        "system": "theirs",
        "status": "scored",
        "score": 0.5,
        "other": None,
        "absent": None,
        "details": '{"i":1}',
    }


def test_tables_are_cut_and_no_row_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS_PER_TABLE", 4)
    for count in (0, 1, 4, 5, 8):
        tables = tables_of(rows(count))
        assert [table.num_rows for table in tables] == [4] * (count // 4) + [count % 4] * bool(count % 4)
        assert [each["sample_id"] for table in tables for each in table.to_pylist()] == [f"s{i}" for i in range(count)]


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
        _ = parts | Publish(str(output), run_id, ("samples",), counted, "last.json")


def counted(parts: dict[str, list[Any]]) -> dict[str, bytes]:
    counts = {name: len(part) for name, part in parts.items()}
    return {"last.json": json.dumps(counts, sort_keys=True).encode(), "first.json": b"{}"}


def test_parts_are_gathered_and_published(tmp_path: Path) -> None:
    put(tmp_path, {".staging/run/samples/samples-a.parquet": "rows"})
    publish(tmp_path, "run")
    assert tree(tmp_path) == {
        "first.json": "{}",
        "last.json": '{"none": 0, "numbers": 3, "samples_files": 1}',
        "samples/samples-a.parquet": "rows",
    }


def test_a_run_that_was_given_up_publishes_nothing(tmp_path: Path) -> None:
    put(tmp_path, {".staging/run/samples/samples-a.parquet": "rows", "last.json": "earlier"})
    give_up(str(tmp_path), "run")
    put(tmp_path, {".staging/run/samples/samples-a.parquet": "rows that were still on their way"})
    publish(tmp_path, "run")
    assert (tmp_path / "last.json").read_text() == "earlier"
    assert not (tmp_path / "samples").exists()
