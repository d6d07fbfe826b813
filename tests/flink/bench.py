"""`make bench-flink`: how an evaluation on Flink grows with slots, samples and slices, as ratios from one run.

python -m tests.flink.bench [SECTION ...]
"""

from __future__ import annotations

import argparse
import os

import msgspec
from tabulate import tabulate

from tests.bench.corpus import Corpus
from tests.flink.cluster import FlinkCluster
from tests.flink.measured import Measured, corpus_of, evaluate

MANY = 1000
TIMES = 4


def main() -> None:
    """Runs the sections that are asked for, all by default, each on a fresh cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the smaller corpus")
    parsed = parser.parse_args()
    for name in parsed.sections or SECTIONS:
        SECTIONS[name](parsed.samples)


def slots(samples: int) -> None:
    """One and two slots on two corpora, where a slot has one processor for its TaskManager and its worker.

    The last lines are the difference of the corpora: without what starting a job takes.
    """
    processors = [["taskset", "--cpu-list", str(number)] for number in sorted(os.sched_getaffinity(0))]
    with FlinkCluster(prefixes=processors) as cluster:
        runs = [
            [evaluate(cluster, corpus_of(count), slots) for slots in (1, 2)] for count in (samples, TIMES * samples)
        ]
    measured = [[(run.samples, run.seconds) for run in pair] for pair in runs]
    more = [(large.samples - small.samples, large.seconds - small.seconds) for small, large in zip(*runs, strict=True)]
    rows = []
    for pair in [*measured, more]:
        rates = [count / seconds for count, seconds in pair]
        for slots, (count, seconds), rate in zip((1, 2), pair, rates, strict=True):
            rows.append([str(count), str(slots), f"{seconds:.1f}", f"{rate:.0f}", f"{rate / rates[0]:.2f}"])
    _print("Slots, with one processor each", ["samples", "slots", "s", "samples a second", "of one slot"], rows)


def growth(samples: int) -> None:
    """A corpus, one four times as large, and their difference: what each further sample takes."""
    with FlinkCluster() as cluster:
        runs = [evaluate(cluster, corpus_of(count), 2) for count in (samples, TIMES * samples)]
    small, large = (_totals(run) for run in runs)
    more = [after - before for before, after in zip(small, large, strict=True)]
    rows = [
        [what, *(f"{total / count:.0f}" for total in totals), *peaks]
        for what, count, totals, peaks in (
            *((str(run.samples), run.samples, _totals(run), _peaks(run)) for run in runs),
            (f"the {(TIMES - 1) * samples} more", (TIMES - 1) * samples, more, ["", ""]),
        )
    ]
    costs = [f"{each}, a sample" for each in ("processor µs of the workers", "bytes read", "bytes regrouped")]
    _print("Growth, on two slots", ["samples", *costs, "peak MiB of a worker", "s"], rows)


def _totals(run: Measured) -> list[float]:
    return [run.worker_seconds * 1e6, run.bytes_read, run.bytes_regrouped]


def _peaks(run: Measured) -> list[str]:
    return [f"{run.worker_mebibytes:.0f}", f"{run.seconds:.1f}"]


def hot_key(samples: int) -> None:
    """One slice that holds all samples, and as many slice memberships over many slices."""
    corpus = with_columns(corpus_of(samples))
    with FlinkCluster() as cluster:
        runs = {
            name: evaluate(cluster, corpus, 2, "--slice", column)
            for name, column in (("1 slice", "one"), (f"{MANY} slices", "many"))
        }
    rows = []
    for name, run in runs.items():
        (grouped,) = [
            vertex for vertex in run.vertices if vertex.name.startswith("GroupReduce") and "Combine/" in vertex.name
        ]
        partial = sum(read for read, _ in grouped.moved)
        rows.append(
            [name, f"{run.seconds:.1f}", f"{run.worker_seconds:.1f}", str(partial), f"{run.worker_mebibytes:.0f}"]
        )
    header = ["", "s", "processor s of the workers", "partial sums sent to the combine", "peak MiB of a worker"]
    _print(f"A hot key: {samples} samples on two slots", header, rows)


def with_columns(corpus: Corpus) -> Corpus:
    """Returns the corpus with two columns more: `one`, the same for all samples, and `many`, of MANY values."""
    truth = corpus.ground_truth.with_name(f"{corpus.ground_truth.stem}-columns.jsonl")
    if not truth.exists():
        part = truth.with_suffix(".part")
        with corpus.ground_truth.open("rb") as lines, part.open("wb") as written:
            for index, line in enumerate(lines):
                record = {**msgspec.json.decode(line), "one": "all", "many": index % MANY}
                written.write(msgspec.json.encode(record) + b"\n")
        part.rename(truth)
    return Corpus(corpus.count, truth, corpus.predictions)


def _print(title: str, header: list[str], rows: list[list[str]]) -> None:
    table = tabulate(rows, header, tablefmt="pipe", disable_numparse=True, colalign=["right"] * len(header))
    print(f"\n{title}\n\n{table}", flush=True)


SECTIONS = {"slots": slots, "growth": growth, "hot_key": hot_key}

if __name__ == "__main__":
    main()
