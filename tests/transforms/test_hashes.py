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

from beamscore.metrics.registry import BUILT_IN, benchmark_class, benchmark_names
from beamscore.transforms.hashes import (
    FINGERPRINTS,
    fingerprint_text,
    prediction_fingerprint,
    record_hash,
    sample_fingerprint,
)
from tests.runs import Run, evaluate, write_lines


class Record(msgspec.Struct, frozen=True):
    text: str
    cells: dict[str, Any] | None = None
    share: float = 0.0


def test_a_hash_is_that_of_canonical_json() -> None:
    text = b'{"text":"\xc3\xa9","cells":{"a":[1,null],"b":{"c":2}},"share":1.0}'
    given = b'{"share": 1, "cells": {"b": {"c": 2}, "a": [1, null]}, "text": "\\u00e9", "x": 3}'
    found = msgspec.json.decode(given, type=Record)
    assert record_hash(found) == hashlib.blake2b(text, digest_size=16).hexdigest()
    assert record_hash(Record("a")) == record_hash(Record("a", None, 0.0)) != record_hash(Record("b"))


def test_hashes_and_fingerprints_are_the_same_for_ever() -> None:
    """They are compared between runs of different versions."""
    assert record_hash(Record("a", {"b": 1})) == "54d7050d7ce66463b9f64ebd5d5bfaf1"
    assert f"{sample_fingerprint('s', None):032x}" == "1cfa04eee7aecab949da768d750a7edd"
    assert f"{prediction_fingerprint('s', 'aa', 'scored'):032x}" == "4046e29fe6f1421c850b0dd989873454"


SAMPLES = st.lists(st.tuples(st.text(), st.sampled_from(["00", "01", None])), unique=True, max_size=8)


@given(SAMPLES.flatmap(st.permutations))
def test_a_fingerprint_is_a_sum(samples: list[tuple[str, str | None]]) -> None:
    total = sum(sample_fingerprint(*each) for each in samples)
    assert total == sum(sample_fingerprint(*each) for each in sorted(samples, key=str))
    assert int(fingerprint_text(total), 16) == total % FINGERPRINTS
    assert len(fingerprint_text(total)) == 32


def test_id_and_hash_are_told_apart() -> None:
    prints = {sample_fingerprint(*each) for each in [("a", "b"), ("ab", ""), ("a", None), ("", "ab"), ("null", None)]}
    assert len(prints) == 5
    found = {prediction_fingerprint("a", *each) for each in [("b", "scored"), (None, None), (None, "rejected")]}
    assert len(found) == 3
    # What became of a prediction follows from its text and the ground truth.
    assert prediction_fingerprint("a", "b", "scored") == prediction_fingerprint("a", "b", "rejected")


def as_parquet(path: Path, records: list[dict[str, Any]]) -> Path:
    """Writes records with every value that is not text as JSON text, as converters of a data set do."""
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {
        name: [
            value if isinstance(value, str) or value is None else json.dumps(value, sort_keys=True)
            for value in (record.get(name) for record in records)
        ]
        for name in names
    }
    pq.write_table(pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}), path)
    return path


@pytest.mark.parametrize("name", [name for name in benchmark_names() if name in BUILT_IN and name != "toy"])
def test_jsonl_and_parquet_of_the_same_records_have_the_same_hashes(tmp_path: Path, name: str) -> None:
    sample = importlib.import_module(f"tests.generate.{name}").sample
    corpus = [sample(index, 5) for index in range(6)]
    sides = {
        "truth": [truth for truth, _ in corpus],
        "prediction": [prediction for _, prediction in reversed(corpus) if prediction is not None],
    }
    kind = benchmark_class(name)
    fields = {
        side: {each.encode_name for each in msgspec.structs.fields(record)} | {"sample_id"}
        for side, record in (("truth", kind.truth_type), ("prediction", kind.prediction_type))
    }
    settings = ("--quiet", "--set", "bootstrap.replicates=0", "--set", "max_rejected_fraction=1")
    runs = []
    for ending in ("jsonl", "parquet"):
        paths = []
        for side, records in sides.items():
            path = tmp_path / f"{side}.{ending}"
            kept = [{key: value for key, value in record.items() if key in fields[side]} for record in records]
            write_lines(path, records) if ending == "jsonl" else as_parquet(path, kept)
            paths.append(path)
        runs.append(evaluate(tmp_path / f"out-{ending}", paths[0], paths[1], *settings, config=name))
    lines, parquet = (hashes(run) for run in runs)
    assert lines == parquet
    assert runs[0].summary["fingerprint"] == runs[1].summary["fingerprint"]
    assert all(truth is not None for truth, _ in lines.values())
    assert {sample_id for sample_id, each in lines.items() if each[1] is not None} == {
        each["sample_id"] for each in sides["prediction"]
    }
    total = sum(sample_fingerprint(sample_id, truth) for sample_id, (truth, _) in lines.items())
    assert runs[0].summary["fingerprint"] == {"samples": 6, "hash": fingerprint_text(total)}
    assert runs[0].sums["fingerprint"] == runs[0].summary["fingerprint"]
    systems = [run.summary["systems"]["predictions"] for run in runs]
    assert systems[0]["predictions_fingerprint"] == systems[1]["predictions_fingerprint"]


def hashes(run: Run) -> dict[str, tuple[str | None, str | None]]:
    return {row["sample_id"]: (row["truth_hash"], row["prediction_hash"]) for row in run.samples}
