"""Results that are saved are finished runs: the commands read them, and they are those of the pipeline."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import beamscore
from tests import toy
from tests.runs import RESULT_NAMES, command, evaluate_records, wrong

TRUTHS: list[dict[str, Any]] = [toy.sample(index, 0)[0] for index in range(40)]
GOOD = wrong(TRUTHS, 2)
BAD: list[dict[str, Any]] = [*wrong(TRUTHS[:-1], 30), {**TRUTHS[-1], "text": "prediction is bad"}]
BAD += [{"sample_id": "nobody", "text": "x"}, {**TRUTHS[0], "text": "again"}, {"text": "no id"}]

pytestmark = pytest.mark.filterwarnings("ignore:.*(duplicate sample_id|were rejected)")


def result_of(predictions: list[dict[str, Any]]) -> beamscore.Result:
    return beamscore.evaluate("toy", TRUTHS, predictions, slices=["kind"])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results `good` and `bad`, saved."""
    folder = tmp_path_factory.mktemp("saved")
    for name, predictions in (("good", GOOD), ("bad", BAD)):
        result_of(predictions).save(folder / name)
    return folder


def documents(run: Path) -> list[Any]:
    """Returns summary.json and sums.json without the paths in the configuration."""
    found = [json.loads((run / name).read_bytes()) for name in ("summary.json", "sums.json")]
    for each in found:
        for name in ("ground_truth", "predictions", "output"):
            each["config"].pop(name, None)
    return found


def test_a_saved_result_is_the_run_of_the_pipeline(saved: Path, tmp_path: Path) -> None:
    run = evaluate_records(tmp_path / "run", TRUTHS, BAD, "--slice", "kind", "--quiet")
    assert documents(saved / "bad") == documents(run.output)
    assert {path.name for path in (saved / "bad").iterdir()} == RESULT_NAMES
    tables = [pq.read_table(path / "samples").sort_by("sample_id") for path in (saved / "bad", run.output)]
    assert tables[0].equals(tables[1])
    causes, worst = [], []
    for path in (saved / "bad", run.output):
        entries = json.loads((path / "run.json").read_bytes())["quarantine"]
        causes.append(sorted((each["cause"], each["side"], each["stage"], each["records"]) for each in entries))
        worst.append((path / "report.md").read_text().partition("### Worst")[2].partition("\n#")[0])
    assert causes[0] == causes[1]
    assert {cause for cause, *_ in causes[0]} == {"duplicate", "no_sample_id", "unmatched", "invalid"}
    assert worst[0] == worst[1] != ""


def test_what_is_saved_is_loaded_as_it_was(saved: Path, tmp_path: Path) -> None:
    before, after = result_of(BAD), beamscore.load(saved / "bad")
    sides = (replace(each, samples=each.samples.sort_by("sample_id"), warnings=[]) for each in (before, after))
    assert next(sides) == next(sides)
    (tmp_path / "file").write_text("")
    for path, said in ((tmp_path / "file", "output .* cannot be written.* another output"), ("", "folder: .* empty")):
        with pytest.raises(ValueError, match=f"^{said}$"):
            after.save(path)
    # Saved once more, nothing changes but what says which run it is; an earlier run is replaced as a whole.
    result_of(GOOD).save(tmp_path / "again")
    kept = after.saved.run
    kept.provenance = {**kept.provenance, "page_problem": "of the page that is made anew"}
    after.save(tmp_path / "again")
    assert len(list((tmp_path / "again" / "samples").iterdir())) == 1
    for name in ("summary.json", "sums.json", "report.md"):
        assert (tmp_path / "again" / name).read_bytes() == (saved / "bad" / name).read_bytes()
    assert beamscore.load(tmp_path / "again").rejected == before.rejected
    about, once = (json.loads((run / "run.json").read_bytes()) for run in (tmp_path / "again", saved / "bad"))
    assert about == {**once, "run_id": about["run_id"]}
    damaged = shutil.copytree(saved / "bad", tmp_path / "damaged", ignore=shutil.ignore_patterns(".runs"))
    (damaged / "summary.json").write_text((damaged / "summary.json").read_text().replace('"rejected"', '"lost"'))
    with pytest.raises(ValueError, match=r"damaged: the coverage in summary\.json is not that of a run"):
        beamscore.load(damaged)
    next((damaged / "quarantine").iterdir()).write_text("{")
    with pytest.raises(ValueError, match="cannot be read as a file of a finished run"):
        beamscore.load(damaged)
    with pytest.warns(UserWarning, match="nothing was scored"):
        result_of([{**each, "text": 5} for each in TRUTHS]).save(tmp_path / "none")
    (warning,) = beamscore.load(tmp_path / "none").warnings
    assert warning == "the predictions: no readable prediction has a readable ground truth"
    assert command("history", saved, "--output", tmp_path / "history")[0] == 0
    assert command("gate", saved / "good", "--set", "gates.exact_match.minimum=0.5")[0] == 0


def test_one_system_of_several_is_loaded_and_saved_alone(tmp_path: Path) -> None:
    # Beside what is bad: a sample that cannot be scored with this system.
    ours = [{**BAD[0], "text": "score fails"}, *BAD[1:]]
    gates = ("--set", "gates.exact_match.minimum=0")
    run = evaluate_records(tmp_path / "run", TRUTHS, {"ours": ours, "theirs": TRUTHS}, "--quiet", *gates)
    with pytest.raises(ValueError, match=r"run: it holds 2 systems; give one of .*/run:ours, .*/run:theirs$"):
        beamscore.load(run.output)
    result = beamscore.load(f"{run.output}:ours")
    assert result.values == run.summary["systems"]["ours"]["values"] != run.summary["systems"]["theirs"]["values"]
    assert set(result.samples["system"].to_pylist()) == {"ours"}
    assert beamscore.load(f"{run.output}:theirs").rejected == []
    result.save(tmp_path / "ours")
    again = beamscore.load(tmp_path / "ours")
    assert (again.values, again.rejected, again.coverage) == (result.values, result.rejected, result.coverage)
    assert again.samples.equals(result.samples)
    summary = json.loads((tmp_path / "ours" / "summary.json").read_bytes())
    assert summary["ranking"] == ["ours"]
    assert [each["system"] for each in summary["gates"]] == ["ours"]
    about = json.loads((tmp_path / "ours" / "run.json").read_bytes())
    assert (about["systems"], list(about["inputs"]["predictions"])) == (["ours"], ["ours"])
    assert command("compare", f"{run.output}:theirs", tmp_path / "ours")[0] == 0


def test_a_comparison_has_the_numbers_of_the_command(saved: Path, tmp_path: Path) -> None:
    code, _, stderr = command("compare", saved / "good", saved / "bad", "--output", tmp_path / "c", "--quiet")
    assert (code, stderr) == (0, "")
    expected = json.loads((tmp_path / "c" / "comparison.json").read_bytes())
    found = beamscore.compare(saved / "good", str(saved / "bad"))
    assert found.document == expected
    assert found.judgement == "worse"
    assert found.metrics["exact_match"]["difference"] == pytest.approx(-29 / 40)
    from_memory = beamscore.compare(result_of(GOOD), result_of(BAD))
    assert (from_memory.metrics, from_memory.slices) == (found.metrics, found.slices)
    assert from_memory.document["candidate"] == {"run": "candidate", "system": "predictions"}
    assert repr(found).startswith("Comparison(worse: exact_match fell from 0.9500 to 0.2250, ")
    assert "\n" not in repr(found)
    assert beamscore.compare(saved / "good", result_of(GOOD)).judgement == "identical"


def test_what_does_not_compare_is_refused(saved: Path, tmp_path: Path) -> None:
    other = beamscore.evaluate("toy", TRUTHS, GOOD, missing="exclude")
    with pytest.raises(ValueError, match=r"cannot be compared: .*missing.*; give allow_differences=True to compare"):
        beamscore.compare(saved / "good", other)
    assert beamscore.compare(saved / "good", other, allow_differences=True).document["differences"]
    # What was never a folder of the caller is called as the argument.
    with pytest.raises(ValueError, match=r"^the baseline and the candidate cannot be compared: "):
        beamscore.compare(result_of(GOOD), other)
    for run, said in ((tmp_path, "no finished run is here"), ("", "the path of a run is empty")):
        with pytest.raises(ValueError, match=said):
            beamscore.compare(saved / "good", run)
    with pytest.raises(ValueError, match=r"^threshold inf: must be a number of at least 0$"):
        beamscore.compare(saved / "good", saved / "bad", threshold=float("inf"))
