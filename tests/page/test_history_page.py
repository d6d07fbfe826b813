"""The page of a history in a real browser."""

from __future__ import annotations

import operator
import random
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.page.browser import Browser
from tests.page.corpora import corpus_page, night, page_data
from tests.page.hostile import HOSTILE
from tests.page.screen import PICTURES, choose, open_in_every_state, open_page, serious_faults, shown_count, shows_all
from tests.runs import command

pytestmark = pytest.mark.page

NIGHTS, BREAK, CHANGE, MISSING, SMALL = 40, 15, 26, (9, 10), 30
GATE: Mapping[str, Any] = {
    "gate": "overall.f1",
    "tier": "blocking",
    "system": "predictions",
    "metric": "overall.f1",
    "slice": None,
    "judge": "interval",
    "verdict": "fail",
    "blocks": True,
    "reason": "too low",
    "minimum": 0.55,
    "value": 0.4,
}


@pytest.fixture(scope="module")
def nights(folder: Path) -> Path:
    """A folder of nights: a break, a change point, missing nights, one with few predictions, and at last a gate.

    Two nights before the last one has a ground truth of its own.
    """
    run = corpus_page("traffic_rules", folder / "traffic_rules").path.parent
    output, random_numbers = folder / "nights", random.Random(15)
    for number in range(NIGHTS):
        if number in MISSING:
            continue
        day = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        shift = (0.1 if number >= CHANGE else 0.0) + random_numbers.gauss(0, 0.004)
        changes: dict[str, Any] = {}
        if number >= BREAK:
            changes["fingerprint"] = {"samples": 60, "hash": "ab" * 16}
        if number == NIGHTS - 3:
            changes["fingerprint"] = {"samples": 60, "hash": "cd" * 16}
        if number == NIGHTS - 1:
            changes["gates"] = [GATE]
        if number == SMALL:
            changes["missing"] = 20
        night(run, output / day, f"{day}T02:00:07.123Z", partial(operator.add, shift), **changes)
    command("history", str(output))
    return output


def test_the_page_of_a_history(chromium: Browser, nights: Path) -> None:
    document = page_data(nights / "history.html")
    history = document["history"]
    events = {
        what: [event for event in history["events"][::-1] if event["what"] == what]
        for what in ("break", "change point", "missing before", "coverage")
    }
    changed = "the ground truth changed"
    assert [event["text"] for event in events["break"]] == [changed, changed, f"{changed}; compared with 2026-02-06"]
    parts = [each["part"] for each in history["nights"]]
    assert [parts[0], parts[BREAK], parts[-3], parts[-1]] == [0, 1, 2, 1]
    assert [history["nights"][mark["night"]]["run"] for mark in events["coverage"]] == ["2026-01-01", "2026-01-31"]
    assert [mark["text"] for mark in events["missing before"]] == ["2 missing nights after 2026-01-09"]
    assert [gate["text"] for gate in history["gates"]] == ["gate: at least 0.55"]
    changes = {(mark["night"], document["metrics"][mark["metric"]]["name"]) for mark in events["change point"]}
    assert (CHANGE - len(MISSING), "overall.f1") in changes
    assert history["nights"][BREAK - len(MISSING)]["run"] == "2026-01-16"
    open_in_every_state(chromium, nights / "history.html", "history")
    assert chromium.run("return document.querySelector('.judgement .word').textContent") == "fail"
    measured = {
        series["metric"]
        for series in history["series"]
        if not series["label"] and any(v is not None for v in series["values"])
    }
    assert chromium.run("return document.querySelectorAll('.series svg[role=group]').length") == len(measured)
    told = str(chromium.run("return document.querySelector('main').textContent"))
    assert "2 missing nights" in told
    assert "of the samples were not scored" in told
    assert "the ground truth changed" in told
    for mark in events["change point"]:
        assert mark["text"] in told


def test_runs_and_slices_are_filtered(chromium: Browser, nights: Path) -> None:
    open_page(chromium, nights / "history.html")
    count = NIGHTS - len(MISSING)
    choose(chromium, "#nights-filters-0", "run", "2026-01-3")
    flagged = "return [...document.querySelectorAll('#nights-table-0 td b.fail')].map((b) => b.textContent)"
    assert chromium.wait(flagged) == ["37 of 60"]
    choose(chromium, "#nights-filters-0", "run", "2026-02")
    assert shown_count(chromium, "#nights-filters-0") == f"9 of {count} rows"
    choose(chromium, "#nights-filters-0", "verdict", "fail")
    assert shown_count(chromium, "#nights-filters-0") == f"1 of {count} rows"
    assert shown_count(chromium, "#slices-filters-0") == "3 of 3 slices"
    choose(chromium, "#slices-filters-0", "label", "urban")
    assert shown_count(chromium, "#slices-filters-0") == "1 of 3 slices"
    chromium.run("document.querySelector('#slices-plots-0').scrollIntoView()")
    assert chromium.wait("return document.querySelectorAll('#slices-plots-0 svg[role=group]').length") == 1


def test_a_click_on_a_night_opens_its_page(chromium: Browser, nights: Path) -> None:
    open_page(chromium, nights / "history.html")
    links = chromium.run("return [...document.querySelectorAll('#nights-table-0 a')].map((each) => each.href)")
    assert links[0] == (nights / "2026-02-09" / "report.html").absolute().as_uri()
    # A point says what it is, and a click opens its page.
    assert "2026-01-01" in chromium.run("return document.querySelector('.series svg a title').textContent")
    chromium.run("document.querySelector('.series svg a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert chromium.wait("return location.href.endsWith('/2026-01-01/report.html')")


def test_a_single_run_has_a_history(chromium: Browser, folder: Path) -> None:
    run = corpus_page("traffic_rules", folder / "traffic_rules").path.parent
    night(run, folder / "one" / "night", "2026-01-01T02:00:00.000Z", lambda value: value)
    command("history", str(folder / "one"))
    open_page(chromium, folder / "one" / "history.html")
    assert serious_faults(chromium) == []
    command("history", str(folder / "one"), "--no-html")
    assert not (folder / "one" / "history.html").exists()


def test_hostile_names_of_runs_and_slices(chromium: Browser, folder: Path) -> None:
    run = corpus_page("traffic_rules", folder / "traffic_rules").path.parent
    output = folder / "hostile-nights"
    names = [text.replace("/", "\u2215").replace("\x00", "")[:60] for text in HOSTILE if text.strip()]
    for number, name in enumerate(names):
        night(run, output / name, f"2026-01-{number + 1:02}T02:00:00.000Z", lambda value: value, HOSTILE)
    command("history", str(output))
    open_page(chromium, output / "history.html")
    assert chromium.run("return document.documentElement.scrollWidth") <= 1280
    assert chromium.run("return window.harmed") is None
    shows_all(chromium)
    links = chromium.run("return [...document.querySelectorAll('#nights-table-0 a')].map((each) => each.href)")
    assert len(links) == len(names)
    assert all(link.startswith("file:///") for link in links)
    chromium.picture(PICTURES / "history-hostile.png")
    assert serious_faults(chromium) == []
    assert chromium.problems() == []
