"""What `select`, `convert` and `split` shuffle is in blocks on the disk: the runner holds no record in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from apache_beam.runners.portability.fn_api_runner import execution

from tests.pipelines.layouts import LAYOUTS
from tests.runs import command, evaluate, write_lines

MARK = "text_blocks"
RECORDS = [{"sample_id": f"s{number:02}", "text": MARK, "page": number % 5} for number in range(30)]


@pytest.mark.parametrize("flags", ["split toy", "split toy --group page", "split toy --shards 3", "select", "convert"])
def test_no_record_waits_in_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    name, *more = flags.split()
    truths = write_lines(tmp_path / "t.jsonl", RECORDS)
    if name == "select":
        assert evaluate(tmp_path / "run", truths, truths, "--quiet", "--no-html").code == 0
    held: list[bytes] = []
    # Grouped collections, and those that wait for a side input.
    for buffer in (execution.ListBuffer, execution.GroupingBuffer):

        def append(self: object, element: bytes, original: object = buffer.append) -> None:
            held.append(element)
            original(self, element)  # type: ignore[operator]

        monkeypatch.setattr(buffer, "append", append)
    given: dict[str, list[str | Path]] = {
        "split": [*more, "--ground-truth", truths],
        "select": [tmp_path / "run", "--below", "2"],
        "convert": ["chart", "--input", *LAYOUTS["chart"](tmp_path / "layout")["truth"]],
    }
    assert command(name, *given[name], "--output", tmp_path / "o.jsonl")[0] == 0
    assert sum(MARK in path.read_text() for path in tmp_path.glob("o*.jsonl")) == (3 if "--shards" in flags else 1)
    assert held
    assert not [element for element in held if MARK.encode() in element]
