"""`make bench [SECTIONS="pipeline formula"]`: prints what evaluations cost; nothing here is a timed test."""

from __future__ import annotations

import argparse

from tests.bench.corpus import Corpus, generated
from tests.bench.formula import formula_rows
from tests.bench.measure import alone
from tests.bench.run import evaluate, loop
from tests.calibrate import table

SECTIONS = ["pipeline", "formula"]
SHARES = {"chart": 4, "chemistry": 4, "figure_text": 4, "formula": 25, "traffic_rules": 1}
"""What part of the largest corpus each benchmark is measured on: 25,000 charts of 100,000."""


def main() -> None:
    """Runs the sections that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], help="all by default")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the largest corpus")
    parsed = parser.parse_args()
    sections = parsed.sections or SECTIONS
    if "pipeline" in sections:
        _whole_evaluations({name: generated(name, parsed.samples // part) for name, part in SHARES.items()})
        for benchmark in ("chart", "traffic_rules"):
            _growth(benchmark, [generated(benchmark, parsed.samples // part) for part in (4, 2, 1)])
    if "formula" in sections:
        _print("CDM of the same 200 pairs of formulas", ["", "processor µs"], formula_rows())


def _whole_evaluations(corpora: dict[str, Corpus]) -> None:
    """The whole evaluation of each benchmark, of the loop that a user would write instead."""
    rows = []
    for benchmark, corpus in corpora.items():
        plain, one, two = alone(loop, corpus), alone(evaluate, corpus, 1), alone(evaluate, corpus, 2)
        per_sample = [f"{cost.microseconds(corpus.count):.0f}" for cost in (plain, one, two)]
        ratios = [f"{cost.seconds / plain.seconds:.2f}" for cost in (one, two)]
        clock = f"{one.wall_seconds / two.wall_seconds:.2f}"
        memory = [f"{cost.mebibytes:.0f}" for cost in (plain, one)]
        rows.append([f"{corpus.count} of {benchmark}", *per_sample, *ratios, clock, *memory])
    titles = ["processor µs a sample of", "loop", "evaluation", "two processes", "of the loop", "two", "times as fast"]
    title = "Whole evaluations, of the loop that a user would write instead; two processes on the clock"
    _print(title, [*titles, "loop MiB", "MiB"], rows)


def _growth(benchmark: str, corpora: list[Corpus]) -> None:
    costs = [alone(evaluate, corpus, 1) for corpus in corpora]
    rows = [
        [
            str(corpus.count),
            f"{corpus.bytes / 2**20:.0f}",
            f"{cost.seconds:.1f}",
            f"{cost.microseconds(corpus.count):.0f}",
            f"{cost.seconds / costs[0].seconds:.2f}",
            f"{cost.mebibytes:.0f}",
            f"{(cost.mebibytes - costs[0].mebibytes) * 2**20 / max(1, corpus.bytes - corpora[0].bytes):.2f}",
        ]
        for corpus, cost in zip(corpora, costs, strict=True)
    ]
    titles = ["samples", "MiB", "processor s", "µs a sample", f"of {corpora[0].count}", "peak MiB"]
    _print(f"How the whole evaluation grows: {benchmark}", [*titles, "more, of the input"], rows)


def _print(title: str, header: list[str], rows: list[list[str]]) -> None:
    aligned = ["left", *["right"] * (len(header) - 1)]
    print(f"\n{title}\n\n{table(header, rows, colalign=aligned)}", flush=True)


if __name__ == "__main__":
    main()
