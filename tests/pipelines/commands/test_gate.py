"""`beamscore gate`, and gates of `evaluate`: exit codes, baselines, and the files for CI and chat."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import Run, command, evaluate, write_lines

CORPUS = [toy.sample(index, 0)[0] for index in range(60)]
CONFIG = """\
benchmark: toy
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
  "similarity @ kind=1": {name: odd ones, minimum: 0.1, tier: advisory}
"""


def predictions(wrong: int) -> list[dict[str, Any]]:
    """All right but the first `wrong`."""
    return [{**truth, "text": "?" * 9} if place < wrong else truth for place, truth in enumerate(CORPUS)]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three finished nights: good, the same, and bad."""
    folder = tmp_path_factory.mktemp("nights")
    write_lines(folder / "t.jsonl", CORPUS)
    write_lines(folder / "other.jsonl", [{**truth, "text": truth["text"] + "!"} for truth in CORPUS])
    (folder / "gates.yaml").write_text(CONFIG)
    for name, wrong in [("good", 3), ("same", 3), ("bad", 40)]:
        write_lines(folder / f"{name}.jsonl", predictions(wrong))
        found = evaluate(folder / name, folder / "t.jsonl", folder / f"{name}.jsonl", "--quiet", "--slice", "kind")
        assert (found.code, found.stderr) == (0, "")
    assert evaluate(folder / "elsewhere", folder / "other.jsonl", folder / "good.jsonl", "--quiet").code == 0
    return folder


def gate(nights: Path, run: str, against: str | None, *more: str | Path) -> tuple[int, str, str]:
    named = () if against is None else ("--baseline", nights / against)
    return command("gate", nights / run, "--config", nights / "gates.yaml", *named, *more)


def test_tonight_is_judged_against_the_baseline_without_scoring_again(nights: Path) -> None:
    code, stdout, stderr = gate(nights, "same", "good")
    assert (code, stderr) == (0, "")
    assert stdout.endswith("2 of 2 gates pass\n")
    assert "+0 (+0 to +0) from the baseline, within the margin of 0.05" in " ".join(stdout.replace("│", "").split())
    code, stdout, stderr = gate(nights, "bad", "good")
    assert code == 1
    assert stderr.startswith("beamscore: predictions: gate exact_match: -0.6167 (")
    assert stderr.count("\n") == 1
    assert "fail" in stdout
    assert "odd ones" in stdout
    assert stdout.endswith("1 of 2 gates pass\n")
    assert gate(nights, "bad", "good", "--quiet")[1] == ""


def test_what_is_not_clear_has_an_exit_code_of_its_own(nights: Path) -> None:
    tight = ("--set", "gates.similarity.minimum=0.95")
    assert gate(nights, "same", "good", *tight)[0] == 4
    code, _, stderr = gate(nights, "same", "good", *tight, "--set", "inconclusive=pass")
    assert code == 0
    assert stderr.startswith("beamscore: warning: predictions: gate similarity: inconclusive: 0.95")
    # A failure outranks it.
    assert gate(nights, "bad", "good", *tight)[0] == 1


def test_evaluate_judges_against_a_baseline_and_writes_the_verdicts(nights: Path, tmp_path: Path) -> None:
    more = ("--baseline", str(nights / "good"), "--slice", "kind", "--quiet", "--junit", str(tmp_path / "a.xml"))
    found = evaluate(tmp_path / "out", nights / "t.jsonl", nights / "bad.jsonl", *more, config=nights / "gates.yaml")
    assert found.code == 1
    verdicts = found.summary["gates"]
    assert [(each["gate"], each["verdict"], each["slice"]) for each in verdicts] == [
        ("exact_match", "fail", None),
        ("odd ones", "pass", "kind=1"),
    ]
    assert verdicts[0]["difference"] == pytest.approx(-37 / 60)
    assert verdicts[0]["reference"] == pytest.approx(57 / 60)
    assert json.loads((tmp_path / "out" / "run.json").read_bytes())["baseline"]["path"] == str(nights / "good")
    assert "**fail**" in found.report
    # Judged again, it says the same, in the same bytes.
    judged = ("gate", tmp_path / "out", "--baseline", nights / "good", "--junit", tmp_path / "b.xml")
    code, stdout, stderr = command(*judged)
    assert (code, stderr) == (1, found.stderr)
    assert stdout
    assert (tmp_path / "a.xml").read_bytes() == (tmp_path / "b.xml").read_bytes()


def test_junit_has_a_case_for_each_verdict(nights: Path, tmp_path: Path) -> None:
    junit, short = tmp_path / "deep" / "junit.xml", tmp_path / "short.md"
    extra = ("--set", "gates.similarity.minimum=0.3", "--set", "gates.similarity.name=<a> & b", "--junit", junit)
    gate(nights, "bad", "good", *extra, "--markdown", short)
    suite = ET.parse(junit).getroot().find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert [(case.get("name"), [child.tag for child in case]) for case in suite] == [
        ("exact_match", ["failure"]),
        ("odd ones", ["system-out"]),
        ("<a> & b", ["system-out"]),
    ]
    assert short.read_text().startswith("**FAIL** `toy: ")
    assert "Samples that moved `exact_match` of predictions most:" in short.read_text()
    assert "-0.0167" in short.read_text()


def test_the_samples_that_moved_a_slice_are_of_the_slice(nights: Path, tmp_path: Path) -> None:
    extra = ("--set", "gates.exact_match @ kind=1.not_worse_than=baseline", "--markdown", tmp_path / "short.md")
    gate(nights, "bad", "good", *extra)
    found = (tmp_path / "short.md").read_text().partition("Samples that moved `exact_match @ kind=1`")[2]
    kinds = {each["sample_id"]: each["kind"] for each in map(json.loads, (nights / "t.jsonl").read_text().splitlines())}
    named = [cells[1].strip().strip("`") for line in found.splitlines() if len(cells := line.split("|")) > 4][2:]
    assert 0 < len(named) <= 5
    assert {kinds[name] for name in named} == {1}


def test_without_a_baseline_a_comparison_is_refused_before_anything_is_scored(nights: Path, tmp_path: Path) -> None:
    told = (
        "beamscore: gates.exact_match.not_worse_than: found baseline, but there is none; give --baseline RUN, or a "
        "file such as blessed.txt that names one\n"
    )
    assert gate(nights, "same", None, "--junit", tmp_path / "j.xml") == (2, "", told)
    for more in ((), ("--check",)):
        config = nights / "gates.yaml"
        found = evaluate(tmp_path / "out", nights / "t.jsonl", nights / "bad.jsonl", *more, config=config)
        assert (found.code, found.stdout, found.stderr) == (2, "", told)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("missing", ["wrong", "exclude"])
def test_a_night_without_most_of_its_predictions_fails_where_these_are_limited(
    nights: Path, tmp_path: Path, missing: str
) -> None:
    """The 25 predictions that are left are all right, and no gate fails: 25 of 60 are 0.42, 25 of 25 are 1."""
    write_lines(tmp_path / "few.jsonl", CORPUS[:25])
    few, short = (nights / "t.jsonl", tmp_path / "few.jsonl"), tmp_path / "short.md"
    config = tmp_path / "c.yaml"
    config.write_text("benchmark: toy\ngates: {exact_match: {minimum: 0.2}, similarity: {minimum: 0.2}}\n")
    found = evaluate(tmp_path / "open", *few, "--set", f"missing={missing}", "--markdown", str(short), config=config)
    assert found.code == 0
    assert short.read_text().startswith("**PASS** ")
    assert "\n\n- predictions: 25 of 60 samples scored, 35 without a prediction\n\n" in short.read_text()
    assert "\n2 of 2 gates pass\n" in found.stdout
    told = "beamscore: 35 of 60 samples have no prediction, more than max_missing_fraction 0.5 allows\n"
    for limit, code, line in (("0.5", 1, told), ("0.6", 0, "")):
        given = ("--set", f"max_missing_fraction={limit}", "--quiet", "--markdown", str(short))
        assert command("gate", tmp_path / "open", *given) == (code, "", line)
        assert short.read_text().startswith("**FAIL** " if code else "**PASS** ")
        assert ("35 of 60 samples have no prediction" in short.read_text()) == bool(code)
    found = evaluate(tmp_path / "closed", *few, "--quiet", "--set", "max_missing_fraction=0.5", config=config)
    assert (found.code, found.stderr) == (1, told)


def test_a_few_rejected_records_are_told_with_their_cause_where_they_are_allowed(nights: Path, tmp_path: Path) -> None:
    bad = [{"sample_id": CORPUS[0]["sample_id"], "text": 5}, {"text": "x"}, *CORPUS[2:]]
    write_lines(tmp_path / "bad.jsonl", bad)
    found = evaluate(tmp_path / "out", nights / "t.jsonl", tmp_path / "bad.jsonl", "--set", "max_rejected_fraction=0.1")
    assert (found.code, found.stderr) == (0, "")
    (line,) = [line for line in found.stdout.splitlines() if "were rejected" in line]
    assert line.startswith("2 of 60 predictions were rejected; most often: there is no sample_id; ")
    assert f"({tmp_path / 'bad.jsonl'}:2)" in line
    causes = json.loads((tmp_path / "out" / "run.json").read_bytes())["quarantine"]
    assert [(each["cause"], each["records"]) for each in causes] == [("no_sample_id", 1), ("invalid", 1)]


def test_a_run_that_scored_nothing_passes_no_gate(nights: Path, tmp_path: Path) -> None:
    """A share of failures is 0 where there are no answers at all."""
    write_lines(tmp_path / "none.jsonl", [])
    evaluate(tmp_path / "out", nights / "t.jsonl", tmp_path / "none.jsonl", "--quiet")
    code, _, stderr = command("gate", tmp_path / "out", "--set", "gates.exact_match.maximum=0.5")
    assert code == 1
    assert stderr == ("beamscore: nothing was scored: no readable prediction has a readable ground truth\n")


def test_another_ground_truth_is_invalid(nights: Path) -> None:
    code, _, stderr = gate(nights, "same", "elsewhere")
    assert code == 1
    assert "cannot be compared with: it has other ground truth (60 samples" in stderr


def test_files_of_an_earlier_run_do_not_outlive_this_one(nights: Path, tmp_path: Path) -> None:
    """CI that reads them after a run that was refused would take the verdicts of last night for those of tonight."""
    for name in ("j.xml", "s.md"):
        (tmp_path / name).write_text("all passed")
    files = ("--junit", tmp_path / "j.xml", "--markdown", tmp_path / "s.md")
    assert gate(nights, "no such run", "good", *files)[0] == 2
    assert not list(tmp_path.iterdir())
    (tmp_path / "j.xml").write_text("all passed")
    assert command("evaluate", nights / "gates.yaml", "--ground-truth", "none.jsonl", *files)[0] == 2
    assert not list(tmp_path.iterdir())


def refusals(nights: Path, tmp_path: Path) -> dict[str, tuple[list[str | Path], str]]:
    good = nights / "good"
    config: list[str | Path] = ["--config", nights / "gates.yaml"]
    chart = tmp_path / "chart.yaml"
    chart.write_text("benchmark: chart\ngates: {task1.macro_f1: {minimum: 0.5}}\n")
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    broken = tmp_path / "broken"
    broken.mkdir(exist_ok=True)
    (broken / "summary.json").write_text('{"benchmark": "toy", "systems": ')
    return {
        "no run": ([tmp_path], f"{tmp_path}/summary.json: no finished run is here (no such file); give its --output"),
        "half written": ([broken, *config], f"{broken}/summary.json: no finished run can be read here: "),
        "no gates": ([good], f"{good}: gates: there are none, so nothing would be judged"),
        "another benchmark": ([good, "--config", chart], f"{chart}: {good} is a run of toy, not of chart"),
        "other options": ([good, *config, "--set", "protocol=released"],
                          f'{nights}/gates.yaml: {good} was made with protocol: "published", not "released"'),
        "another confidence": ([good, *config, "--set", "bootstrap.confidence=0.5"],
                               f"{nights}/gates.yaml: {good} was made with bootstrap: "),
        "itself": ([good, *config, "--baseline", good], f"--baseline {good}: this is the run itself"),
        "no baseline": ([good, *config, "--baseline", tmp_path / "x"],
                        f"--baseline {tmp_path}/x/summary.json: no finished run"),
        "no system": ([good, *config, "--baseline", f"{nights}/same:new"],
                      f"--baseline {nights}/same:new: the run has no system new; it has predictions"),
        "nothing blessed": ([good, *config, "--baseline", tmp_path / "empty.txt"],
                            f"--baseline {tmp_path}/empty.txt: it names no run"),
        "blessed by nobody": ([good, *config, "--baseline", tmp_path / "gone.txt"],
                              f"--baseline {tmp_path}/gone.txt: cannot be read: "),
        "a file that cannot be written": ([nights / "same", *config, "--baseline", good, "--junit", "/proc/none/j.xml"],
                                          "--junit /proc/none/j.xml: "),
    }  # fmt: skip


def test_what_cannot_be_judged_is_told_in_one_line(nights: Path, tmp_path: Path) -> None:
    for what, (arguments, message) in refusals(nights, tmp_path).items():
        code, stdout, stderr = command("gate", *arguments)
        assert (code, stdout if "cannot be written" not in what else "") == (2, ""), (what, stderr)
        assert stderr.startswith(f"beamscore: {message}"), what
        assert stderr.count("\n") == 1, what


def edit(change: Callable[[Any], Any], name: str) -> Callable[[Path], Any]:
    def apply(folder: Path) -> None:
        document = json.loads((folder / name).read_bytes())
        change(document)
        (folder / name).write_text(json.dumps(document))

    return apply


SYSTEM = "predictions"
DAMAGE: dict[str, Callable[[Path], Any]] = {
    "sums.json is of another run": edit(lambda found: found["config"].update(missing="exclude"), "sums.json"),
    "the replicates are cut": edit(
        lambda found: found["systems"][SYSTEM]["replicates"].update(data="AAAA"), "sums.json"
    ),
    "the summary was mended by hand": edit(
        lambda found: found["systems"][SYSTEM]["values"].update(exact_match=1.0), "summary.json"
    ),
    "the coverage is none": edit(lambda found: found["systems"][SYSTEM].update(coverage={}), "summary.json"),
    "the summary is nested without end": lambda folder: (folder / "summary.json").write_text("[" * 100_000),
}
"""What no key that is missing, and no value of another type, is; see test_damaged_runs."""


@pytest.mark.parametrize("damage", sorted(DAMAGE))
def test_a_damaged_run_is_told_in_one_line_and_never_judged(nights: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(nights / "same", folder, ignore=shutil.ignore_patterns(".runs"))
    assert gate(nights, str(folder), "good", "--quiet")[0] == 0
    DAMAGE[damage](folder)
    code, stdout, stderr = gate(nights, str(folder), "good")
    assert (code, stdout) == (2, ""), stderr
    assert stderr.startswith(f"beamscore: {folder}")
    assert stderr.count("\n") == 1
    code, stdout, stderr = gate(nights, "same", str(folder)) if "coverage" not in damage else (2, "", "\n")
    assert (code, stdout, stderr.count("\n")) == (2, "", 1), stderr


def test_a_baseline_is_blessed_by_a_person_and_an_old_one_is_warned_of(nights: Path, tmp_path: Path) -> None:
    blessed = tmp_path / "blessed.txt"
    shutil.copytree(nights / "good", tmp_path / "kept", ignore=shutil.ignore_patterns(".runs"))
    blessed.write_text("# by whom, and why\nnever there\n\nkept   # release 3\n# end\n")
    assert command("gate", nights / "same", "--config", nights / "gates.yaml", "--baseline", blessed)[0] == 0
    run = tmp_path / "kept" / "run.json"
    edit(lambda found: found.update(ended="2020-01-01T00:00:00.000Z"), "run.json")(tmp_path / "kept")
    _, _, stderr = command("gate", nights / "same", "--config", nights / "gates.yaml", "--baseline", blessed)
    assert stderr.startswith(f"beamscore: warning: the baseline {tmp_path / 'kept'} is ")
    assert " days old; bless a newer run" in stderr
    run.unlink()
    _, _, stderr = command("gate", nights / "same", "--config", nights / "gates.yaml", "--baseline", blessed)
    assert "has no run.json that says when it was made" in stderr


def test_a_run_whose_own_gates_are_refused_today_can_still_be_a_baseline(nights: Path, tmp_path: Path) -> None:
    """An earlier version took gates without any bound."""
    shutil.copytree(nights / "good", tmp_path / "old", ignore=shutil.ignore_patterns(".runs"))
    for name in ("summary.json", "sums.json"):
        edit(lambda found: found["config"].update(gates={"exact_match": {}}), name)(tmp_path / "old")
    assert gate(nights, "same", str(tmp_path / "old"))[0] == 0
    code, _, stderr = command("gate", tmp_path / "old")
    assert (code, stderr.count("\n")) == (2, 1)
    assert "gates.exact_match: the gate judges nothing" in stderr


def test_a_system_of_the_baseline_can_be_named(nights: Path, tmp_path: Path) -> None:
    systems = {"good": nights / "good.jsonl", "bad": nights / "bad.jsonl"}
    assert evaluate(tmp_path / "both", nights / "t.jsonl", systems, "--quiet", "--slice", "kind").code == 0
    assert gate(nights, "bad", f"{tmp_path}/both:bad")[0] == 0
    assert gate(nights, "bad", f"{tmp_path}/both:good")[0] == 1
    code, _, stderr = gate(nights, "bad", str(tmp_path / "both"))
    assert code == 1
    assert "the baseline has no system predictions; give --baseline RUN:SYSTEM with one of good, bad" in stderr


def test_a_baseline_that_nothing_needs_is_warned_of(nights: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("benchmark: toy\ngates: {similarity: {minimum: 0.1}}\n")
    code, _, stderr = command("gate", nights / "same", "--config", config, "--baseline", nights / "good")
    assert (code, stderr.splitlines()[0]) == (
        0,
        "beamscore: warning: no gate compares with the baseline; give one `not_worse_than: baseline`",
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--junit", "j.xml"), "--junit j.xml: there are no verdicts to write; the configuration has no gates"),
        (("--baseline", "out"), "--baseline out/summary.json: no finished run is here"),
        (("--set", "gates.exact_match @ kind=1.minimum=0"), "gates.exact_match @ kind=1: the run does not slice by"),
        (("--set", "gates.exact_match.minimum=0", "--set", "gates.exact_match.system=x"), "gates.exact_match.system: "),
    ],
)
def test_gates_that_could_not_be_judged_are_refused_before_the_run(
    nights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found: Run = evaluate(Path("out"), nights / "t.jsonl", nights / "good.jsonl", *more)
    assert (found.code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"beamscore: {message}")
    assert not Path("out").exists()


def test_a_run_does_not_replace_its_own_baseline(nights: Path, tmp_path: Path) -> None:
    shutil.copytree(nights / "good", tmp_path / "out", ignore=shutil.ignore_patterns(".runs"))
    more = ("--baseline", str(tmp_path / "out"), "--quiet", "--slice", "kind")
    found = evaluate(tmp_path / "out", nights / "t.jsonl", nights / "good.jsonl", *more, config=nights / "gates.yaml")
    assert found.code == 2
    assert "this is --output, whose result this run replaces" in found.stderr
