"""The README says of each benchmark what the benchmark says of itself, and its example prints what it shows."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_class, benchmark_names
from tests.runs import command

ROOT = Path(__file__).parents[1]


def test_the_table_of_benchmarks_is_that_of_the_registry() -> None:
    rows = ["| benchmark | what is scored |", "|---|---|"]
    for name in benchmark_names():
        if name != "toy":
            kind = benchmark_class(name)
            rows.append(f"| [{name}](docs/explanation/benchmarks/{name}.md) | {kind.summary} |")
            assert (ROOT / "docs" / "explanation" / "benchmarks" / f"{name}.md").exists()
    assert "\n".join(rows) + "\n\n" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("configs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## An example\n")[2]
    block = re.search(r"(?:^    .*\n)+", section, re.MULTILINE)
    assert block is not None
    typed, box, shown = textwrap.dedent(block[0]).partition("\u250f")
    given = typed.partition("$ beamscore ")[2].replace("\\\n", " ")
    assert command(*shlex.split(given)) == (0, box + shown, "")
