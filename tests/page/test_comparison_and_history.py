"""The pages of a comparison, of a run with a baseline, and of a history in a real browser."""

import json
from pathlib import Path

import pytest

from beamscore.pipelines.reports.comparison import ComparisonPage, comparison_document, with_changed
from beamscore.pipelines.reports.document import Card, CardSide
from beamscore.pipelines.reports.render import render
from beamscore.pipelines.runs.run import Run
from tests.page import corpora
from tests.page.browser import Browser
from tests.runs import command

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def runs(folder: Path) -> tuple[Path, Path]:
    """Two runs of the same samples, of which the second is worse."""
    first, truth = corpora.corpus_page("chart", folder).parent, corpora.CORPORA / "chart" / "ground_truth.jsonl"
    after = {"predictions": corpora.worse("chart", folder)}
    return first, corpora.evaluated("chart", truth, after, folder / "second", f"--baseline={first}").parent


@pytest.fixture(scope="module")
def page(runs: tuple[Path, Path], folder: Path) -> Path:
    return corpora.compared(*runs, folder / "compared")


def test_the_page_of_a_comparison(chromium: Browser, page: Path) -> None:
    data = corpora.page_data(page)
    chromium.check_in_every_state(page, "comparison")
    assert chromium.text(".judgement .word") == "worse"
    assert len(chromium.texts("#metrics > .scroll .whisker")) == len(data["metrics"])
    for verdict in ("", "worse", "better"):
        words = [{"", *(each["verdict"] for each in row["differences"])} for row in data["slices"]]
        count = sum(verdict in each for each in words)
        assert chromium.choose("slices", verdict=verdict) == f"{count} of {len(words)} rows"


def test_samples_that_changed_are_filtered_and_stepped_through(chromium: Browser, page: Path) -> None:
    cards = corpora.page_data(page)["cards"]
    changes = [card["change"] or 0.0 for card in cards]
    assert changes == sorted(changes)
    assert changes[0] < 0
    chromium.open(page)
    assert chromium.ids()[0] == cards[0]["sample_id"] == chromium.viewed()
    chromium.press("ArrowRight")
    assert chromium.viewed() == cards[1]["sample_id"]
    # Both drawings and all three records are there, with what differs.
    assert len(chromium.texts("#viewer .drawing")) == 2
    assert len(chromium.texts("#viewer .records pre")) == 3
    assert any(chromium.texts("#viewer .records mark"))
    assert chromium.text("#viewer .words").startswith("score: ")
    chromium.choose("samples", status="right_to_wrong")
    assert chromium.ids() == [card["sample_id"] for card in cards if "right_to_wrong" in card["whys"]]


def test_a_filter_says_how_many_samples_a_page_lacks(chromium: Browser, runs: tuple[Path, Path], folder: Path) -> None:
    path = corpora.compared(*runs, folder / "few", "--samples=3")
    lost = json.loads((path.parent / "comparison.json").read_bytes())["changes"]["metrics"]["score"]["worse"]
    chromium.open(path)
    assert chromium.texts("#samples-more p") == []
    for filters, said in (
        ({"why": "lost"}, f"3 of {lost} shown"),
        ({"why": "", "slice.source": "scan"}, "The page holds only 4 rows, and more may pass"),
    ):
        chromium.choose("samples", **filters)
        assert chromium.text("#samples-more p").startswith(f"{said}. This lists all: beamscore select ")
    chromium.check("comparison-few")


def test_the_verdict_against_a_baseline_leads_to_samples_that_lost(
    chromium: Browser, runs: tuple[Path, Path], folder: Path
) -> None:
    """All of them, the largest loss first, also if the loss is small or the prediction missing."""
    lines = (corpora.CORPORA / "chart" / "predictions.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "half.jsonl").write_bytes(b"".join(lines[::2]))
    truth, half = corpora.CORPORA / "chart" / "ground_truth.jsonl", {"predictions": folder / "half.jsonl"}
    without = corpora.evaluated("chart", truth, half, folder / "half", f"--baseline={runs[0]}")
    for path in (without, runs[1] / "report.html"):
        samples = corpora.page_data(path)["samples"]
        changes = dict(zip(samples["ids"], samples["metrics"]["change"], strict=True))
        fell = [each for each in samples["ids"] if (changes[each] or 0) < 0]
        chromium.open(path)
        chromium.check("baseline")
        chromium.click("#verdict > p > a")
        chromium.wait("return document.querySelector('#samples-filters').elements.why.value === 'lost'")
        assert chromium.ids() == sorted(fell, key=changes.__getitem__)
        # The next stop of the keyboard is there too.
        assert chromium.run("return document.activeElement.id") == "samples-title"
        # A step back within the table is none out of it.
        chromium.run("document.querySelector('#samples-table table').focus()")
        chromium.press("ArrowDown", "Enter")
        chromium.wait("return location.hash.includes('sample=')")
        chromium.run("history.back()")
        chromium.wait("return !location.hash.includes('sample=')")
        assert chromium.run("return document.activeElement.tagName") == "TABLE"
    # The script of a slice does not turn the number after it around.
    assert chromium.texts(".lost bdi") == ["source=scan"]
    chromium.check_printed("baseline")


def test_inputs_gone_or_changed_cost_records_alone(chromium: Browser, runs: tuple[Path, Path], folder: Path) -> None:
    path = folder / "worse-chart.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + b"\n")
    assert "have changed since that run" in corpora.compared(*runs, folder / "changed").read_text(encoding="utf-8")
    path.unlink()
    chromium.open(corpora.compared(*runs, folder / "gone"))
    path.write_bytes(content)
    assert "The inputs are not read" in chromium.text("#samples")
    # What changed in words comes from the rows.
    assert (chromium.texts("#viewer .drawing"), chromium.text("#viewer .words")[:7]) == ([], "score: ")


def test_hostile_text_in_a_comparison(chromium: Browser, runs: tuple[Path, Path], page: Path, folder: Path) -> None:
    found = json.loads((page.parent / "comparison.json").read_bytes())
    each = next(iter(found["slices"].values()))
    found["baseline"] = {"run": corpora.HOSTILE[0], "system": corpora.HOSTILE[5]}
    found["candidate"] = {"run": corpora.HOSTILE[1], "system": "x"}
    found |= {"slices": {f"{number}={text}": each for number, text in enumerate(corpora.HOSTILE)}}
    found |= {"differences": list(corpora.HOSTILE), "slices_of_candidate_alone": list(corpora.HOSTILE)}
    first, record = Run.read(str(runs[0])), corpora.HOSTILE[0]
    run = {**first.provenance, "command": list(corpora.HOSTILE), "host": corpora.HOSTILE[1]}
    cards = []
    for number, text in enumerate(corpora.HOSTILE):
        side = CardSide("scored", {"score": 0.5}, record, (text[:400],), f"<svg>{text[:400]}</svg>", text[:400])
        cards.append(Card(f"{number}{text}", 0, (text[:100],), (side, side), record, (text[:400],), -0.5))
    sources = ComparisonPage((run, run), (None, None), corpora.HOSTILE)
    document = comparison_document(found, first.configuration.benchmark, sources, ())
    path = folder / "hostile-comparison.html"
    path.write_bytes(render([with_changed(document, found, cards)]))
    chromium.open(path)
    for _ in cards:
        chromium.press("ArrowRight")
        assert chromium.run("return document.documentElement.scrollWidth") <= 1280
    chromium.check("comparison-hostile")


@pytest.fixture(scope="module")
def history(folder: Path) -> Path:
    corpora.nights(corpora.corpus_page("traffic_rules", folder).parent, folder / "nights")
    command("history", folder / "nights")
    return folder / "nights" / "history.html"


def test_every_series_and_event_is_shown(chromium: Browser, history: Path) -> None:
    """What the events are is among the kept reports."""
    found = corpora.page_data(history)["history"]
    chromium.check_in_every_state(history, "history")
    assert chromium.text(".judgement .word") == "fail"
    measured = [each for each in found["series"] if not each["label"] and set(each["values"]) != {None}]
    assert len(chromium.texts(".series svg")) == len(measured)
    said = chromium.text("main")
    assert all(each["text"] in said for each in found["events"])
    # Names of gates that are near each other do not lie on each other.
    names = "[...document.querySelectorAll('#series-0 svg > text')].filter((each) => each.textContent.includes('gate'))"
    first, second = chromium.run(f"return {names}.map((each) => Number(each.getAttribute('y')))")
    assert second - first == 12


def test_runs_and_slices_are_filtered(chromium: Browser, history: Path) -> None:
    chromium.open(history)
    count, marks = corpora.NIGHTS - len(corpora.MISSING), "#series-0 > div:first-child .mark"
    assert len(chromium.texts(marks)) == count
    assert chromium.choose("nights", run="2026-01-3") == f"2 of {count} rows"
    assert len(chromium.texts(marks)) == 2
    assert chromium.texts("#nights-table-0 td b.fail") == ["37 of 60"]
    assert chromium.choose("nights", run="2026-02", verdict="fail") == f"1 of {count} rows"
    assert chromium.text("#slices-filters-0 output") == "3 of 3 slices"
    assert chromium.choose("slices", label="urban") == "1 of 3 slices"
    assert len(chromium.texts("#slices-plots-0 svg")) == 1
    assert chromium.choose("nights", run="", verdict="", last="14") == f"14 of {count} rows"


def test_a_point_says_what_it_is_and_leads_to_its_page(chromium: Browser, history: Path) -> None:
    chromium.open(history)
    first = chromium.run("return document.querySelector('#nights-table-0 a').href")
    assert first == (history.parent / "2026-02-09" / "report.html").absolute().as_uri()
    assert "2026-01-01" in chromium.text(".series svg a title")
    chromium.click(".series svg a")
    assert chromium.wait("return location.href.endsWith('/2026-01-01/report.html')")


def test_a_single_run_has_a_history(chromium: Browser, folder: Path) -> None:
    corpora.night(corpora.corpus_page("traffic_rules", folder).parent, folder / "one" / "a", "2026-01-01T02:00:00.000Z")
    command("history", folder / "one")
    chromium.open(folder / "one" / "history.html")
    chromium.check("history-one")
    assert chromium.text("#nights-filters-0 output") == "1 of 1 row"


def test_hostile_names_of_runs_and_slices(chromium: Browser, folder: Path) -> None:
    run, output = corpora.corpus_page("traffic_rules", folder).parent, folder / "hostile-nights"
    names = [text.replace("/", "\u2215").replace("\x00", "")[:60] for text in corpora.HOSTILE]
    for number, name in enumerate(names, start=1):
        corpora.night(run, output / name, f"20{number:02}-01-01T02:00:00.000Z", labels=corpora.HOSTILE)
    command("history", output)
    chromium.open(output / "history.html")
    chromium.check("history-hostile")
    assert "2001-01" in chromium.texts(".series svg > text")
    links = chromium.run("return [...document.querySelectorAll('#nights-table-0 a')].map((each) => each.href)")
    assert len(links) == len(names)
    assert all(link.startswith("file:///") for link in links)
