"""Generated corpora on disk, made once and kept."""

from __future__ import annotations

import importlib
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec

SAMPLES_PER_TASK = 1000
SEED = 1


@dataclass(frozen=True)
class Corpus:
    """The two files of a corpus, and how many samples they hold."""

    count: int
    ground_truth: Path
    predictions: Path

    @property
    def benchmark(self) -> str:
        """The benchmark, as the names of the files tell."""
        return self.ground_truth.name.partition("-")[0]

    @property
    def bytes(self) -> int:
        """The bytes of both files."""
        return self.ground_truth.stat().st_size + self.predictions.stat().st_size


def generated(benchmark: str, count: int, folder: Path) -> Corpus:
    """Returns a corpus of `count` samples of tests.generate.BENCHMARK below `folder`, made where it is missing."""
    corpus = Corpus(
        count, folder / f"{benchmark}-{count}-truth.jsonl", folder / f"{benchmark}-{count}-prediction.jsonl"
    )
    if corpus.predictions.exists():
        return corpus
    folder.mkdir(parents=True, exist_ok=True)
    print(f"generating {count} samples of {benchmark}", file=sys.stderr)
    ranges = [(benchmark, start, min(start + SAMPLES_PER_TASK, count)) for start in range(0, count, SAMPLES_PER_TASK)]
    parts = [path.with_suffix(".part") for path in (corpus.ground_truth, corpus.predictions)]
    with ProcessPoolExecutor(os.cpu_count()) as pool, parts[0].open("wb") as truths, parts[1].open("wb") as predictions:
        for truth, prediction in pool.map(_lines, ranges):
            truths.write(truth)
            predictions.write(prediction)
    parts[0].rename(corpus.ground_truth)
    parts[1].rename(corpus.predictions)
    return corpus


def _lines(task: tuple[str, int, int]) -> tuple[bytes, bytes]:
    benchmark, start, stop = task
    module = importlib.import_module(f"tests.generate.{benchmark}")
    truths, predictions = [], []
    for index in range(start, stop):
        truth, prediction = module.sample(index, SEED)
        truths.append(msgspec.json.encode(truth) + b"\n")
        if prediction is not None:
            predictions.append(msgspec.json.encode(prediction) + b"\n")
    return b"".join(truths), b"".join(predictions)
