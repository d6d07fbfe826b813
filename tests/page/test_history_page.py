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
from tests.page.corpora import HOSTILE, corpus_page, night, page_data
from tests.runs import command

pytestmark = pytest.mark.page

NIGHTS, BREAK, CHANGE, MISSING, SMALL = 40, 15, 26, (9, 10), 30
GATE: Mapping[str, Any] = {
    "gate": "overall.f1", "tier": "blocking", "system": "predictions", "metric": "overall.f1", "slice": None,
    "judge": "interval", "verdict": "fail", "blocks": True, "reason": "too low", "minimum": 0.55, "value": 0.4,
}  # fmt: skip


@pytest.fixture(scope="module")
def nights(folder: Path) -> Path:
    """A folder of nights: a break, a change point, missing nights, one with few predictions, and at last a gate.

    Two nights before the last one has a ground truth of its own.
    """
    run, output, random_numbers = corpus_page("traffic_rules", folder).parent, folder / "nights", random.Random(15)
    for number in set(range(NIGHTS)) - set(MISSING):
        day = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        shift = (0.1 if number >= CHANGE else 0.0) + random_numbers.gauss(0, 0.004)
        changes: dict[str, Any] = {"gates": [GATE]} if number == NIGHTS - 1 else {}
        if number >= BREAK:
            changes["fingerprint"] = {"samples": 60, "hash": ("cd" if number == NIGHTS - 3 else "ab") * 16}
        if number == SMALL:
            changes["missing"] = 20
        night(run, output / day, f"{day}T02:00:07.123Z", partial(operator.add, shift), **changes)
    command("history", str(output))
    return output


def test_the_page_of_a_history(chromium: Browser, nights: Path) -> None:
    data = page_data(nights / "history.html")
    history, changed = data["history"], "the ground truth changed"
    found: dict[str, list[Any]] = {}
    for event in history["events"][::-1]:
        found.setdefault(event["what"], []).append(event)
    assert [each["text"] for each in found["break"]] == [changed, changed, f"{changed}; compared with 2026-02-06"]
    assert [each["text"] for each in found["missing before"]] == ["2 missing nights after 2026-01-09"]
    runs = [each["run"] for each in history["nights"]]
    assert [runs[each["night"]] for each in found["coverage"]] == ["2026-01-01", "2026-01-31"]
    points = {(runs[each["night"]], data["metrics"][each["metric"]]["name"]) for each in found["change point"]}
    assert ("2026-01-27", "overall.f1") in points
    parts = {each["run"]: each["part"] for each in history["nights"]}
    assert [parts[f"2026-{day}"] for day in ("01-01", "01-15", "01-16", "02-07", "02-09")] == [0, 0, 1, 2, 1]
    assert [gate["text"] for gate in history["gates"]] == ["gate: at least 0.55"]
    chromium.check_in_every_state(nights / "history.html", "history")
    assert chromium.text(".judgement .word") == "fail"
    measured = [each for each in history["series"] if not each["label"] and set(each["values"]) != {None}]
    assert len(chromium.texts(".series svg")) == len(measured)
    told = chromium.text("main")
    assert all(each["text"] in told for each in history["events"])
    assert "of the samples were not scored" in told


def test_runs_and_slices_are_filtered(chromium: Browser, nights: Path) -> None:
    chromium.open(nights / "history.html")
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


def test_a_point_says_what_it_is_and_leads_to_its_page(chromium: Browser, nights: Path) -> None:
    chromium.open(nights / "history.html")
    first = chromium.run("return document.querySelector('#nights-table-0 a').href")
    assert first == (nights / "2026-02-09" / "report.html").absolute().as_uri()
    assert "2026-01-01" in chromium.text(".series svg a title")
    chromium.click(".series svg a")
    assert chromium.wait("return location.href.endsWith('/2026-01-01/report.html')")


def test_a_single_run_has_a_history(chromium: Browser, folder: Path) -> None:
    night(corpus_page("traffic_rules", folder).parent, folder / "one" / "a", "2026-01-01T02:00:00.000Z", float)
    command("history", str(folder / "one"))
    chromium.open(folder / "one" / "history.html")
    chromium.check("history-one")
    command("history", str(folder / "one"), "--no-html")
    assert not (folder / "one" / "history.html").exists()


def test_hostile_names_of_runs_and_slices(chromium: Browser, folder: Path) -> None:
    run, output = corpus_page("traffic_rules", folder).parent, folder / "hostile-nights"
    names = [text.replace("/", "\u2215").replace("\x00", "")[:60] for text in HOSTILE]
    for number, name in enumerate(names, start=1):
        night(run, output / name, f"2026-01-{number:02}T02:00:00.000Z", float, HOSTILE)
    command("history", str(output))
    chromium.open(output / "history.html")
    chromium.check("history-hostile")
    links = chromium.run("return [...document.querySelectorAll('#nights-table-0 a')].map((each) => each.href)")
    assert len(links) == len(names)
    assert all(link.startswith("file:///") for link in links)
