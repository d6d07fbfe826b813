"""What `Benchmark.score` costs on decoded batches, for every benchmark, beside decoding and beside another commit."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from beamscore.metrics.registry import benchmark_names
from tests.bench.checkout import ROOT, checked_out, python_path

Record = dict[str, Any]
Samples = list[tuple[Record, "Record | None"]]

SEED = 1
ROUNDS = 5
WORKER = Path(__file__).with_name("kernel_worker.py")
SAMPLES = {"formula": 100}
"""How many samples a benchmark is measured on where it is not `DEFAULT_SAMPLES`."""
DEFAULT_SAMPLES = 1000


@dataclass(frozen=True)
class Kernel:
    """One kind of scoring: the benchmark under its options, and the samples to score."""

    name: str
    benchmark: str
    samples: Samples
    options: Record = field(default_factory=dict)


@dataclass
class Costs:
    """Processor seconds of one side, a number for each round."""

    decode: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)

    def microseconds(self, what: str, count: int) -> float:
        """Returns the median of `decode` or `score` in microseconds for each of `count` samples."""
        return statistics.median({"decode": self.decode, "score": self.score}[what]) / count * 1e6


def kernels(only: Sequence[str] = ()) -> Iterator[Kernel]:
    """Yields the kernels whose names start with one of `only`, all by default, in the order of the benchmarks."""
    for benchmark in benchmark_names():
        if importlib.util.find_spec(f"tests.generate.{benchmark}") is None:
            continue
        wanted = [prefix for prefix in only if prefix.startswith(benchmark) or benchmark.startswith(prefix)]
        if only and not wanted:
            continue
        make_sample = importlib.import_module(f"tests.generate.{benchmark}").sample
        samples = [make_sample(index, SEED) for index in range(SAMPLES.get(benchmark, DEFAULT_SAMPLES))]
        variants = VARIANTS.get(benchmark, _as_it_is)(benchmark, samples)
        yield from (kernel for kernel in variants if not only or kernel.name.startswith(tuple(only)))


def _as_it_is(benchmark: str, samples: Samples) -> list[Kernel]:
    return [Kernel(benchmark, benchmark, samples)]


def _chart_tasks(benchmark: str, samples: Samples) -> list[Kernel]:
    """Returns each task alone, on the charts and the parts of their records that have it, and all tasks together."""
    tasks = [
        ("task1", "task1", ()),
        ("task2", "task2", ()),
        ("task3", "task3", ()),
        ("task4", "task4", ()),
        ("task5", "task5", ()),
        ("task6a", "task6", ("visual elements",)),
        ("task6b", "task6", ("data series",)),
        ("task7", "task7", ("data series",)),
    ]
    made = []
    for task, predicted_in, parts in tasks:
        true_in = "task6" if parts else task
        kept = [
            (
                {**_part(truth, "image", "task1"), **_part_of_output(truth, true_in, parts)},
                None if prediction is None else _part_of_output(prediction, predicted_in, parts),
            )
            for truth, prediction in samples
            if truth[true_in]["output"]
        ]
        made.append(Kernel(f"{benchmark} {task}", benchmark, kept, {"tasks": [task]}))
    return [*made, *_as_it_is(benchmark, samples)]


def _part(record: Record, *names: str) -> Record:
    return {name: record[name] for name in names if name in record}


def _part_of_output(record: Record, task: str, parts: Sequence[str]) -> Record:
    """Returns a task of a record with these parts of its output, or all of it."""
    if task not in record:
        return {}
    output = record[task]["output"]
    return {task: {"output": _part(output, *parts) if parts else output}}


def _geometries(benchmark: str, samples: Samples) -> list[Kernel]:
    return [
        Kernel(f"{benchmark} {geometry}", benchmark, samples, {"geometry": geometry})
        for geometry in ("polygon", "rectangle")
    ]


VARIANTS: dict[str, Callable[[str, Samples], list[Kernel]]] = {"chart": _chart_tasks, "figure_text": _geometries}
"""The benchmarks that score in more than one way; any other is one kernel under its default options."""


class Worker:
    """A process that scores with the source tree at `tree`."""

    def __init__(self, tree: Path) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            cwd=tree,
            env={**os.environ, **threads, "PYTHONPATH": python_path(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()

    def load(self, kernel: Kernel, path: Path) -> None:
        """Makes the process read the samples in `path` and set the benchmark up."""
        self._ask("Load", path=str(path), benchmark=kernel.benchmark, options=kernel.options)

    def seconds(self, what: str) -> float:
        """Returns the processor seconds that `floor`, `decode` or `score` takes."""
        return float(self._ask("Measure", what=what))

    def results(self, path: Path) -> list[bytes]:
        """Returns the result of each sample as bytes, written by way of `path`."""
        self._ask("Results", path=str(path))
        return path.read_bytes().splitlines()

    def _ask(self, request: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode({"type": request, **arguments}) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{WORKER.name} ended without an answer to {request}")
        return msgspec.json.decode(line)


def measure(
    kernel: Kernel, workers: dict[str, Worker], folder: Path, differences: list[str]
) -> tuple[float, dict[str, Costs]]:
    """Returns the floor in seconds, and the costs of each worker on the same samples, measured in turns.

    Where two workers do not give the same results, `differences` gets a text that says so.
    """
    path = folder / "samples.jsonl"
    with path.open("wb") as file:
        for sample in kernel.samples:
            texts = [None if record is None else msgspec.json.encode(record).decode() for record in sample]
            file.write(msgspec.json.encode(texts) + b"\n")
    results = {}
    for name, worker in workers.items():
        worker.load(kernel, path)
        results[name] = worker.results(folder / "results.jsonl")  # This also warms up what is made once a process.
    differences += _differences(kernel, results)
    costs = {name: Costs() for name in workers}
    floors = []
    for number in range(ROUNDS):
        turns = list(workers) if number % 2 else list(reversed(workers))
        for name in turns:
            costs[name].score.append(workers[name].seconds("score"))
        for name in turns:
            costs[name].decode.append(workers[name].seconds("decode"))
        floors.append(workers["this"].seconds("floor"))
    return statistics.median(floors), costs


def _differences(kernel: Kernel, results: dict[str, list[bytes]]) -> Iterator[str]:
    """Yields how many samples have other results in another commit, with those of the first one."""
    (name, ours), *others = results.items()
    for other, theirs in others:
        pairs = [(number, *pair) for number, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]]
        if pairs:
            number, our, their = pairs[0]
            yield (
                f"{kernel.name}: {len(pairs)} of {len(ours)} samples have other results; sample {number}, {name}:\n"
                f"{our.decode()}\n{other}:\n{their.decode()}"
            )


def kernel_rows(against: str | None, only: Sequence[str], differences: list[str]) -> Iterator[list[str]]:
    """Yields a row of HEADER for each kernel, with three more columns where there is a commit to compare with.

    `differences` gets a text for each kernel of which the two commits do not give the same statistics, metrics, details
    and coverage for every sample.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees = {"this": ROOT}
        if against is not None:
            trees[against] = stack.enter_context(checked_out(against, folder / "beamscore"))
        workers = {name: stack.enter_context(Worker(tree)) for name, tree in trees.items()}
        for kernel in kernels(only):
            floor, costs = measure(kernel, workers, folder, differences)
            yield _row(kernel, floor, *costs.values())


HEADER = ["", "samples", "floor µs", "decoding µs", "of the floor", "scoring µs", "of the floor"]


def header(against: str | None) -> list[str]:
    """Returns the names of the columns of `kernel_rows`."""
    return HEADER if against is None else [*HEADER, "decoding, times faster", f"scoring µs, {against}", "times faster"]


def _row(kernel: Kernel, floor: float, ours: Costs, theirs: Costs | None = None) -> list[str]:
    count = len(kernel.samples)
    floor *= 1e6 / count
    decode, score = ours.microseconds("decode", count), ours.microseconds("score", count)
    row = [kernel.name, str(count), *(f"{floor:.1f} {decode:.1f} {decode / floor:.2f} {score:.1f}".split())]
    row.append(f"{score / floor:.2f}")
    if theirs is not None:
        decode_ratio = theirs.microseconds("decode", count) / decode
        before = theirs.microseconds("score", count)
        row += [f"{decode_ratio:.2f}", f"{before:.1f}", f"{before / score:.2f}"]
    return row
