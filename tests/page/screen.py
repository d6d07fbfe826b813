"""What a person does with a page, and what must hold of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from beamscore.pipelines.reports.text import visible
from tests.page.browser import Browser
from tests.page.corpora import ROOT

PICTURES = ROOT / "out" / "page"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


def open_page(chromium: Browser, path: Path) -> float:
    """Opens a page; returns the milliseconds until it was ready. It must not ask for anything but itself."""
    chromium.requests()
    took = chromium.open(path)
    assert chromium.problems() == []
    assert chromium.requests() == [path.resolve().as_uri()]
    return took


def serious_faults(chromium: Browser) -> list[Any]:
    """Returns what axe-core finds that keeps people from using the page."""
    found = chromium.driver.execute_async_script(
        AXE.read_text(encoding="utf-8") + "; axe.run().then(arguments[arguments.length - 1]);"
    )
    return [
        (fault["id"], fault["impact"], [node["target"] for node in fault["nodes"][:3]])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


def table_ids(chromium: Browser) -> list[str]:
    """Returns the sample_ids of the rows that the table shows, from the top."""
    found: list[str] = chromium.run(
        "return [...document.querySelectorAll('#samples-table .open')].map((each) => each.textContent)"
    )
    return found


def shown_count(chromium: Browser, form: str) -> str:
    return str(chromium.run("return document.querySelector(arguments[0] + ' output').textContent", form))


def choose(chromium: Browser, form: str, name: str, value: str) -> None:
    chromium.run(
        "const field = document.querySelector(arguments[0]).elements[arguments[1]]; field.value = arguments[2];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))",
        form,
        name,
        value,
    )


def press(chromium: Browser, key: str) -> None:
    chromium.run(
        "(document.activeElement || document.body)"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true}))",
        key,
    )


def shows_all(chromium: Browser) -> None:
    """No character of the page that can be read hides, or turns what stands around it."""
    text = str(chromium.run("return document.body.innerText"))
    assert visible(text) == text


def open_in_every_state(chromium: Browser, path: Path, name: str) -> None:
    """Opens a page on a phone, on paper, in the dark and in the light: it fits, and nothing keeps people from using it.

    Each is pictured in out/page; the page stays open as the last of them.
    """
    chromium.resize(390, 844, scale=2, mobile=True)
    open_page(chromium, path)
    assert chromium.run("return document.documentElement.scrollWidth") <= 390
    assert serious_faults(chromium) == []
    chromium.picture(PICTURES / f"{name}-phone.png")
    put_on_paper(chromium, path)
    chromium.picture(PICTURES / f"{name}-print.png")
    chromium.resize(1280, 900)
    chromium.prefer(color_scheme="light")
    open_page(chromium, path)
    for scheme in ("dark", "light"):
        chromium.prefer(color_scheme=scheme)
        assert serious_faults(chromium) == []
        chromium.picture(PICTURES / f"{name}-{scheme}.png")


def put_on_paper(chromium: Browser, path: Path) -> None:
    """Opens a page at the width of A4, as it is printed."""
    chromium.resize(794, 1123)
    open_page(chromium, path)
    chromium.prefer(media="print")
    assert chromium.run("return document.documentElement.scrollWidth") <= 794
    assert chromium.run("return getComputedStyle(document.querySelector('nav')).display") == "none"


def viewed(chromium: Browser) -> str:
    return str(chromium.run("return document.querySelector('#viewer h3 bdi').textContent"))
