"""Corpora of every benchmark as lines of JSON, and what damages them."""

import copy
import functools
import importlib
import json
import operator
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beamscore.metrics.registry import BUILT_IN
from tests.runs import Record, write_lines

BENCHMARKS = tuple(name for name in BUILT_IN if name != "toy")
SEEDS = range(int(os.environ.get("BEAMSCORE_SEEDS", "2")))
MAX_DEPTH, REPLICATES = 40, 5
_SETTINGS = ("max_rejected_fraction=1", f"bootstrap.replicates={REPLICATES}", f"limits.depth={MAX_DEPTH}")
FLAGS = ("--quiet", "--no-html", "--slice", "source", *(f"--set={each}" for each in _SETTINGS))


def rng_of(*parts: object) -> random.Random:
    """Returns a generator of random numbers that depends on `parts` alone."""
    return random.Random(repr(parts))


def corpus(name: str, count: int, seed: int) -> tuple[list[Record], list[Record]]:
    """Returns the ground truth and the predictions of `count` generated samples, with a column `source`."""
    sample = importlib.import_module(f"tests.generate.{name}").sample
    pairs = [sample(index, seed) for index in range(count)]
    truths = [{**truth, "source": ("web", "scan", "book")[index % 3]} for index, (truth, _) in enumerate(pairs)]
    return json.loads(json.dumps([truths, [prediction for _, prediction in pairs if prediction]]))  # type: ignore[no-any-return]


def written(folder: Path, name: str, count: int, seed: int) -> tuple[Path, Path]:
    truths, predictions = corpus(name, count, seed)
    return write_lines(folder / "truths.jsonl", truths), write_lines(folder / "predictions.jsonl", predictions)


def damaged(rng: random.Random, records: list[Record]) -> list[bytes]:
    """Returns the records as lines, some of them damaged, doubled, under another id or in another order."""
    lines: list[bytes] = []
    for record in records:
        lines += rng.choice(DAMAGES)(rng, copy.deepcopy(record)) if rng.random() < 0.35 else [to_line(record)]
    if rng.random() < 0.3:
        rng.shuffle(lines)
    return lines


def to_line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


def _doubled(rng: random.Random, record: Record) -> list[bytes]:
    other = rng.choice([record, _with_leaf(rng, record, rng.choice(VALUES))])
    return [to_line(record), to_line(other)][:: rng.choice([1, -1])]


def _literal(rng: random.Random, record: Record) -> list[bytes]:
    """Puts in what JSON has no value for, or Python writes otherwise."""
    return [to_line(_with_leaf(rng, record, "here")).replace(b'"here"', rng.choice(LITERALS))]


def _deep(rng: random.Random, record: Record) -> list[bytes]:
    depth = rng.choice([MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 3 * MAX_DEPTH])
    nested = json.loads("[" * depth + "1" + "]" * depth)
    return [to_line(rng.choice([{**record, "extra": nested}, _with_leaf(rng, record, nested)]))]


def _raw_byte(rng: random.Random, record: Record) -> list[bytes]:
    line = bytearray(to_line(record))
    line.insert(rng.randrange(len(line)), rng.choice(b'\x00\x1b\xff\xc3\r"\\}'))
    return [bytes(line)]


IDS: list[Any] = ["", "x" * 1024, "x" * 1025, None, 1.5, [], {}, True]
IDS += ["ghost", "../../ghost", "nul \0", " ", "a\nb", "é"]
VALUES: list[Any] = [None, True, 0, -1, 1.5, 1e300, 10**30, "", "\0", "\u202e", "<script>", [], {}, [[]], {"a": None}]
LITERALS = [b"1e400", b"-1e400", str(10**400).encode(), b"NaN", b"Infinity", b"-Infinity", b"-0.0", b"1.", b"01"]
LITERALS += [b"1e-400", b'"\\ud800"', b'"\\udfff\\ud800 text"', b'"\\u0000"', b"'text'", b"None"]
NO_RECORDS = [b"[]", b"7", b'"text"', b"null", b"{}"]

DAMAGES: list[Callable[[random.Random, Record], list[bytes]]] = [
    lambda rng, record: [(line := to_line(record))[: rng.randrange(1, len(line))]],
    lambda rng, record: [to_line({name: record[name] for name in record if name != "sample_id"})],
    lambda rng, record: [to_line(dict(rng.sample([*record.items()], len(record) - 1)))],
    lambda rng, record: [to_line({**record, "sample_id": rng.choice(IDS)})],
    lambda rng, record: [to_line(_with_leaf(rng, record, rng.choice(VALUES)))],
    lambda rng, record: [to_line(_with_leaf(rng, record, rng.choice(VALUES)))],
    lambda rng, record: [rng.choice([*NO_RECORDS, b"[7, " + to_line(record) + b"]", to_line(record) * 2])],
    lambda rng, record: [b"", b"  \t", to_line(record) + b"\r", b"", b"   "],
    lambda rng, record: [b'{"sample_id": "earlier", ' + to_line(record)[1:]],
    *(_doubled, _literal, _deep, _raw_byte),
]


def _with_leaf(rng: random.Random, record: Record, value: Any) -> Record:
    """Returns the record with another value at a random place."""
    record = copy.deepcopy(record)
    change_at(record, rng.choice([place for place in places(record) if place != ("sample_id",)]), lambda _: value)
    return record


def change_at(record: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> None:
    """Changes the value at one of the `places` of a document."""
    holder, last = holder_at(record, path)
    holder[last] = change(holder[last])


def holder_at(record: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """Returns what holds the value at one of the `places` of a document, and its key or index there."""
    *keys, last = path
    return functools.reduce(operator.getitem, keys, record), last


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the path of each value within a document, a container before what it holds."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in items for place in [(*path, key), *places(each, (*path, key))]]
