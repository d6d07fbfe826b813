"""What the reports of the commands say: the same in every form, and each sample with its own records."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import msgspec
import pytest

import beamscore
from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.commands.messages import CRASHED
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.reports import comparison as comparing, evaluation, render as rendering
from beamscore.pipelines.reports.against import BaselineDiff, against_baseline, page_link, run_differences
from beamscore.pipelines.reports.document import Card, Document, Metric, More, Table, Text, Word
from beamscore.pipelines.reports.samples import MAX_ROWS
from beamscore.pipelines.runs.run import Run as StoredRun
from beamscore.transforms.records import InputProblem
from tests import toy
from tests.finished_runs import SYSTEM, row, write_run
from tests.memory_files import ObjectStore
from tests.runs import Record, Run, command, evaluate, evaluate_records, write_lines, wrong

PROBLEM = "ValueError: <b>no page</b>"
TRUTHS = [toy.sample(index, 0)[0] for index in range(60)]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """The first document of each page that is written."""
    documents, render = list[Document](), rendering.render

    def kept(rendered: Sequence[Document]) -> bytes:
        documents.append(rendered[0])
        return render(rendered)

    monkeypatch.setattr(rendering, "render", kept)
    return documents


def run(output: Path, truths: Sequence[Record], *more: str, code: int = 0, **systems: Sequence[Record]) -> Run:
    """Evaluates the predictions of some systems."""
    result = evaluate_records(output, truths, systems, "--quiet", *more)
    assert result.code == code, result.stderr
    return result


def test_a_page_that_cannot_be_made_says_why_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "render", Mock(side_effect=ValueError("<b>no page</b>")))
    parts = [write_lines(tmp_path / f"{name}.jsonl", [{"sample_id": name, "text": "x"}]) for name in "ab"]
    first, other = (evaluate(tmp_path / f"run-{part.stem}", part, part, "--no-html").output for part in parts)
    report = evaluate(tmp_path / "report", parts[0], parts[0])
    assert "ValueError: &lt;b&gt;no page&lt;/b&gt;" in (report.output / "report.html").read_text()
    assert report.summary["systems"]["predictions"]["values"]["exact_match"] == 1
    said = [(report.code, report.stdout, report.stderr)]
    said.append(command("merge", first, other, "--output", tmp_path / "merged"))
    said.append(command("compare", first, first, "--output", tmp_path / "compared"))
    said.append(command("history", tmp_path))
    for name, (code, stdout, stderr) in zip(("report", "report", "comparison", "history"), said, strict=True):
        assert (code, stdout.rstrip().endswith(f"{name}.md")) == (CRASHED, True)
        assert f"beamscore: {name}.html could not be made: {PROBLEM}; {name}.md has the result\n" in stderr
    for path in ("report/run.json", "merged/run.json", "compared/comparison.json"):
        assert json.loads((tmp_path / path).read_bytes())["page_problem"] == PROBLEM
    # A gate that failed outranks it.
    failed = evaluate(tmp_path / "gated", parts[0], parts[1], "--set", "gates.exact_match.minimum=1")
    assert (failed.code, "report.html could not be made" in failed.stderr) == (1, True)


def test_a_baseline_that_goes_meanwhile_costs_its_changes_alone() -> None:
    for problem in ({"side_effect": UsageError("gone")}, {"return_value.read.side_effect": InputProblem("gone")}):
        assert evaluation._changes(MagicMock(), MagicMock(), Mock(earlier_rows=Mock(**problem))) == []


CHANGE = Metric("change since", is_change=True)
MISSING, ALL, OF_SLICE = "?status=missing_prediction", "?", "?slice.kind=7"
JUDGED: list[Any] = [
    ({"a": TRUTHS}, "", 0, "not judged", []),
    ({"a": wrong(TRUTHS, 40)}, "gates.exact_match.minimum=0.9", 1, "fail", [ALL]),
    ({"a": wrong(TRUTHS, 30)}, "gates.exact_match.minimum=0.5", 4, "inconclusive", [ALL]),
    ({"a": wrong(TRUTHS, 10)}, "gates.exact_match.minimum=0.5", 0, "pass", []),
    # Also gates on a slice or on what the run lacks, but for those that change no exit code.
    ({"a": TRUTHS}, 'gates={"exact_match @ kind=0": {minimum: 0.5}}', 0, "pass", []),
    ({"a": TRUTHS}, 'gates={"exact_match @ kind=7": {minimum: 0.9}}', 1, "invalid", [OF_SLICE]),
    ({"a": TRUTHS}, 'gates={"exact_match @ kind=7": {minimum: 0.9, tier: advisory}}', 0, "pass", [OF_SLICE]),
    # Nothing is scored of one of two systems; too many predictions are missing, or cannot be read.
    ({"a": TRUTHS, "b": [{"sample_id": "other", "text": ""}]}, "", 1, "fail", [f"{ALL}system=b"]),
    ({"a": TRUTHS[10:]}, "max_missing_fraction=0.1", 1, "fail", [MISSING]),
    ({"a": wrong(TRUTHS, 10, 5)}, "", 1, "fail", [MISSING]),
]


@pytest.mark.parametrize(("systems", "setting", "code", "judgement", "links"), JUDGED)
def test_report_history_and_exit_code_agree(
    tmp_path: Path, pages: list[Document], systems: Any, setting: str, code: int, judgement: str, links: list[str]
) -> None:
    """Each reason why a run fails links to its samples. A folder named as the rows of a run holds runs."""
    more = ["--slice", "kind", *(["--set", setting] if setting else [])]
    run(tmp_path / "runs" / "samples" / "1", TRUTHS, *more, code=code, **systems)
    assert command("history", tmp_path / "runs")[0] == 0
    report, history = pages
    assert (report.verdict.judgement, history.verdict.judgement) == (judgement, judgement)
    assert [report.address(each) for each in report.verdict.reasons] == [f"#samples{link}" for link in links]
    assert "a has exact_match " in history.verdict.sentence
    # All samples are those of all systems; none has this status or this slice.
    asked: list[dict[str, str]] = [{}, {"status": "rejected"}, {"slice.page": "a"}]
    assert [report.link(each) for each in asked] == ["#samples?", None, None]
    # What one system lost is nothing of another one.
    assert report.samples is not None
    fell = {CHANGE.name: [each - 1 for each in report.samples.systems]}
    rows = {"samples": msgspec.structs.replace(report.samples, metrics=fell)}
    for found in ({"cards": (Card("s", 0, ("lost",), ()),)}, {**rows, "sample_metrics": (CHANGE,)}):
        lost = msgspec.structs.replace(report, **found)
        order = f"sort={'change' if 'cards' in found else 'change+since'}"
        assert [str(lost.link({"why": "lost"}, each)).endswith(order) for each in (None, 0, 1)] == [True, True, False]
    told = [history.address(each) for each in history.verdict.reasons]
    assert {f"./samples/1/report.html#samples{link}" for link in links if link != OF_SLICE} <= set(told)
    if not setting.startswith("gates"):
        assert {each.text for each in report.verdict.reasons} <= {each.text for each in history.verdict.reasons}


COMPARED: list[Any] = [
    (60, 0, 0, "identical", "is equal in 2 main metrics", "is equal in 2 main metrics"),
    # Of five samples that moved the same way, the interval leaves zero out, and no swap test can be significant.
    (60, 5, 0, "too few differ", "too few samples differ in exact_match, similarity", "; too few samples differ in"),
    (1, 1, 0, "no difference shown", "No difference is shown in 2 main metrics", "2 main metrics. No slice is better"),
    (60, 2, 0, "no difference shown", "No difference is shown in 2 main metrics", "2 main metrics. "),
    (60, 9, 2, "worse", "worse in 2 of 2 main metrics", "The test of all metrics and slices at once does not "),
    (60, 10, 0, "worse", "worse in 2 of 2 main metrics", "slices at once confirms exact_match, similarity. "),
]
VERBS = {"worse": "fell", "too few differ": "went", "no difference shown": "went", "identical": "is"}
TITLES = (
    "Differences from the baseline", "Main metrics of both runs and their difference", "Metrics of a in the latest run",
)  # fmt: skip


@pytest.mark.parametrize(("count", "lost", "won", "word", "sentence", "corrected"), COMPARED)
def test_headlines_and_tables_of_all_reports_agree(
    tmp_path: Path, pages: list[Document], count: int, lost: int, won: int, word: str, sentence: str, corrected: str
) -> None:
    runs, truths = tmp_path / "runs", TRUTHS[:count]
    before = [*truths[: count - won], *wrong(truths[count - won :], won, "?" * 99)]
    first = run(runs / "1", truths, "--slice", "kind", a=before).output
    more = ("--slice", "kind", "--baseline", str(first))
    after = [*({**each, "text": each["text"] + "?" * 99} for each in truths[:lost]), *truths[lost:]]
    run(runs / "2", truths, *more, a=after)
    listing = pages[-1].more["why=lost"].command.split()[1:-1]
    assert listing == ["compare", f"{first}:a", f"{runs}/2:a", "--output"]
    _, stdout, _ = command(*listing, tmp_path / "c")
    assert command("history", runs)[0] == 0
    judgement = "no difference shown" if word == "too few differ" else word
    _, report, comparison, history = pages
    for page, title in zip((report, comparison, history), TITLES, strict=True):
        assert (page.verdict.judgement, {each.difference.verdict for each in page.differences}) == (judgement, {word})
        blocks = [block for section in page.sections for block in section.blocks]
        rows = [row for each in blocks if isinstance(each, Table) and each.title == title for row in each.rows]
        cells = [cell if isinstance(cell, tuple) else [cell] for row in rows for cell in row]
        words = [part.text for cell in cells for part in cell if isinstance(part, Word) and part.text != "–"]
        assert words == [word] * 2
        assert f"exact_match {VERBS[word]} " in page.verdict.sentence
        assert sentence in page.verdict.sentence
    # The second run may have another baseline than the night before.
    assert {history.address(each) for each in history.verdict.reasons} <= {"./2/report.html#samples?"}
    assert corrected in comparison.verdict.sentence
    # 5 of 30 samples of a slice are 2.45 standard errors, less than the 2.66 of four tests at once.
    of_slices = {each.verdict for slice_ in report.slices for each in slice_.differences}
    assert of_slices <= {"identical", "no difference shown"} or count < 60
    assert (stdout.count(f"│ {word} "), f"\n{judgement.upper()}: " in stdout) == (2, True)
    assert lost or "too few differ" not in stdout
    signature = json.loads((tmp_path / "c" / "comparison.json").read_bytes())["signature"]
    assert f"\nSamples paired: {count} compared\nsignature: {signature}\n" in stdout
    # Without a page, and without the rows of the baseline where the sums imply it, the report says the same.
    written = (runs / "2" / "report.md").read_text()
    assert f"read, paired and scored: {count} sample{'s' * (count > 1)}.\n" in written
    shown = (runs / "2" / "report.html").read_text()
    assert f">Samples {'that lost' if lost else 'to look at'}, the worst first</a>" in shown
    assert f"{count} row{'s' * (count > 1)}, the worst first." in shown
    # This benchmark has no drawings.
    assert (report.draw, "beamscore draw" in (tmp_path / "c" / "comparison.md").read_text()) == ((), False)
    for path in (first / ".runs").glob("*/samples/*") if count <= 5 else ():
        path.unlink()
    without = run(runs / "2", truths, *more, "--no-html", a=after).report
    assert without.splitlines()[:12] == written.splitlines()[:12]


def test_a_gain_is_mixed_in_all_reports_if_a_metric_is_no_longer_measured(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The similarity is not measured where all texts are equal."""
    measured = toy.ToyBenchmark.values

    def values(self: toy.ToyBenchmark, sums: Sums) -> dict[str, float | None]:
        return measured(self, sums) | ({"similarity": None} if sums["equal"] == sums["samples"] else {})

    monkeypatch.setattr(toy.ToyBenchmark, "values", values)
    first = run(tmp_path / "runs" / "1", TRUTHS, a=wrong(TRUTHS, 10)).output
    second = run(tmp_path / "runs" / "2", TRUTHS, f"--baseline={first}", a=TRUTHS).output
    command("compare", first, second, "--output", tmp_path / "c")
    command("history", first.parent)
    _, report, compared, history = (page.verdict for page in pages)
    for each in (report, compared, history, beamscore.compare(first, second)):
        assert each.judgement == "mixed"
        assert " is better in 1 of 1 main metric; no longer measured: similarity." in each.sentence


def test_each_colour_of_a_page_is_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of more systems than there are colours for. Without a metric to rank by, they share no places."""
    monkeypatch.setattr(toy.ToyBenchmark, "ranking_metrics", list)
    systems: dict[str, Any] = {f"s{number}": TRUTHS for number in range(8)}
    page = (run(tmp_path / "out", TRUTHS, **systems).output / "report.html").read_text()
    used = re.findall(r"var\((--[\w-]+)\)", page)
    assert set(used) <= set(re.findall(r"(--[\w-]+):", page))
    assert {f"--system-{number}" for number in range(6)} <= set(used)
    assert "shares the place" not in page


ALIKE = ["x" * 300 + "a", "x" * 300 + "b", "a b", "a  b", "a\nb", " a b", "a\tb ", "<U+202E>", "\u202e"]
"""Ids that differ in little, of which the first two are shown alike: cut at 200 characters."""


@pytest.mark.parametrize("limit", [MAX_ROWS, 1])
def test_each_row_has_the_records_of_its_own_sample(
    tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """The text is as long as no other, and its similarity to an empty one is 1 / (1 + length)."""
    monkeypatch.setattr(evaluation, "MAX_ROWS", limit)
    lengths = {name: range(first, first + len(ALIKE)) for name, first in (("one", 1), ("two", 20))}
    systems: dict[str, Any] = {
        name: [{"sample_id": each, "text": "y" * length} for each, length in zip(ALIKE, of, strict=True)]
        for name, of in lengths.items()
    }
    truths = [{"sample_id": each, "text": "", "größe": 1} for each in ALIKE]
    config = run(tmp_path / "out", truths, "--slice", "größe", **systems).summary["config"]
    (page,), found = pages, set()
    samples = page.samples
    assert samples is not None
    for card in page.cards:
        (side,), metric = card.sides, samples.metrics["similarity"][card.row]
        assert (samples.systems[card.row], side.metrics["similarity"]) == (card.system, metric)
        found.add((page.systems[card.system], side.prediction, metric))
    assert found == {
        (name, f"text: {'y' * n}", round(1 / (1 + n), 4)) for name, of in lengths.items() for n in of
    }  # fmt: skip
    # Its last block is the whole configuration.
    shown = page.sections[-1].blocks[-1]
    assert isinstance(shown, Text)
    assert shown.text == json.dumps(config, indent=1, ensure_ascii=False)


def test_equal_runs_have_equal_pages(tmp_path: Path, pages: list[Document], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the rows are in another order, and in files with other names."""
    monkeypatch.setattr(evaluation, "MAX_ROWS", 100)
    truths = [{"sample_id": f"s{number}", "text": "x" * (number % 7), "part": number % 3} for number in range(400)]
    truth = write_lines(tmp_path / "t.jsonl", truths)
    predictions = write_lines(tmp_path / "p.jsonl", [{**each, "text": "xx"} for each in truths])
    for name, bytes_per_bucket in (("a", 64 << 10), ("b", 300)):
        monkeypatch.setattr("beamscore.transforms.blocks.BYTES_PER_SMALL_BUCKET", bytes_per_bucket)
        evaluate(tmp_path / name, truth, predictions, "--quiet")
    first, second = pages
    samples = first.samples
    assert msgspec.json.encode({**first.data(), "more": 0}) == msgspec.json.encode({**second.data(), "more": 0})
    assert first.distributions == second.distributions
    assert samples is not None
    assert (samples.total, len(samples.ids) < 400) == (400, True)
    assert re.fullmatch(r"Of \d+ of the 400 rows, chosen by a hash of their sample_id.", first.distributions_note)
    assert first.more["status=scored"] == More("", 400)


@pytest.mark.parametrize(
    ("name", "address"),
    [("deep/er", "deep/er"), ("javascript:alert(1)", "javascript%3Aalert%281%29"), ('a"b c#d?e', "a%22b%20c%23d%3Fe")],
)
def test_links_of_runs_are_relative_and_never_scripts(tmp_path: Path, name: str, address: str) -> None:
    folder, output = str(tmp_path / "runs"), str(tmp_path / "out")
    assert page_link(folder, output, name) is None
    (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / name / "report.html").write_text("")
    assert page_link(folder, output, name) == f"./../runs/{address}/report.html"
    # A store links within itself alone.
    assert ObjectStore.scheme() == "mem"
    assert page_link("mem://b/runs", "mem://b/runs", name) == f"./{address}/report.html"
    assert page_link("mem://b/runs", output, name) is None


def test_the_command_that_draws_has_the_options_of_the_run_if_it_tells_them() -> None:
    """Nothing that begins with a hyphen is taken for an option, also in the command that compares."""
    coverage: dict[str, Any] = {"coverage": {"ground_truth": {}}}
    summary = {"config": {"ground_truth": ["-t"], "predictions": {"-a": ["p"]}}, "systems": {"-a": coverage}}
    lost, _ = evaluation._more(summary, {"-a": "-b:-a"}, "-r")
    assert lost == ("why=lost", More("beamscore compare ./-b:-a ./-r:-a --output compared"))
    compared = {"candidate": {"run": "-r", "system": "-a"}, "changes": {"metrics": {"m": {"worse": 1}}}}
    listing = More("beamscore select ./-r:-a --samples c --output changed.jsonl", 1)
    assert list(comparing._more(compared, "m", "c")) == [("why=lost", listing)]
    line = "beamscore evaluate c.yaml --set x=1 --set=y=2"
    drawn = "beamscore draw c.yaml --set=x=1 --set=y=2 --ground-truth=-t --predictions=-a=p"
    assert list(evaluation._draw_commands(summary, {"command": line.split()})) == [drawn]
    for line in ("beamscore evaluate --set x=1", "beamscore merge one two", "beamscore.Evaluate"):
        assert list(evaluation._draw_commands(summary, {"command": line.split()})) == ["beamscore draw CONFIG"]


def test_a_baseline_that_another_run_has_replaced_is_not_compared(tmp_path: Path) -> None:
    one, other = (StoredRun.read(str(write_run(tmp_path / name, [row("s", 1.0)])), sums=True) for name in "ab")
    assert against_baseline(one, other).note.startswith(f"This run minus the baseline {tmp_path}/b, ")
    replaced = against_baseline(one, replace(other, provenance={"run_id": "earlier"}))
    said = f"Not compared with the baseline {tmp_path}/b: a different run has replaced it."
    assert replaced == BaselineDiff(said, {}, f"{tmp_path}/b", None)


def test_what_samples_of_one_side_may_explain_is_not_called_better_or_worse(tmp_path: Path) -> None:
    """80 were right, of 20 nothing was measured: a loss by 0.26 (+- 0.09) may be theirs, one by 0.6 (+- 0.1) not."""

    def words(one: StoredRun, other: StoredRun, metric: str = "exact_match") -> list[str]:
        compared, _ = run_differences(one, other, {SYSTEM: SYSTEM})
        return [compared[SYSTEM, label, metric].difference.verdict for label in ("", "kind=a")]

    def run(name: str, right: int, measured: int = 100, settings: Mapping[str, Any] = {}, **more: Any) -> StoredRun:
        rows = [row(f"s{n}", float(n < right) if n < measured else None) for n in range(100)]
        settings = {"missing": "exclude", "derived": {"both": "mean(exact_match, similarity)"}, **settings}
        path = write_run(tmp_path / name, rows, settings, **{"predictions": name, **more})
        return StoredRun.read(str(path))

    before, unsure, lost = run("before", 80, 80), run("unsure", 74), run("lost", 40)
    assert words(unsure, before) == words(before, unsure) == ["other samples"] * 2
    assert (words(lost, before), words(before, lost)) == (["worse"] * 2, ["better"] * 2)
    assert words(run("counted", 74, settings={"missing": "wrong"}), before) == ["worse"] * 2
    for missing in ("exclude", "wrong"):
        fewer = run(f"fewer {missing}", 60, 60, {"missing": missing})
        assert words(fewer, before) == words(fewer, before, "both") == ["no difference shown"] * 2
    few, lower = (run(f"few {right}", right, 80, {"bootstrap": {"replicates": 10}}) for right in (80, 40))
    assert words(few, lower) == ["no interval"] * 2
    # Of a slice with other samples and equal predictions nothing is known, though 40 samples fewer are right.
    for predictions, word in (("lost", "other samples"), ("others", "worse")):
        others = run(f"with {predictions}", 0, fingerprint="aa", predictions=predictions)
        assert words(others, lost) == [word] * 2
