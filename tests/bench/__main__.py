"""`make bench [ONLY="pipeline chart"]`: prints what evaluations cost; nothing here is a timed test."""

from __future__ import annotations

import argparse
from collections.abc import Callable
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
    _print(title, header(options.against), list(kernel_rows(options.against, options.only)))


def pipeline_section(options: Options) -> None:
    """Beam's floor, the whole evaluation and the scoring alone on the same samples; then how cost grows."""
    samples, folder = options.samples, options.folder
    corpora = [generated("chart", samples // part, folder) for part in (4, 2, 1)]
    runs = {what: _run(what, corpora[-1]) for what in ("floor", "score", "evaluate")}
    floor, score, whole = (runs[what].microseconds(samples) for what in ("floor", "score", "evaluate"))
    inside = runs["evaluate"].scoring_seconds / samples * 1e6
    rows = [
        [what, f"{cost:.0f}", f"{cost / floor:.2f}"]
        for what, cost in [
            ("Beam's floor: read, key, group, count", floor),
            ("scoring functions alone, in a plain loop", score),
            ("whole evaluation", whole),
            ("of which scoring functions", inside),
            ("of which all else", whole - inside),
        ]
    ]
    _print(f"{samples} generated charts", ["", "processor µs a sample", "of the floor"], rows)
    costs = [_run("evaluate", corpus) for corpus in corpora[:-1]] + [runs["evaluate"]]
    rows = [
        [
            str(corpus.count),
            f"{cost.seconds:.1f}",
            f"{cost.microseconds(corpus.count):.0f}",
            f"{cost.seconds / costs[0].seconds:.2f}",
            f"{cost.mebibytes:.0f}",
        ]
        for corpus, cost in zip(corpora, costs, strict=True)
    ]
    header = ["samples", "processor s", "µs a sample", f"of {corpora[0].count}", "peak MiB"]
    _print("How the whole evaluation grows", header, rows)


def _run(what: str, corpus: Corpus) -> Cost:
    return cost_of_module("tests.bench.run", what, "chart", str(corpus.ground_truth), str(corpus.predictions))


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
    "chart": scoring_section(scoring.chart_tasks, "Scoring functions of chart, by task"),
    "chemistry": scoring_section(scoring.benchmark_row("chemistry"), "Scoring function of chemistry"),
    "figure_text": scoring_section(scoring.detectors, "Detection and end to end of figure_text, with all subsets"),
    "formula": scoring_section(formula_rows, "CDM of the same 200 pairs of formulas"),
    "traffic_rules": scoring_section(scoring.benchmark_row("traffic_rules"), "Scoring function of traffic_rules"),
}

if __name__ == "__main__":
    main()
