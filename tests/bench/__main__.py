"""`make bench [ONLY="pipeline chart"]`: prints what evaluations cost; nothing here is a timed test."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tabulate import tabulate

from tests.bench import scoring
from tests.bench.corpus import Corpus, generated
from tests.bench.formula import formula_rows
from tests.bench.measure import Cost, cost_of_module

Rows = list[list[str]]


def main() -> None:
    """Runs the sections that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the largest corpus")
    parser.add_argument("--folder", type=Path, default=Path("out/bench"), help="where generated corpora are kept")
    parsed = parser.parse_args()
    for name in parsed.sections or SECTIONS:
        SECTIONS[name](parsed.samples, parsed.folder)


def pipeline_section(samples: int, folder: Path) -> None:
    """Beam's floor, the whole evaluation and its steps on the same samples; then how cost and memory grow."""
    for benchmark in ("chart", "traffic_rules"):
        corpora = [generated(benchmark, samples // part, folder) for part in (4, 2, 1)]
        whole = _against_floor(corpora[-1])
        _steps(corpora[-1])
        costs = [_run("evaluate", corpus) for corpus in corpora[:-1]] + [whole]
        _growth(benchmark, corpora, costs)


def _against_floor(corpus: Corpus) -> Cost:
    """Prints what an evaluation costs as a multiple of Beam's floor, and returns its cost."""
    runs = {what: _run(what, corpus) for what in ("floor", "score", "evaluate")}
    floor, score, whole = (runs[what].microseconds(corpus.count) for what in ("floor", "score", "evaluate"))
    inside = runs["evaluate"].scoring_seconds / corpus.count * 1e6
    rows = [
        [what, f"{cost:.0f}", f"{cost / floor:.2f}", memory]
        for what, cost, memory in [
            ("Beam's floor: read, key, group, count", floor, f"{runs['floor'].mebibytes:.0f}"),
            ("scoring functions alone, in a plain loop", score, ""),
            ("whole evaluation", whole, f"{runs['evaluate'].mebibytes:.0f}"),
            ("of which scoring functions", inside, ""),
            ("of which all else", whole - inside, ""),
        ]
    ]
    title = f"{corpus.count} generated samples of {corpus.benchmark}"
    _print(title, ["", "processor µs a sample", "of the floor", "peak MiB"], rows)
    return runs["evaluate"]


def _steps(corpus: Corpus) -> None:
    cost = _run("steps", corpus)
    rows = [[name, f"{seconds / corpus.count * 1e6:.1f}"] for name, seconds in sorted(cost.steps.items())]
    _print(f"The steps for {corpus.benchmark}, without a runner", ["", "processor µs a sample"], rows)


def _growth(benchmark: str, corpora: Sequence[Corpus], costs: Sequence[Cost]) -> None:
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
    header = [
        "samples",
        "MiB",
        "processor s",
        "µs a sample",
        f"of {corpora[0].count}",
        "peak MiB",
        "more, of the input",
    ]
    _print(f"How the whole evaluation grows: {benchmark}", header, rows)


def processes_section(samples: int, folder: Path) -> None:
    """One worker process against two, on the clock, for twice the samples."""
    corpus = generated("chart", 2 * samples, folder)
    costs = [_run("evaluate", corpus, str(processes)) for processes in (1, 2)]
    rows = [
        [str(processes), f"{cost.wall_seconds:.1f}", f"{costs[0].wall_seconds / cost.wall_seconds:.2f}"]
        for processes, cost in zip((1, 2), costs, strict=True)
    ]
    _print(f"{corpus.count} charts in worker processes", ["processes", "s", "times as fast"], rows)


def _run(what: str, corpus: Corpus, *more: str) -> Cost:
    paths = (str(corpus.ground_truth), str(corpus.predictions))
    return cost_of_module("tests.bench.run", what, corpus.benchmark, *paths, *more)


def scoring_section(rows: Callable[[], list[scoring.Row]], title: str) -> Callable[[int, Path], None]:
    """Returns a section that prints what scoring functions cost."""

    def section(samples: int, folder: Path) -> None:
        _print(title, ["", "processor µs"], [[row.what, f"{row.microseconds:.0f}"] for row in rows()])

    return section


def _print(title: str, header: list[str], rows: Rows) -> None:
    print(f"\n{title}\n")
    print(
        tabulate(
            rows,
            headers=header,
            tablefmt="pipe",
            disable_numparse=True,
            colalign=["left", *["right"] * (len(header) - 1)],
        ),
        flush=True,
    )


SECTIONS: dict[str, Callable[[int, Path], None]] = {
    "pipeline": pipeline_section,
    "processes": processes_section,
    "chart": scoring_section(scoring.chart_tasks, "Scoring functions of chart, by task"),
    "chemistry": scoring_section(scoring.benchmark_row("chemistry"), "Scoring function of chemistry"),
    "figure_text": scoring_section(scoring.detectors, "Detection and end to end of figure_text, with all subsets"),
    "formula": scoring_section(formula_rows, "CDM of the same 200 pairs of formulas"),
    "traffic_rules": scoring_section(scoring.benchmark_row("traffic_rules"), "Scoring function of traffic_rules"),
}

if __name__ == "__main__":
    main()
