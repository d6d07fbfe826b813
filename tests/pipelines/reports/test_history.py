from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.pipelines.reports.against import page_link
from tests.memory_files import ObjectStore


@pytest.mark.parametrize(
    ("run", "link"),
    [
        ("2026-01-01", "./2026-01-01/report.html"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29/report.html"),
        ('a"b c#d?e', "./a%22b%20c%23d%3Fe/report.html"),
        ("deep/er", "./deep/er/report.html"),
    ],
)
def test_links_are_relative_and_never_scripts(tmp_path: Path, run: str, link: str) -> None:
    (tmp_path / run).mkdir(parents=True)
    (tmp_path / run / "report.html").write_text("")
    assert page_link(str(tmp_path), str(tmp_path), run) == link


def test_a_link_leads_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "report.html").write_text("")
    assert page_link(str(tmp_path / "runs"), str(tmp_path / "out"), "a") == "./../runs/a/report.html"


def test_a_run_without_a_page_has_no_link(tmp_path: Path) -> None:
    assert page_link(str(tmp_path), str(tmp_path), "a") is None


def test_a_store_links_within_itself_alone() -> None:
    assert ObjectStore.scheme() == "mem"
    assert page_link("mem://b/runs", "mem://b/runs", "a") == "./a/report.html"
    assert page_link("mem://b/runs", "/tmp/out", "a") is None
