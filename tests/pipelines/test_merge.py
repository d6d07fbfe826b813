"""Merging runs over disjoint samples: the bytes of one evaluation of all, or one line that says why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import toy
from tests.finished_runs import row, write, write_run
from tests.runs import Record, Run, command, evaluate, write_lines
from tests.runs import refused as wrong_usage

COUNT = 50
CORPUS = [toy.sample(index, 0) for index in range(COUNT)]
DERIVED = "derived.macro=slice_mean(exact_match, kind)"
FLAGS = ("--quiet", "--no-html", "--slice", "kind", "--slice", "words", "--set", "bootstrap.replicates=30")
GATE = ("--set", "max_rejected_fraction=1", "--set", "worst_samples=3", "--set", "gates.exact_match.minimum=1")
BAD: list[Record] = [{"sample_id": "bad", "text": 5}, {"sample_id": "twice", "text": "x"}, {"sample_id": "twice"}]


def shard(folder: Path, samples: list[tuple[Record, Record | None]], more: list[Record]) -> Path:
    """Writes the inputs of a shard, with the systems `ours` and `same`."""
    write_lines(folder / "t.jsonl", [truth for truth, _ in samples] + more)
    write_lines(folder / "ours.jsonl", [prediction for _, prediction in samples if prediction])
    write_lines(folder / "same.jsonl", [truth for truth, _ in samples])
    return folder


def run(output: Path, inputs: list[Path], *more: str, flags: tuple[str, ...] = FLAGS) -> Run:
    truths = [flag for each in inputs[1:] for flag in ("--ground-truth", f"{each}/t.jsonl")]
    others = [flag for each in inputs[1:] for system in ("ours", "same")
              for flag in ("--predictions", f"{system}={each}/{system}.jsonl")]  # fmt: skip
    systems = {"ours": f"{inputs[0]}/ours.jsonl", "same": f"{inputs[0]}/same.jsonl"}
    return evaluate(output, f"{inputs[0]}/t.jsonl", systems, *truths, *others, *flags, "--set", DERIVED, *more)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves, the second with records that are rejected and duplicated, and the whole; a small one as the first."""
    folder = tmp_path_factory.mktemp("merge")
    halves = [shard(folder / "in1", CORPUS[:20], []), shard(folder / "in2", CORPUS[20:], BAD)]
    for name, inputs in [("first", halves[:1]), ("second", halves[1:]), ("whole", halves)]:
        assert run(folder / name, inputs, *GATE).code == 1
    shard(folder / "in3", CORPUS[:3], [])
    return folder


def refused(*arguments: str | Path) -> str:
    return wrong_usage("merge", *arguments, "--no-html", "--quiet")


def test_the_merged_run_has_the_bytes_of_one_evaluation_of_all(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "merged"
    flags = ("--no-html", "--output")
    code, stdout, stderr = command("merge", runs / "first", runs / "second", *flags, out)
    # The gate is judged on the whole, and the duplicates of the runs are told again.
    assert (code, stderr.count("ours: gate exact_match: "), stderr.count(" with a duplicate sample_id: ")) == (1, 1, 1)
    assert "report: " in stdout
    found, whole = Run(code, stdout, stderr, out), Run(0, "", "", runs / "whole")
    assert found.bytes() == whole.bytes()
    assert (found.samples, found.quarantine, found.report) == (whole.samples, whole.quarantine, whole.report)
    document = json.loads((out / "run.json").read_bytes())
    assert [each["path"] for each in document["merged_from"]] == [str(runs / "first"), str(runs / "second")]
    assert document["inputs"]["ground_truth"]["records"] == COUNT + len(BAD)
    based = ("--baseline", runs / "first", "--no-html", "--quiet", "--output")
    command("merge", runs / "first", runs / "second", *based, tmp_path / "based")
    assert json.loads((tmp_path / "based" / "run.json").read_bytes())["baseline"]["path"] == str(runs / "first")
    assert "this is --output, whose result" in refused(
        runs / "first", runs / "second", "--baseline", out, "--output", out
    )
    # Of the other order only the lists of inputs in the configuration tell.
    assert command("merge", runs / "second", runs / "first", *flags, tmp_path / "turned", "--quiet")[0] == 1
    turned = Run(0, "", "", tmp_path / "turned").sums
    assert (turned["systems"], turned["fingerprint"]) == (whole.sums["systems"], whole.sums["fingerprint"])


def test_runs_that_share_samples_are_refused_with_their_names(runs: Path, tmp_path: Path) -> None:
    """Also where a prediction belongs to a sample of another run: one evaluation of all would have paired it."""
    shared = refused(runs / "first", runs / "whole", "--output", tmp_path / "out")
    assert shared.startswith(f"sample_ids are in more than one of the runs, such as s0 ({runs}/first and ")
    assert shared.endswith("; merge runs over disjoint samples")
    for name in ("third", "fourth"):
        stray = shard(tmp_path / f"in-{name}", [(CORPUS[0][0] | {"sample_id": name}, CORPUS[1][1])], [])
        write_lines(stray / "same.jsonl", [{"sample_id": "s1", "text": "x"}])
        assert run(tmp_path / name, [stray], *GATE).code == 1  # nothing was scored
    for other in (runs / "first", tmp_path / "fourth"):
        told = f"sample_ids are in more than one of the runs, such as s1 ({other} and {tmp_path}/third); "
        told += "the samples are disjoint, but predictions are shared: split the predictions too, and evaluate again"
        assert refused(other, tmp_path / "third", "--output", tmp_path / "out") == told
    # One sample that is shared is told before any predictions.
    stray = shard(tmp_path / "in-fifth", [(CORPUS[19][0], CORPUS[19][1])], [])
    write_lines(stray / "same.jsonl", [truth for truth, _ in CORPUS[:20]])
    assert run(tmp_path / "fifth", [stray], *GATE).code == 1
    told = refused(runs / "first", tmp_path / "fifth", "--output", tmp_path / "out")
    assert told.startswith(f"sample_ids are in more than one of the runs, such as {CORPUS[19][0]['sample_id']} (")
    assert told.endswith("; merge runs over disjoint samples")
    assert not (tmp_path / "out" / "summary.json").exists()


def test_what_does_not_fit_is_told_in_one_line(runs: Path, tmp_path: Path) -> None:
    first, second, half = runs / "first", runs / "second", runs / "in3"
    other = run(tmp_path / "other", [half], "--set", "protocol=released").output
    derived = run(tmp_path / "derived", [half], "--set", "derived={}").output
    sliced = run(tmp_path / "sliced", [half], flags=(*FLAGS[:4], *FLAGS[6:])).output
    turned = run(tmp_path / "turned", [half], flags=(*FLAGS[:2], *FLAGS[4:6], *FLAGS[2:4], *FLAGS[6:])).output
    one = evaluate(tmp_path / "one", half / "t.jsonl", {"ours": half / "ours.jsonl"}, *FLAGS, "--set", DERIVED).output
    bare = tmp_path / "bare"
    shutil.copytree(second, bare, ignore=shutil.ignore_patterns(".runs", "samples"))
    cases: list[tuple[list[str | Path], str]] = [
        ([first], "give at least two runs to merge"),
        # There may be more runs than an integer has bits.
        ([second, *[first] * 64], f"sample_ids are in more than one of the runs, such as s0 ({first} and {first}"),
        ([first, other], f"{other}: cannot be merged with {first}: it used protocol: "),
        ([first, sliced], f"{sliced}: cannot be merged with {first}: it was sliced by kind, not by kind and words"),
        ([first, turned], f"{turned}: cannot be merged with {first}: it was sliced by words and kind, not by kind"),
        ([first, derived], f"{derived}: cannot be merged with {first}: it has other derived metrics"),
        ([first, one], f"{one}: cannot be merged with {first}: it has the systems ours, not ours, same"),
        # Nothing would tell whether its samples are others.
        ([first, bare], f"{bare}: the rows of the run are missing: samples/ holds no samples-*.parquet"),
    ]
    for arguments, message in cases:
        assert refused(*arguments, "--output", tmp_path / "out").startswith(message)
    assert "its result would replace the input" in refused(first, second, "--output", first)
    assert "--output" in refused(first, second)


def test_runs_that_are_judged_by_other_rules_are_refused(tmp_path: Path) -> None:
    """Whatever is taken from the first alone makes the exit code depend on the order of the runs."""
    plain = write_run(tmp_path / "plain", [row("a", 1.0)])
    gate = {"exact_match": {"minimum": 0.5}}
    rules = {"gates": gate, "inconclusive": "pass", "max_missing_fraction": 0.5, "max_rejected_fraction": 0.5}
    for key, value in rules.items():
        other = write_run(tmp_path / key, [row("b", 1.0)], {key: value})
        told = f"{other}: cannot be merged with {plain}: it has another value of {key}; evaluate it again with the same"
        assert refused(plain, other, "--output", tmp_path / "out") == told


def test_a_run_without_a_fingerprint_is_refused(tmp_path: Path) -> None:
    """That of all would be the one of the others alone, and two runs over other samples would look the same."""
    one, other = (write_run(tmp_path / name, [row(name, 1.0, kind="x")]) for name in ("a", "b"))
    document = json.loads((one / "summary.json").read_bytes())
    system = document["systems"]["predictions"]
    # An earlier version kept it of the whole run alone, which is enough.
    system["fingerprint"] = None
    write(one / "summary.json", document)
    assert command("merge", one, other, "--output", tmp_path / "merged", "--quiet", "--no-html")[::2] == (0, "")
    apart = [json.loads((each / "summary.json").read_bytes())["fingerprint"] for each in (one, other)]
    whole = json.loads((tmp_path / "merged" / "summary.json").read_bytes())["fingerprint"]
    assert int(whole["hash"], 16) == sum(int(each["hash"], 16) for each in apart) % 2**64
    system["slices"]["kind=x"]["fingerprint"] = None
    write(one / "summary.json", document)
    said = "its ground truth has no fingerprint in the slice kind=x"
    assert said in refused(one, other, "--output", tmp_path / "out")
    one = write_run(tmp_path / "c", [row("c", 1.0)], predictions=None)
    assert "its predictions have no fingerprint" in refused(one, other, "--output", tmp_path / "out")


def test_together_they_have_no_more_slices_than_a_run_may_have(tmp_path: Path) -> None:
    for most in (1, 2):
        runs = [
            write_run(tmp_path / f"{name}{most}", [row(name, 1.0, kind=name)], {"limits": {"slices": most}})
            for name in ("a", "b")
        ]
        said = "predictions: together the runs have 2 slices, more than the 1 of limits.slices"
        found = command("merge", *runs, "--output", tmp_path / f"out{most}", "--no-html", "--quiet")
        assert found[::2] == ((2, f"beamscore: {said}\n") if most < 2 else (0, ""))
