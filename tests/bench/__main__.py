"""`make bench [SECTIONS="pipeline formula"]`: prints what evaluations cost; nothing here is a timed test."""

from __future__ import annotations

import argparse

from tests.bench.corpus import generated
from tests.bench.formula import formula_rows
from tests.bench.measure import alone
from tests.bench.run import evaluate, loop
from tests.calibrate import table

SECTIONS = ["pipeline", "formula"]
PARTS = {"chart": (16, 4), "chemistry": (4,), "figure_text": (4,), "formula": (25,), "traffic_rules": (4, 1)}
"""What parts of the largest corpus each benchmark is measured on: 6,250 and 25,000 charts of 100,000."""


def main() -> None:
    """Runs the sections that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="all by default")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the largest corpus")
    parsed = parser.parse_args()
    sections = parsed.sections or SECTIONS
    if "pipeline" in sections:
        _whole_evaluations([(name, parsed.samples // part) for name, parts in PARTS.items() for part in parts])
    if "formula" in sections:
        _print("CDM of the same pairs of formulas", ["", "processor µs"], formula_rows())


def _whole_evaluations(sizes: list[tuple[str, int]]) -> None:
    """The whole evaluation of each benchmark, of the loop that a user would write instead."""
    rows = []
    for benchmark, count in sizes:
        corpus = generated(benchmark, count)
        plain, one, two = alone(loop, corpus), alone(evaluate, corpus, 1), alone(evaluate, corpus, 2)
        per_sample = [f"{cost.microseconds(count):.0f}" for cost in (plain, one, two)]
        ratios = [f"{cost.seconds / plain.seconds:.2f}" for cost in (one, two)]
        clock = f"{one.wall_seconds / two.wall_seconds:.2f}"
        memory = [f"{cost.mebibytes:.0f}" for cost in (plain, one)]
        rows.append([f"{count} of {benchmark}", f"{corpus.bytes / 2**20:.0f}", *per_sample, *ratios, clock, *memory])
    titles = ["processor µs a sample of", "MiB", "loop", "evaluation", "two processes", "of the loop", "two"]
    title = "Whole evaluations, of the loop that a user would write instead; two processes on the clock"
    _print(title, [*titles, "times as fast", "peak MiB of the loop", "peak MiB"], rows)


def _print(title: str, header: list[str], rows: list[list[str]]) -> None:
    aligned = ["left", *["right"] * (len(header) - 1)]
    print(f"\n{title}\n\n{table(header, rows, colalign=aligned)}", flush=True)


if __name__ == "__main__":
    main()
