"""The difference of the two systems of a run on its page is the one that `beamscore compare` finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from beamscore.pipelines.reports.document import Document, Word
from tests import toy
from tests.pipelines.reports.conftest import tables_of
from tests.runs import command, evaluate, write_lines

TRUTHS = [toy.sample(index, 0)[0] for index in range(60)]


def run(tmp_path: Path, **wrong: int) -> Path:
    """Evaluates systems, each of which has this many samples wrong."""
    toy.register()
    truth = write_lines(tmp_path / "t.jsonl", TRUTHS)
    predictions = {
        name: write_lines(
            tmp_path / f"{name}.jsonl", [{**each, "text": "?"} for each in TRUTHS[:count]] + TRUTHS[count:]
        )
        for name, count in wrong.items()
    }
    found = evaluate(tmp_path / "out", truth, predictions, "--quiet")
    assert found.code == 0, found.stderr
    return found.output


def pair_of(page: Document) -> list[Any]:
    """The rows of the table that compares the two systems."""
    return [row for table in tables_of(page) if table.title == "Difference of the systems" for row in table.rows]


def test_it_is_what_compare_finds(tmp_path: Path, pages: list[Document]) -> None:
    output = run(tmp_path, first=2, second=30)
    pair = pair_of(pages[0])
    assert command("compare", f"{output}:first", f"{output}:second", "--output", tmp_path / "c", "--quiet")[0] == 0
    compared = json.loads((tmp_path / "c" / "comparison.json").read_bytes())["metrics"]
    found = {row[0].name: row[1:] for row in pair}
    assert {"exact_match", "similarity"} <= found.keys() <= compared.keys()
    for name, (before, after, bar, _, detectable, _) in found.items():
        said = compared[name]
        assert bar.found.value == said["difference"]
        assert [bar.found.low, bar.found.high] == said["interval"]
        assert (before.value, after.value, detectable) == (said["baseline"], said["candidate"], said["detectable"])
    # 28 of 60 samples are lost: 58/60 became 30/60.
    assert found["exact_match"][3] == Word("worse")
    page = (output / "report.html").read_text(encoding="utf-8")
    assert "second less first, with intervals of 200 paired bootstrap replicates." in page


def test_only_two_systems_have_one_and_equal_ones_are_identical(tmp_path: Path, pages: list[Document]) -> None:
    for systems in ({"first": 7, "second": 7}, {"only": 3}, {"first": 1, "second": 2, "third": 3}):
        run(tmp_path / str(len(systems)), **systems)
    assert {(row[3].found.value, row[4].text) for row in pair_of(pages[0])} == {(0, "identical")}
    assert pair_of(pages[1]) == pair_of(pages[2]) == []
