"""The README says of each benchmark what the benchmark says of itself."""

from __future__ import annotations

from pathlib import Path

from metrics.registry import benchmark_class, benchmark_names

ROOT = Path(__file__).parents[1]
MAIN_METRICS_SHOWN = 3


def test_the_table_of_benchmarks_is_that_of_the_registry() -> None:
    rows = ["| benchmark | what is scored | main metrics |", "| --- | --- | --- |"]
    for name in benchmark_names():
        if name != "toy":
            kind = benchmark_class(name)
            metrics = ", ".join(f"`{metric}`" for metric in kind.main_metrics()[:MAIN_METRICS_SHOWN])
            rows.append(f"| [{name}](docs/benchmarks/{name}.md) | {kind.summary} | {metrics} |")
            assert (ROOT / "docs" / "benchmarks" / f"{name}.md").exists()
    assert "\n".join(rows) + "\n\n" in (ROOT / "README.md").read_text(encoding="utf-8")
