"""The depth of a JSON text, against a plain recursive count."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.transforms.io.readers import deeper_than

TEXTS = st.text(alphabet='[]{}"\\,:né\u2028\n', max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=25,
)


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
@example(["]]]", ["[["]], False, None)
@example({'\\"[': {"\\": ["\\\\"]}}, False, None)
def test_depth_is_that_of_the_parsed_document(document: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    deep = depth(document)
    assert [deeper_than(text, limit) for limit in range(deep + 3)] == [limit < deep for limit in range(deep + 3)]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"[":'])
def test_a_hundred_thousand_brackets_are_told_without_recursion(opening: str) -> None:
    assert deeper_than((opening * 100_000).encode(), 500)


def test_wide_text_is_not_deep() -> None:
    wide = json.dumps([[[]] * 1000, {"a": "[" * 1000}, [{}] * 1000]).encode()
    assert not deeper_than(wide, 3)
    assert deeper_than(wide, 2)


def test_a_record_that_breaks_off_is_as_deep_as_it_goes() -> None:
    whole = json.dumps({"points": [[1, 2]] * 200}).encode()
    for stop in range(len(whole) - 20, len(whole)):
        assert not deeper_than(whole[:stop], 3)
