"""`make bench [SECTIONS="pipeline chart"]`: prints what evaluations cost; nothing here is a timed test."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from tests.bench import scoring
from tests.bench.corpus import Corpus, generated
from tests.bench.formula import formula_rows
from tests.bench.kernels import header, kernel_rows
from tests.bench.measure import Cost, cost_of_module

Rows = list[list[str]]


@dataclass(frozen=True)
class Options:
    """What the command line says.

    samples: size of the largest corpus. folder: where generated corpora are kept. against: the commit that kernels are
    compared with. only: prefixes of the names of the kernels that are measured, all by default.
    """

    samples: int
    folder: Path
    against: str | None
    only: tuple[str, ...]


def main() -> None:
    """Runs the sections that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--samples", type=int, default=100_000, help="size of the largest corpus")
    parser.add_argument("--folder", type=Path, default=Path("out/bench"), help="where generated corpora are kept")
    parser.add_argument("--against", metavar="COMMIT", help="commit that the section kernels compares with")
    parser.add_argument("--only", nargs="+", metavar="KERNEL", default=[], help="kernels by the start of their names")
    parsed = parser.parse_args()
    unknown = sorted(set(parsed.sections) - set(SECTIONS))
    if unknown:
        parser.error(f"there is no section {unknown[0]}; there are {', '.join(SECTIONS)}")
    options = Options(parsed.samples, parsed.folder, parsed.against, tuple(parsed.only))
    for name in parsed.sections or SECTIONS:
        SECTIONS[name](options)


def kernels_section(options: Options) -> None:
    """What `Benchmark.score` costs on decoded batches, beside decoding and, where one is named, another commit."""
    title = "Scoring of decoded batches; the floor is decoding the same records to dictionaries and lists"
    differences: list[str] = []
    _print(title, header(options.against), list(kernel_rows(options.against, options.only, differences)))
    if differences:
        raise SystemExit("\n\n".join(differences))


def pipeline_section(options: Options) -> None:
    """The whole evaluation of each benchmark, of the loop that a user would write instead; how it grows."""
    rows = []
    for benchmark, part in SHARES.items():
        corpus = generated(benchmark, options.samples // part, options.folder)
        loop, one, two = (_run("loop", corpus), _run("evaluate", corpus), _run("evaluate", corpus, "2"))
        per_sample = [f"{cost.microseconds(corpus.count):.0f}" for cost in (loop, one, two)]
        ratios = [f"{cost.seconds / loop.seconds:.2f}" for cost in (one, two)]
        clock = f"{one.wall_seconds / two.wall_seconds:.2f}"
        memory = [f"{cost.mebibytes:.0f}" for cost in (loop, one)]
        rows.append([f"{corpus.count} of {benchmark}", *per_sample, *ratios, clock, *memory])
    titles = ["processor µs a sample of", "loop", "evaluation", "two processes", "of the loop", "two", "times as fast"]
    _print(WHOLE, [*titles, "loop MiB", "MiB"], rows)
    for benchmark in ("chart", "traffic_rules"):
        corpora = [generated(benchmark, options.samples // part, options.folder) for part in (4, 2, 1)]
        _growth(benchmark, corpora, [_run("evaluate", corpus) for corpus in corpora])


WHOLE = "Whole evaluations, of the loop that a user would write instead; two processes on the clock"
SHARES = {"chart": 4, "chemistry": 4, "figure_text": 4, "formula": 25, "traffic_rules": 1}
"""What part of the largest corpus each benchmark is measured on: 25,000 charts of 100,000."""


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
    titles = [
        "samples",
        "MiB",
        "processor s",
        "µs a sample",
        f"of {corpora[0].count}",
        "peak MiB",
        "more, of the input",
    ]
    _print(f"How the whole evaluation grows: {benchmark}", titles, rows)


def processes_section(options: Options) -> None:
    """One worker process against two, on the clock, for twice the samples; and what the machine has to give."""
    corpus = generated("chart", 2 * options.samples, options.folder)
    costs = [_run("evaluate", corpus, str(processes)) for processes in (1, 2)]
    rows = [
        [str(processes), f"{cost.wall_seconds:.1f}", f"{costs[0].wall_seconds / cost.wall_seconds:.2f}"]
        for processes, cost in zip((1, 2), costs, strict=True)
    ]
    _print(f"{corpus.count} charts in worker processes", ["processes", "s", "times as fast"], rows)
    _side_by_side(generated("chart", options.samples // 4, options.folder))


def _side_by_side(corpus: Corpus) -> None:
    """Prints how much slower a plain loop of the scoring functions is while another one runs: cores share caches."""
    alone = _run("score", corpus).seconds
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: _run("score", corpus).seconds, range(2)))
    rows = [["1", f"{alone:.1f}", ""], ["2", f"{max(both):.1f}", f"{2 * alone / max(both):.2f}"]]
    title = f"Plain loops that score {corpus.count} charts each, with nothing in common"
    _print(title, ["loops at once", "processor s of one", "times as much work"], rows)


def _run(what: str, corpus: Corpus, *more: str) -> Cost:
    paths = (str(corpus.ground_truth), str(corpus.predictions))
    return cost_of_module("tests.bench.run", what, corpus.benchmark, *paths, *more)


def scoring_section(rows: Callable[[], list[scoring.Row]], title: str) -> Callable[[Options], None]:
    """Returns a section that prints what scoring functions cost."""

    def section(options: Options) -> None:
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


SECTIONS: dict[str, Callable[[Options], None]] = {
    "kernels": kernels_section,
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
