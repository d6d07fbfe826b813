"""Every relative link of the documentation leads to a file that exists and, where it names one, to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = ("metrics", "transforms", "pipelines", "configs", "tests")


def links(page: Path) -> Iterator[str]:
    """Yields the targets of the links and pictures of a page, without those that leave the repository."""
    for block in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        for token in block.children or ():
            target = str(token.attrGet("href") or token.attrGet("src") or "")
            if target and not re.match(r"[a-z]+:", target):
                yield target


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    headings = [text.content for token, text in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_the_readme_or_from_a_page_that_is() -> None:
    found, new = set(), {ROOT / "README.md"}
    while new:
        found |= new
        reached = {(page.parent / link.partition("#")[0]).resolve() for page in new for link in links(page)}
        new = {each for each in reached if each.suffix == ".md"} - found
    assert set(PAGES) - {ROOT / "CONTRIBUTING.md"} <= found


def test_pages_that_the_code_names_exist() -> None:
    sources = [ROOT / "__init__.py", ROOT / "Makefile"]
    sources += [
        each for name in SOURCES for each in (ROOT / name).rglob("*") if each.suffix in (".py", ".yaml", ".jinja")
    ]
    for source in sources:
        for named in re.findall(r"\bdocs/[\w/-]+\.(?:md|png)", source.read_text(encoding="utf-8")):
            assert (ROOT / named).exists(), f"{source.relative_to(ROOT)}: {named}"
