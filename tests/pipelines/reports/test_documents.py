"""What the reports of the commands say: the same in every form, and each sample with its own records."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beamscore.pipelines.commands.messages import CRASHED
from beamscore.pipelines.reports import evaluation
from beamscore.pipelines.reports import render as rendering
from beamscore.pipelines.reports.against import page_link
from beamscore.pipelines.reports.document import Document, Link, Table, Word
from beamscore.pipelines.reports.samples import MAX_ROWS
from beamscore.pipelines.runs.numbers import fixed
from tests import toy
from tests.memory_files import ObjectStore
from tests.runs import Run, command, evaluate, write_lines

PROBLEM = "ValueError: <b>no page</b>"
TRUTHS = [toy.sample(index, 0)[0] for index in range(60)]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The pages that are made."""
    made: list[Document] = []
    render = rendering.render

    def keep(pages: Sequence[Document]) -> bytes:
        made.extend(pages)
        return render(pages)

    monkeypatch.setattr(rendering, "render", keep)
    return made


def wrong(count: int, text: object = "?") -> list[dict[str, Any]]:
    """Returns predictions of which the first ones have another text."""
    return [{**each, "text": text} for each in TRUTHS[:count]] + TRUTHS[count:]


def run(
    output: Path, truths: Sequence[dict[str, Any]], *more: str, code: int = 0, **systems: Sequence[dict[str, Any]]
) -> Run:
    """Evaluates the predictions of some systems."""
    toy.register()
    output.parent.mkdir(parents=True, exist_ok=True)
    files = {name: write_lines(output.with_suffix(f".{name}.jsonl"), records) for name, records in systems.items()}
    found = evaluate(output, write_lines(output.with_suffix(".t.jsonl"), truths), files, "--quiet", *more)
    assert found.code == code, found.stderr
    return found


def rows_of(page: Document, title: str) -> list[Any]:
    """Returns the rows of the tables of a title."""
    blocks = [block for section in page.sections for block in section.blocks]
    return [row for each in blocks if isinstance(each, Table) and each.title == title for row in each.rows]


def test_a_page_that_cannot_be_made_says_why_and_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ValueError("<b>no page</b>")

    monkeypatch.setattr("beamscore.pipelines.reports.render.render", broken)
    parts = [write_lines(tmp_path / f"{name}.jsonl", [{"sample_id": name, "text": "x"}]) for name in "ab"]
    first, other = (evaluate(tmp_path / f"run-{part.stem}", part, part, "--no-html").output for part in parts)
    found = evaluate(tmp_path / "report", parts[0], parts[0])
    assert "ValueError: &lt;b&gt;no page&lt;/b&gt;" in (found.output / "report.html").read_text()
    assert found.summary["systems"]["predictions"]["values"]["exact_match"] == 1
    said = [(found.code, found.stdout, found.stderr)]
    said.append(command("merge", first, other, "--output", tmp_path / "merged"))
    said.append(command("compare", first, first, "--output", tmp_path / "compared"))
    said.append(command("history", tmp_path))
    for name, (code, stdout, stderr) in zip(("report", "report", "comparison", "history"), said, strict=True):
        assert (code, stdout.rstrip().endswith(f"{name}.md")) == (CRASHED, True)
        assert f"beamscore: {name}.html could not be made: {PROBLEM}; {name}.md has the result\n" in stderr
    for path in ("report/run.json", "merged/run.json", "compared/comparison.json"):
        assert json.loads((tmp_path / path).read_bytes())["page_problem"] == PROBLEM
    # A gate that failed outranks it.
    other = write_lines(tmp_path / "c.jsonl", [{"sample_id": "a", "text": "y"}])
    failed = evaluate(tmp_path / "gated", parts[0], other, "--set", "gates.exact_match.minimum=1")
    assert (failed.code, "report.html could not be made" in failed.stderr) == (1, True)


def test_the_difference_of_two_systems_is_what_compare_finds(tmp_path: Path, pages: list[Document]) -> None:
    output = run(tmp_path / "out", TRUTHS, first=wrong(2), second=wrong(30)).output
    assert command("compare", f"{output}:first", f"{output}:second", "--output", tmp_path / "c", "--quiet")[0] == 0
    compared = json.loads((tmp_path / "c" / "comparison.json").read_bytes())["metrics"]
    found = {row[0].name: row[1:] for row in rows_of(pages[0], "Difference of the systems")}
    assert {"exact_match", "similarity"} <= found.keys()
    for name, (before, after, bar, _, detectable, _) in found.items():
        said, difference = compared[name], bar.measured
        assert (difference.value, [difference.low, difference.high]) == (said["difference"], said["interval"])
        assert (before.value, after.value, detectable) == (said["baseline"], said["candidate"], said["detectable"])
    # 28 of 60 samples are lost: 58/60 became 30/60.
    assert found["exact_match"][3] == Word("worse")
    # A sample of a system is drawn with its own prediction.
    files = [f"{tmp_path}/out.{name}.jsonl" for name in ("first", "second")]
    assert [[file in each for file in files] for each in pages[0].draw] == [[True, False], [False, True]]
    run(tmp_path / "three", TRUTHS, first=TRUTHS, second=wrong(2), third=wrong(3))
    assert rows_of(pages[2], "Difference of the systems") == []


JUDGED = [
    ({"a": TRUTHS}, "", 0, "not judged"),
    ({"a": wrong(40)}, "gates.exact_match.minimum=0.9", 1, "fail"),
    ({"a": wrong(30)}, "gates.exact_match.minimum=0.5", 4, "inconclusive"),
    ({"a": wrong(10)}, "gates.exact_match.minimum=0.5", 0, "pass"),
    # Nothing is scored of one of two systems; too many predictions are missing, or cannot be read.
    ({"a": TRUTHS, "b": [{"sample_id": "other", "text": ""}]}, "", 1, "fail"),
    ({"a": TRUTHS[10:]}, "max_missing_fraction=0.1", 1, "fail"),
    ({"a": wrong(10, 5)}, "", 1, "fail"),
]


@pytest.mark.parametrize(("systems", "setting", "code", "judgement"), JUDGED)
def test_report_history_and_exit_code_agree(
    tmp_path: Path, pages: list[Document], systems: Any, setting: str, code: int, judgement: str
) -> None:
    run(tmp_path / "runs" / "1", TRUTHS, *(["--set", setting] if setting else []), code=code, **systems)
    assert command("history", tmp_path / "runs")[0] == 0
    report, history = pages
    assert (report.verdict.judgement, history.verdict.judgement) == (judgement, judgement)
    if not setting.startswith("gates"):
        assert {each.text for each in report.verdict.reasons} <= {each.text for each in history.verdict.reasons}
        assert (report.verdict.reasons != ()) == (judgement == "fail")


@pytest.mark.parametrize(
    ("count", "lost", "word"),
    [
        (60, 0, "identical"),
        # Of five samples that moved the same way, the interval leaves zero out, and no swap test can be significant.
        (60, 5, "too few differ"),
        (5, 5, "too few differ"),
        (1, 1, "too few differ"),
        (60, 6, "worse"),
        (60, 30, "worse"),
    ],
)
def test_headlines_and_tables_of_all_reports_agree(
    tmp_path: Path, pages: list[Document], count: int, lost: int, word: str
) -> None:
    runs = tmp_path / "runs"
    truths, after = TRUTHS[:count], [{**each, "text": each["text"] + "?" * 99} for each in TRUTHS[:lost]]
    run(runs / "1", truths, a=truths)
    run(runs / "2", truths, "--slice", "kind", "--baseline", str(runs / "1"), a=after + truths[lost:])
    _, stdout, _ = command("compare", runs / "1", runs / "2", "--output", tmp_path / "c")
    assert command("history", runs)[0] == 0
    titles = ("Differences from the baseline", MAIN_OF_BOTH, "Metrics of a tonight")
    judgement = "no difference shown" if word == "too few differ" else word
    for page, title in zip(pages[1:], titles, strict=True):
        assert (page.verdict.judgement, [each.name for each in page.differences]) == (judgement, NAMES)
        assert {each.difference.verdict for each in page.differences} == {word}
        cells = [
            part
            for row in rows_of(page, title)
            for cell in row
            for part in (cell if isinstance(cell, tuple) else [cell])
        ]
        assert [each.text for each in cells if isinstance(each, Word) and each.text != "–"] == [word] * 2
        assert ("worse in 2 of 2 main metrics" in page.verdict.sentence) == (word == "worse")
        assert ("; too few samples differ in exact_match, similarity." in page.verdict.sentence) == (
            word == "too few differ"
        )
    assert (stdout.count(f"│ {word} "), f"\n{judgement.upper()}: " in stdout) == (2, True)
    assert ("too few differ" in stdout) == (0 < lost <= 5)
    # The lead metric has the word of its row in the headline.
    verb = {"worse": "fell", "too few differ": "went", "identical": "is"}[word]
    assert all(f"exact_match {verb} " in page.verdict.sentence for page in pages[1:])


NAMES = ["exact_match", "similarity"]
MAIN_OF_BOTH = "Main metrics of both runs and their difference"


ALIKE = ["x" * 300 + "a", "x" * 300 + "b", "a b", "a  b", "a\nb", " a b", "a\tb ", "<U+202E>", "\u202e"]
"""Ids of which several are shown alike: cut at 200 characters, with blanks collapsed, or made visible."""


@pytest.mark.parametrize("limit", [MAX_ROWS, 1])
def test_each_row_has_the_records_of_its_own_sample(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """The text is as long as no other, and its similarity to an empty one is 1 / (1 + length)."""
    monkeypatch.setattr(evaluation, "MAX_ROWS", limit)
    lengths = {name: [first + number for number in range(len(ALIKE))] for name, first in (("one", 1), ("two", 20))}
    systems = {
        name: write_lines(
            tmp_path / f"{name}.jsonl",
            [{"sample_id": each, "text": "y" * length} for each, length in zip(ALIKE, of, strict=True)],
        )
        for name, of in lengths.items()
    }
    truth = write_lines(tmp_path / "t.jsonl", [{"sample_id": each, "text": ""} for each in ALIKE])
    evaluate(tmp_path / "out", truth, systems, "--quiet")
    samples, found = pages[0].samples, set()
    assert samples is not None
    for card in pages[0].cards:
        (side,), metric = card.sides, samples.metrics["similarity"][card.row]
        assert (samples.systems[card.row], side.metrics["similarity"]) == (card.system, metric)
        found.add((pages[0].systems[card.system], side.prediction, metric))
    expected = {(name, f"text: {'y' * n}", round(1 / (1 + n), 4)) for name, of in lengths.items() for n in of}
    assert found == expected


def test_the_page_of_equal_large_runs_has_equal_data(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the rows are in another order, and in files with other names."""
    monkeypatch.setattr(evaluation, "MAX_ROWS", 100)
    truths = [{"sample_id": f"s{number}", "text": "x" * (number % 7), "part": number % 3} for number in range(400)]
    truth = write_lines(tmp_path / "t.jsonl", truths)
    predictions = write_lines(tmp_path / "p.jsonl", [{**each, "text": "xx"} for each in truths])
    for name, bytes_per_bucket in (("a", 64 << 10), ("b", 300)):
        monkeypatch.setattr("beamscore.transforms.blocks.BYTES_PER_SMALL_BUCKET", bytes_per_bucket)
        evaluate(tmp_path / name, truth, predictions, "--quiet")
    assert {msgspec.json.encode(page.data()) for page in pages} == {msgspec.json.encode(pages[0].data())}
    assert pages[0].distributions == pages[1].distributions == ()
    assert pages[0].samples is not None
    assert (pages[0].samples.total, len(pages[0].samples.ids) < 400) == (400, True)


def test_counts_reasons_and_neighbors_lead_to_samples_and_pages(tmp_path: Path, pages: list[Document]) -> None:
    truths = [{"sample_id": f"s{n}", "text": "x" * 9, "part": f"p{int(n >= 40)}"} for n in range(80)]
    truth = write_lines(tmp_path / "t.jsonl", truths)
    bad = [{**each, "text": "?" if n < 40 else each["text"]} for n, each in enumerate(truths)]
    odd: list[Any] = [{"sample_id": "s79", "text": 5}, {"sample_id": "nobody", "text": ""}]
    after = write_lines(tmp_path / "p.jsonl", [*bad[:79], *odd])
    before, night = tmp_path / "runs" / "1", tmp_path / "runs" / "2"
    evaluate(before, truth, truth, "--quiet", "--slice", "part")
    allowed = ("--set", "max_rejected_fraction=1", "--baseline", str(before))
    evaluate(night, truth, after, "--quiet", "--slice", "part", *allowed)
    assert command("history", tmp_path / "runs")[0] == 0
    _, report, history = pages
    causes = rows_of(report, "Quarantined records by cause")
    found = {row[3]: [(each.text, report.address(each)) for each in (row[0], row[4][0])] for row in causes}
    invalid, unmatched = found["invalid"], found["unmatched"]
    assert invalid[0] == (1, "#samples?status=missing_prediction")
    assert invalid[1][1] == "#samples?id=s79"
    # Nobody has a sample of this id.
    assert [address for _, address in unmatched] == [None, None]
    ((_, read, truths_of, _, predictions_of),) = rows_of(report, "Records of each side")
    assert (read, truths_of.counts["missing_prediction"], truths_of.system, predictions_of.system) == (80, 1, 0, None)
    assert report.verdict.judgement == history.verdict.judgement == "worse"
    assert [report.address(each) for each in report.verdict.reasons] == ["#samples?why=lost"]
    assert [report.address(each) for each in report.verdict.lost] == ["#samples?slice.part=p0"]
    assert [history.address(each) for each in history.verdict.lost] == ["./2/report.html#samples?slice.part=p0"]
    known = {name: link.address for page in (report, history) for name, link in page.header if isinstance(link, Link)}
    pages_of = {"baseline": "./../1/report.html", "tonight": "./2/report.html", "last night": "./1/report.html"}
    assert known == pages_of


NUMBER = re.compile(r"\d+\.\d{4,}")


def numbers_of(value: Any) -> Iterator[str]:
    """Yields all numbers with four decimals at least that a document holds, in its texts too."""
    if isinstance(value, (str, float)):
        yield from NUMBER.findall(value if isinstance(value, str) else fixed(value))
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(each)


def test_every_number_of_a_page_and_of_markdown_comes_from_the_same_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[Sequence[Document], str]] = []

    def keep(name: str) -> None:
        write = getattr(rendering, name)

        def kept(documents: Sequence[Document]) -> Any:
            found = write(documents)
            text = found if isinstance(found, str) else found.decode()
            made.append((documents, html.unescape(re.sub(r"(?s)<(script|style).*?</\1>|<[^>]*>", " ", text))))
            return found

        monkeypatch.setattr(rendering, name, kept)

    keep("render_markdown")
    keep("render")
    one, other = tmp_path / "runs" / "1", tmp_path / "runs" / "2"
    run(one, TRUTHS, "--slice", "kind", a=TRUTHS)
    run(other, TRUTHS, "--slice", "kind", "--baseline", str(one), a=wrong(25))
    assert command("compare", one, other, "--output", tmp_path / "c", "--quiet")[0] == 0
    assert command("history", tmp_path / "runs")[0] == 0
    assert [documents[0].kind for documents, _ in made] == ["evaluation"] * 4 + ["comparison"] * 2 + ["history"] * 2
    for documents, text in made:
        known = {number for each in documents for number in numbers_of(msgspec.to_builtins(each))}
        shown = set(NUMBER.findall(text))
        assert len(shown) > 2
        assert shown <= known | {f"{float(number):,.4f}" for number in known}
    for markdown, page in zip(made[::2], made[1::2], strict=True):
        said = [(each.verdict, each.metrics, each.differences, each.slices) for each in (markdown[0][0], page[0][0])]
        assert said[0] == said[1]


@pytest.mark.parametrize(
    ("run", "name"),
    [("deep/er", "deep/er"), ("javascript:alert(1)", "javascript%3Aalert%281%29"), ('a"b c#d?e', "a%22b%20c%23d%3Fe")],
)
def test_links_of_runs_are_relative_and_never_scripts(tmp_path: Path, run: str, name: str) -> None:
    folder, output = str(tmp_path / "runs"), str(tmp_path / "out")
    assert page_link(folder, output, run) is None
    (tmp_path / "runs" / run).mkdir(parents=True)
    (tmp_path / "runs" / run / "report.html").write_text("")
    assert page_link(folder, output, run) == f"./../runs/{name}/report.html"
    # A store links within itself alone.
    assert ObjectStore.scheme() == "mem"
    assert page_link("mem://b/runs", "mem://b/runs", run) == f"./{name}/report.html"
    assert page_link("mem://b/runs", output, run) is None
