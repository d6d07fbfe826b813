"""No id, system, slice or file name leads out of the output: whatever it is, all files that are written are below."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.transforms.draw import file_name
from tests.runs import command, evaluate, write_lines

PIECES = [*"./\\a~*?[:|é\0\n", "..", "%2e%2e", "$HOME", "://", "file:///"]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
NAMES = [*PIECES, *(f"{piece}/x" for piece in PIECES), "../../../x", "/etc/passwd", "a/../../b", ".runs/x", "run.json"]
FEW = ("--quiet", "--no-html", "--set", "bootstrap.replicates=0")


@pytest.mark.parametrize(("system", "column"), [("..", "../../y"), ("a..", "/etc/%2e%2e/$HOME")])
def test_everything_is_written_below_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, column: str
) -> None:
    """The output is deep in an empty folder: what leaves it by some `..` is still seen."""
    folder = tmp_path / "1" / "2" / "3" / "4"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    output = folder / "out"

    def outside() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if not path.is_dir() and output not in path.parents}

    records: list[Any] = [{"sample_id": each, "text": each, column: column} for each in NAMES]
    truths = write_lines(folder / "t.jsonl", records)
    # Duplicates and what is broken go to the quarantine.
    broken = [records[0], {"sample_id": column, "text": 3}, b"{" + column.encode()]
    predictions = write_lines(folder / "p.jsonl", [*records, *broken])
    before = outside()
    run = evaluate(output, truths, {system: predictions}, *FEW, "--set", f"slices={json.dumps([column])}")
    assert run.code == 1, run.stderr
    flags = ("--ground-truth", truths, "--output", output / "s.jsonl", "--shards", "3")
    assert command("split", "toy", *flags)[0] == 0
    assert command("select", output, "--output", output / "h.jsonl", "--below", "2")[::2] == (0, "")
    assert outside() == before


@given(HOSTILE | st.text() | st.sampled_from(["CON:?*<>|", "x" * 3000, ".hidden", "\ud800"]))
def test_a_picture_is_right_below_its_folder(sample_id: str) -> None:
    name = file_name(sample_id)
    assert re.fullmatch(r"[A-Za-z0-9_~%-][A-Za-z0-9_.~%-]*\.svg", name)
    assert len(name) <= 255


@given(st.text(), st.text())
def test_no_two_pictures_have_one_name(first: str, second: str) -> None:
    assert (file_name(first) == file_name(second)) == (first == second)
