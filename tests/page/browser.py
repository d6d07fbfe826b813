"""A headless Chromium: what a person does with a page, and what must hold of each."""

import base64
import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from beamscore.pipelines.reports.text import visible

PATIENCE_S = 60
PICTURES = Path(__file__).parents[2] / "out" / "page"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"

BROKEN_WORDS = """const cells = [...document.querySelectorAll('thead th, .matrix th, .number, #provenance th')];
const range = new Range();
const texts = cells.flatMap((cell) => [cell, ...cell.querySelectorAll('*')]).flatMap((each) => [...each.childNodes]);
return texts.flatMap((text) => [...(text.data ?? '').matchAll(/\\w+/g)].filter(({ 0: word, index }) => {
  range.setStart(text, index); range.setEnd(text, index + word.length); return range.getClientRects().length > 1;
})).flat();"""
"""Those in the heads of tables and in the provenance, and numbers."""


@dataclass(frozen=True)
class Browser:
    driver: Any

    def open(self, path: Path) -> None:
        """Opens a page, which must ask for nothing but itself."""
        self.problems()
        self.requests()
        self.driver.get(path.resolve().as_uri())
        self.wait("return document.documentElement.dataset.ready || !document.getElementById('problem').hidden")
        assert (self.problems(), self.requests()) == ([], [path.resolve().as_uri()])

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: Any) -> Any:
        """Returns what a script returns as soon as that is true."""
        return WebDriverWait(self.driver, PATIENCE_S, 0.05).until(lambda _: self.run(script, *arguments))

    def problems(self) -> list[str]:
        """Returns what the console told since the last call: errors, and what the policy of the page has blocked."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """Returns the addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith(("data:", "blob:"))]

    def resize(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        """Makes the page see a screen of this size in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, scheme: str, medium: str = "") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Writes a screenshot, of the whole page or of what the screen shows."""
        options: dict[str, Any] = {"captureBeyondViewport": whole}
        if whole:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
        return list(self.run(script, selector))

    def text(self, selector: str) -> str:
        return self.texts(selector)[0]

    def ids(self) -> list[str]:
        """Returns the sample_ids of the rows that the table shows, from the top."""
        return self.texts("#samples-table .open")

    def viewed(self) -> str:
        return self.text("#viewer h3 bdi")

    def choose(self, form: str, **values: str) -> str:
        """Sets the fields of a form of filters, by name; returns how many rows it says that there are."""
        self.run(
            "const form = document.querySelector(`form[id^=${arguments[0]}-filters]`);"
            "for (const [name, value] of Object.entries(arguments[1])) form.elements[name].value = value;"
            "form.dispatchEvent(new Event('input'))",
            form,
            values,
        )
        return self.text(f"form[id^={form}-filters] output")

    def press(self, *keys: str) -> None:
        event = "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})"
        focus = "document.activeElement || document.body"
        self.run(f"for (const key of arguments[0]) ({focus}).dispatchEvent({event})", keys)

    def click(self, selector: str) -> None:
        """Clicks on the first element, also where it is out of sight."""
        click = "new MouseEvent('click', {bubbles: true, cancelable: true})"
        self.run(f"document.querySelector(arguments[0]).dispatchEvent({click})", selector)

    def check(self, name: str) -> None:
        """The page fits the screen, nothing keeps people from using it, and no text of it has run, hides or turns."""
        self.picture(PICTURES / f"{name}.png")
        assert self.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        script = AXE.read_text(encoding="utf-8") + "; axe.run().then(arguments[arguments.length - 1]);"
        found = self.driver.execute_async_script(script)["violations"]
        faults = [(fault["id"], [node["target"] for node in fault["nodes"][:3]]) for fault in found
                  if fault["impact"] in ("serious", "critical")]  # fmt: skip
        assert (faults, self.problems(), self.run("return window.harmed")) == ([], [], None)
        assert self.texts("img[onerror], svg[onload], a[href^=javascript]") == []
        text = str(self.run("return document.body.innerText"))
        assert visible(text) == text

    def check_in_every_state(self, path: Path, name: str) -> None:
        """Checks a page on a phone, in the dark and in the light, in which it stays open; and how it is printed."""
        self.resize(390, 844, scale=2, mobile=True)
        self.open(path)
        self.check(f"{name}-phone")
        self.check_printed(name)
        self.resize(1280, 900)
        self.open(path)
        for scheme in ("dark", "light"):
            self.prefer(scheme)
            self.check(f"{name}-{scheme}")

    def check_printed(self, name: str) -> None:
        """Checks how the open page is printed, as which it stays."""
        # A4 without its margins.
        self.resize(718, 1047)
        self.prefer("dark", "print")
        self.run("for (const each of document.querySelectorAll('details')) each.open = true;"
                 "window.dispatchEvent(new Event('beforeprint'))")  # fmt: skip
        self.check(f"{name}-print")
        # Each row is printed in a few lines of its own, and how many they are.
        grids = "[...document.querySelectorAll('[role=grid]')]"
        rows = "[...each.tBodies[0].rows].filter((row) => row.offsetHeight)"
        printed = self.run(f"return {grids}.map((each) => [{rows}.length + 1, Number(each.ariaRowCount)])")
        assert all(count == due for count, due in printed)
        assert self.run(f"return Math.max(...{grids}.flatMap((each) => {rows}.map((row) => row.offsetHeight)))") < 80
        assert self.run("return [...document.querySelectorAll('output')].every((each) => each.offsetHeight)")
        assert (self.run("return document.documentElement.scrollWidth"), self.run(BROKEN_WORDS)) == (718, [])
        scrolled = "[...document.querySelectorAll('.scroller, .scroll, [role=grid] :is(th, td)')]"
        assert self.run(f"return {scrolled}.filter((each) => each.scrollWidth > each.clientWidth)") == []
        # Bars, heat maps and marks are backgrounds, which browsers do not print of themselves.
        colors = "[...document.querySelectorAll('*')].map((each) => getComputedStyle(each).printColorAdjust)"
        assert self.run(f"return [...new Set({colors})]") == ["exact"]
        assert self.run("return getComputedStyle(document.querySelector('nav')).display") == "none"


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Starts the Chromium of the system, and ends it; raises FileNotFoundError if there is none."""
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        raise FileNotFoundError("chromium and chromedriver: make test-page installs them on Debian and Ubuntu")
    options = Options()
    options.binary_location = program
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    arguments += ["--force-color-profile=srgb", "--lang=en-US", "--window-size=1280,900"]
    for argument in [*arguments, *(["--no-sandbox"] if os.geteuid() == 0 else [])]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
