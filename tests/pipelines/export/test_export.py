"""`beamscore export`: what other tools read of a finished run is what the run says."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.commands.arguments import EXPORTS
from beamscore.pipelines.export.verdicts import annotation_lines, junit
from beamscore.transforms.records import printable
from tests import toy
from tests.runs import Run, command, evaluate, refused, write_lines

ROOT = Path(__file__).parents[3]
SCHEMA = Path(__file__).parent / "every_eval_ever" / "eval.schema.json"
"""Of the release 0.3.0 of https://pypi.org/project/every-eval-ever, under the license beside it."""

CORPUS = [toy.sample(index, 0)[0] for index in range(40)]
GATES = """\
benchmark: toy
gates:
  exact_match: {minimum: 0.9, not_worse_than: baseline}
  similarity: {minimum: 0.99, tier: advisory}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base`: all right. `two`: judged against it, two systems, of which `ours` has 30 of 40 wrong, one rejected."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "gates.yaml").write_text(GATES)
    write_lines(folder / "t.jsonl", CORPUS)
    wrong = [{**truth, "text": "?" * 9} if place < 30 else truth for place, truth in enumerate(CORPUS)]
    wrong[39] = {**wrong[39], "text": "prediction is bad"}
    write_lines(folder / "p.jsonl", wrong)
    assert evaluate(folder / "base", folder / "t.jsonl", folder / "t.jsonl", "--quiet").code == 0
    sides = {"ours": folder / "p.jsonl", "theirs": folder / "t.jsonl"}
    more = ("--baseline", str(folder / "base"), "--quiet", "--set", "max_rejected_fraction=1")
    verdicts = ("--junit", str(folder / "two.xml"), "--markdown", str(folder / "two.md"))
    two = evaluate(folder / "two", folder / "t.jsonl", sides, *more, *verdicts, config=folder / "gates.yaml")
    assert two.code == 1
    return folder


def run_of(runs: Path) -> Run:
    return Run(0, "", "", runs / "two")


def export(run: Path | str, to: str, *more: str | Path) -> str:
    """Returns what an export prints."""
    code, stdout, stderr = command("export", run, "--to", to, *more)
    assert (code, stderr) == (0, "")
    return stdout


def test_every_eval_ever_accepts_each_metric(runs: Path, tmp_path: Path) -> None:
    more = ("--model", "org/reader", "--dataset", "lines", "--organization", "Org", "--relationship", "first_party")
    assert export(f"{runs / 'two'}:ours", "every-eval-ever", "--output", tmp_path / "e.json", *more).count("\n") == 1
    found = json.loads((tmp_path / "e.json").read_bytes())
    jsonschema.validate(found, json.loads(SCHEMA.read_bytes()))
    system = run_of(runs).summary["systems"]["ours"]
    by_metric = {each["metric_config"]["metric_name"]: each for each in found["evaluation_results"]}
    assert {name: each["score_details"]["score"] for name, each in by_metric.items()} == system["values"]
    exact = by_metric["exact_match"]
    assert exact["metric_config"]["lower_is_better"] is False
    uncertainty = exact["score_details"]["uncertainty"]
    assert [uncertainty["confidence_interval"][end] for end in ("lower", "upper")] == system["intervals"]["exact_match"]
    assert uncertainty["standard_error"]["value"] == system["errors"]["exact_match"]
    assert uncertainty["num_samples"] == 40
    assert (found["model_info"]["id"], exact["source_data"]["dataset_name"]) == ("org/reader", "lines")


def test_inspect_gets_a_score_for_each_sample(tmp_path: Path) -> None:
    corpus = ROOT / "tests" / "corpora" / "traffic_rules"
    sides = [corpus / f"{side}.jsonl" for side in ("ground_truth", "predictions")]
    run = evaluate(tmp_path / "run", sides[0], sides[1], "--quiet", config="traffic_rules")
    lines = [json.loads(line) for line in export(run.output, "inspect").splitlines()]
    kind = benchmark_class("traffic_rules")
    benchmark, main = kind(kind.options_type()), kind.main_sample_metric().name
    rows = {row["sample_id"]: row for row in run.samples}
    assert len(lines) == len(rows)
    assert any(line["explanation"] for line in lines)
    for line in lines:
        row = rows[line["id"]]
        assert line["value"] == row[main]
        assert line["explanation"] == "\n".join(benchmark.explain(json.loads(row["details"])))
        assert line["metadata"] == {name: row[name] for name in ("status", *kind.sample_metric_names())}


def test_a_model_card_has_the_main_metrics_of_each_system(runs: Path) -> None:
    index = yaml.safe_load(export(runs / "two", "model-index", "--task", "text-generation"))["model-index"]
    assert [model["name"] for model in index] == ["ours", "theirs"]
    systems = run_of(runs).summary["systems"]
    for model in index:
        (result,) = model["results"]
        assert result["task"] == {"type": "text-generation"}
        assert result["dataset"] == {"type": "toy", "name": "toy"}
        assert [metric["type"] for metric in result["metrics"]] == ["exact_match", "similarity"]
        for metric in result["metrics"]:
            system = systems[model["name"]]
            assert metric["value"] == system["values"][metric["type"]]
            low, high = system["intervals"][metric["type"]]
            assert metric["args"] == {"confidence": 0.95, "low": low, "high": high}
    (model,) = yaml.safe_load(export(f"{runs / 'two'}:ours", "model-index", "--model", "org/reader"))["model-index"]
    assert model["name"] == "org/reader"


def test_verdicts_are_those_that_the_run_wrote(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(runs / "two", "junit", "--output", tmp_path / "deep" / "j.xml")
    assert (tmp_path / "deep" / "j.xml").read_bytes() == (runs / "two.xml").read_bytes()
    of_one = ET.fromstring(export(f"{runs / 'two'}:theirs", "junit")).iter("testcase")
    names = [(case.get("classname"), case.get("name")) for case in of_one]
    assert names == [("theirs", "exact_match"), ("theirs", "similarity")]
    export(runs / "two", "github", "--output", tmp_path / "s.md")
    assert (tmp_path / "s.md").read_bytes() == (runs / "two.md").read_bytes()
    assert "Samples that moved" in (tmp_path / "s.md").read_text()
    # What other steps of the job have written stays.
    (tmp_path / "job.md").write_text("# Job\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "job.md"))
    printed = export(runs / "two", "github").splitlines()
    assert (tmp_path / "job.md").read_bytes() == b"# Job\n" + (runs / "two.md").read_bytes()
    assert [line.partition(" ")[0] for line in printed] == ["::error", "::warning", "::warning"]
    assert printed[0].startswith(f"::error title=toy%3A {runs / 'two'}::ours: gate exact_match: fail: ")


def test_a_baseline_that_is_gone_is_told(runs: Path, tmp_path: Path) -> None:
    found = json.loads((runs / "two" / "run.json").read_bytes())
    copied = tmp_path / "copy"
    copied.mkdir()
    for name in ("summary.json", "sums.json"):
        (copied / name).write_bytes((runs / "two" / name).read_bytes())
    (copied / "run.json").write_text(json.dumps({**found, "baseline": {"path": "gone", "run_id": "1"}}))
    code, stdout, stderr = command("export", copied, "--to", "github")
    assert code == 0
    assert stdout.startswith("**FAIL**")
    assert stderr.startswith("beamscore: warning: the samples that moved a metric are not listed: gone/summary.json: ")


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_without_the_library_the_extra_is_named(library: str, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert refused("export", runs / "two", "--to", library).endswith(f"; pip install 'beamscore[{library}]'")


VERDICT: dict[str, Any] = {"gate": "g", "system": None, "verdict": "fail", "blocks": True, "reason": "r"}


@given(st.text(), st.text())
@example("100%, no: more", "100%25")
def test_text_of_a_run_gives_no_other_workflow_command(title: str, reason: str) -> None:
    """A workflow command is a line: its parts may neither end it nor begin another, and are read as they were."""
    (line,) = annotation_lines(title, [{**VERDICT, "reason": reason}])
    assert line.splitlines() == [line]
    prefix, text = line.removeprefix("::error title=").split("::", 1)
    assert not {":", ","} & set(prefix)
    assert unquote(text) == f"gate g: fail: {printable(reason)}"
    assert unquote(prefix) == printable(title)


def unquote(text: str) -> str:
    """Returns a text as GitHub reads it."""
    return text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")


def test_errors_come_before_warnings_and_junit_counts_each_kind() -> None:
    """What changes no exit code, as it is advisory or may be inconclusive, is skipped with its reason."""
    kinds = [("pass", False, "system-out"), ("fail", False, "skipped"), ("inconclusive", True, "failure"),
             ("invalid", True, "error"), ("fail", True, "failure")]  # fmt: skip
    verdicts = [{**VERDICT, "gate": word, "verdict": word, "blocks": blocks} for word, blocks, _ in kinds]
    lines = list(annotation_lines("t", verdicts, ["too many"]))
    assert [line.split(" ")[0] for line in lines] == ["::error"] * 4 + ["::warning"]
    (suite,) = ET.fromstring(junit("t", verdicts, ["too many"]))
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "6", "failures": "3", "errors": "1", "skipped": "1"}
    found = [(case.get("name"), case[0].tag, case[0].get("message")) for case in suite]
    expected = [(word, kind, None if word == "pass" else f"{word}: r") for word, _, kind in kinds]
    assert found == [*expected, ("run", "failure", "too many")]


def test_each_target_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")
    for target, options in EXPORTS.items():
        assert f"| `{target}` |" in page
        for option in options:
            assert f"--{option.replace('_', '-')}" in page
