"""A headless Chromium that opens pages and tells what went wrong in them."""

from __future__ import annotations

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

PATIENCE_S = 60


@dataclass(frozen=True)
class Browser:
    """One window of the browser."""

    driver: Any

    def open(self, path: Path) -> float:
        """Opens a page, waits until all of it is there, and returns after how many milliseconds it could be used.

        Parts that are out of sight follow when the browser has nothing else to do.
        """
        self.problems()
        self.driver.get(path.resolve().as_uri())
        self.wait("return document.documentElement.dataset.ready || !document.getElementById('problem').hidden")
        return float(self.run("return Number(document.documentElement.dataset.ready)"))

    def run(self, script: str, *arguments: Any) -> Any:
        """Returns what a script returns in the page."""
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

    def prefer(self, **features: str) -> None:
        """Emulates preferences of a person, such as `color_scheme="dark"`, or a medium, `media="print"`."""
        medium = features.pop("media", "")
        named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": named})

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Writes a screenshot, of the whole page or of what the screen shows."""
        options: dict[str, Any] = {"captureBeyondViewport": whole}
        if whole:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Starts the Chromium of the system, without a network of any use, and ends it.

    Raises FileNotFoundError where there is none.
    """
    program = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
    driver_program = shutil.which("chromedriver")
    if program is None or driver_program is None:
        raise FileNotFoundError("chromium and chromedriver: make test-page installs them on Debian and Ubuntu")
    options = Options()
    options.binary_location = program
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    arguments += ["--force-color-profile=srgb", "--lang=en-US", "--window-size=1280,900"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_program))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
