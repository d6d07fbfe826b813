"""A result is published whatever becomes of its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import evaluate, write_lines


def test_a_page_that_cannot_be_made_says_why_and_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise ValueError("<b>no page</b>")

    monkeypatch.setattr("pipelines.results.page.evaluation.evaluation_page", broken)
    records = write_lines(tmp_path / "records.jsonl", [{"sample_id": "a", "text": "x"}])
    run = evaluate(tmp_path / "out", records, records)
    assert run.code == 0
    assert run.summary["systems"]["predictions"]["values"]["exact_match"] == 1
    page = (run.output / "report.html").read_text()
    assert "ValueError: &lt;b&gt;no page&lt;/b&gt;" in page
