"""A small file may not become endless text or endless rows, however it is compressed and wherever reading goes on."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.pvalue import TaggedOutput
from apache_beam.runners.sdf_utils import RestrictionTrackerView, ThreadsafeRestrictionTracker
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io import expansion, files, zstd
from beamscore.transforms.io.files import SourceFile, match_files, split_file
from beamscore.transforms.io.jsonl import LineReader, read_lines
from beamscore.transforms.io.parquet import RowLimits, RowReader
from beamscore.transforms.io.restriction import Unread, UnreadOfPart
from beamscore.transforms.io.side_columns import SideColumns
from beamscore.transforms.read import Limits, ReadPart
from beamscore.transforms.records import InputProblem

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstd.compress,
}
PIECE = 1 << 20
LIMITS = RowLimits(1 << 20, 50)


def source(path: Path) -> SourceFile:
    return match_files(0, [str(path)], "--predictions")[0]


@pytest.fixture(autouse=True)
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "MAX_TEXT_BYTES", dict.fromkeys(COMPRESSIONS, 4 * PIECE))
    monkeypatch.setattr(expansion, "MAX_RECORD_BYTES", 100_000)


@pytest.mark.parametrize("text", [b"\n", b" \r\n", b"x"])
@pytest.mark.parametrize("ending", [".bz2", ".zst"])
def test_endless_text_is_a_problem_that_names_the_file_and_the_limit(tmp_path: Path, ending: str, text: bytes) -> None:
    """Gzip makes a thousandth of a text at best, so that the size of the file is limit enough."""
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(COMPRESSIONS[ending](text * (40 * PIECE // len(text))))
    (part,) = split_file(source(path), 1)
    with pytest.raises(InputProblem) as found:
        list(read_lines(part, PIECE))
    assert found.value.message.startswith(f"{path}: cannot be read as jsonl: its first ")
    assert f"unpack to more than the {4 * PIECE} bytes and 1000 for each" in found.value.message


@pytest.mark.parametrize("ending", COMPRESSIONS)
def test_text_up_to_the_limit_is_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(COMPRESSIONS[ending](b"\n" * (4 * PIECE - 9) + b'{"a": 1}\n'))
    (part,) = split_file(source(path), 1)
    assert [line.text for line in read_lines(part, PIECE)] == [b'{"a": 1}']


@pytest.mark.parametrize("ending", [".bz2", ".zst"])
def test_going_on_somewhere_else_does_not_allow_more(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(COMPRESSIONS[ending](b'{"a": 1}\n' + b"\n" * PIECE) * 3 + COMPRESSIONS[ending](b"\n" * 40 * PIECE))
    (part,) = split_file(source(path), 1)
    unread, lines = None, 0
    with pytest.raises(InputProblem, match="unpack to more than"):  # noqa: PT012
        while True:
            reader = LineReader(part, PIECE, unread)
            assert next(line for line in reader if line is not None).text == b'{"a": 1}'
            unread, lines = Unread(reader.place, None, part.size), lines + 1
    assert lines == 3


def rows(path: Path, file: SourceFile | None = None) -> list[Any]:
    return [row for part in split_file(file or source(path), 1) for row in RowReader(part, SideColumns(None), LIMITS)]


@given(count=st.integers(1, 60), size=st.integers(0, 9000))
def test_rows_may_have_what_is_allowed_for_the_bytes_that_are_stored(
    tmp_path_factory: pytest.TempPathFactory, count: int, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows.parquet"
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array(["x" * size]))
    ids = [str(number) for number in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expansion, "MAX_EXPANSION", 10)
        pq.write_table(pa.table({"sample_id": ids, "text": text}), path, compression="zstd")
        metadata = pq.ParquetFile(path).metadata
        data_bytes = path.stat().st_size - metadata.serialized_size
        allowed = expansion.records_allowed(files.stored_bytes(metadata.row_group(0)), data_bytes)
        least = count * max(size, expansion.LEAST_RECORD_BYTES)
        if least > allowed:
            with pytest.raises(InputProblem, match=f"become more than the {allowed} bytes allowed, 10 for each byte"):
                rows(path)
        elif least + 40 * count <= allowed:
            assert [row.sample_id for row in rows(path)] == ids


def test_rows_count_on_where_reading_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1000, np.int32)), pa.array(["x" * 9000]))
    pq.write_table(pa.table({"sample_id": ["a"] * 1000, "text": text}), path, compression="zstd")
    (part,) = split_file(source(path), 1 << 30)
    with pytest.raises(InputProblem) as at_once:
        list(RowReader(part, SideColumns(None), LIMITS))
    unread, count = None, 0
    with pytest.raises(InputProblem) as found:  # noqa: PT012
        while True:
            reader = RowReader(part, SideColumns(None), LIMITS, unread)
            next(iter(reader))
            unread, count = Unread(reader.place, None, part.size), count + 1
    assert found.value.message == at_once.value.message
    assert f"its first {count + 1} rows become more than" in found.value.message


@pytest.mark.parametrize(
    ("limit", "value", "problem"),
    [
        ("MAX_ROW_GROUPS", 3, "it has 4 row groups, at most 3"),
        ("MAX_COLUMNS", 1, "it has 2 columns, at most 1"),
        ("MAX_COLUMN_CHUNKS", 7, r"it has 8 column chunks \(row groups times columns\), at most 7"),
        ("MAX_FOOTER_BYTES", 100, "its footer has [0-9]+ bytes, at most 100"),
        ("_MAX_FOOTER_LIST", 2, "its footer holds a list of more than 2 columns or row groups"),
    ],
)
def test_a_footer_has_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, problem: str
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": ["a", "b", "c", "d"], "text": ["x"] * 4}), path, row_group_size=1)
    assert len(rows(path)) == 4
    monkeypatch.setattr(files, limit, value)
    with pytest.raises(InputProblem, match=f"cannot be read as parquet: {problem}"):
        rows(path)


def test_column_chunks_that_have_more_bytes_than_the_file_are_refused(tmp_path: Path) -> None:
    """Row groups that share their bytes would make a small file long to read."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": ["a", "b"]}), path, row_group_size=1)
    with pytest.raises(InputProblem, match=r"its column chunks have \d+ bytes, the file 10: they overlap"):
        rows(path, replace(source(path), size=10))


def test_many_small_row_groups_are_read_together(tmp_path: Path) -> None:
    """Each part reads the footer again, so that a part for each row group would take the square of their number."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sample_id": [str(number) for number in range(500)]}), path, row_group_size=1)
    file = source(path)
    parts = list(split_file(file, files.LEAST_STORED_PER_PART + 1))
    assert len(parts) <= 1 + file.size // files.LEAST_STORED_PER_PART


@pytest.mark.parametrize("count", [20, 21])
def test_a_record_has_so_many_arrays_and_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """The record and the list are two, and leave 18 points.

    A Parquet row may have 80 values: the sample_id counts 1, the list and each point 4, each number 1, so that there
    may be (80 - 5) / 6 = 12 points.
    """
    monkeypatch.setattr(expansion, "MAX_CONTAINERS", 20)
    points = [[0.5, 0.5]] * (count - 2)
    (tmp_path / "a.jsonl").write_text(json.dumps({"sample_id": "a", "points": points}) + "\n")
    few = [[0.5, 0.5]] * (count - 8)
    rows = pa.table({"sample_id": ["a", "b"], "points": pa.array([[], few], pa.list_(pa.list_(pa.float64())))})
    pq.write_table(rows, tmp_path / "a.parquet")
    texts = pa.table({"sample_id": ["a"], "points": [json.dumps([[]] * (count - 1))]})
    pq.write_table(texts, tmp_path / "b.parquet")
    found = {path.name: quarantined(path) for path in sorted(tmp_path.iterdir())}
    if count == 20:
        assert found == {"a.jsonl": [], "a.parquet": [], "b.parquet": []}
        return
    message = "the record has more than 20 arrays and objects"
    assert found == {
        "a.jsonl": [(None, "too_large", message)],
        "a.parquet": [("b", "too_large", f"{message}, or 80 values in all")],
        "b.parquet": [("a", "unreadable", "column points has more than 20 arrays and objects")],
    }


def quarantined(path: Path) -> list[tuple[str | None, str, str]]:
    do_fn = ReadPart(["ours"], {0: SideColumns(frozenset({"points"}), frozenset({"points"}))}, Limits(320))
    do_fn.start_bundle()
    (part,) = split_file(source(path), 1 << 30)
    tracker = ThreadsafeRestrictionTracker(UnreadOfPart().create_tracker(UnreadOfPart().initial_restriction(part)))
    outputs = list(do_fn.process(part, RestrictionTrackerView(tracker)))
    entries = [each.value for each in outputs if isinstance(each, TaggedOutput) and each.tag == "quarantine"]
    return [(entry.sample_id, entry.cause, entry.error) for entry in entries]
