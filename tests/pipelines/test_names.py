"""No id, system, slice or file name leads out of the output: whatever it is, all files that are written are below."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from beamscore.transforms.draw import file_name
from tests.runs import command, evaluate, write_lines

PIECES = [*"./\\a~*?[:|é\0\n", "..", "%2e%2e", "$HOME", "://", "file:///"]
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
SYSTEMS = st.text("ab.-_", min_size=1, max_size=4)


@contextmanager
def sandbox() -> Iterator[Path]:
    """A folder deep in an empty one, in which this process is; whatever leaves it by some `..` is still seen."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "1", "2", "3", "4")
        folder.mkdir(parents=True)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


def files_outside(root: Path, output: Path) -> set[Path]:
    return {path for path in root.rglob("*") if not path.is_dir() and output not in path.parents}


FEW = ("--quiet", "--no-html", "--set", "bootstrap.replicates=0")


@settings(max_examples=3, deadline=None)
@given(st.lists(HOSTILE, min_size=10, max_size=30, unique=True), SYSTEMS, HOSTILE)
@example(["../../../x", "/etc/passwd", "..", "a/../../b", ".runs/x", "summary.json"], "..", "../../y")
def test_everything_is_written_below_the_output(ids: list[str], system: str, value: str) -> None:
    with sandbox() as folder:
        records: list[Any] = [{"sample_id": each, "text": each, value or "column": value} for each in ids]
        truths, predictions = write_lines(folder / "t.jsonl", records), write_lines(folder / "p.jsonl", records[:1])
        # Duplicates and what is broken go to the quarantine.
        write_lines(predictions, [*records, records[0], {"sample_id": value, "text": 3}, b"{" + value.encode()])
        slices = () if "," in value else ("--set", f"slices={json.dumps([value.strip() or 'column'])}")
        before = files_outside(folder.parents[3], folder / "out")
        run = evaluate(folder / "out", truths, {system: predictions}, *FEW, *slices)
        assert run.code in (0, 1, 2), run.stderr
        assert files_outside(folder.parents[3], folder / "out") == before
        flags = ("--ground-truth", truths, "--output", folder / "out" / "s.jsonl", "--shards", "3")
        assert command("split", "toy", *flags)[0] == 0
        if run.code != 2:
            code, _, stderr = command("select", folder / "out", "--output", folder / "out" / "h.jsonl", "--below", "2")
            assert code == 0, stderr
        assert files_outside(folder.parents[3], folder / "out") == before


@given(HOSTILE | st.text() | st.sampled_from(["CON:?*<>|", "x" * 3000, ".hidden", "\ud800"]))
def test_a_picture_is_right_below_its_folder(sample_id: str) -> None:
    name = file_name(sample_id)
    assert re.fullmatch(r"[A-Za-z0-9_~%-][A-Za-z0-9_.~%-]*\.svg", name)
    assert len(name) <= 255


@given(st.text(), st.text())
def test_no_two_pictures_have_one_name(first: str, second: str) -> None:
    assert (file_name(first) == file_name(second)) == (first == second)
