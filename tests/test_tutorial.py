"""docs/tutorial/tutorial.md, followed to the letter."""

from __future__ import annotations

import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.runs import command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial" / "tutorial.md").read_text(encoding="utf-8")


def test_every_command_of_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "out" / "tutorial").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    blocks = [
        textwrap.dedent(each).strip("\n") for each in re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGE, re.MULTILINE)
    ]
    outputs = []
    for block in blocks:
        if block.startswith("benchmark:"):
            Path("out/tutorial/gated.yaml").write_text(block)
        elif block.startswith("python -c"):
            script, _, rest = block.partition("truth.jsonl\n")
            subprocess.run(f"{script}truth.jsonl", shell=True, check=True)
            outputs += [run(line) for line in rest.split("\n") if line.strip()]
        elif not block.startswith("python3 -m venv"):
            outputs += [run(line) for line in block.split("\n") if line.strip()]
    assert "59 of 60 samples scored, 1 without a prediction" in outputs[0]
    assert "size=large" in Path("out/tutorial/sliced/report.md").read_text()
    assert "worse" in Path("out/tutorial/gated/report.md").read_text()


def run(line: str) -> str:
    """Runs a line of the page, and returns what it prints."""
    if not line.startswith("beamscore "):
        return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
    code, stdout, stderr = command(*shlex.split(line, comments=True)[1:])
    assert code == (1 if line.endswith("# exits with code 1") else 0), stderr
    return stdout
