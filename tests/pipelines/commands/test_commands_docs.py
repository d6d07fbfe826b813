"""docs/reference/commands.md, followed to the letter."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.runs import command

ROOT = Path(__file__).parents[3]


def command_lines() -> list[str]:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"^    (.+)$", text, re.MULTILINE)


def test_the_examples_work_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    lines = command_lines()
    lines = [line for line in lines if "--print-completion" not in line]
    assert {line.split()[1] for line in lines if line.startswith("beamscore ")} == {
        *("convert", "split", "evaluate", "select", "draw"),
    }
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program == "beamscore":
            code, _, stderr = command(*arguments)
            assert (code, stderr) == (0, ""), line
        else:
            subprocess.run(line, shell=True, check=True)
