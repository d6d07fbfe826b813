"""What `select`, `convert` and `split` shuffle is in blocks on the disk: the runner holds no record in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apache_beam.runners.portability.fn_api_runner import execution

from tests.pipelines.layouts import LAYOUTS
from tests.runs import command, evaluate, write_lines

MARK = "marked"
TRUTHS = [{"sample_id": f"s{number:02}", "text": MARK * 3, "page": number % 5} for number in range(30)]
PREDICTIONS = [{"sample_id": each["sample_id"], "text": MARK * (3 - number % 3)} for number, each in enumerate(TRUTHS)]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The elements of all collections that the runner holds: grouped ones, and those that wait for a side input."""
    elements: list[bytes] = []
    for buffer in (execution.ListBuffer, execution.GroupingBuffer):

        def append(self: object, element: bytes, original: object = buffer.append) -> None:
            elements.append(element)
            original(self, element)  # type: ignore[operator]

        monkeypatch.setattr(buffer, "append", append)
    return elements


def assert_held(elements: list[bytes], mark: str = MARK) -> None:
    assert elements
    assert not [element for element in elements if mark.encode() in element]


@pytest.mark.parametrize("flags", [(), ("--group", "page"), ("--shards", "3")], ids=" ".join)
def test_split_holds_no_record(tmp_path: Path, held: list[bytes], flags: tuple[str, ...]) -> None:
    write_lines(tmp_path / "t.jsonl", TRUTHS)
    output = ("--output", tmp_path / "o.jsonl")
    assert command("split", "toy", "--ground-truth", tmp_path / "t.jsonl", *output, *flags)[0] == 0
    assert sum(MARK in path.read_text() for path in tmp_path.glob("o*.jsonl")) == (3 if "--shards" in flags else 1)
    assert_held(held)


def test_select_holds_no_record(tmp_path: Path, held: list[bytes]) -> None:
    truths, predictions = write_lines(tmp_path / "t.jsonl", TRUTHS), write_lines(tmp_path / "p.jsonl", PREDICTIONS)
    assert evaluate(tmp_path / "run", truths, predictions, "--quiet", "--no-html").code == 0
    held.clear()
    output = tmp_path / "o.jsonl"
    assert command("select", tmp_path / "run", "--output", output, "--below", "0.5")[0] == 0
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert [each["ground_truth"]["text"] for each in found] == [MARK * 3] * 20
    assert_held(held)


def test_convert_holds_no_record(tmp_path: Path, held: list[bytes]) -> None:
    inputs = LAYOUTS["chart"](tmp_path / "layout")["truth"]
    assert command("convert", "chart", "--input", *inputs, "--output", tmp_path / "o.jsonl")[0] == 0
    assert b"text_blocks" in (tmp_path / "o.jsonl").read_bytes()
    assert_held(held, "text_blocks")
