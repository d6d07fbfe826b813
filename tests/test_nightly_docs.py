"""docs/how-to/nightly.md, followed to the letter: three nights, one of them bad, and one page to read."""

from __future__ import annotations

import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.runs import command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "how-to" / "nightly.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_three_nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?:^    .*\n)+", section("Three nights"), re.MULTILINE)
    assert blocks[0].lstrip().startswith("benchmark:")
    Path("out/nightly.yaml").write_text(re.sub(r"^    ", "", blocks[0], flags=re.MULTILINE))
    codes, errors = [], []
    for line in "".join(blocks[1:]).splitlines():
        line = line.strip()
        if not line.startswith("beamscore "):
            subprocess.run(line, shell=True, check=True)
            continue
        expected = 1 if line.endswith("# exits with code 1") else 0
        code, _, stderr = command(*shlex.split(line, comments=True)[1:])
        assert code == expected, stderr
        assert "Traceback" not in stderr
        codes.append(code)
        errors += stderr.splitlines()
    assert codes == [0, 0, 1, 0]
    # What the page says that is printed is printed.
    (quoted,) = re.findall(r"^> (beamscore: .*) \.\.\.$", section("Three nights"), re.MULTILINE)
    assert any(line.startswith(quoted) for line in errors)
    tonight = Path("out/tonight.md").read_text()
    assert tonight.startswith("**FAIL** ")
    assert "Samples that moved `overall.f1` of tonight most:" in tonight
    assert ET.parse("out/junit.xml").getroot().find(".//failure") is not None
    history = Path("out/scores/history.md").read_text()
    assert history.startswith("# traffic_rules: 3 runs")
    assert "**worse**" in history
    assert "2026-01-03" in history
    assert "## Against the baseline" in history


def test_every_key_of_a_gate_is_told() -> None:
    from beamscore.pipelines.config.gates import GATE_KEYS

    told = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", section("Gates"), re.MULTILINE))))
    assert told == set(GATE_KEYS)
