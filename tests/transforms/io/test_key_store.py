"""Values by key on disk, against a dictionary; and what a process makes once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.io import key_store
from beamscore.transforms.io.key_store import KeyStore, key_of, once_per_process
from beamscore.transforms.records import InputProblem

ITEMS = st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=5)), max_size=20)


@given(st.lists(ITEMS, max_size=3), st.lists(st.binary(max_size=2), max_size=20), st.integers(1, 4))
def test_a_store_finds_the_last_value_of_each_key(
    added: list[list[tuple[bytes, bytes]]], wanted: list[bytes], per_query: int
) -> None:
    store, expected = KeyStore(), dict[bytes, bytes]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_store, "KEYS_PER_QUERY", per_query)
        for items in added:
            store.add(items)
            expected |= dict(items)
        assert store.find(wanted) == {key: expected[key] for key in wanted if key in expected}
    store.close()


def test_keys_tell_their_parts_apart() -> None:
    keys = [key_of(*parts) for parts in [("a", "b"), ("ab", ""), ("a", None), ("a",), (1, "b"), ("1", "b")]]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {16}


def test_a_process_makes_a_value_once_for_all_threads() -> None:
    made, together = [], threading.Barrier(8)

    def make(key: str) -> list[str]:
        made.append(key)
        time.sleep(0.01)
        return [key]

    get = once_per_process(make)

    def ask(number: int) -> list[str]:
        together.wait()
        return get("ab"[number % 2])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert sorted(made) == ["a", "b"]
    assert all(value is found[number % 2] for number, value in enumerate(found))


def test_what_could_not_be_made_is_tried_again() -> None:
    failures = [ValueError("gone")]

    def make(key: str) -> str:
        if failures:
            raise failures.pop()
        return key

    get = once_per_process(make)
    with pytest.raises(ValueError, match="gone"):
        get("a")
    assert get("a") == "a"


def test_a_full_disk_is_a_problem_of_one_line() -> None:
    store = KeyStore()
    store._connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(InputProblem, match=r"database or disk is full; free some space, or set .* TMPDIR to a folder"):
        store.add((str(number).encode(), b"x" * 1000) for number in range(100))
    store.close()
