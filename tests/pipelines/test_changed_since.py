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
    toy.register()
    folder = tmp_path_factory.mktemp("nights")
    write_lines(folder / "t.jsonl", TRUTHS)
    for name, seed in (("before", 1), ("after", 2)):
        write_lines(folder / f"{name}.jsonl", predictions(seed))
    found = evaluate(folder / "before", folder / "t.jsonl", folder / "before.jsonl", "--quiet", "--no-html")
    assert found.code == 0, found.stderr
    return folder


def tonight(nights: Path, output: Path, *more: str) -> Run:
    against = ("--baseline", str(nights / "before"))
    return evaluate(output, nights / "t.jsonl", nights / "after.jsonl", *against, *FEW, *more)


def cards(run: Run) -> list[Any]:
    data = page_data(run.output / "report.html")
    found: list[Any] = [{**card, "sample_id": data["samples"]["ids"][card["row"]]} for card in data["cards"]]
    return found


def test_they_are_the_changes_that_compare_lists(nights: Path, tmp_path: Path) -> None:
    run = tonight(nights, tmp_path / "after")
    assert run.code == 0, run.stderr
    command("compare", nights / "before", run.output, "--output", tmp_path / "c", "--quiet", "--no-html")
    (listed,) = (tmp_path / "c" / "changes").glob("*.jsonl")
    changes = [json.loads(line) for line in listed.read_bytes().splitlines()]
    flips = [each for each in changes if each["kind"] in ("right_to_wrong", "wrong_to_right")]
    for why, sign in (("lost", -1), ("won", 1)):
        # The order of compare is by the size of the change, then by that of the other metrics; ties may be any of them.
        expected = sorted((abs(each["change"]) for each in flips if each["change"] * sign > 0), reverse=True)
        found = [card for card in cards(run) if why in card["whys"]]
        assert len(expected) > FLIPS
        moved = [abs(card["change"]) for card in found]
        assert moved == pytest.approx(expected[:FLIPS], abs=1e-3)
        assert {card["sample_id"] for card in found} <= {each["sample_id"] for each in flips}
        assert all("text: " in card["truth"] for card in found)
    # The scores do not depend on whether they are looked for.
    alone = evaluate(tmp_path / "alone", nights / "t.jsonl", nights / "after.jsonl", *FEW)
    assert alone.summary["systems"] == run.summary["systems"]
    assert not [card for card in cards(alone) if {"lost", "won"} & {*card["whys"]} or card["change"] is not None]


def test_a_baseline_without_rows_or_of_other_options_shows_no_changes(nights: Path, tmp_path: Path) -> None:
    other = tonight(nights, tmp_path / "other", "--set", "missing=exclude")
    assert other.code == 0, other.stderr
    assert not [card for card in cards(other) if card["change"] is not None]
    kept = shutil.copytree(nights / "before", tmp_path / "kept", ignore=shutil.ignore_patterns(".runs", "samples"))
    run = evaluate(tmp_path / "out", nights / "t.jsonl", nights / "after.jsonl", *FEW, "--baseline", str(kept))
    assert run.code == 0, run.stderr
    assert "are missing, so nothing tells which samples changed" in (run.output / "report.html").read_text()
