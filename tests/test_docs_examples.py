"""The docs: records and configurations are read, down to each key, the examples of docstrings hold, links lead to what
exists and, where they name one, to a heading in it.
"""

from __future__ import annotations

import doctest
import importlib
import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.registry import benchmark_names
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.gates import gate_target
from tests.plain_loop import make_benchmark

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
SOURCES = ("metrics", "transforms", "pipelines", "configs", "tests")
BENCHMARKS = DOCS / "explanation" / "benchmarks"
PAGES = sorted(path.stem for path in BENCHMARKS.glob("*.md"))
MODULES = sorted(
    ".".join(("beamscore", *path.relative_to(ROOT).with_suffix("").parts))
    for layer in ("metrics", "transforms", "pipelines")
    for path in (ROOT / layer).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def blocks(path: Path) -> Iterator[str]:
    """Yields the blocks of code of a page."""
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.content


def records(page: str) -> Iterator[dict[str, Any]]:
    """Yields the records that the page of a benchmark shows."""
    for block in blocks(BENCHMARKS / f"{page}.md"):
        place = block.find('{"sample_id"')
        while place >= 0:
            record, length = json.JSONDecoder().raw_decode(block[place:])
            yield record
            place = block.find('{"sample_id"', place + length)


def unknown_keys(given: Any, read: Any, path: str = "") -> list[str]:
    """Returns where a record has keys that its type does not know."""
    if isinstance(given, dict) and isinstance(read, dict):
        missing = [f"{path}.{key}" for key in given if key not in read and given[key] is not None]
        return missing + [each for key in given if key in read for each in unknown_keys(given[key], read[key], key)]
    if isinstance(given, list) and isinstance(read, list):
        return [each for one, other in zip(given, read, strict=True) for each in unknown_keys(one, other, path)]
    return []


@pytest.mark.parametrize("page", PAGES)
def test_the_records_of_a_benchmark_are_read_to_the_last_key_and_can_be_scored(page: str) -> None:
    benchmark = make_benchmark("formula" if page == "formula_documents" else page)
    shown = list(records(page))
    assert shown
    for record in shown:
        fields = {key: value for key, value in record.items() if key not in ("sample_id", "source")}
        kinds = (benchmark.truth_type, benchmark.prediction_type)
        found = [msgspec.to_builtins(msgspec.convert(record, kind)) for kind in kinds if _is_of(record, kind)]
        assert [] in [unknown_keys(fields, each) for each in found], fields
    if not page.startswith("formula"):
        assert isinstance(benchmark.score_sample(msgspec.convert(shown[0], benchmark.truth_type), None), SampleScore)


def _is_of(record: dict[str, Any], kind: type[msgspec.Struct]) -> bool:
    try:
        msgspec.convert(record, kind)
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("page", ["reference/configuration", "how-to/nightly"])
def test_the_configurations_are_accepted(page: str, tmp_path: Path) -> None:
    shown = [block for block in blocks(DOCS / f"{page}.md") if re.match(r"benchmark: \w+\n", block)]
    assert shown
    for block in shown:
        (tmp_path / "c.yaml").write_text(block)
        configuration = settings.load(str(tmp_path / "c.yaml"), [], {})
        assert configuration.benchmark.name in benchmark_names()
        assert all(gate_target(key, type(configuration.benchmark)) for key in configuration.settings.gates)


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_hold(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


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


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
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
    assert set(LINKED) - {ROOT / "CONTRIBUTING.md"} <= found


def test_pages_that_the_code_names_exist() -> None:
    sources = [ROOT / "__init__.py", ROOT / "Makefile"]
    sources += [
        each for name in SOURCES for each in (ROOT / name).rglob("*") if each.suffix in (".py", ".yaml", ".jinja")
    ]
    for source in sources:
        for named in re.findall(r"\bdocs/[\w/-]+\.(?:md|png)", source.read_text(encoding="utf-8")):
            assert (ROOT / named).exists(), f"{source.relative_to(ROOT)}: {named}"
