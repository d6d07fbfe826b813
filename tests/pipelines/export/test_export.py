"""`beamscore export`: what test_sample_reports.py does not show of it."""

from __future__ import annotations

import json
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.pipelines.commands.arguments import EXPORTS
from beamscore.pipelines.export.verdicts import annotation_lines, junit, markdown
from beamscore.transforms.records import printable
from tests import toy
from tests.runs import command, evaluate, refused, write_lines

ROOT = Path(__file__).parents[3]
CORPUS = [toy.sample(index, 0)[0] for index in range(40)]
GATES = """\
benchmark: toy
gates:
  exact_match: {minimum: 0.9, not_worse_than: baseline}
  similarity: {minimum: 0.99, tier: advisory}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two systems, of which `ours` has 30 of 40 wrong, judged against a system of a baseline that has none."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "gates.yaml").write_text(GATES)
    truths = write_lines(folder / "t.jsonl", CORPUS)
    wrong = write_lines(folder / "p.jsonl", [*({**each, "text": "?" * 9} for each in CORPUS[:30]), *CORPUS[30:]])
    assert evaluate(folder / "base", truths, {"poor": wrong, "good": truths}, "--quiet").code == 0
    more = "--quiet", "--junit", f"{folder}/two.xml", "--markdown", f"{folder}/two.md"
    sides, named = {"ours": wrong, "theirs": truths}, ("--baseline", f"{folder}/base:good")
    assert evaluate(folder / "two", truths, sides, *named, *more, config=folder / "gates.yaml").code == 1
    return folder / "two"


def test_verdicts_are_those_that_the_run_wrote(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for to, kept in (("junit", run.with_suffix(".xml")), ("github", run.with_suffix(".md"))):
        assert command("export", run, "--to", to, "--output", tmp_path / "deep" / to)[0] == 0
        assert (tmp_path / "deep" / to).read_bytes() == kept.read_bytes()
    assert command("export", f"{run}:ours", "--to", "every-eval-ever", "--output", tmp_path / "eee.json")[0] == 0
    assert json.loads((tmp_path / "eee.json").read_bytes())["model_info"]["id"] == "ours"
    _, of_one, _ = command("export", f"{run}:theirs", "--to", "junit")
    assert [case.get("classname") for case in ET.fromstring(of_one).iter("testcase")] == ["theirs"] * 2
    # The report names the system of the baseline, too.
    _, _, against = (run / "report.md").read_text().partition(f"minus the baseline `{run.with_name('base:good')}`")
    assert re.search(r"^\| metric +\| system +\| baseline +\|", against, re.MULTILINE)
    # What other steps of the job have written stays.
    job = tmp_path / "job.md"
    job.write_text("# Job\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    _, printed, _ = command("export", run, "--to", "github")
    assert job.read_bytes() == b"# Job\n" + run.with_suffix(".md").read_bytes()
    assert [line.partition(" ")[0] for line in printed.splitlines()] == ["::error", "::warning", "::warning"]
    # Without the baseline nothing tells which samples moved a metric.
    shutil.copytree(run, tmp_path / "copy", ignore=lambda *_: [".runs"])
    found = json.loads((run / "run.json").read_bytes())
    (tmp_path / "copy" / "run.json").write_text(json.dumps({**found, "baseline": {"path": "gone", "run_id": "1"}}))
    code, _, stderr = command("export", tmp_path / "copy", "--to", "github")
    assert code == 0
    assert stderr.startswith("beamscore: warning: the samples that moved a metric are not listed: gone/summary.json: ")


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_without_the_library_the_extra_is_named(library: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert refused("export", run, "--to", library).endswith(f"; pip install 'beamscore[{library}]'")


def verdict(gate: str, word: str, blocks: bool = True, **more: Any) -> dict[str, Any]:
    return {"gate": gate, "system": None, "verdict": word, "blocks": blocks, "reason": "r", "value": None, **more}


@given(st.text(), st.text())
@example("100%, no: more", "100%25")
def test_text_of_a_run_gives_no_other_workflow_command(title: str, reason: str) -> None:
    """A workflow command is a line: its parts may neither end it nor begin another, and are read as they were."""
    (line,) = annotation_lines(title, [verdict("g", "fail", reason=reason)])
    assert line.splitlines() == [line]
    prefix, text = line.removeprefix("::error title=").split("::", 1)
    assert not {":", ","} & set(prefix)
    assert unquote(text) == f"gate g: fail: {printable(reason)}"
    assert unquote(prefix) == printable(title)


def unquote(text: str) -> str:
    """Returns a text as GitHub reads it."""
    return text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")


def test_what_changes_no_exit_code_is_skipped_comes_last_and_is_a_warning() -> None:
    """It is advisory, or inconclusive where that passes. Whole outputs are among the kept ones."""
    us: Any = {"system": "us", "value": 0.5}
    verdicts = [verdict("a", "pass", False), verdict("b", "fail", False), verdict("c", "inconclusive", **us),
                verdict("d", "invalid", **us), verdict("e", "fail"), verdict("f", "pass")]  # fmt: skip
    (suite,) = ET.fromstring(junit("t", verdicts, ["too many"]))
    assert suite.attrib == {"name": "t", "tests": "7", "failures": "3", "errors": "1", "skipped": "1"}
    assert [(*case.attrib.values(), case[0].tag, case[0].attrib, case[0].text) for case in suite] == [
        ("t", "a", "system-out", {}, "r"),
        ("t", "b", "skipped", {"message": "fail: r"}, None),
        ("us", "c", "failure", {"message": "inconclusive: r", "type": "inconclusive"}, None),
        ("us", "d", "error", {"message": "invalid: r", "type": "invalid"}, None),
        ("t", "e", "failure", {"message": "fail: r", "type": "fail"}, None),
        ("t", "f", "system-out", {}, "r"),
        ("t", "run", "failure", {"message": "too many", "type": "fail"}, None),
    ]
    lines = ["::error title=t::too many", "::error title=t::us: gate c: inconclusive: r"]
    lines += ["::error title=t::us: gate d: invalid: r", "::error title=t::gate e: fail: r"]
    assert list(annotation_lines("t", verdicts, ["too many"])) == [*lines, "::warning title=t::gate b: fail: r"]
    head, others, table, *moved = markdown("t", verdicts, ["too many"], {2: "gone", 3: ()}).rstrip().split("\n\n")
    assert (head, others) == ("**FAIL** t: 2 of 6 gates pass", "- too many")
    assert [row.split("|")[3].strip() for row in table.splitlines()[2:]] == [f"`{name}`" for name in "cdefba"]
    assert moved == ["Which samples moved `c` of us is not known: gone."]
    for word, of in (("PASS", [0, 5]), ("PASS", [1]), ("INCONCLUSIVE", [2]), ("INVALID", [2, 3]), ("FAIL", [2, 3, 4])):
        assert markdown("t", [verdicts[place] for place in of]).startswith(f"**{word}** t: ")


def test_each_target_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")
    for target, options in EXPORTS.items():
        assert f"| `{target}` |" in page
        assert all(f"--{option.replace('_', '-')}" in page for option in options)
