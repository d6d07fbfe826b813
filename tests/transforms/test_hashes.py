"""Hashes of records and the fingerprint of a run: the same for the same records, whatever they are stored in."""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import record_fields
from beamscore.metrics.registry import BUILT_IN, benchmark_class, benchmark_names
from beamscore.transforms.hashes import (
    FINGERPRINTS,
    fingerprint_text,
    prediction_fingerprint,
    record_hash,
    sample_fingerprint,
)
from beamscore.transforms.io.field_map import SideColumns
from beamscore.transforms.io.readers import RecordLimits, read_part
from beamscore.transforms.read import ReadPlan, RecordIntake
from beamscore.transforms.records import EncodedRecord, Quarantined, RecordEncoder
from tests.runs import write_lines
from tests.transforms.samples import parts_of


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


def corpus(name: str) -> dict[str, list[dict[str, Any]]]:
    """Returns six ground truths and their predictions, these in another order."""
    samples = [importlib.import_module(f"tests.generate.{name}").sample(index, 5) for index in range(6)]
    predictions = [prediction for _, prediction in reversed(samples) if prediction is not None]
    return {"truth": [truth for truth, _ in samples], "prediction": predictions}


def write_both(folder: Path, side: str, records: list[dict[str, Any]], kind: type[msgspec.Struct]) -> list[Path]:
    """Writes records to a file of lines, and the fields that are read to one of Parquet, as text or JSON as text."""
    names = [name for name in ("sample_id", *record_fields(kind)) if any(name in each for each in records)]
    cells = {name: [_cell(each.get(name)) for each in records] for name in names}
    pq.write_table(pa.table({name: pa.array(each, pa.string()) for name, each in cells.items()}), folder / f"{side}.pq")
    return [write_lines(folder / f"{side}.jsonl", records), folder / f"{side}.pq"]


def _cell(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("name", [name for name in benchmark_names() if name in BUILT_IN and name != "toy"])
def test_jsonl_and_parquet_of_the_same_records_have_the_same_hashes(tmp_path: Path, name: str) -> None:
    kinds = {"truth": benchmark_class(name).truth_type, "prediction": benchmark_class(name).prediction_type}
    for side, records in corpus(name).items():
        fields = record_fields(kinds[side])
        columns = SideColumns(frozenset(fields), frozenset(each for each, is_text in fields.items() if not is_text))
        paths = write_both(tmp_path, side, records, kinds[side])
        lines, parquet = (hashes_of_file(path, columns, kinds[side]) for path in paths)
        assert lines == parquet
        assert set(lines) == {each["sample_id"] for each in records}


def hashes_of_file(path: Path, columns: SideColumns, kind: type[msgspec.Struct]) -> dict[str, str]:
    """Reads a file as a run does, and hashes its records."""
    (part,) = parts_of(path)
    intake, encoder = RecordIntake(ReadPlan(("ours",), {0: columns}, RecordLimits())), RecordEncoder(0, 0, "")
    hashes_by_id: dict[str, str] = {}
    for each in read_part(part, columns, RecordLimits()):
        record = intake.record(encoder, each)
        assert not isinstance(record, Quarantined), record.error
        hashes_by_id[record[0].decode()] = record_hash(EncodedRecord(record[1]).decode(kind))
    return hashes_by_id
