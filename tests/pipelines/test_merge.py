"""Merging runs over disjoint samples: the bytes of one evaluation of all, or one line that says why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.finished_runs import row, write_run
from tests.runs import Record, Run, command, evaluate, write_lines

COUNT = 50
CORPUS = [toy.sample(index, 0) for index in range(COUNT)]
FLAGS = ("--quiet", "--slice", "kind", "--slice", "words", "--set", "bootstrap.replicates=30")
BAD: list[Record] = [{"sample_id": "bad", "text": 5}, {"sample_id": "twice", "text": "x"}, {"sample_id": "twice"}]


def shard(folder: Path, name: str, samples: list[tuple[Record, Record | None]], more: list[Record]) -> dict[str, Path]:
    truths = [truth for truth, _ in samples] + more
    answers = [prediction for _, prediction in samples if prediction]
    return {
        "truth": write_lines(folder / name / "t.jsonl", truths),
        "ours": write_lines(folder / name / "ours.jsonl", answers),
        "same": write_lines(folder / name / "same.jsonl", [truth for truth, _ in samples]),
    }


def run(folder: Path, name: str, inputs: list[dict[str, Path]], *more: str) -> Run:
    globs = [str(each["truth"].parent) for each in inputs]
    truths = [flag for each in globs[1:] for flag in ("--ground-truth", f"{each}/t.jsonl")]
    extra = [flag for each in globs[1:] for system in ("ours", "same")
             for flag in ("--predictions", f"{system}={each}/{system}.jsonl")]  # fmt: skip
    systems = {"ours": f"{globs[0]}/ours.jsonl", "same": f"{globs[0]}/same.jsonl"}
    return evaluate(folder / name, f"{globs[0]}/t.jsonl", systems, *truths, *extra, *FLAGS, *more)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves, the second with records that are rejected and duplicated, and the whole."""
    folder = tmp_path_factory.mktemp("merge")
    halves = [shard(folder, "in1", CORPUS[:20], []), shard(folder, "in2", CORPUS[20:], BAD)]
    for name, inputs in [("first", halves[:1]), ("second", halves[1:]), ("whole", halves)]:
        assert run(folder, name, inputs, "--set", "max_rejected_fraction=1").code == 0
    return folder


def merge(*arguments: str | Path) -> tuple[int, str, str]:
    return command("merge", *arguments)


def test_the_merged_run_has_the_bytes_of_one_evaluation_of_all(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "merged"
    code, stdout, stderr = merge(runs / "first", runs / "second", "--output", out)
    assert code == 0
    # The duplicates of the runs are told again.
    assert stderr.count("\n") == stderr.count(" with a sample_id that is duplicated: twice at ") == 1
    assert "report: " in stdout
    found, whole = Run(code, stdout, stderr, out), Run(0, "", "", runs / "whole")
    for name in ("sums.json", "summary.json"):
        assert (out / name).read_bytes() == (runs / "whole" / name).read_bytes()
    assert found.samples == whole.samples
    assert found.quarantine == whole.quarantine
    assert found.report == whole.report
    document = json.loads((out / "run.json").read_bytes())
    assert [each["path"] for each in document["merged_from"]] == [str(runs / "first"), str(runs / "second")]
    assert document["inputs"]["ground_truth"]["records"] == COUNT + len(BAD)


def test_the_order_does_not_matter_for_sums_and_values(runs: Path, tmp_path: Path) -> None:
    """Only the lists of inputs in the configuration tell it."""
    assert merge(runs / "second", runs / "first", "--output", tmp_path, "--quiet")[0] == 0
    other, whole = (json.loads((each / "sums.json").read_bytes()) for each in (tmp_path, runs / "whole"))
    assert other["systems"] == whole["systems"]
    assert other["fingerprint"] == whole["fingerprint"]


def changed(run: Path, target: Path, name: str, **changes: Any) -> Path:
    shutil.copytree(run, target, ignore=shutil.ignore_patterns(".runs"))
    document = json.loads((target / name).read_bytes())
    document.update(changes)
    (target / name).write_text(json.dumps(document))
    return target


def test_runs_that_share_samples_are_refused_with_their_names(runs: Path, tmp_path: Path) -> None:
    code, stdout, stderr = merge(runs / "first", runs / "whole", "--output", tmp_path / "out")
    assert (code, stdout) == (2, "")
    assert stderr.startswith(
        f"beamscore: 20 sample_ids are in more than one of the runs, such as s0 ({runs}/first and "
    )
    assert stderr.count("\n") == 1
    assert not (tmp_path / "out" / "summary.json").exists()


def test_a_prediction_that_belongs_to_a_sample_of_another_run_is_told(runs: Path, tmp_path: Path) -> None:
    """One evaluation of all would have paired it."""
    stray = shard(tmp_path, "in3", [(CORPUS[0][0] | {"sample_id": "new"}, CORPUS[1][1])], [])
    write_lines(stray["same"], [{"sample_id": "s1", "text": "x"}])
    assert run(tmp_path, "third", [stray]).code == 1  # nothing was scored
    code, _, stderr = merge(runs / "first", tmp_path / "third", "--output", tmp_path / "out")
    assert code == 2
    assert stderr.startswith("beamscore: 1 sample_ids are in more than one of the runs, such as s1 (")


def test_what_does_not_fit_is_told_in_one_line(runs: Path, tmp_path: Path) -> None:
    first, second, out = runs / "first", runs / "second", tmp_path / "out"
    half = shard(tmp_path, "in", CORPUS[:3], [])
    other = run(tmp_path, "other", [half], "--set", "protocol=released").output
    sliced = evaluate(tmp_path / "sliced", half["truth"], {"ours": half["ours"], "same": half["same"]}, *FLAGS[3:],
                      "--quiet").output  # fmt: skip
    one = evaluate(tmp_path / "one", half["truth"], {"ours": half["ours"]}, *FLAGS).output
    copy = changed(first, tmp_path / "copy", "run.json")
    old = changed(second, tmp_path / "old", "summary.json", version="0.1.0")
    cut = changed(second, tmp_path / "cut", "sums.json", systems={})
    cases: list[tuple[list[str | Path], str]] = [
        ([first], "give at least two runs to merge"),
        ([first, first], "a run is given twice"),
        ([first, copy], f"{copy}: this is a copy of {first}"),
        ([first, other], f"{other}: cannot be merged with {first}: it was made with protocol: "),
        ([first, sliced], f"{sliced}: cannot be merged with {first}: it was sliced by other columns"),
        ([first, one], f"{one}: cannot be merged with {first}: it has the systems ours, not ours, same"),
        ([first, old], f"{old}: cannot be merged with {first}: it was made by beamscore 0.1.0"),
        ([first, cut], f"{cut}/sums.json: no finished run can be read here: it belongs to another run"),
        ([first, tmp_path], f"{tmp_path}/summary.json: no finished run is here"),
    ]
    for arguments, message in cases:
        code, stdout, stderr = merge(*arguments, "--output", out, "--quiet")
        assert (code, stdout, stderr.count("\n")) == (2, "", 1), stderr
        assert stderr.startswith(f"beamscore: {message}"), stderr
    code, _, stderr = merge(first, second, "--output", first)
    assert code == 2
    assert "this is one of the runs that are merged" in stderr


def test_a_run_without_its_rows_is_not_merged(runs: Path, tmp_path: Path) -> None:
    """Nothing would tell whether its samples are others."""
    bare = changed(runs / "second", tmp_path / "bare", "run.json")
    shutil.rmtree(bare / "samples")
    code, _, stderr = merge(runs / "first", bare, "--output", tmp_path / "out")
    assert code == 2
    assert stderr.startswith(f"beamscore: {bare}: the rows of the run are missing: samples/ holds no samples-*.parquet")


@pytest.mark.parametrize("side", ["its ground truth has", "its predictions have"])
def test_a_run_without_a_fingerprint_is_refused(tmp_path: Path, side: str) -> None:
    """That of all would be the one of the others alone, and two runs over other samples would look the same."""
    predictions = [None if side == "its predictions have" else "aa", "bb"]
    folders = [write_run(tmp_path / name, [row(name, 1.0)], predictions=found)
               for name, found in zip("ab", predictions, strict=True)]  # fmt: skip
    if side == "its ground truth has":
        document = json.loads((folders[0] / "summary.json").read_bytes())
        (folders[0] / "summary.json").write_text(json.dumps({**document, "fingerprint": None}))
    code, _, stderr = merge(*folders, "--output", tmp_path / "out")
    assert (code, f"{side} no fingerprint" in stderr) == (2, True)


def test_gates_are_judged_on_the_whole(runs: Path, tmp_path: Path) -> None:
    halves = [shard(tmp_path, "a", CORPUS[:25], []), shard(tmp_path, "b", CORPUS[25:], [])]
    gate = ("--set", "gates.exact_match.minimum=1", "--set", "gates.exact_match.system=ours")
    assert [run(tmp_path, name, [each], *gate).code for name, each in zip(("x", "y"), halves, strict=True)] == [1, 1]
    code, _, stderr = merge(tmp_path / "x", tmp_path / "y", "--output", tmp_path / "out", "--quiet")
    assert code == 1
    assert stderr.startswith("beamscore: ours: gate exact_match: ")
