"""Derived metrics from the configuration to each command that reads finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import beamscore
from beamscore.pipelines.runs.named import open_system
from beamscore.pipelines.runs.row_changes import top_contributors
from tests import toy
from tests.runs import command, evaluate, refused, write_lines

CORPUS = [{**toy.sample(index, 0)[0], "half": "first" if index < 20 else "second"} for index in range(60)]
CONFIG = """\
benchmark: toy
slices: [kind, half]
derived:
  both: mean(exact_match, similarity)
  gap: similarity - exact_match
  macro: slice_mean(exact_match, half)
gates:
  both: {not_worse_than: baseline, margin: 0.05}
  "both @ kind=1": {minimum: 0.1}
"""


def predictions(wrong: int) -> list[dict[str, Any]]:
    """All right but the first `wrong`."""
    return [{**truth, "text": "?" * 9} if place < wrong else truth for place, truth in enumerate(CORPUS)]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good night and a bad one, judged against it; another one before `both` was redefined."""
    folder = tmp_path_factory.mktemp("nights")
    truths = write_lines(folder / "t.jsonl", CORPUS)
    (folder / "gates.yaml").write_text(CONFIG)
    for name, wrong, more in (
        ("old", 3, ["--set=derived.both=mean(similarity)", "--set=gates={}"]),
        ("good", 3, ["--set=gates={}"]),
        ("bad", 40, [f"--baseline={folder}/good"]),
    ):
        given = write_lines(folder / f"{name}.jsonl", predictions(wrong))
        found = evaluate(folder / name, truths, given, "--quiet", *more, config=folder / "gates.yaml")
        assert found.code == (name == "bad"), found.stderr
    return folder


def summary(run: Path) -> Any:
    return json.loads((run / "summary.json").read_bytes())


def values_of(run: Path) -> Any:
    return summary(run)["systems"]["predictions"]["values"]


def test_a_run_has_their_values_and_intervals_in_each_slice(nights: Path) -> None:
    system = summary(nights / "good")["systems"]["predictions"]
    for found in (system, *system["slices"].values()):
        values = found["values"]
        assert values["both"] == (values["exact_match"] + values["similarity"]) / 2
        assert values["gap"] == values["similarity"] - values["exact_match"]
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


def test_a_gate_judges_them_by_the_paired_difference(nights: Path) -> None:
    whole, of_slice = summary(nights / "bad")["gates"]
    before, after = (values_of(nights / name)["both"] for name in ("good", "bad"))
    found = (whole["verdict"], whole["metric"], whole["reference"], whole["difference"])
    assert found == ("fail", "both", before, after - before)
    assert whole["difference_interval"][1] < -0.05
    assert (of_slice["verdict"], of_slice["slice"]) == ("pass", "kind=1")
    # Each of the 37 that became wrong lowers the mean over the slices of `half`.
    bad, good = (open_system(str(nights / name)) for name in ("bad", "good"))
    moved = top_contributors(bad.run.configuration.benchmark, "macro", bad, good, count=99)
    assert [each.effect < 0 for each in moved] == [True] * 37
    # A finished run is judged by the definitions that it has.
    assert command("gate", nights / "bad", "--baseline", nights / "good")[0] == 1


def test_a_mean_over_other_slices_or_classes_passes_no_gate(tmp_path: Path) -> None:
    """Without its hardest slice and class, of which nothing is predicted, the mean over them is better."""
    names = ("Pie", "Donut", "Line")
    charts = [{"sample_id": f"c{place}", "kind": names[place % 3],
               "task1": {"output": {"chart_type": names[place % 3]}}} for place in range(60)]  # fmt: skip
    wrong = [
        {**each, "task1": {"output": {"chart_type": "Donut"}}} if each["kind"] == "Pie" else each for each in charts
    ]
    truth = write_lines(tmp_path / "t.jsonl", charts)
    files = [write_lines(tmp_path / f"{len(some)}.jsonl", some)
             for some in (wrong, [each for each in wrong if each["kind"] != "Pie"])]  # fmt: skip
    # The mean of classes may be a part of another metric.
    derived = {"slices": "slice_mean(task1.macro_f1, kind)", "classes": "mean(task1.macro_f1)"}
    given = [f"--set=derived={json.dumps(derived)}", "--slice=kind", "--set=missing=exclude", "--no-html", "--quiet"]
    gates = [f"--set=gates.{name}.not_worse_than=baseline" for name in (*derived, "task1.macro_f1")]
    before = evaluate(tmp_path / "before", truth, files[0], *given, config="chart")
    after = evaluate(tmp_path / "after", truth, files[1], *given, *gates, f"--baseline={before.output}", config="chart")
    for name in derived:
        assert values_of(before.output)[name] < values_of(after.output)[name] == 1
    told = "only one side measured {}, which may hide a loss"
    counts = [after.stderr.count(told.format(each)) for each in ("kind=Pie", "task1.recall[pie]")]
    assert (after.code, counts) == (4, [1, 2]), after.stderr


def test_another_formula_under_one_name_is_told_and_another_metric_is_not(nights: Path, tmp_path: Path) -> None:
    told = 'used derived.both: "mean(exact_match, similarity)" instead of "mean(similarity)"'
    assert told in refused("compare", nights / "old", nights / "good")
    # If that is allowed, one formula holds for both sides.
    output = tmp_path / "allowed"
    flags = ("--output", output, "--allow-differences", "--quiet", "--no-html")
    code, _, stderr = command("compare", nights / "old", nights / "good", *flags)
    by_formula = "the candidate's derived metrics are computed by the formulas of the baseline"
    document = json.loads((output / "comparison.json").read_bytes())
    assert (code, document["differences"][-1], stderr.count(by_formula)) == (0, by_formula, 1)
    assert document["metrics"]["both"]["candidate"] == values_of(nights / "good")["similarity"]
    without = evaluate(tmp_path / "without", nights / "t.jsonl", nights / "good.jsonl", "--quiet", "--no-html").output
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


def test_a_comparison_tests_them_and_a_history_breaks_where_a_formula_changed(nights: Path, tmp_path: Path) -> None:
    flags = ("--output", tmp_path / "out", "--quiet", "--no-html")
    assert command("compare", nights / "good", nights / "bad", *flags)[::2] == (0, "")
    found = json.loads((tmp_path / "out" / "comparison.json").read_bytes())["metrics"]
    both, macro = found["both"], found["macro"]
    assert [(each["verdict"], each["differing_samples"]) for each in (both, macro)] == [("worse", 37)] * 2
    assert both["p"] == 0.001
    assert [macro["baseline"], macro["candidate"]] == [values_of(nights / name)["macro"] for name in ("good", "bad")]
    assert command("history", nights, "--output", tmp_path, "--no-html")[0] == 0
    assert "the formula of both changed" in (tmp_path / "history.md").read_text()


def test_the_python_api_takes_them(nights: Path) -> None:
    formulas = {"both": "mean(exact_match, similarity)", "macro": "slice_mean(exact_match, half)"}
    result = beamscore.evaluate("toy", CORPUS, predictions(3), slices=["half"], derived=formulas)
    expected = values_of(nights / "good")
    assert {name: result.values[name] for name in formulas} == {name: expected[name] for name in formulas}
