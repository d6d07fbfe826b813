"""The page of a history in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.browser import Browser
from tests.page.corpora import HOSTILE, MISSING, NIGHTS, corpus_page, night, nights, page_data
from tests.runs import command

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    nights(corpus_page("traffic_rules", folder).parent, folder / "nights")
    command("history", folder / "nights")
    return folder / "nights" / "history.html"


def test_every_series_and_event_is_shown(chromium: Browser, page: Path) -> None:
    """What the events are is among the kept reports."""
    history = page_data(page)["history"]
    chromium.check_in_every_state(page, "history")
    assert chromium.text(".judgement .word") == "fail"
    measured = [each for each in history["series"] if not each["label"] and set(each["values"]) != {None}]
    assert len(chromium.texts(".series svg")) == len(measured)
    said = chromium.text("main")
    assert all(each["text"] in said for each in history["events"])


def test_runs_and_slices_are_filtered(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    count, marks = NIGHTS - len(MISSING), "#series-0 > div:first-child .mark"
    assert len(chromium.texts(marks)) == count
    assert chromium.choose("nights", run="2026-01-3") == f"2 of {count} rows"
    assert len(chromium.texts(marks)) == 2
    assert chromium.texts("#nights-table-0 td b.fail") == ["37 of 60"]
    assert chromium.choose("nights", run="2026-02", verdict="fail") == f"1 of {count} rows"
    assert chromium.text("#slices-filters-0 output") == "3 of 3 slices"
    assert chromium.choose("slices", label="urban") == "1 of 3 slices"
    assert len(chromium.texts("#slices-plots-0 svg")) == 1
    assert chromium.choose("nights", run="", verdict="", last="14") == f"14 of {count} rows"


def test_a_point_says_what_it_is_and_leads_to_its_page(chromium: Browser, page: Path) -> None:
    chromium.open(page)
    first = chromium.run("return document.querySelector('#nights-table-0 a').href")
    assert first == (page.parent / "2026-02-09" / "report.html").absolute().as_uri()
    assert "2026-01-01" in chromium.text(".series svg a title")
    chromium.click(".series svg a")
    assert chromium.wait("return location.href.endsWith('/2026-01-01/report.html')")


def test_a_single_run_has_a_history(chromium: Browser, folder: Path) -> None:
    night(corpus_page("traffic_rules", folder).parent, folder / "one" / "a", "2026-01-01T02:00:00.000Z", float)
    command("history", folder / "one")
    chromium.open(folder / "one" / "history.html")
    chromium.check("history-one")


def test_hostile_names_of_runs_and_slices(chromium: Browser, folder: Path) -> None:
    run, output = corpus_page("traffic_rules", folder).parent, folder / "hostile-nights"
    names = [text.replace("/", "\u2215").replace("\x00", "")[:60] for text in HOSTILE]
    for number, name in enumerate(names, start=1):
        night(run, output / name, f"2026-01-{number:02}T02:00:00.000Z", float, HOSTILE)
    command("history", output)
    chromium.open(output / "history.html")
    chromium.check("history-hostile")
    links = chromium.run("return [...document.querySelectorAll('#nights-table-0 a')].map((each) => each.href)")
    assert len(links) == len(names)
    assert all(link.startswith("file:///") for link in links)
