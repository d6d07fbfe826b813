"""Pages followed to the letter: README, tutorial, three nights, and the examples of the commands."""

from __future__ import annotations

import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.config.gates import GATE_KEYS
from tests.runs import command
from tests.test_docs_examples import DOCS, blocks

ROOT = DOCS.parent
NIGHTLY = DOCS / "how-to" / "nightly.md"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty checkout but for configurations and corpora."""
    for name in ("configs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out" / "tutorial").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


def follow(block: str) -> tuple[list[str], list[str]]:
    """Runs the lines of a block; returns what each has printed, and the lines of standard error of all."""
    outputs, errors = [], []
    for line in filter(None, map(str.strip, block.replace("\\\n", " ").split("\n"))):
        if line.startswith("beamscore "):
            code, stdout, stderr = command(*shlex.split(line, comments=True)[1:])
            assert code == (1 if line.endswith("# exits with code 1") else 0), stderr
            assert "Traceback" not in stderr
            errors += stderr.splitlines()
        else:
            stdout = subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
        outputs.append(stdout)
    return outputs, errors


def test_the_readme_has_the_benchmarks_of_the_registry_and_its_example_prints_what_is_shown() -> None:
    rows = [
        f"| [{name}](docs/explanation/benchmarks/{name}.md) | {benchmark_class(name).summary} |"
        for name in benchmark_names()
        if name != "toy"
    ]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(["| benchmark | what is scored |", "|---|---|", *rows, "", ""]) in readme
    (block,) = [each for each in blocks(ROOT / "README.md") if "$ beamscore " in each]
    typed, box, shown = block.partition("\u250f")
    assert follow(typed.partition("activate\n$ ")[2]) == ([box + shown], [])


def test_the_examples_of_the_commands_work_in_their_order() -> None:
    lines = [line for block in blocks(DOCS / "reference" / "commands.md") for line in block.splitlines(keepends=True)]
    text = "".join(line for line in lines if "--print-completion" not in line)
    assert set(re.findall("^beamscore (\\w+)", text, re.MULTILINE)) == {
        *("convert", "split", "evaluate", "select", "draw"),
    }
    assert follow(text)[1] == []


def test_every_command_of_the_tutorial_does_what_it_says() -> None:
    outputs = []
    for block in blocks(DOCS / "tutorial" / "tutorial.md"):
        if block.startswith("benchmark:"):
            Path("out/tutorial/gated.yaml").write_text(block)
        elif block.startswith("python -c"):
            script, end, rest = block.partition("truth.jsonl\n")
            subprocess.run(f"{script}{end}", shell=True, check=True)
            outputs += follow(rest)[0]
        elif not block.startswith("python3 -m venv"):
            outputs += follow(block)[0]
    assert "59 of 60 samples scored, 1 without a prediction" in outputs[0]
    assert "size=large" in Path("out/tutorial/sliced/report.md").read_text()
    assert "worse" in Path("out/tutorial/gated/report.md").read_text()


def test_three_nights() -> None:
    _, heading, rest = NIGHTLY.read_text(encoding="utf-8").partition("## Three nights\n")
    Path("page.md").write_text(section := heading + rest.partition("\n## ")[0])
    configuration, *others = blocks(Path("page.md"))
    Path("out/nightly.yaml").write_text(configuration)
    errors = follow("".join(others))[1]
    assert sum("# exits with code 1" in line for each in others for line in each.splitlines()) == 1
    # What the page says that is printed is printed.
    (quoted,) = re.findall(r"^> (beamscore: .*) \.\.\.$", section, re.MULTILINE)
    assert any(line.startswith(quoted) for line in errors)
    tonight = Path("out/tonight.md").read_text()
    assert tonight.startswith("**FAIL** ")
    assert "Samples that moved `overall.f1` of tonight most:" in tonight
    assert ET.parse("out/junit.xml").getroot().find(".//failure") is not None
    history = Path("out/scores/history.md").read_text()
    assert history.startswith("# traffic_rules: 3 runs")
    assert all(text in history for text in ("**worse**", "2026-01-03", "## Against the baseline"))


def test_every_key_of_a_gate_is_told() -> None:
    gates = NIGHTLY.read_text(encoding="utf-8").partition("## Gates\n")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", gates, re.MULTILINE)))) == set(GATE_KEYS)
