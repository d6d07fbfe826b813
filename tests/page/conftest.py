from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.browser import Browser, browser


@pytest.fixture(scope="session")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def chromium(window: Browser) -> Browser:
    window.resize(1280, 900)
    window.prefer("light")
    return window


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")
