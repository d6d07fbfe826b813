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
from beamscore.transforms.io.readers import RecordLimits, read_table
from tests.transforms.samples import parts_of

KEYS = st.sampled_from(["a", "b", "c.d", "sample_id", "text"])
VALUES = st.recursive(
    st.none() | st.integers(-(2**70), 2**70) | st.text(max_size=3),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)
PATHS = st.lists(KEYS.map(lambda key: key.replace(".", r"\.")), min_size=1, max_size=3).map(".".join)


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.dictionaries(st.sampled_from(["sample_id", "text"]), PATHS),
    st.booleans(),
)
def test_json_and_values_are_mapped_alike(record: dict[str, Any], paths: dict[str, str], integers: bool) -> None:
    fields, text = FieldMap.of(paths, integers), json.dumps(record).encode()
    try:
        of_values = fields.of_values(dict(record))
    except msgspec.MsgspecError:
        with pytest.raises(msgspec.MsgspecError):
            fields.of_json(text)
        return
    found = [{name: value for name, value in each.items() if value is not None} for each in (
        json.loads(fields.of_json(text)), of_values
    )]  # fmt: skip
    assert found[0] == found[1]


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
        *(({}, {"sample_id": id}, {"sample_id": text}) for id, text in ((7, "7"), (-12, "-12"), (10**40, str(10**40)))),
        *(({}, {"sample_id": id}, {"sample_id": id}) for id in ("7", 1.0, True, None)),
    ],
)
def test_what_a_path_leads_to_and_integers_become_their_decimal_text(paths: Any, record: Any, expected: Any) -> None:
    text = json.dumps(record).encode()
    assert json.loads(FieldMap.of(paths).of_json(text)) == FieldMap.of(paths).of_values(record) == expected
    assert paths or FieldMap(integer_ids=False).of_json(text) == text


@pytest.mark.parametrize("path", ["", ".", "a..b", ".a", "a."])
def test_a_path_has_no_empty_key(path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        FieldMap.of({"text": path})


def test_the_columns_of_parquet_are_read_by_path(tmp_path: Path) -> None:
    out = [{"text": "x", "words": '["a"]'}, {"text": None, "words": "no json"}, {"text": "z", "words": None}]
    table = {"image": [{"id": 1}, {"id": 2}, None], "out": out, "other": [1, 2, 3]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    fields = FieldMap.of({"sample_id": "image.id", "text": "out.text", "words": "out.words"}, True)
    columns = SideColumns(frozenset({"text", "words"}), frozenset({"words"}), fields=fields)
    found = [row for part in parts_of(tmp_path / "a.parquet") for row in read_table(part, columns, RecordLimits())]
    assert [row.sample_id for row in found] == ["1", "2", None]
    record = msgspec.msgpack.decode(found[0].payload)
    assert (record["sample_id"], record["text"], record["words"], "other" in record) == ("1", "x", ["a"], False)
    assert str(found[1].error).startswith("column words holds no JSON")
