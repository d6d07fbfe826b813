"""Arrow values as Python objects: what pyarrow makes of them, one by one, is the specification."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io import parquet_values
from beamscore.transforms.io.parquet_values import encoded_value, python_values

LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
}


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(lambda kind: pa.list_(kind, 2)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.lists(inner, max_size=3).map(lambda kinds: pa.struct([(f"f{i}", kind) for i, kind in enumerate(kinds)])),
    )


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    if kind in LEAVES:
        return st.none() | LEAVES[kind]
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    if pa.types.is_map(kind):
        return st.none() | st.dictionaries(st.text(max_size=2), values_of(kind.item_type), max_size=3).map(
            lambda found: list(found.items())
        )
    size = kind.list_size if pa.types.is_fixed_size_list(kind) else None
    return st.none() | st.lists(values_of(kind.value_type), min_size=size or 0, max_size=size or 3)


KINDS = st.recursive(st.sampled_from(list(LEAVES)), nested, max_leaves=4)
ARRAYS = KINDS.flatmap(lambda kind: st.lists(values_of(kind), max_size=5).map(lambda values: pa.array(values, kind)))


@given(ARRAYS, st.integers(0, 2), st.integers(0, 5))
def test_they_are_those_of_pyarrow(array: Any, start: int, length: int) -> None:
    some = array.slice(min(start, len(array)), length)
    assert python_values(some) == some.to_pylist(maps_as_pydicts="lossy")


@given(ARRAYS)
def test_a_single_value_is_encoded_as_it_is(array: Any) -> None:
    for row in range(len(array)):
        alone = array.slice(row, 1)
        assert msgspec.msgpack.encode(encoded_value(alone)) == msgspec.msgpack.encode(python_values(alone)[0])


@pytest.mark.parametrize("members", [0, 15, 16, 17, 65_535, 65_536, 65_537, 200_000])
def test_a_long_list_is_encoded_in_pieces(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_values, "MEMBERS_AT_ONCE", 1 << 14)
    array = pa.array([["before"], [str(number) for number in range(members)], None])
    found = msgspec.msgpack.decode(msgspec.msgpack.encode({"words": encoded_value(array.slice(1, 1))}))
    assert found == {"words": [str(number) for number in range(members)]}
    assert encoded_value(array.slice(2, 1)) is None


def test_two_fields_of_one_name_are_pyarrows_to_refuse() -> None:
    array = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(ValueError, match="duplicate"):
        python_values(array)
