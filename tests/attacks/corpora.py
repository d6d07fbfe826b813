"""Corpora of every benchmark as lines of JSON, and what damages them."""

from __future__ import annotations

import copy
import importlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beamscore.metrics.registry import BUILT_IN
from tests.runs import Record

BENCHMARKS = tuple(name for name in BUILT_IN if name != "toy")
MAX_DEPTH = 40
"""limits.depth of the runs."""


def corpus(name: str, count: int, seed: int) -> tuple[list[Record], list[Record]]:
    """Returns the ground truth and the predictions of `count` generated samples, with a column `source`."""
    sample = importlib.import_module(f"tests.generate.{name}").sample
    pairs = [sample(index, seed) for index in range(count)]
    truths = [{**truth, "source": ("web", "scan", "book")[index % 3]} for index, (truth, _) in enumerate(pairs)]
    return json.loads(json.dumps([truths, [prediction for _, prediction in pairs if prediction]]))  # type: ignore[no-any-return]


def to_line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


def written(folder: Path, name: str, count: int, seed: int) -> tuple[Path, Path]:
    """Writes both sides of a corpus to a folder."""
    folder.mkdir(parents=True)
    paths = folder / "truths.jsonl", folder / "predictions.jsonl"
    for path, records in zip(paths, corpus(name, count, seed), strict=True):
        path.write_bytes(b"".join(to_line(record) + b"\n" for record in records))
    return paths


def damaged(rng: random.Random, records: list[Record]) -> list[bytes]:
    """Returns the records as lines, some of them damaged, doubled, under another id or in another order."""
    lines: list[bytes] = []
    for record in records:
        if rng.random() < 0.35:
            lines += rng.choice(DAMAGES)(rng, copy.deepcopy(record))
        else:
            lines.append(to_line(record))
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return lines


def _cut_off(rng: random.Random, record: Record) -> list[bytes]:
    line = to_line(record)
    return [line[: rng.randrange(1, len(line))]]


def _without_id(rng: random.Random, record: Record) -> list[bytes]:
    del record["sample_id"]
    return [to_line(record)]


def _other_id(rng: random.Random, record: Record) -> list[bytes]:
    record["sample_id"] = rng.choice(
        ["", "x" * 1024, "x" * 1025, None, 1.5, [], {}, True, "ghost", "../../ghost", "nul \0", " ", "a\nb", "é"]
    )
    return [to_line(record)]


def _doubled(rng: random.Random, record: Record) -> list[bytes]:
    other = _with_leaf(rng, record, rng.choice(VALUES)) if rng.random() < 0.5 else record
    return [to_line(record), to_line(other)][:: rng.choice([1, -1])]


def _wrong_type(rng: random.Random, record: Record) -> list[bytes]:
    return [to_line(_with_leaf(rng, record, rng.choice(VALUES)))]


def _without_a_field(rng: random.Random, record: Record) -> list[bytes]:
    del record[rng.choice([name for name in record if name != "sample_id"])]
    return [to_line(record)]


def _literal(rng: random.Random, record: Record) -> list[bytes]:
    """Puts in what JSON has no value for, or Python writes otherwise."""
    mark = "here it is"
    text = rng.choice(LITERALS)
    return [to_line(_with_leaf(rng, record, mark)).replace(json.dumps(mark).encode(), text)]


def _deep(rng: random.Random, record: Record) -> list[bytes]:
    nested: Any = 1
    for _ in range(rng.choice([MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 3 * MAX_DEPTH])):
        nested = [nested]
    if rng.random() < 0.5:
        record["extra"] = nested
        return [to_line(record)]
    return [to_line(_with_leaf(rng, record, nested))]


def _raw_byte(rng: random.Random, record: Record) -> list[bytes]:
    line = bytearray(to_line(record))
    line.insert(rng.randrange(len(line)), rng.choice([0, 0x1B, 0xFF, 0xC3, 0x0D, ord('"'), ord("\\"), ord("}")]))
    return [bytes(line)]


def _not_an_object(rng: random.Random, record: Record) -> list[bytes]:
    return [rng.choice([b"[]", b"7", b'"text"', b"null", b"{}", b"[" + to_line(record) + b"]", to_line(record) * 2])]


def _blank_lines(rng: random.Random, record: Record) -> list[bytes]:
    return [b"", b"  \t", to_line(record) + b"\r", b"", b"   " + to_line(record)[:0]]


def _doubled_key(rng: random.Random, record: Record) -> list[bytes]:
    line = to_line(record)
    return [b'{"sample_id": "earlier", ' + line[1:]]


Damage = Callable[[random.Random, Record], list[bytes]]
DAMAGES: list[Damage] = [
    *(_cut_off, _without_id, _other_id, _doubled, _wrong_type, _wrong_type, _without_a_field, _literal, _deep),
    *(_raw_byte, _not_an_object, _blank_lines, _doubled_key),
]
VALUES: list[Any] = [None, True, 0, -1, 1.5, 1e300, 10**30, "", "\0", "\u202e", "<script>", [], {}, [[]], {"a": None}]
LITERALS = [
    *(b"1e400", b"-1e400", str(10**400).encode(), b"NaN", b"Infinity", b"-Infinity", b"-0.0", b"1.", b"01", b"1e-400"),
    *(b'"\\ud800"', b'"\\udfff\\ud800 text"', b'"\\u0000"', b"'text'", b"None"),
]


def _with_leaf(rng: random.Random, record: Record, value: Any) -> Record:
    """Returns the record with another value at a random place."""
    record = copy.deepcopy(record)
    places = [place for place in _places(record) if place != ("sample_id",)]
    *path, last = rng.choice(places)
    holder: Any = record
    for key in path:
        holder = holder[key]
    holder[last] = value
    return record


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in items for place in [(*path, key), *_places(each, (*path, key))]]
