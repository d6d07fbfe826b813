"""Writes what a checkout computes, to compare two: `python -m tests.bench.same_results FOLDER [--against FOLDER]`.

Two kinds of files are written. `scores-*.jsonl` has the outcome of each of many damaged pairs, scored without a
pipeline under each protocol. `run-*.json` has summary.json, sums.json and the rows of a whole evaluation. With
--against, each file that differs from the one of an earlier commit is printed with the first line that does, and the
command exits with code 1.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from beamscore.metrics.benchmark import Pair, RejectedRecord
from beamscore.metrics.registry import benchmark_class

CORPORA = Path("tests/corpora")
PAIRS = {"chart": 20_000, "chemistry": 20_000, "figure_text": 20_000, "formula": 1_000, "traffic_rules": 20_000}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "chart": {"published": {}, "released": {"protocol": "released"}},
    "chemistry": {"published": {}, "released": {"protocol": "released"}},
    "figure_text": {
        "published": {},
        "icdar2013": {"protocol": "icdar2013"},
        "polygon": {"geometry": "polygon"},
        "iou": {"protocol": "iou"},
    },
    "formula": {"published": {}, "released": {"protocol": "released"}},
    "traffic_rules": {"published": {}},
}
VALUES: tuple[Any, ...] = (
    *(None, "", " ", 0, -1, 1, 0.5, 1e300, -0.0, True, [], {}),
    *("a", "None", "\\", "{", "}", "$", "é", "\u202e", [[]]),
)
RUNS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "slices": ("--slice", "source"),
    "cluster": ("--slice", "source", "--set", "cluster=source"),
    "exclude": ("--set", "missing=exclude", "--slice", "source"),
    "other": ("--slice", "source"),
}


def main() -> None:
    """Writes the files, and compares them where it is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    parser.add_argument("--benchmarks", nargs="+", choices=sorted(PAIRS), default=sorted(PAIRS))
    parser.add_argument("--kinds", nargs="+", choices=["scores", "runs"], default=["scores", "runs"])
    parser.add_argument("--pairs", type=int, help="damaged pairs of a benchmark, by default 20,000; 1,000 of formula")
    parsed = parser.parse_args()
    parsed.folder.mkdir(parents=True, exist_ok=True)
    if "scores" in parsed.kinds:
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            for name in parsed.benchmarks:
                for protocol in OPTIONS[name]:
                    write_scores(pool, parsed.folder, name, protocol, parsed.pairs or PAIRS[name])
    if "runs" in parsed.kinds:
        for name in parsed.benchmarks:
            for kind, options in RUNS.items():
                write_run(parsed.folder / f"run-{name}-{kind}.json", name, options)
    if parsed.against:
        differing = [line for path in sorted(parsed.folder.iterdir()) for line in differences(parsed.against, path)]
        print("\n".join(differing) or "no difference")
        sys.exit(1 if differing else 0)


def write_scores(pool: ProcessPoolExecutor, folder: Path, name: str, protocol: str, count: int) -> None:
    """Writes the outcomes of `count` damaged pairs of a benchmark."""
    ranges = [(name, protocol, start, min(start + 250, count)) for start in range(0, count, 250)]
    with (folder / f"scores-{name}-{protocol}.jsonl").open("wb") as file:
        for lines in pool.map(score_range, ranges):
            file.write(lines)


def score_range(task: tuple[str, str, int, int]) -> bytes:
    """Returns the outcomes of a range of damaged pairs, a line each."""
    name, protocol, start, stop = task
    kind = benchmark_class(name)
    benchmark = kind(msgspec.convert(OPTIONS[name][protocol], kind.options_type))
    benchmark.setup()
    lines = []
    for batch in _batched(damaged_pairs(name, start, stop), 16):
        decoded = [_decoded(benchmark, *each) for each in batch]
        pairs = [each for each in decoded if isinstance(each, Pair)]
        results = iter(benchmark.score(pairs))
        lines += [each.encode() if isinstance(each, str) else _line(next(results)) for each in decoded]
    return b"".join(line + b"\n" for line in lines)


def _batched(pairs: Iterator[tuple[str, Any, Any]], size: int) -> Iterator[list[tuple[str, Any, Any]]]:
    while batch := list(itertools.islice(pairs, size)):
        yield batch


def _decoded(benchmark: Any, sample_id: str, truth: Any, prediction: Any) -> Pair[Any, Any] | str:
    try:
        return Pair(
            sample_id,
            msgspec.json.decode(json.dumps(truth), type=benchmark.truth_type),
            None if prediction is None else msgspec.json.decode(json.dumps(prediction), type=benchmark.prediction_type),
        )
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        return f"{sample_id}: {error}"


def _line(result: Any) -> bytes:
    if isinstance(result, RejectedRecord):
        return msgspec.json.encode(["rejected", result.side, str(result)])
    return msgspec.json.encode([result.statistics, result.metrics, result.details, result.coverage], order="sorted")


def damaged_pairs(name: str, start: int, stop: int) -> Iterator[tuple[str, Any, Any]]:
    """Yields pairs of the generated corpus, each side of every other one with a few changes."""
    module = importlib.import_module(f"tests.generate.{name}")
    for index in range(start, stop):
        truth, prediction = module.sample(index, 1)
        rng = random.Random(f"{name} {index}")
        if index % 4 == 1:
            prediction = {**truth, **(prediction or {})} if index % 8 == 1 else truth
        if index % 2:
            for _ in range(rng.choice([1, 1, 2, 5])):
                if prediction is not None:
                    prediction = damage(rng, prediction)
            if index % 10 == 9:
                truth = damage(rng, truth)
        yield f"{name}-{index}", truth, prediction


def damage(rng: random.Random, record: Any) -> Any:
    """Returns a copy of a record with one change at a random place."""
    copy = json.loads(json.dumps(record))
    places = [place for place in _places(copy) if place[-1] != "sample_id"]
    if not places:
        return copy
    *path, last = rng.choice(places)
    parent = copy
    for key in path:
        parent = parent[key]
    value = parent[last]
    change = rng.randrange(6)
    if change == 0:
        parent[last] = rng.choice(VALUES)
    elif change == 1:
        del parent[last]
    elif isinstance(value, str) and value:
        at = rng.randrange(len(value))
        text = rng.choice(["", "x", value[::-1], " ", "\\", "}", "^2"])
        parent[last] = value[:at] + text + value[at + rng.randrange(3) :]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        parent[last] = rng.choice([value + 1, value * 1.01, -value, value + 0.25, value * 2])
    elif isinstance(value, list) and value:
        parent[last] = rng.choice([value[::-1], value + value[:1], value[1:], value + value])
    elif isinstance(parent, list):
        parent.insert(last, parent[rng.randrange(len(parent))])
    return copy


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield (*path, key)
            yield from _places(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield (*path, index)
            yield from _places(each, (*path, index))


def write_run(path: Path, name: str, options: tuple[str, ...]) -> None:
    """Evaluates a sample corpus with `options`, and writes the run's documents and rows to `path`."""
    corpus = CORPORA / name
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "beamscore.pipelines.commands", "evaluate", f"configs/{name}.yaml"]
        command += ["--ground-truth", f"{corpus}/ground_truth.jsonl", "--output", f"{folder}/run", *options]
        if path.stem.endswith("other"):
            *_, last = OPTIONS[name].values()
            command += [part for key, value in last.items() for part in ("--set", f"{key}={value}")]
        for predictions in (f"{corpus}/predictions.jsonl", f"same={corpus}/ground_truth.jsonl"):
            command += ["--predictions", predictions]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = pq.read_table(f"{folder}/run/samples").to_pylist() if done.returncode in {0, 1, 4} else [done.stderr]
        files = [Path(folder, "run", each) for each in ("summary.json", "sums.json")]
        texts = [json.loads(each.read_text()) if each.exists() else None for each in files]
    rows.sort(key=lambda row: json.dumps(row, default=str))
    path.write_text("\n".join(json.dumps(each, default=str) for each in [done.returncode, *texts, *rows]) + "\n")


def differences(earlier: Path, path: Path) -> Iterator[str]:
    """Yields how a file differs from the one of an earlier commit: how many lines, and the first of them."""
    before = (earlier / path.name).read_text().splitlines() if (earlier / path.name).exists() else []
    after = path.read_text().splitlines()
    differing = [n for n, (old, new) in enumerate(itertools.zip_longest(before, after), 1) if old != new]
    if differing:
        yield f"{path.name}: {len(differing)} of {len(after)} lines differ, the first is {differing[0]}"


if __name__ == "__main__":
    main()
