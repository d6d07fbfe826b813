"""The samples of report.html that changed since the baseline are those of `beamscore compare`, from all samples."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.page.corpora import page_data
from tests.runs import Record, Run, command, evaluate, write_lines

COUNT, FLIPS = 150, 6
TRUTHS = [toy.sample(index, 0)[0] for index in range(COUNT)]
FEW = ("--set", "page.worst=2", "--set", "page.random=2", "--set", f"page.flips={FLIPS}", "--quiet")


def predictions(seed: int) -> list[Record]:
    """A third is wrong, another third for each seed, more or less."""
    rng = random.Random(seed)
    return [{**truth, "text": truth["text"][: rng.randrange(4)]} if rng.random() < 0.33 else truth for truth in TRUTHS]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nights")
    write_lines(folder / "t.jsonl", TRUTHS)
    for name, seed in (("before", 1), ("after", 2)):
        write_lines(folder / f"{name}.jsonl", predictions(seed))
    assert evaluate(folder / "before", folder / "t.jsonl", folder / "before.jsonl", "--quiet", "--no-html").code == 0
    return folder


def tonight(nights: Path, output: Path, *more: str) -> Run:
    run = evaluate(output, nights / "t.jsonl", nights / "after.jsonl", *FEW, *more)
    assert run.code == 0, run.stderr
    return run


def cards(run: Run) -> list[Any]:
    data = page_data(run.output / "report.html")
    found: list[Any] = [{**card, "sample_id": data["samples"]["ids"][card["row"]]} for card in data["cards"]]
    return found


def test_they_are_the_changes_that_compare_lists(nights: Path, tmp_path: Path) -> None:
    run = tonight(nights, tmp_path / "after", f"--baseline={nights}/before")
    command("compare", nights / "before", run.output, "--output", tmp_path / "c", "--quiet", "--no-html")
    (listed,) = (tmp_path / "c" / "changes").glob("*.jsonl")
    changes = [json.loads(line) for line in listed.read_bytes().splitlines()]
    flips = [each for each in changes if each["kind"] in ("right_to_wrong", "wrong_to_right")]
    for why, sign in (("lost", -1), ("won", 1)):
        # The order of compare is by the size of the change, then by that of the other metrics; ties may be any of them.
        expected = sorted((abs(each["change"]) for each in flips if each["change"] * sign > 0), reverse=True)
        found = [card for card in cards(run) if why in card["whys"]]
        assert len(expected) > FLIPS
        assert [abs(card["change"]) for card in found] == pytest.approx(expected[:FLIPS], abs=1e-3)
        assert {card["sample_id"] for card in found} <= {each["sample_id"] for each in flips}
        assert all("text: " in card["truth"] for card in found)
    verdicts = (run.output / "run.json", tmp_path / "c" / "comparison.json")
    here, there = (json.loads(path.read_bytes())["verdict"]["judgement"] for path in verdicts)
    assert here == there
    # The scores do not depend on whether they are looked for.
    alone = tonight(nights, tmp_path / "alone")
    assert alone.summary["systems"] == run.summary["systems"]
    assert not [card for card in cards(alone) if {"lost", "won"} & {*card["whys"]} or card["change"] is not None]


def test_a_baseline_without_rows_or_of_other_options_shows_no_changes(nights: Path, tmp_path: Path) -> None:
    other = tonight(nights, tmp_path / "other", f"--baseline={nights}/before", "--set", "missing=exclude")
    assert not [card for card in cards(other) if card["change"] is not None]
    kept = shutil.copytree(nights / "before", tmp_path / "kept", ignore=shutil.ignore_patterns(".runs", "samples"))
    run = tonight(nights, tmp_path / "out", f"--baseline={kept}")
    assert "are missing, so it is unknown which samples changed" in (run.output / "report.html").read_text()
