"""Decodes and scores the records of one kernel on request: `python tests/bench/kernel_worker.py`, a file of its own.

It runs against whichever source tree is first on PYTHONPATH, so it imports nothing of this project but `metrics`, and
of that only what older commits have too. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from beamscore.metrics.benchmark import Pair, RejectedRecord
from beamscore.metrics.registry import benchmark_class


class Load(msgspec.Struct, tag=True):
    """Read the records in the file `path`: on each line [truth, prediction or null] as texts of JSON."""

    path: str
    benchmark: str
    options: dict[str, Any]


class Measure(msgspec.Struct, tag=True):
    """Do `what` with all records; the answer is the processor seconds that it took."""

    what: str


class Results(msgspec.Struct, tag=True):
    """Write each result as a line to the file `path`."""

    path: str


class Kernel:
    """A benchmark with the records that it scores."""

    def __init__(self, load: Load) -> None:
        kind = benchmark_class(load.benchmark)
        self.benchmark = kind(msgspec.convert(load.options, kind.options_type))
        self.texts: list[tuple[str, str | None]] = []
        for line in Path(load.path).read_bytes().splitlines():
            truth, prediction = msgspec.json.decode(line, type=tuple[str, str | None])
            self.texts.append((truth, prediction))
        self.pairs = self.decode()
        self.benchmark.setup()
        self.work: dict[str, Callable[[], object]] = {"floor": self.floor, "decode": self.decode, "score": self.score}

    def floor(self) -> None:
        """Decodes the records to dictionaries and lists."""
        decode = msgspec.json.Decoder().decode
        for truth, prediction in self.texts:
            decode(truth)
            if prediction is not None:
                decode(prediction)

    def decode(self) -> list[Pair[Any, Any]]:
        """Decodes the records to the types of the benchmark."""
        truths = msgspec.json.Decoder(self.benchmark.truth_type).decode
        predictions = msgspec.json.Decoder(self.benchmark.prediction_type).decode
        return [
            Pair(str(number), truths(truth), None if prediction is None else predictions(prediction))
            for number, (truth, prediction) in enumerate(self.texts)
        ]

    def score(self, keep: list[Any] | None = None) -> None:
        """Scores the pairs as the pipeline does, a batch at a time."""
        size = self.benchmark.batch_size
        for start in range(0, len(self.pairs), size):
            results = self.benchmark.score(self.pairs[start : start + size])
            if keep is not None:
                keep += results

    def seconds(self, what: str) -> float:
        """Returns the processor seconds of one of `floor`, `decode` and `score`, those of child processes included."""
        work = self.work[what]
        gc.collect()
        gc.freeze()  # The records are held for the measurement; a pipeline would not have them all to look through.
        before = _processor_seconds()
        work()
        return _processor_seconds() - before

    def results(self) -> list[bytes]:
        """Returns the result of each pair, equal bytes for results that are equal to the last bit."""
        results: list[Any] = []
        self.score(results)
        return [_as_bytes(result) for result in results]


def _as_bytes(result: Any) -> bytes:
    if isinstance(result, RejectedRecord):
        return msgspec.json.encode(["rejected", result.side, result.message])
    # Statistics, metrics, details and coverage; by their places, since the second had another name once.
    statistics, metrics, details, coverage = (getattr(result, name) for name in type(result).__match_args__)
    exact = [[(name, float(value).hex()) for name, value in numbers.items()] for numbers in (statistics, coverage)]
    measured = {name: None if value is None else float(value).hex() for name, value in metrics.items()}
    return msgspec.json.encode([*exact, measured, details])


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main() -> None:
    """Answers requests until standard input ends."""
    kernel: Kernel | None = None
    decoder = msgspec.json.Decoder(Load | Measure | Results)
    for line in sys.stdin.buffer:
        request = decoder.decode(line)
        answer: Any = None
        if isinstance(request, Load):
            if kernel is not None:
                kernel.benchmark.teardown()
            kernel = Kernel(request)
        elif kernel is not None and isinstance(request, Measure):
            answer = kernel.seconds(request.what)
        elif kernel is not None:
            Path(request.path).write_bytes(b"".join(each + b"\n" for each in kernel.results()))
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
    if kernel is not None:
        kernel.benchmark.teardown()


if __name__ == "__main__":
    main()
