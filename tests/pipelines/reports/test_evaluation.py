"""A result is published whatever becomes of its page, and a page shows each sample with its own records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from beamscore.pipelines.commands.messages import CRASHED
from beamscore.pipelines.reports import evaluation
from beamscore.pipelines.reports.document import Document, Link
from beamscore.pipelines.reports.samples import MAX_ROWS
from tests.pipelines.reports.conftest import tables_of
from tests.runs import Run, command, evaluate, write_lines

PROBLEM = "ValueError: <b>no page</b>"


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise ValueError("<b>no page</b>")

    monkeypatch.setattr("beamscore.pipelines.reports.render.render", broken)


@pytest.mark.usefixtures("no_page")
def test_a_page_that_cannot_be_made_says_why_and_loses_no_result(tmp_path: Path) -> None:
    records = write_lines(tmp_path / "records.jsonl", [{"sample_id": "a", "text": "x"}])
    run = evaluate(tmp_path / "out", records, records)
    assert run.code == CRASHED
    assert run.summary["systems"]["predictions"]["values"]["exact_match"] == 1
    page = (run.output / "report.html").read_text()
    assert "ValueError: &lt;b&gt;no page&lt;/b&gt;" in page
    assert json.loads((run.output / "run.json").read_bytes())["page_problem"] == PROBLEM
    assert run.stderr.endswith(f"beamscore: report.html could not be made: {PROBLEM}; report.md has the result\n")
    assert run.stdout.endswith(f"report: {run.output}/report.md\n")
    # A gate that failed outranks it, and a run without a page has no such problem.
    others = write_lines(tmp_path / "others.jsonl", [{"sample_id": "a", "text": "xyz"}])
    failed = evaluate(tmp_path / "gated", records, others, "--set", "gates.exact_match.minimum=1")
    assert failed.code == 1
    assert "report.html could not be made" in failed.stderr
    assert evaluate(tmp_path / "plain", records, records, "--no-html").code == 0


@pytest.mark.usefixtures("no_page")
def test_the_other_pages_say_so_too(tmp_path: Path) -> None:
    parts = [write_lines(tmp_path / f"{name}.jsonl", [{"sample_id": name, "text": "x"}]) for name in "ab"]
    runs = [evaluate(tmp_path / f"run-{part.stem}", part, part, "--no-html").output for part in parts]
    commands: list[tuple[str, list[str | Path]]] = [
        ("report", ["merge", *runs, "--output", tmp_path / "merged"]),
        ("comparison", ["compare", runs[0], runs[0], "--output", tmp_path / "compared"]),
        ("history", ["history", tmp_path]),
    ]
    for name, arguments in commands:
        code, stdout, stderr = command(*arguments)
        assert code == CRASHED
        assert f"beamscore: {name}.html could not be made: {PROBLEM}; {name}.md has the result\n" in stderr
        assert stdout.rstrip().endswith(f"{name}.md")
    assert json.loads((tmp_path / "merged" / "run.json").read_bytes())["page_problem"] == PROBLEM
    assert json.loads((tmp_path / "compared" / "comparison.json").read_bytes())["page_problem"] == PROBLEM


ALIKE = ["x" * 300 + "a", "x" * 300 + "b", "a b", "a  b", "a\nb", " a b", "a\tb ", "<U+202E>", "\u202e"]
"""Ids of which several are shown alike: cut at 200 characters, with blanks collapsed, or made visible."""


def rows_with_cards(page: Document) -> set[tuple[str, str, float]]:
    """Returns of each card the system and text of its prediction, and a metric of its row."""
    samples = page.samples
    assert samples is not None
    found = set()
    for card in page.cards:
        assert samples.systems[card.row] == card.system
        assert card.sides[0].prediction is not None
        metric = samples.metrics["similarity"][card.row]
        assert metric is not None
        assert card.sides[0].metrics["similarity"] == metric
        found.add((page.systems[card.system], card.sides[0].prediction.text, metric))
    return found


@pytest.mark.parametrize("limit", [MAX_ROWS, 1])
def test_each_row_has_the_records_of_its_own_sample(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(evaluation, "MAX_ROWS", limit)
    truths: list[Any] = [{"sample_id": each, "text": ""} for each in ALIKE]
    systems = {}
    for name, first in (("one", 1), ("two", 20)):
        records = [{"sample_id": each, "text": "y" * (first + number)} for number, each in enumerate(ALIKE)]
        systems[name] = write_lines(tmp_path / f"{name}.jsonl", records)
    evaluate(tmp_path / "out", write_lines(tmp_path / "t.jsonl", truths), systems, "--quiet")
    # The text is as long as no other, and its similarity to an empty one is 1 / (1 + length).
    expected = {
        (name, f"text: {'y' * (first + number)}", round(1 / (1 + first + number), 4))
        for name, first in (("one", 1), ("two", 20))
        for number in range(len(ALIKE))
    }
    assert rows_with_cards(pages[0]) == expected


def run_of(tmp_path: Path, name: str) -> Run:
    truths = [{"sample_id": f"s{number}", "text": "x" * (number % 7), "part": number % 3} for number in range(400)]
    predictions = [{"sample_id": each["sample_id"], "text": "xx"} for each in truths]
    files = write_lines(tmp_path / f"{name}-t.jsonl", truths), write_lines(tmp_path / f"{name}-p.jsonl", predictions)
    return evaluate(tmp_path / name, files[0], files[1], "--quiet")


def test_the_page_of_equal_large_runs_has_equal_data(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the rows are in another order, and in files with other names."""
    monkeypatch.setattr(evaluation, "MAX_ROWS", 100)
    for name, bytes_per_bucket in (("a", 64 << 10), ("b", 1000), ("c", 300)):
        monkeypatch.setattr("beamscore.transforms.blocks.BYTES_PER_SMALL_BUCKET", bytes_per_bucket)
        run_of(tmp_path, name)
    first, second, third = (({**page.data(), "draw": ""}, page.distributions) for page in pages)
    assert first == second == third
    counted = sum(map(sum, pages[0].distributions[0].counts))
    # 400 rows, each with a chance of a quarter: 100, give or take 4 standard deviations of 8.7.
    assert 65 < counted < 135
    assert pages[0].distributions_note == f"Of {counted} of the 400 rows, chosen by a hash of their sample_id."


def test_counts_of_the_quarantine_and_reasons_of_the_verdict_lead_to_samples(
    tmp_path: Path, pages: list[Document]
) -> None:
    """In the report to its own samples, in the history to those of the report of tonight."""
    truths = [{"sample_id": f"s{number}", "text": "xyz", "part": f"p{number % 2}"} for number in range(80)]
    truth = write_lines(tmp_path / "t.jsonl", truths)
    # Of the first part all is lost, and one prediction cannot be read.
    bad = [{**each, "text": "?"} if each["part"] == "p0" else each for each in truths]
    after = write_lines(tmp_path / "p.jsonl", [*bad[:79], {"sample_id": "s79", "text": 5}])
    before, night = tmp_path / "runs" / "1", tmp_path / "runs" / "2"
    assert evaluate(before, truth, truth, "--quiet", "--slice", "part").code == 0
    allowed = ("--set", "max_rejected_fraction=1", "--baseline", str(before))
    assert evaluate(night, truth, after, "--quiet", "--slice", "part", *allowed).code == 0
    assert command("history", tmp_path / "runs")[0] == 0
    _, report, history = pages
    ((*cells, examples),) = next(table.rows for table in tables_of(report) if table.title.startswith("Quarantined"))
    count: Any = cells[0]
    example: Any = examples[0] if isinstance(examples, tuple) else None
    assert (count.text, report.address(count)) == (1, "#samples?status=missing_prediction")
    assert report.address(example) == "#samples?id=s79"
    assert report.verdict.judgement == history.verdict.judgement == "worse"
    (reason,) = report.verdict.reasons
    assert report.address(reason) == "#samples?why=lost"
    assert [report.address(lost) for lost in report.verdict.lost] == ["#samples?slice.part=p0"]
    assert [history.address(lost) for lost in history.verdict.lost] == ["./2/report.html#samples?slice.part=p0"]
    known = {name: link.address for page in (report, history) for name, link in page.header if isinstance(link, Link)}
    pages_of = {"baseline": "./../1/report.html", "tonight": "./2/report.html", "last night": "./1/report.html"}
    assert known == pages_of
