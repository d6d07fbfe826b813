"""`beamscore gate`, and gates of `evaluate`: exit codes, baselines, and the files for CI and chat."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import command, evaluate, refused, write_lines, wrong

CORPUS = [toy.sample(index, 0)[0] for index in range(60)]
CONFIG = """\
benchmark: toy
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
  "similarity @ kind=1": {name: odd ones, minimum: 0.1, tier: advisory}
"""
SYSTEM = "predictions"


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished nights: good with 3 wrong answers, the same, bad with 40, and one of another ground truth."""
    folder = tmp_path_factory.mktemp("nights")
    write_lines(folder / "t.jsonl", CORPUS)
    write_lines(folder / "other.jsonl", [{**truth, "text": truth["text"] + "!"} for truth in CORPUS])
    (folder / "gates.yaml").write_text(CONFIG)
    for name, count, truths in [("good", 3, "t"), ("same", 3, "t"), ("bad", 40, "t"), ("elsewhere", 3, "other")]:
        given = folder / f"{truths}.jsonl", write_lines(folder / f"{name}.jsonl", wrong(CORPUS, count))
        found = evaluate(folder / name, *given, "--quiet", "--slice", "kind", "--no-html")
        assert (found.code, found.stderr) == (0, "")
    return folder


def gate(nights: Path, run: str | Path, against: str | Path, *more: str | Path) -> tuple[int, str, str]:
    return command("gate", nights / run, "--config", nights / "gates.yaml", "--baseline", nights / against, *more)


def changed(run: Path, folder: Path, change: Callable[[Any], Any], *names: str) -> Path:
    """Returns a copy of a run, of which some documents are changed, or are the text that `change` returns."""
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns(".runs"))
    for name in names:
        document = json.loads((folder / name).read_bytes())
        (folder / name).write_text(change(document) or json.dumps(document))
    return folder


def test_tonight_is_judged_against_the_baseline_without_scoring_again(nights: Path) -> None:
    tight = ("--set", "gates.similarity.minimum=0.95")
    failed, unclear = "predictions: gate exact_match: -0.6167 (", "predictions: gate similarity: inconclusive: 0.95"
    for run, against, more, code, told, told_on_stderr in (
        ("same", "good", (), 0, "2 of 2 gates pass\n", ""),
        ("bad", "good", ("--quiet",), 1, "", failed),
        ("same", "elsewhere", ("--quiet",), 1, "", "it has a different ground truth: 60 samples"),
        # What is not clear has an exit code of its own; a failure outranks it.
        ("same", "good", (*tight, "--quiet"), 4, "", unclear),
        ("same", "good", (*tight, "--set", "inconclusive=pass"), 0, "2 of 3 gates pass", f"warning: {unclear}"),
        ("same", "good", (*tight, "--set", "gates.similarity.inconclusive=pass"), 0, "2 of 3", f"warning: {unclear}"),
        ("bad", "good", ("--set", "inconclusive=pass", "--quiet"), 1, "", failed),
        ("same", "good", ("--set", "gates.similarity @ kind=1.minimum=1"), 0, "(advisory)", "(advisory)"),
        ("bad", "good", ("--set", "gates.similarity.minimum=0.4"), 1, "1 of 3 gates pass\n", failed),
    ):
        found, stdout, stderr = gate(nights, run, against, *more)
        assert (found, told in stdout or stdout, told_on_stderr in stderr or stderr) == (code, True, True)
        assert (stdout == "") == (more[-1:] == ("--quiet",))
        assert (stderr == "", "(advisory)" in stderr) == (told_on_stderr == "", told_on_stderr == "(advisory)")
        assert "odd ones" in stdout or not stdout
    shown = " ".join(gate(nights, "same", "good")[1].replace("│", "").split())
    assert "+0 (+0 to +0) from the baseline, within the margin of 0.05" in shown


def test_evaluate_and_gate_write_the_same_verdicts_against_a_baseline(nights: Path, tmp_path: Path) -> None:
    """With the samples that moved a metric; what else the files say is in export/test_export."""
    # In the order of paths, before its baseline.
    output, files = nights / "another", tmp_path / "deep"
    own = "gates.exact_match @ kind=1."
    more = ["--set", f"{own}not_worse_than=baseline", "--set", f"{own}name=<a> & b", "--slice", "kind"]
    more += ["--baseline", f"{nights}/good", "--junit", f"{files}/a.xml", "--markdown", f"{files}/a.md"]
    found = evaluate(output, nights / "t.jsonl", nights / "bad.jsonl", *more, config=nights / "gates.yaml")
    assert (found.code, found.stdout.count(" gates pass")) == (1, 1)
    first, *others = found.summary["gates"]
    words = [(each["gate"], each["verdict"], each["slice"]) for each in others]
    assert words == [("odd ones", "pass", "kind=1"), ("<a> & b", "fail", "kind=1")]
    # 20 of 60 are right tonight, and were 57.
    assert (first["verdict"], first["difference"], first["reference"]) == ("fail", pytest.approx(-37 / 60), 57 / 60)
    assert "**fail**" in found.report
    judged = ("gate", output, "--baseline", nights / "good", "--junit", files / "b.xml", "--markdown", files / "b.md")
    assert command(*judged)[::2] == (1, found.stderr)
    for ending in ("xml", "md"):
        assert (files / f"a.{ending}").read_bytes() == (files / f"b.{ending}").read_bytes()
    cases = [(case.get("name"), case[0].tag) for case in ET.parse(files / "a.xml").iter("testcase")]
    assert cases == [("exact_match", "failure"), ("odd ones", "system-out"), ("<a> & b", "failure")]
    text = (files / "a.md").read_text()
    assert text.startswith("**FAIL** `toy: ")
    assert "-0.0167" in text  # 1 / 60
    # Those of the slice are named.
    of_all, of_slice = (re.findall(r"^\| `?s(\d+)`? ", part, re.MULTILINE) for part in text.split("that moved")[1:])
    assert (0 < len(of_all) <= 5, 0 < len(of_slice) <= 5) == (True, True)
    assert {CORPUS[int(number)]["kind"] for number in of_slice} == {1}


def test_a_run_with_gates_without_any_bound_can_be_a_baseline(nights: Path, tmp_path: Path) -> None:
    """As an earlier version took them."""
    unbound: dict[str, Any] = {"gates": {"exact_match": {}}}
    documents = ("summary.json", "sums.json")
    old = changed(nights / "good", tmp_path / "old", lambda found: found["config"].update(unbound), *documents)
    assert gate(nights, "same", old)[0] == 0
    code, _, stderr = command("gate", old)
    assert (code, "gates.exact_match: the gate judges nothing" in stderr) == (2, True)


def test_a_night_without_most_of_its_predictions_fails_where_these_are_limited(nights: Path, tmp_path: Path) -> None:
    """The 25 predictions that are left are all right, and the gate holds: 25 of 25 are 1."""
    few, short = write_lines(tmp_path / "few.jsonl", CORPUS[:25]), tmp_path / "short.md"
    settings = ("--set", "missing=exclude", "--set", "gates.exact_match.minimum=0.2", "--markdown", str(short))
    found = evaluate(tmp_path / "open", nights / "t.jsonl", few, *settings, "--no-html")
    assert (found.code, "\n1 of 1 gates pass\n" in found.stdout) == (0, True)
    assert found.stdout.endswith("/open/report.md\n")
    assert "\n\n- predictions: 25 of 60 samples scored, 35 without a prediction\n\n" in short.read_text()
    told = "beamscore: 35 of 60 samples have no prediction, more than max_missing_fraction 0.5 allows\n"
    for limit, code, line in (("0.5", 1, told), ("0.6", 0, "")):
        given = ("--set", f"max_missing_fraction={limit}", "--quiet", "--markdown", str(short))
        assert command("gate", tmp_path / "open", *given) == (code, "", line)
        assert short.read_text().startswith("**FAIL** " if code else "**PASS** ")
        assert ("35 of 60 samples have no prediction" in short.read_text()) == bool(code)


def test_what_was_rejected_is_told_and_what_scored_nothing_passes_no_gate(nights: Path, tmp_path: Path) -> None:
    bad = write_lines(tmp_path / "bad.jsonl", [{"sample_id": "s0", "text": 5}, {"text": "x"}, *CORPUS[2:]])
    found = evaluate(tmp_path / "out", nights / "t.jsonl", bad, "--set", "max_rejected_fraction=0.1")
    assert (found.code, found.stderr) == (0, "")
    (line,) = [line for line in found.stdout.splitlines() if "were rejected" in line]
    assert line.startswith("2 of 60 predictions were rejected; most often: sample_id must be ")
    assert f"({bad}:2)" in line
    # A share of failures is 0 where there are no answers at all.
    evaluate(tmp_path / "out", nights / "t.jsonl", write_lines(tmp_path / "none.jsonl", []), "--quiet")
    told = "beamscore: nothing was scored: no readable prediction has a readable ground truth\n"
    assert command("gate", tmp_path / "out", "--set", "gates.exact_match.maximum=0.5")[::2] == (1, told)
    # It would make any run look better.
    told = f"beamscore: --baseline {tmp_path / 'out'}: nothing of predictions was scored: "
    judged = command("gate", nights / "good", "--config", nights / "gates.yaml", "--baseline", tmp_path / "out")
    assert (judged[0], told in judged[2]) == (2, True), judged[2]


def test_files_of_an_earlier_run_do_not_outlive_this_one(nights: Path, tmp_path: Path) -> None:
    """CI that reads them after a run that was refused would take the verdicts of last night for those of tonight."""
    files = ("--junit", tmp_path / "j.xml", "--markdown", tmp_path / "s.md")
    passed = ("gate", nights / "same", "--config", nights / "gates.yaml", "--baseline", nights / "good", *files)
    for line in (
        ("gate", nights / "no such run", "--config", nights / "gates.yaml", *files),
        ("evaluate", nights / "gates.yaml", "--ground-truth", "none.jsonl", *files),
    ):
        assert command(*passed)[0] == 0
        assert len(list(tmp_path.iterdir())) == 2
        assert command(*line)[0] == 2
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("sums.json", lambda found: found["config"].update(missing="exclude")),
        ("sums.json", lambda found: found["systems"][SYSTEM]["replicates"].update(data="AAAA")),
        ("summary.json", lambda found: found["systems"][SYSTEM]["values"].update(exact_match=1.0)),
        ("summary.json", lambda found: found["systems"][SYSTEM].update(coverage={})),
        ("summary.json", lambda _: "[" * 100_000),
    ],
)
def test_a_damaged_run_is_told_in_a_line_and_never_judged(nights: Path, tmp_path: Path, name: str, change: Any) -> None:
    """What no key that is missing, and no value of another type, is; see attacks/test_finished_runs."""
    folder = changed(nights / "same", tmp_path / "copy", change, name)
    given = ("--config", nights / "gates.yaml", "--baseline", nights / "good")
    assert refused("gate", folder, *given).startswith(str(folder))
    assert gate(nights, "same", folder)[:2] == (2, "")


def test_no_file_that_is_read_or_part_of_a_run_is_replaced(nights: Path, tmp_path: Path) -> None:
    shutil.copytree(nights / "good", tmp_path / "run")
    truths, config = Path(shutil.copy(nights / "t.jsonl", tmp_path)), tmp_path / "gates.yaml"
    own = [tmp_path / "run" / name for name in ("summary.json", "report.md", "sums.json")]
    blessed = tmp_path / "blessed.txt"
    blessed.write_text(f"{tmp_path}/run\n")
    # What a run will write is not there yet, whoever names its folder.
    config.write_text(CONFIG + f"output: {tmp_path}/out\n")
    files = {path: path.read_bytes() for path in [truths, config, blessed, *own]}
    sides = ("--ground-truth", tmp_path / "t.*", f"--predictions=a={truths}", "--slice", "kind")
    given = ("evaluate", config, *sides, "--baseline", blessed)
    for path in [*files, tmp_path / "out" / "report.md", tmp_path]:
        for option in ("--junit", "--markdown"):
            for check in ((), ("--check",)):
                code, _, stderr = command(*given, option, path, *check)
                said = f"{option} {path}: belongs to a run, or was not written by this option; give another path"
                assert (code, stderr) == (2, f"beamscore: {said}\n")
        if path in own:
            assert command("export", tmp_path / "run", "--to", "model-index", "--output", path)[0] == 2
    assert {path: path.read_bytes() for path in files} == files
    assert not (tmp_path / "out").exists()
    # With --check, nothing is written or removed.
    earlier, content = tmp_path / "junit.xml", b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>"
    earlier.write_bytes(content)
    assert command(*given, "--check", "--junit", earlier)[0] == 0
    assert earlier.read_bytes() == content
    (tmp_path / "link").symlink_to("run")
    said = "this is --output, whose result this run replaces"
    for check in ((), ("--check",)):
        assert said in command(*given[:-1], tmp_path / "run", "--output", tmp_path / "link", *check)[2]


def test_a_baseline_that_a_person_blessed_long_ago_is_warned_of(nights: Path, tmp_path: Path) -> None:
    """What else is told of a baseline is in runs/test_named."""
    old = {"ended": "2020-01-01T00:00:00.000Z"}
    kept = changed(nights / "good", tmp_path / "kept", lambda found: found.update(old), "run.json")
    (tmp_path / "blessed.txt").write_text("# by whom, and why\nnever there\n\nkept   # release 3\n# end\n")
    code, _, stderr = gate(nights, "same", tmp_path / "blessed.txt")
    assert (code, stderr.startswith(f"beamscore: warning: the baseline {kept} is ")) == (0, True)


def test_a_system_of_the_baseline_can_be_named(nights: Path, tmp_path: Path) -> None:
    systems = {"good": nights / "good.jsonl", "bad": nights / "bad.jsonl"}
    sliced = "--slice", "kind", "--slice", "words"
    assert evaluate(tmp_path / "both", nights / "t.jsonl", systems, "--quiet", *sliced).code == 0
    assert [gate(nights, "bad", f"{tmp_path}/both:{name}")[0] for name in ("bad", "good")] == [0, 1]
    # A system of the run itself is not compared with itself.
    code, stdout, _ = gate(nights, tmp_path / "both", f"{tmp_path}/both:good")
    assert (code, stdout.count(" good ")) == (1, 1), "its other gate alone"
    # The same samples moved a metric from the same answers, in this run or a baseline; a bound needs a comparable one.
    bound, lists = ".minimum=0.9", []
    for limit, *against in (
        (".not_worse_than=good",), (".not_worse_than=baseline", "good"), (bound, "good"), (bound, "elsewhere"),
        # The baseline has slices of `kind` alone.
        (bound,), (f" @ kind=1{bound}", "good"), (f" @ words=a{bound}", "good"),
    ):  # fmt: skip
        given = [f"--set=gates.exact_match{limit}", *(f"--baseline={nights / name}" for name in against)]
        command("gate", tmp_path / "both", *given, "--markdown", tmp_path / "s.md")
        text = (tmp_path / "s.md").read_text()
        assert "is not known" not in text
        lists.append(re.findall(r"^\| `?(s\d+)`? ", text, re.MULTILINE))
    assert (lists[:3], [*map(len, lists)]) == ([lists[0]] * 3, [5, 5, 5, 0, 0, 5, 0])
    # One that no gate needs is warned of.
    code, _, stderr = command("gate", nights / "same", "--set=gates.similarity.minimum=0", f"--baseline={nights}/good")
    told = "beamscore: warning: no gate compares with the baseline; give one `not_worse_than: baseline`\n"
    assert (code, stderr) == (0, told)
