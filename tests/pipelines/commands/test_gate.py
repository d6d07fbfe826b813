"""`beamscore gate`, and gates of `evaluate`: exit codes, baselines, and the files for CI and chat."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import command, evaluate, refused, write_lines

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
    for name, wrong, truths in [("good", 3, "t"), ("same", 3, "t"), ("bad", 40, "t"), ("elsewhere", 3, "other")]:
        answers = [{**each, "text": "?" * 9} if place < wrong else each for place, each in enumerate(CORPUS)]
        given = folder / f"{truths}.jsonl", write_lines(folder / f"{name}.jsonl", answers)
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
        ("bad", "good", tight, 1, "1 of 3 gates pass\n", failed),
    ):
        found, stdout, stderr = gate(nights, run, against, *more)
        assert (found, told in stdout or stdout, told_on_stderr in stderr or stderr) == (code, True, True)
        assert (stdout == "") == (more[-1:] == ("--quiet",))
        assert (stderr == "") == (told_on_stderr == "")
        assert "odd ones" in stdout or not stdout
    shown = " ".join(gate(nights, "same", "good")[1].replace("│", "").split())
    assert "+0 (+0 to +0) from the baseline, within the margin of 0.05" in shown


def test_evaluate_judges_against_a_baseline_and_writes_the_verdicts(nights: Path, tmp_path: Path) -> None:
    # In the order of paths, before its baseline.
    output = nights / "another"
    more = ("--baseline", str(nights / "good"), "--slice", "kind", "--quiet", "--junit", str(tmp_path / "a.xml"))
    found = evaluate(output, nights / "t.jsonl", nights / "bad.jsonl", *more, config=nights / "gates.yaml")
    assert found.code == 1
    first, second = found.summary["gates"]
    words = [(each["gate"], each["verdict"], each["slice"]) for each in (first, second)]
    assert words == [("exact_match", "fail", None), ("odd ones", "pass", "kind=1")]
    # 20 of 60 are right tonight, and were 57.
    assert (first["difference"], first["reference"]) == pytest.approx((-37 / 60, 57 / 60))
    assert json.loads((output / "run.json").read_bytes())["baseline"]["path"] == str(nights / "good")
    assert "**fail**" in found.report
    # Judged again, it says the same, in the same bytes.
    judged = ("gate", output, "--baseline", nights / "good", "--junit", tmp_path / "b.xml")
    assert command(*judged)[::2] == (1, found.stderr)
    assert (tmp_path / "a.xml").read_bytes() == (tmp_path / "b.xml").read_bytes()


def test_verdicts_are_written_as_junit_and_as_markdown_with_the_samples_that_moved(
    nights: Path, tmp_path: Path
) -> None:
    files = tmp_path / "deep" / "junit.xml", tmp_path / "short.md"
    own = "gates.exact_match @ kind=1."
    more = ("--set", f"{own}not_worse_than=baseline", "--set", f"{own}name=<a> & b")
    gate(nights, "bad", "good", *more, "--junit", files[0], "--markdown", files[1])
    cases = [(case.get("name"), case[0].tag) for case in ET.parse(files[0]).iter("testcase")]
    assert cases == [("exact_match", "failure"), ("odd ones", "system-out"), ("<a> & b", "failure")]
    text = files[1].read_text()
    assert text.startswith("**FAIL** `toy: ")
    assert "Samples that moved `exact_match` of predictions most:" in text
    assert "-0.0167" in text  # 1 / 60
    # Those of the slice are named.
    named = re.findall(r"^\| `?s(\d+)`? ", text.rpartition("Samples that moved")[2], re.MULTILINE)
    assert 0 < len(named) <= 5
    assert {CORPUS[int(number)]["kind"] for number in named} == {1}


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


def test_what_was_rejected_is_told_with_its_cause_and_nothing_scored_passes_no_gate(
    nights: Path, tmp_path: Path
) -> None:
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
def test_a_damaged_run_is_told_in_one_line_and_never_judged(
    nights: Path, tmp_path: Path, name: str, change: Callable[[Any], Any]
) -> None:
    """What no key that is missing, and no value of another type, is; see attacks/test_finished_runs."""
    folder = changed(nights / "same", tmp_path / "copy", change, name)
    given = ("--config", nights / "gates.yaml", "--baseline", nights / "good")
    assert refused("gate", folder, *given).startswith(str(folder))
    assert gate(nights, "same", folder)[:2] == (2, "")


def test_no_file_that_is_read_or_part_of_a_run_is_replaced(nights: Path, tmp_path: Path) -> None:
    shutil.copytree(nights / "good", tmp_path / "run")
    truths, config = Path(shutil.copy(nights / "t.jsonl", tmp_path)), Path(shutil.copy(nights / "gates.yaml", tmp_path))
    own = [tmp_path / "run" / name for name in ("summary.json", "report.md", "sums.json")]
    blessed = tmp_path / "blessed.txt"
    blessed.write_text(f"{tmp_path}/run\n")
    files = {path: path.read_bytes() for path in [truths, config, blessed, *own]}
    sides = ("--ground-truth", tmp_path / "t.*", f"--predictions=a={truths}", "--slice", "kind")
    given = ("evaluate", config, *sides, "--baseline", blessed)
    # What a run will write is not there yet, whoever names its folder.
    config.write_text(config.read_text() + f"output: {tmp_path}/out\n")
    files[config] = config.read_bytes()
    for path in [*files, tmp_path / "out" / "report.md", tmp_path]:
        for option in ("--junit", "--markdown", "--metrics-file"):
            for check in ((), ("--check",)):
                code, _, stderr = command(*given, option, path, *check)
                said = f"{option} {path}: is of a run, or holds what this option never wrote; give another path"
                assert (code, stderr) == (2, f"beamscore: {said}\n")
        if path in own:
            assert command("export", tmp_path / "run", "--to", "model-index", "--output", path)[0] == 2
    assert {path: path.read_bytes() for path in files} == files
    assert not (tmp_path / "out").exists()
    # With --check, nothing is written or removed.
    earlier = tmp_path / "junit.xml"
    assert command(*given, "--junit", earlier)[0] == 0
    content = earlier.read_bytes()
    assert command(*given, "--check", "--junit", earlier)[0] == 0
    assert earlier.read_bytes() == content
    # What a run would need is looked at, too.
    assert command(*given[:-1], tmp_path / "none", "--check")[0] == 2
    (tmp_path / "link").symlink_to("run")
    said = "this is --output, whose result this run replaces"
    for check in ((), ("--check",)):
        assert said in command(*given[:-1], tmp_path / "run", "--output", tmp_path / "link", *check)[2]


def test_a_baseline_is_blessed_by_a_person_and_an_old_one_is_warned_of(nights: Path, tmp_path: Path) -> None:
    blessed = tmp_path / "blessed.txt"
    blessed.write_text(f"# by whom, and why\nnever there\n\n{nights}/good   # release 3\n# end\n")
    assert gate(nights, "same", blessed)[::2] == (0, "")
    blessed.write_text("kept\n")
    old = {"ended": "2020-01-01T00:00:00.000Z"}
    kept = changed(nights / "good", tmp_path / "kept", lambda found: found.update(old), "run.json")
    stderr = gate(nights, "same", blessed)[2]
    assert stderr.startswith(f"beamscore: warning: the baseline {kept} is ")
    assert " days old; bless a newer run" in stderr
    (kept / "run.json").unlink()
    assert "has no run.json that says when it was made" in gate(nights, "same", blessed)[2]


def test_a_system_of_the_baseline_can_be_named(nights: Path, tmp_path: Path) -> None:
    systems = {"good": nights / "good.jsonl", "bad": nights / "bad.jsonl"}
    assert evaluate(tmp_path / "both", nights / "t.jsonl", systems, "--quiet", "--slice", "kind").code == 0
    assert [gate(nights, "bad", f"{tmp_path}/both:{name}")[0] for name in ("bad", "good")] == [0, 1]
    # A system of the run itself is not compared with itself.
    code, stdout, _ = gate(nights, tmp_path / "both", f"{tmp_path}/both:good")
    assert (code, stdout.count(" good ")) == (1, 1), "its other gate alone"
    # One that no gate needs is warned of.
    (tmp_path / "c.yaml").write_text("benchmark: toy\ngates: {similarity: {minimum: 0.1}}\n")
    code, _, stderr = command("gate", nights / "same", "--config", tmp_path / "c.yaml", "--baseline", nights / "good")
    told = "beamscore: warning: no gate compares with the baseline; give one `not_worse_than: baseline`\n"
    assert (code, stderr) == (0, told)
