"""Derived metrics from the configuration to each command that reads finished runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import beamscore
from beamscore.pipelines.runs.named import open_system
from beamscore.pipelines.runs.row_changes import top_contributors
from tests import toy
from tests.runs import command, evaluate_records, wrong

CORPUS = [{**toy.sample(index, 0)[0], "half": "first" if index < 20 else "second"} for index in range(60)]
CONFIG = """\
benchmark: toy
slices: [kind, half]
derived:
  both: mean(exact_match, similarity)
  macro: slice_mean(exact_match, half)
gates:
  both: {not_worse_than: baseline, margin: 0.05}
  "both @ kind=1": {minimum: 0.1}
"""
QUIET = ("--quiet", "--no-html")


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good night and a bad one, judged against it, with fewer blanks; another one before `both` was redefined."""
    folder = tmp_path_factory.mktemp("nights")
    (folder / "gates.yaml").write_text(CONFIG)
    for name, count, more in (
        ("old", 3, ("--set=derived.both=mean(similarity)", "--set=gates={}")),
        ("good", 3, ("--set=gates={}",)),
        ("bad", 40, (f"--baseline={folder}/good", "--set=derived.both=mean(exact_match,similarity)")),
    ):
        run = evaluate_records(folder / name, CORPUS, wrong(CORPUS, count), *QUIET, *more, config=folder / "gates.yaml")
        assert run.code == (name == "bad"), run.stderr
    return folder


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_bytes())


def values_of(run: Path) -> Any:
    return summary(run)["systems"]["predictions"]["values"]


def test_a_run_has_their_values_and_intervals_in_each_slice_as_the_python_api_has(nights: Path) -> None:
    system = summary(nights / "good")["systems"]["predictions"]
    for found in (system, *system["slices"].values()):
        values = found["values"]
        assert values["both"] == (values["exact_match"] + values["similarity"]) / 2
        low, high = found["intervals"]["both"]
        assert 0 < low < values["both"] <= high <= 1
        assert found["units"]["both"] == found["units"]["similarity"]
    halves = [system["slices"][f"half={name}"]["values"]["exact_match"] for name in ("first", "second")]
    assert system["values"]["macro"] == (halves[0] + halves[1]) / 2
    # Within a slice, it is the mean over the parts of the slice.
    assert system["slices"]["half=first"]["values"]["macro"] == halves[0]
    low, high = system["intervals"]["macro"]
    assert 0 < low < system["values"]["macro"] < high < 1
    assert "both" in (nights / "good" / "report.md").read_text()
    formulas = yaml.safe_load(CONFIG)["derived"]
    result = beamscore.evaluate("toy", CORPUS, wrong(CORPUS, 3), slices=["half"], derived=formulas)
    assert {name: result.values[name] for name in formulas} == {name: system["values"][name] for name in formulas}


def test_a_gate_judges_them_by_the_paired_difference_and_a_comparison_tests_them(nights: Path, tmp_path: Path) -> None:
    whole, of_slice = summary(nights / "bad")["gates"]
    before, after = (values_of(nights / name) for name in ("good", "bad"))
    found = (whole["verdict"], whole["metric"], whole["reference"], whole["difference"])
    assert found == ("fail", "both", before["both"], after["both"] - before["both"])
    assert whole["difference_interval"][1] < -0.05
    assert (of_slice["verdict"], of_slice["slice"]) == ("pass", "kind=1")
    # A finished run is judged by the definitions that it has.
    assert command("gate", nights / "bad", "--baseline", nights / "good")[0] == 1
    # Each of the 37 that became wrong lowers the mean over the slices of `half`.
    bad, good = (open_system(str(nights / name)) for name in ("bad", "good"))
    moved = top_contributors(bad.run.configuration.benchmark, "macro", bad, good, count=99)
    assert [each.effect < 0 for each in moved] == [True] * 37
    sides = ("compare", nights / "good", nights / "bad")
    assert command(*sides, "--output", tmp_path, *QUIET)[::2] == (0, "")
    metrics = json.loads((tmp_path / "comparison.json").read_bytes())["metrics"]
    both, macro = metrics["both"], metrics["macro"]
    assert [(one["verdict"], one["differing_samples"], one["p"]) for one in (both, macro)] == [("worse", 37, 0.001)] * 2
    assert [macro["baseline"], macro["candidate"]] == [before["macro"], after["macro"]]
    assert command("history", nights, "--output", tmp_path, "--no-html")[0] == 0
    assert "the formula of both changed" in (tmp_path / "history.md").read_text()


def test_a_mean_over_other_slices_or_classes_passes_no_gate(tmp_path: Path) -> None:
    """Without its hardest slice and class, of which nothing is predicted, the mean over them is better."""
    names = ["Pie", "Donut", "Line"] * 20
    charts, wrong = (
        [{"sample_id": f"c{place}", "kind": name, "task1": {"output": {"chart_type": as_what.get(name, name)}}}
         for place, name in enumerate(names)] + [{"sample_id": "none", "kind": "Text"}]
        for as_what in ({}, {"Pie": "Donut"})
    )  # fmt: skip
    # The mean of classes may be a part of another metric.
    derived = {"slices": "slice_mean(task1.macro_f1, kind)", "classes": "mean(task1.macro_f1)"}
    given = [f"--set=derived={json.dumps({**derived, 'typo': 'mean(task1.f1[Pie])'})}", "--slice=kind,kind"]
    given += ["--slice=kind", "--set=missing=exclude", *QUIET]
    before = evaluate_records(tmp_path / "before", charts, wrong, *given, config="chart").output
    gates = [f"--set=gates.{name}.not_worse_than=baseline" for name in (*derived, "task1.macro_f1")]
    few = [each for each in wrong if each["kind"] != "Pie"]
    judged = (*given, *gates, f"--baseline={before}")
    after = evaluate_records(tmp_path / "after", charts, few, *judged, config="chart")
    for name in derived:
        assert values_of(before)[name] < values_of(after.output)[name] == 1
    told = "only one side measured {}, which may hide a loss"
    counts = [after.stderr.count(told.format(each)) for each in ("task1.macro_f1 of kind=Pie", "task1.recall[pie]")]
    assert (after.code, counts) == (4, [1, 2]), after.stderr
    lacking = "slices leaves out {} of 4 slices of kind, of which nothing was measured: {}"
    # A chart without the task is a sample, and has no value.
    typo = "derived.typo: task1.f1[Pie] has no value in any system (did you mean task1.f1[pie]?)"
    assert summary(before)["warnings"] == [lacking.format(1, "kind=Text"), typo]
    assert summary(after.output)["warnings"][0] == lacking.format(2, "kind=Pie, kind=Text")


def test_another_formula_under_one_name_is_told_and_another_metric_is_not(nights: Path, tmp_path: Path) -> None:
    # If that is allowed, one formula holds for both sides.
    output, sides = tmp_path / "allowed", (nights / "old", nights / "good")
    code, _, stderr = command("compare", *sides, "--output", output, "--allow-differences", *QUIET)
    by_formula = "the candidate's derived metrics are computed by the formulas of the baseline"
    document = json.loads((output / "comparison.json").read_bytes())
    told = 'the candidate used derived.both: "mean(exact_match, similarity)" instead of "mean(similarity)"'
    assert (code, document["differences"], stderr.count(by_formula)) == (0, [told, by_formula], 1)
    assert document["metrics"]["both"]["candidate"] == values_of(nights / "good")["similarity"]
    without = evaluate_records(tmp_path / "without", CORPUS, wrong(CORPUS, 3), *QUIET).output
    assert "derived" not in summary(without)["config"]
    # Who cites a run cites the formulas of its metrics.
    cited = [summary(run)["signature"] for run in (nights / "good", nights / "bad", nights / "old", without)]
    assert [cited.index(each) for each in cited] == [0, 0, 2, 3]
    # The metric alone cannot be judged, as the baseline lacks it.
    code, _, stderr = command("gate", nights / "good", "--config", nights / "gates.yaml", "--baseline", without)
    assert (code, "invalid: the metric was not measured in the baseline" in stderr) == (1, True)
    # Nor does it hide the samples that moved the metrics which need no slices.
    bad, other = (open_system(str(run)) for run in (nights / "bad", without))
    assert len(top_contributors(bad.run.configuration.benchmark, "both", bad, other, count=99)) == 37
