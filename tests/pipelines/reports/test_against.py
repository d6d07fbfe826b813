"""The difference of the two systems of a run on its page is the one that `beamscore compare` finds."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from beamscore.pipelines.reports.document import Document
from tests import toy
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


def test_it_is_what_compare_finds(tmp_path: Path, pages: list[Document]) -> None:
    output = run(tmp_path, first=2, second=30)
    pair = msgspec.to_builtins(pages[0].pair)
    assert command("compare", f"{output}:first", f"{output}:second", "--output", tmp_path / "c", "--quiet")[0] == 0
    compared = json.loads((tmp_path / "c" / "comparison.json").read_bytes())["metrics"]
    found = {each["name"]: each for each in pair}
    assert {"exact_match", "similarity"} <= found.keys() <= compared.keys()
    for name, each in found.items():
        difference, said = each["difference"], compared[name]
        assert difference["value"] == said["difference"]
        assert [difference["low"], difference["high"]] == said["interval"]
        assert each["detectable"] == said["detectable"]
        assert (each["baseline"]["value"], each["candidate"]["value"]) == (said["baseline"], said["candidate"])
    # 28 of 60 samples are lost: 58/60 became 30/60.
    assert found["exact_match"]["difference"]["verdict"] == "worse"
    page = (output / "report.html").read_text(encoding="utf-8")
    assert "second less first, with intervals of 200 paired bootstrap replicates." in page


def test_only_two_systems_have_one_and_equal_ones_are_identical(tmp_path: Path, pages: list[Document]) -> None:
    for systems in ({"first": 7, "second": 7}, {"only": 3}, {"first": 1, "second": 2, "third": 3}):
        run(tmp_path / str(len(systems)), **systems)
    assert {(each.difference.value, each.difference.verdict) for each in pages[0].pair} == {(0, "identical")}
    assert pages[1].pair == pages[2].pair == ()
