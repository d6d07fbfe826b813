"""Rows become columns, bundles become files, and all parts together a result."""

import gc
import io
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given, strategies as st

from beamscore.metrics.statistics.bootstrap import checked_statistics
from beamscore.transforms import publish as publishing
from beamscore.transforms.io.publication import cancel_run
from beamscore.transforms.publish import CountCauses, Publish, SampleWriter, StageBundles, StagedFolder, encode_json
from beamscore.transforms.records import Cause, CauseCount, Quarantined
from beamscore.transforms.scored import ScoredSample
from tests.transforms.io.test_publication import LAYOUT, both, documents, own, stage
from tests.transforms.samples import bundle, problem_of


def staging(path: Path, *more: Any, **options: Any) -> StageBundles:
    return StageBundles(StagedFolder(str(path), "new", "samples"), ".jsonl", *more, **options)


def test_each_bundle_that_ends_gives_one_whole_file(tmp_path: Path) -> None:
    do_fn = staging(tmp_path)
    assert bundle(do_fn)["main"] == []
    assert list(tmp_path.iterdir()) == []
    (first,), (second,) = bundle(do_fn, b"a\n", b"b\n")["main"], bundle(do_fn, b"c\n")["main"]
    assert (first[:8], first[-6:]) == ("samples-", ".jsonl")
    folder = tmp_path / ".runs" / "new" / "samples"
    assert [(folder / name).read_bytes() for name in (first, second)] == [b"a\nb\n", b"c\n"]
    assert len(bundle(staging(tmp_path, file_s=0.0), b"a", b"b")["main"]) == 2
    (tmp_path / "out").write_text("in the way")
    said = problem_of(bundle, staging(tmp_path / "out"), b"a")
    assert said.startswith(f"--output {tmp_path}/out: cannot be written: ")
    assert "Not a directory" in said


def test_a_bundle_that_failed_closes_its_table_before_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else pyarrow writes to the closed file when the table is forgotten, and Python prints a traceback."""
    complaints: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    table = pa.table({"a": [1]})
    do_fn = staging(tmp_path, lambda stream: pq.ParquetWriter(stream, table.schema))
    do_fn.start_bundle()
    do_fn.process(table)
    do_fn.teardown()
    del do_fn
    gc.collect()
    assert complaints == []

    # A file that cannot be ended is not ended again.
    do_fn = staging(tmp_path, lambda stream: Mock(close=Mock(side_effect=OSError("the disk is full"))))
    assert "the disk is full" in problem_of(bundle, do_fn, b"a")
    do_fn.teardown()


def rows(count: int) -> list[ScoredSample]:
    of_numpy = {"b": np.float64(0.1), "a": np.int64(7), "c": np.float32(0.5), "d": 2**32, "e": 1 / 3}
    return [
        ScoredSample(
            *(f"s{i}", i % 2, "scored", "rejected" if i % 2 else None, f"u{i}", {"ground_truth.scored": 1, "a": 2}),
            slice_values=("web", {"b": i, "a": None}, None),
            statistics=checked_statistics(of_numpy),
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
    """Statistics of any kind of number are exact."""
    (table,) = tables_of(rows(3))
    assert {each.name for each in table.schema if each.type == pa.float64()} == {"score", "other", "absent"}
    row = table.to_pylist()[1]
    statistics = '{"b":0.1,"a":7,"c":0.5,"d":4294967296,"e":0.3333333333333333}'
    assert list(row.items()) == [
        *{"sample_id": "s1", "system": "theirs", "status": "scored", "prediction_status": "rejected"}.items(),
        *{"unit": "u1", "slice.source": '"web"', "slice.dict": '{"a":null,"b":1}', "slice.none": None}.items(),
        *{"score": 0.5, "other": None, "absent": None, "statistics": statistics}.items(),
        *{"coverage": '{"a":2,"ground_truth.scored":1}', "truth_hash": "0" * 31 + "1", "prediction_hash": None}.items(),
        *{"details": '{"i":1}', "row_hash": "1081cff142fa76ac6afc5bf4006e2af0"}.items(),
    ]
    rejected = ScoredSample("s", 0, "rejected", None, "s", {"ground_truth.rejected": 1})
    (row,) = tables_of([rejected])[0].to_pylist()
    assert (row["statistics"], row["details"], row["slice.source"], row["truth_hash"]) == (None, "null", None, None)


def test_tables_are_cut_and_no_row_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "ROWS_PER_GROUP", 4)
    for count, batch, sizes in ((0, 1, []), (1, 1, [1]), (4, 1, [4]), (8, 1, [4, 4]), (9, 3, [6, 3])):
        tables = tables_of(rows(count), batch)
        assert [table.num_rows for table in tables] == sizes
        assert [each["sample_id"] for table in tables for each in table.to_pylist()] == [f"s{i}" for i in range(count)]
    # The details of two rows have 14 bytes.
    monkeypatch.setattr(publishing, "BYTES_PER_GROUP", 14)
    assert [table.num_rows for table in tables_of(rows(5))] == [2, 2, 1]


def test_json_documents_are_for_people_and_programs() -> None:
    assert encode_json({"b": {"é": 0.1}, "a": None}).decode() == '{\n "b": {\n  "é": 0.1\n },\n "a": null\n}\n'
    odd = {"": [{}, [], [1e16, 1e-7, -0.0, 10**30, True], '\u2028\n\x7f"[{,:\\'], 7: {"a": {}}}
    assert encode_json(odd).decode() == json.dumps(odd, indent=1, ensure_ascii=False) + "\n"
    with pytest.raises(ValueError, match="JSON"):
        encode_json({"a": math.nan})


def test_parts_are_gathered_and_published_unless_the_run_was_abandoned(tmp_path: Path) -> None:
    for run_id in ("first", "abandoned"):
        own(str(tmp_path), run_id)
        files = {f"{folder}_files": names for folder, names in stage(str(tmp_path), run_id, run_id).items()}
        if run_id == "abandoned":
            cancel_run(str(tmp_path), run_id)
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            given_parts = {**files, "tag": [run_id], "none": []}
            parts = {name: pipeline | name >> beam.Create(part) for name, part in given_parts.items()}
            _ = parts | Publish(str(tmp_path), run_id, LAYOUT, lambda got: documents("".join(got["tag"] + got["none"])))
        cancel_run(str(tmp_path), run_id)
        assert both(str(tmp_path)) == "first"


def entry(
    position: int, side: str = "ours", cause: Cause = "duplicate", source: str = "a.jsonl", system: str = ""
) -> Quarantined:
    return Quarantined(side, "s", source, position, None, "pair", cause, "twice", "{}", system)


@given(st.permutations([entry(3), entry(1), entry(2), entry(9, source="a"), entry(5, source="b")]), st.integers(0, 5))
def test_counts_merge_in_any_order_to_the_first_by_place(entries: Sequence[Quarantined], cut: int) -> None:
    halves = [CauseCount(), CauseCount()]
    for index, each in enumerate(entries):
        halves[index >= cut] = halves[index >= cut].merge(CauseCount(1, (each,)))
    expected = CauseCount(5, (entry(9, source="a"), entry(1), entry(2)))
    assert halves[0].merge(halves[1]) == halves[1].merge(halves[0]) == expected


def test_causes_are_counted_by_side_and_cause_and_system() -> None:
    others = entry(8, cause="unmatched"), entry(8, cause="unmatched", system="x")
    entries = [entry(4), entry(2), entry(7, side="theirs"), *others, entry(1, side="theirs")]
    first, second = (entry(2), entry(4)), (entry(1, side="theirs"), entry(7, side="theirs"))
    # In their order, the most frequent first.
    expected = [CauseCount(2, first), CauseCount(2, second), *(CauseCount(1, (each,)) for each in others)]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        assert_that(pipeline | beam.Create(entries) | CountCauses(), equal_to(expected))
    assert sorted([*expected[1:], expected[0]], key=lambda each: each.order) == expected
