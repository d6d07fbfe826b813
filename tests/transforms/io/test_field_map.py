"""Fields that have other names in the files, within other values, and integer ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io.field_map import FieldMap, SideColumns
from beamscore.transforms.io.files import match_files, split_file
from beamscore.transforms.io.readers import RecordLimits, Row, read_table

KEYS = st.sampled_from(["a", "b", "c.d", "sample_id", "text"])
VALUES = st.recursive(
    st.none() | st.integers(-(2**40), 2**40) | st.text(max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.lists(KEYS.map(lambda key: key.replace(".", r"\.")), min_size=1, max_size=3).map(".".join)
MAPS = st.dictionaries(st.sampled_from(["sample_id", "text"]), PATHS)


def without_nulls(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


@given(RECORDS, MAPS, st.booleans())
def test_json_and_values_are_mapped_alike(record: dict[str, Any], paths: dict[str, str], integers: bool) -> None:
    fields = FieldMap.of(paths, integers)
    try:
        of_values = fields.of_values(dict(record))
    except msgspec.MsgspecError:
        with pytest.raises(msgspec.MsgspecError):
            fields.of_json(json.dumps(record).encode())
        return
    assert without_nulls(json.loads(fields.of_json(json.dumps(record).encode()))) == without_nulls(of_values)


@pytest.mark.parametrize(
    ("paths", "record", "expected"),
    [
        ({"text": "pred"}, {"pred": "x"}, {"pred": "x", "text": "x"}),
        ({"text": "pred"}, {"text": "leak"}, {}),
        ({"text": "a.b"}, {"a": {"b": "x"}, "c": 1}, {"a": {"b": "x"}, "c": 1, "text": "x"}),
        ({"text": "a.b"}, {"a": '{"b": "x"}'}, {"a": '{"b": "x"}', "text": "x"}),
        ({"text": "a.b"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"text": r"a\.b"}, {"a.b": "x"}, {"a.b": "x", "text": "x"}),
        ({"text": "words", "words": "text"}, {"text": 1, "words": 2}, {"text": 2, "words": 1}),
    ],
)
def test_what_a_path_leads_to(paths: dict[str, str], record: Any, expected: Any) -> None:
    assert json.loads(FieldMap.of(paths).of_json(json.dumps(record).encode())) == expected
    assert FieldMap.of(paths).of_values(record) == expected


@pytest.mark.parametrize(
    ("literal", "expected"),
    [("7", "7"), ("-12", "-12"), ("-0", "0"), ("1" * 40, "1" * 40), ('"7"', "7"), ("1.0", 1.0), ("true", True)],
)
def test_integers_become_their_decimal_text(literal: str, expected: Any) -> None:
    record = b'{"sample_id": %s}' % literal.encode()
    assert json.loads(FieldMap(integer_ids=True).of_json(record)) == {"sample_id": expected}
    assert FieldMap(integer_ids=False).of_json(record) == record


@pytest.mark.parametrize("path", ["", ".", "a..b", ".a", "a."])
def test_a_path_has_no_empty_key(path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        FieldMap.of({"text": path})


def rows(path: Path, fields: FieldMap, columns: set[str] | None) -> list[Row]:
    (file,) = match_files(0, [str(path)], "--predictions")
    limits = RecordLimits(1 << 20, 20)
    wanted = SideColumns(None if columns is None else frozenset(columns), frozenset({"words"}), fields=fields)
    return [row for part in split_file(file, 1 << 30) for row in read_table(part, wanted, limits)]


def test_the_columns_of_parquet_are_read_by_path(tmp_path: Path) -> None:
    table = {
        "image": [{"id": 1}, {"id": 2}, None],
        "out": [{"text": "x", "words": '["a"]'}, {"text": None, "words": "no json"}, {"text": "z", "words": None}],
        "other": [1, 2, 3],
    }
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    fields = FieldMap.of({"sample_id": "image.id", "text": "out.text", "words": "out.words"}, True)
    found = rows(tmp_path / "a.parquet", fields, {"text", "words"})
    assert [row.sample_id for row in found] == ["1", "2", None]
    record = msgspec.msgpack.decode(found[0].payload)
    assert (record["sample_id"], record["text"], record["words"]) == ("1", "x", ["a"])
    assert "other" not in record
    assert found[1].error is not None
    assert found[1].error.startswith("column words holds no JSON")
