"""Hashes of records and the fingerprint of a run: the same for the same records, whatever they are stored in."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.hashes import (
    FINGERPRINTS,
    fingerprint_text,
    prediction_fingerprint,
    record_hash,
    sample_fingerprint,
)


class Record(msgspec.Struct, frozen=True):
    text: str
    cells: dict[str, Any] | None = None
    share: float = 0.0


def test_hashes_and_fingerprints_are_those_of_canonical_json_for_ever() -> None:
    """They are compared between runs of different versions."""
    text = b'{"text":"\xc3\xa9","cells":{"a":[1,null],"b":{"c":2}},"share":1.0}'
    given = b'{"share": 1, "cells": {"b": {"c": 2}, "a": [1, null]}, "text": "\\u00e9", "x": 3}'
    assert record_hash(msgspec.json.decode(given, type=Record)) == hashlib.blake2b(text, digest_size=16).hexdigest()
    assert record_hash(Record("a")) == record_hash(Record("a", None, 0.0)) != record_hash(Record("b"))
    assert record_hash(Record("a", {"b": 1})) == "54d7050d7ce66463b9f64ebd5d5bfaf1"
    assert f"{sample_fingerprint('s', None):032x}" == "1cfa04eee7aecab949da768d750a7edd"
    assert f"{prediction_fingerprint('s', 'aa', 'scored'):032x}" == "4046e29fe6f1421c850b0dd989873454"


SAMPLES = st.lists(st.tuples(st.text(), st.sampled_from(["00", "01", None])), unique=True, max_size=8)


@given(SAMPLES)
def test_a_fingerprint_is_a_sum_in_which_id_and_hash_are_told_apart(samples: list[tuple[str, str | None]]) -> None:
    total = sum(sample_fingerprint(*each) for each in samples)
    assert (int(fingerprint_text(total), 16), len(fingerprint_text(total))) == (total % FINGERPRINTS, 32)
    pairs = [("a", "b"), ("ab", ""), ("a", None), ("", "ab"), ("null", None)]
    assert len({sample_fingerprint(*each) for each in pairs}) == 5
    found = {prediction_fingerprint("a", *each) for each in [("b", "scored"), (None, None), (None, "rejected")]}
    assert len(found) == 3
    # What became of a prediction follows from its text and the ground truth.
    assert prediction_fingerprint("a", "b", "scored") == prediction_fingerprint("a", "b", "rejected")
