"""The page of a comparison in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beamscore.pipelines.reports.comparison import ComparedRuns, build_comparison, with_changed
from beamscore.pipelines.reports.document import Card, CardSide, RecordText
from beamscore.pipelines.reports.render import render
from beamscore.pipelines.runs.run import Run
from tests.page.browser import Browser
from tests.page.corpora import CORPORA, compared, evaluated, page_data, worse
from tests.page.hostile import HOSTILE
from tests.page.screen import (
    PICTURES,
    choose,
    open_in_every_state,
    open_page,
    press,
    serious_faults,
    shown_count,
    shows_all,
    table_ids,
    viewed,
)
from tests.runs import command

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def runs(folder: Path) -> tuple[Path, Path]:
    """Two runs of the same samples, of which the second is worse."""
    corpus = CORPORA / "chart"
    before, after = corpus / "predictions.jsonl", worse(corpus / "predictions.jsonl", folder / "worse.jsonl")
    first, second = folder / "first", folder / "second"
    evaluated("chart", corpus / "ground_truth.jsonl", {"predictions": before}, first)
    evaluated("chart", corpus / "ground_truth.jsonl", {"predictions": after}, second, f"--baseline={first}")
    return first, second


@pytest.fixture(scope="module")
def page(runs: tuple[Path, Path], folder: Path) -> Path:
    return compared(*runs, folder / "compared")


def test_the_page_of_a_comparison(chromium: Browser, page: Path) -> None:
    document = json.loads((page.parent / "comparison.json").read_bytes())
    open_in_every_state(chromium, page, "comparison")
    sentence = str(chromium.run("return document.querySelector('.sentence').textContent"))
    worse = [name for name, found in document["metrics"].items() if found["verdict"] == "worse"]
    assert worse
    assert "The candidate is worse in " in sentence
    assert judgement(chromium) == "worse"
    assert "60 compared" in chromium.run("return document.querySelector('#coverage').textContent")
    main = len(page_data(page)["metrics"])
    assert chromium.run("return document.querySelectorAll('#metrics > .scroll .whisker').length") == main
    assert shown_count(chromium, "#slices-filters") == "2 of 2 rows"


def test_a_report_a_comparison_and_the_console_say_the_same_of_two_runs(
    chromium: Browser, runs: tuple[Path, Path], page: Path, folder: Path
) -> None:
    """The judgement, how the lead metric moved, and the slices that lost most."""
    said = []
    for path in (runs[1] / "report.html", page):
        open_page(chromium, path)
        sentence = str(chromium.run("return document.querySelector('.sentence').textContent"))
        lost = chromium.run("return document.querySelector('.verdict .lost').textContent")
        said.append((judgement(chromium), sentence.split(". ")[0], lost.partition(": ")[2]))
    assert said[0] == said[1]
    assert said[0][1].startswith("task7.score fell from 0.7")
    _, stdout, _ = command("compare", str(runs[0]), str(runs[1]), "--output", str(folder / "said"), "--no-html")
    word, moved, lost = said[0]
    assert f"{word.upper()}: {moved}. " in stdout
    assert f"slices that lost most: {lost}\n" in stdout
    _, stdout, _ = command("compare", str(runs[0]), str(runs[0]), "--output", str(folder / "said"), "--no-html")
    assert "IDENTICAL: " in stdout


def judgement(chromium: Browser) -> str:
    return str(chromium.run("return document.querySelector('.judgement .word').textContent"))


def test_samples_that_changed_are_filtered_and_stepped_through(chromium: Browser, page: Path) -> None:
    changed = page_data(page)["cards"]
    open_page(chromium, page)
    changes = [sample["change"] or 0.0 for sample in changed]
    assert changes == sorted(changes)
    assert changes[0] < 0
    assert table_ids(chromium)[0] == changed[0]["sample_id"] == viewed(chromium)
    press(chromium, "ArrowRight")
    assert viewed(chromium) == changed[1]["sample_id"]
    # Both drawings and all three records are there.
    assert chromium.run("return document.querySelectorAll('#viewer .drawing').length") == 2
    assert chromium.run("return document.querySelectorAll('#viewer .records pre').length") == 3
    assert chromium.run("return document.querySelector('#viewer .words').textContent").startswith("score: ")
    choose(chromium, "#samples-filters", "status", "right_to_wrong")
    wanted = [sample["sample_id"] for sample in changed if "right_to_wrong" in sample["whys"]]
    assert table_ids(chromium) == wanted
    choose(chromium, "#samples-filters", "id", wanted[0])
    assert shown_count(chromium, "#samples-filters") == f"1 of {len(changed)} rows"


def test_slices_are_filtered_by_verdict(chromium: Browser, page: Path) -> None:
    open_page(chromium, page)
    found = page_data(page)["slices"]
    for verdict in ("worse", "better"):
        count = sum(any(each["verdict"] == verdict for each in row["differences"]) for row in found)
        choose(chromium, "#slices-filters", "verdict", verdict)
        assert shown_count(chromium, "#slices-filters") == f"{count} of {len(found)} rows"


def test_an_evaluation_shows_its_differences_from_the_baseline(chromium: Browser, runs: tuple[Path, Path]) -> None:
    path = runs[1] / "report.html"
    open_page(chromium, path)
    chromium.picture(PICTURES / "baseline.png")
    assert serious_faults(chromium) == []
    sentence = str(chromium.run("return document.querySelector('.sentence').textContent"))
    assert "The run is worse in " in sentence
    main = len(page_data(path)["metrics"])
    assert chromium.run("return document.querySelectorAll('#metrics > .scroll .whisker').length") == main
    data = page_data(path)
    lost = [card for card in data["cards"] if "lost" in card["whys"]]
    assert lost
    assert all(card["change"] < 0 for card in lost)
    # The verdict links them, sorted by how much they lost.
    chromium.run("document.querySelector('#verdict > p > a').click()")
    chromium.wait("return document.querySelector('#samples-filters').elements.why.value === 'lost'")
    moved = sorted(lost, key=lambda card: (card["change"], card["row"]))
    assert table_ids(chromium)[0] == data["samples"]["ids"][moved[0]["row"]]
    chromium.picture(PICTURES / "baseline-lost.png")


def test_inputs_that_are_gone_cost_the_records_alone(chromium: Browser, runs: tuple[Path, Path], folder: Path) -> None:
    moved = folder / "worse.jsonl"
    content = moved.read_bytes()
    moved.unlink()
    try:
        path = compared(*runs, folder / "without-records")
    finally:
        moved.write_bytes(content)
    open_page(chromium, path)
    assert "The inputs are not read" in chromium.run("return document.querySelector('#samples').textContent")
    assert chromium.run("return document.querySelectorAll('#viewer .drawing').length") == 0
    # What changed in words comes from the rows.
    assert chromium.run("return document.querySelector('#viewer .words').textContent").startswith("score: ")


def test_inputs_that_have_changed_are_not_read(runs: tuple[Path, Path], folder: Path) -> None:
    changed = folder / "worse.jsonl"
    content = changed.read_bytes()
    changed.write_bytes(content + b"\n")
    try:
        path = compared(*runs, folder / "changed-inputs")
    finally:
        changed.write_bytes(content)
    assert "have changed since that run" in path.read_text(encoding="utf-8")


def test_no_page_where_nobody_wants_one(runs: tuple[Path, Path], folder: Path) -> None:
    path = compared(*runs, folder / "no-page", "--no-html")
    assert not path.exists()
    assert (path.parent / "comparison.md").exists()


def test_hostile_text_in_a_comparison(chromium: Browser, runs: tuple[Path, Path], page: Path, folder: Path) -> None:
    document = json.loads((page.parent / "comparison.json").read_bytes())
    for side, text in (("baseline", HOSTILE[0]), ("candidate", HOSTILE[1])):
        document[side] = {"run": text, "system": HOSTILE[5]}
    found = next(iter(document["slices"].values()))
    document["slices"] = {f"{number}={text}": found for number, text in enumerate(HOSTILE)}
    document["differences"] = list(HOSTILE)
    document["slices_of_candidate_alone"] = list(HOSTILE)
    run = {**Run.read(str(runs[0])).provenance, "command": list(HOSTILE), "host": HOSTILE[1]}
    record = RecordText(HOSTILE[0])
    changed = []
    for number, text in enumerate(HOSTILE):
        shown = CardSide("scored", {"score": 0.5}, record, (text[:400],), f"<svg>{text[:400]}</svg>", text[:400])
        changed.append(Card(f"{number}{text}", 0, (text[:100],), (shown, shown), record, (text[:400],), -0.5))
    benchmark = Run.read(str(runs[0])).configuration.benchmark
    sources = ComparedRuns((run, run), ({}, {}), (60, 60), (None, None), HOSTILE)
    path = folder / "hostile-comparison.html"
    path.write_bytes(render([with_changed(build_comparison(document, benchmark, sources), document, changed)]))
    open_page(chromium, path)
    for _ in changed:
        press(chromium, "ArrowRight")
        assert chromium.run("return document.documentElement.scrollWidth") <= 1280
    unharmed(chromium)
    chromium.picture(PICTURES / "comparison-hostile.png")
    assert serious_faults(chromium) == []


def test_hostile_predictions_are_compared(chromium: Browser, folder: Path) -> None:
    truth, sides = folder / "odd_truth.jsonl", [folder / "odd_a.jsonl", folder / "odd_b.jsonl"]
    lines: list[dict[str, Any]] = [{"sample_id": f"{n}{text[:2000]}", "text": text} for n, text in enumerate(HOSTILE)]
    truth.write_text("".join(json.dumps({**line, "source": line["text"]}) + "\n" for line in lines), encoding="utf-8")
    sides[0].write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    sides[1].write_text("".join(json.dumps({**line, "text": "C"}) + "\n" for line in lines), encoding="utf-8")
    for number, side in enumerate(sides):
        command(
            *("evaluate", "configs/chemistry.yaml", "--ground-truth", str(truth), "--predictions", str(side)),
            *("--slice", "source", "--output", str(folder / f"odd-{number}"), "--quiet"),
        )
    path = compared(folder / "odd-0", folder / "odd-1", folder / "odd-compared")
    open_page(chromium, path)
    for _ in page_data(path)["cards"]:
        press(chromium, "ArrowRight")
        shows_all(chromium)
    unharmed(chromium)


def unharmed(chromium: Browser) -> None:
    """Nothing of the text has run."""
    assert chromium.problems() == []
    assert chromium.run("return window.harmed") is None
    assert (
        chromium.run("return document.querySelectorAll('img[onerror], svg[onload], a[href^=javascript]').length") == 0
    )
