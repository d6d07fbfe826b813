"""Reading the rows of finished runs: those that a filter of Python's own keeps, whatever the row groups."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamscore.pipelines.commands.select import SelectedRows
from beamscore.transforms.records import EARLIER_ROWS
from beamscore.transforms.rows import EarlierRows, SampleRow, SystemRows, read_rows, sample_schema
from tests.laws import tries
from tests.transforms.samples import problem_of, row_records

SCHEMA = sample_schema(("score", "other"), ("kind",))
SCORES = st.sampled_from([None, 0.0, 0.5, 1.0, -2.0, math.nan])
CELLS = st.fixed_dictionaries(
    {
        "sample_id": st.sampled_from("abcdefgh"),
        "system": st.sampled_from(["ours", "theirs", ""]),
        "score": SCORES,
        "other": SCORES,
        "truth_hash": st.sampled_from([None, "t", "u"]),
    }
)


def write(path: Path, cells: Sequence[dict[str, Any]], group: int) -> Path:
    texts = {"status": "scored", "unit": "u", "slice.kind": '"k"', "statistics": "{}", "details": "{}"}
    pq.write_table(pa.Table.from_pylist([{**texts, **each} for each in cells], SCHEMA), path, row_group_size=group)
    return path


@tries(50)
@given(st.lists(CELLS, max_size=30), st.integers(1, 9), st.sampled_from([None, 0.5, math.inf]), st.data())
def test_each_use_of_rows_has_those_that_a_plain_filter_keeps(
    tmp_path_factory: pytest.TempPathFactory, cells: list[Any], group: int, threshold: float | None, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    cut = data.draw(st.integers(0, len(cells)))
    files = tuple(str(write(folder / name, part, group)) for name, part in (("a", cells[:cut]), ("b", cells[cut:])))
    kept = [each for each in cells if each["system"] == "ours"]

    table = SystemRows(files, "ours", ("kind",), ("score",))
    found = [record.decode(SampleRow) for _, record in row_records(table, 1)]
    expected = [(each["sample_id"], repr(each["score"]), each["truth_hash"]) for each in kept]
    assert [(row.sample_id, repr(row.metrics[0]), row.truth_hash) for row in found] == expected

    earlier = EarlierRows(files, "score", ("theirs", None, "ours"))
    values = [(name, *record.decode(list[Any])) for name, record in row_records(earlier, EARLIER_ROWS)]
    with_value = [each for each in cells if each["system"] and each["score"] is not None]
    names = ("sample_id", "system", "truth_hash")
    assert [(*row, repr(value)) for *row, value in values] == [
        (*(each[name] for name in names), repr(each["score"])) for each in with_value
    ]
    read = {key: repr(value) for key, value in earlier.read(["a", "x"]).items()}
    assert read == {tuple(row): repr(value) for *row, value in values if row[0] in ("a", "x")}
    # A baseline may have none of our systems, and a list no sample.
    assert list(row_records(EarlierRows(files, "score", (None,)), EARLIER_ROWS)) == []

    for listed in ("", "abx"):
        path = folder / "list.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode({"sample_id": name}) + b"\n" for name in listed))
        selection = SelectedRows(files, "ours", ("score",), "other", threshold, str(path))
        chosen = [each for each in kept if each["sample_id"] in list(listed)]
        if threshold is not None:
            chosen = [each for each in chosen if each["other"] is not None and each["other"] < threshold]
        assert [name for name, _ in row_records(selection, 1)] == [each["sample_id"] for each in chosen]


def test_a_column_that_is_not_as_it_was_written_is_named(tmp_path: Path) -> None:
    not_text = pa.array([b"\xff"]).cast(pa.string(), safe=False)
    for name, array, message in (
        ("score", None, "the column score is missing: another version wrote this run; evaluate again"),
        ("score", pa.array(["x"]), "the column score has the type string, not double; evaluate again"),
        ("status", not_text, "the rows of the run cannot be read (In col"),
    ):
        path = write(tmp_path / "rows", [{"sample_id": "s", "system": "ours", "score": 1.0}], 1)
        table, place = pq.read_table(path), SCHEMA.get_field_index(name)
        pq.write_table(table.drop_columns([name]) if array is None else table.set_column(place, name, array), path)
        found = problem_of(list, read_rows(str(path), ["sample_id", "status", "score"], None))
        assert found.startswith(f"{path}: {message}")
