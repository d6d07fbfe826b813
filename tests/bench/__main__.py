"""`make bench`: prints what evaluations cost; nothing here is a timed test."""

import argparse

from tests.bench.corpus import evaluate, generated, loop
from tests.bench.measure import alone, cost_of
from tests.calibrate import table

PARTS = {"chart": (16, 4), "chemistry": (4,), "figure_text": (4,), "formula": (25,), "traffic_rules": (4, 1)}
"""What parts of the largest corpus each benchmark is measured on: 6,250 and 25,000 charts of 100,000."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000, help="size of the largest corpus")
    samples = parser.parse_args().samples
    rows = []
    for benchmark, count in [(name, samples // part) for name, parts in PARTS.items() for part in parts]:
        corpus = generated(benchmark, count)
        plain = alone(cost_of, loop, corpus)
        one, two = (alone(cost_of, evaluate, corpus, processes) for processes in (1, 2))
        per_sample = [f"{cost.seconds / count * 1e6:.0f}" for cost in (plain, one, two)]
        ratios = [f"{cost.seconds / plain.seconds:.2f}" for cost in (one, two)]
        clock = f"{one.wall_seconds / two.wall_seconds:.2f}"
        memory = [f"{cost.mebibytes:.0f}" for cost in (plain, one)]
        rows.append([f"{count} of {benchmark}", f"{corpus.bytes / 2**20:.0f}", *per_sample, *ratios, clock, *memory])
    titles = ["processor µs a sample of", "MiB", "loop", "evaluation", "two processes", "of the loop", "two"]
    header = [*titles, "times as fast", "peak MiB of the loop", "peak MiB"]
    print("\nWhole evaluations, of the loop that a user would write instead; two processes on the clock\n")
    print(table(header, rows, colalign=["left", *["right"] * (len(header) - 1)]))


if __name__ == "__main__":
    main()
