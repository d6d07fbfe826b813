"""Merging runs over disjoint samples: the bytes of one evaluation of all, or one line that says why not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from beamscore.pipelines.commands import merge
from tests import toy
from tests.attacks.corpora import BENCHMARKS, FLAGS, SEEDS, corpus, damaged, rng_of
from tests.finished_runs import row, write, write_run
from tests.runs import (
    Record,
    Run,
    assert_same,
    command,
    evaluate,
    evaluate_records,
    refused as wrong_usage,
    write_lines,
)

CORPUS = [toy.sample(index, 0) for index in range(50)]
BAD: list[Record] = [{"sample_id": "bad", "text": 5}, {"sample_id": "twice", "text": "x"}, {"sample_id": "twice"}]
SETTINGS = (
    "derived.macro=slice_mean(exact_match,{}kind)", "slices=[kind, words]", "bootstrap.replicates=30",
    "max_rejected_fraction=1", "worst_samples=3", "gates.exact_match.minimum=1",
)  # fmt: skip
SYSTEMS = ("half", "right", "nothing")


def refused(*arguments: str | Path) -> str:
    return wrong_usage("merge", *arguments, "--no-html", "--quiet")


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_the_merged_run_has_the_bytes_of_one_evaluation_of_all(tmp_path: Path) -> None:
    """Of two halves, the second with records that are rejected and duplicated."""
    first, second, whole, out = (tmp_path / name for name in ("first", "second", "whole", "merged"))
    for half, samples, more in ((1, CORPUS[:20], []), (2, CORPUS[20:], BAD)):
        write_lines(tmp_path / f"t{half}.jsonl", [*(truth for truth, _ in samples), *more])
        write_lines(tmp_path / f"p{half}.jsonl", [prediction for _, prediction in samples if prediction])
    sides = ("--ground-truth={}/t{}.jsonl", "--predictions=ours={}/p{}.jsonl", "--predictions=same={}/t{}.jsonl")
    for output, halves in ((first, [1]), (second, [2]), (whole, [1, 2])):
        given = [each.format(tmp_path, half) for half in halves for each in sides]
        settings = [f"--set={each.format(' ' * (output != second))}" for each in SETTINGS]
        assert command("evaluate", "toy", *given, *settings, "--quiet", "--no-html", "--output", output)[0] == 1
    flags = ("--no-html", "--output")
    code, stdout, stderr = command("merge", first, second, *flags, out)
    # The gate is judged on the whole, and the duplicates of the runs are told again.
    assert (code, stderr.count("ours: gate exact_match: "), stderr.count(" with a duplicate sample_id: ")) == (1, 1, 2)
    assert "report: " in stdout
    expected = Run(1, "", "", whole)
    assert_same(Run(code, stdout, stderr, out), expected)
    document = read(out / "run.json")
    assert [each["path"] for each in document["merged_from"]] == [str(first), str(second)]
    assert document["inputs"]["ground_truth"]["records"] == len(CORPUS) + len(BAD)
    command("merge", first, second, "--baseline", first, "--quiet", *flags, tmp_path / "based")
    assert read(tmp_path / "based" / "run.json")["baseline"]["path"] == str(first)
    assert "this is --output, whose result" in refused(first, second, "--baseline", out, "--output", out)
    # Of the other order only the lists of inputs in the configuration tell.
    assert command("merge", second, first, *flags, tmp_path / "turned", "--quiet")[0] == 1
    turned = Run(0, "", "", tmp_path / "turned").sums
    assert (turned["systems"], turned["fingerprint"]) == (expected.sums["systems"], expected.sums["fingerprint"])


@pytest.mark.attacks
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", BENCHMARKS)
def test_runs_of_any_partition_merge_to_that_of_all_or_are_refused(tmp_path: Path, name: str, seed: int) -> None:
    rng = rng_of("merge", name, seed)
    count = rng.randint(2, 4)
    parts = [tmp_path / f"part{number}" for number in range(count)]
    place: dict[str, int] = {}
    for side, records in zip(("truths", "predictions"), corpus(name, 18, seed), strict=True):
        for number, part in enumerate(parts):
            own = [each for each in records if place.setdefault(each["sample_id"], rng.randrange(count)) == number]
            write_lines(part / f"{side}.jsonl", damaged(rng, own))

    def run(output: str, folders: list[Path]) -> Run:
        (truth, predicted), *others = [(part / "truths.jsonl", part / "predictions.jsonl") for part in folders]
        more = [each for pair in others for each in (f"--ground-truth={pair[0]}", f"--predictions=ours={pair[1]}")]
        return evaluate(tmp_path / output, truth, {"ours": predicted}, *more, *FLAGS, config=name)

    shards = [run(f"run{number}", [part]) for number, part in enumerate(parts)]
    assert all(shard.code in (0, 1) for shard in shards)
    whole, merged = run("whole", parts), tmp_path / "merged"
    code, _, stderr = command("merge", *(shard.output for shard in shards), "--output", merged, "--quiet")
    if code == 2:
        # The same id in two parts: one evaluation would have paired or doubled it.
        assert "in more than one of the runs" in stderr
    else:
        assert_same(Run(code, "", stderr, merged), whole)
        assert stderr == whole.stderr.replace(str(whole.output), str(merged))


def test_that_no_prediction_has_a_field_is_said_of_the_whole(tmp_path: Path) -> None:
    truths, right = corpus("traffic_rules", 2, 0)[0], corpus("traffic_rules", 2, 0)[0][1:]
    bare, other = ([{"sample_id": each["sample_id"]} for each in truths[:1]], [{"sample_id": "unknown"}])
    for number, given in enumerate((right, other)):
        parts = [
            evaluate_records(tmp_path / f"{name}{number}", *sides, "--quiet", config="traffic_rules")
            for name, sides in (("a", (truths[:1], bare)), ("b", (truths[1:], given)), ("all", (truths, bare + given)))
        ]
        output = tmp_path / f"merged{number}"
        code, _, stderr = command("merge", *(each.output for each in parts[:2]), "--output", output, "--quiet")
        merged = Run(code, "", "", output)
        assert code == parts[2].code == number, stderr
        assert merged.summary["systems"] == parts[2].summary["systems"]


def test_runs_that_share_samples_or_predictions_are_refused_with_their_names(tmp_path: Path) -> None:
    """Also where a prediction belongs to a sample of another run: one evaluation of all would have paired it."""
    runs: dict[str, Path] = {}
    for name, predicted in {"ab": "ab", "bc": "bc", "d": "da", "e": "ea", "b": "a"}.items():
        truths, given = ([{"sample_id": each, "text": "x"} for each in some] for some in (name, predicted))
        runs[name] = evaluate_records(tmp_path / name, truths, given, "--quiet", "--no-html").output
    hint = "merge runs over disjoint samples, each with the predictions of its own samples alone"
    for names, shared in ((("ab", "bc"), "b"), (("ab", "d"), "a"), (("e", "d"), "a"), (("ab", "b"), "ab")):
        places = " and ".join(str(runs[name]) for name in names)
        named = ", ".join(f"{each} ({places})" for each in shared)
        told = refused(*(runs[name] for name in names), "--output", tmp_path / "out")
        assert told == f"sample_ids are in more than one of the runs, such as {named}; {hint}"
    # There may be more runs than an integer has bits.
    told = refused(runs["d"], *[runs["bc"]] * 64, "--output", tmp_path / "out")
    assert f"in more than one of the runs, such as b ({runs['bc']} and {runs['bc']} and " in told
    assert not (tmp_path / "out" / "summary.json").exists()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"protocol": "released"}, 'it used protocol: "released" instead of "published"'),
        ({"slices": []}, "it was sliced by no column, not by kind and words"),
        ({"slices": ["words", "kind"]}, "it was sliced by words and kind, not by kind and words"),
        ({"derived": {"mine": "mean(similarity)"}}, "it has different derived metrics"),
        # Whatever is taken from the first alone makes the exit code depend on the order of the runs.
        ({"bootstrap": {"replicates": 50, "confidence": 0.5}}, 'it used bootstrap: {"replicates":50,"confidence":0.5,'),
        *(
            ({key: value}, f"it has a different value of {key}; evaluate it again with the same")
            for key, value in {
                "gates": {"exact_match": {"minimum": 0.5}},
                "inconclusive": "pass",
                "max_missing_fraction": 0.5,
                "max_rejected_fraction": 0.5,
                "limits": {"record_bytes": 900},
                "sample_id_type": "string",
            }.items()
        ),
        ({}, "it has the systems predictions, not predictions, second"),
    ],
)
def test_runs_that_do_not_fit_are_refused(tmp_path: Path, settings: dict[str, Any], reason: str) -> None:
    rows = [row(name, 1.0, system=system, **{"slice.words": '"x"'})
            for name, system in (("b", "predictions"), ("a", "predictions"), ("a", "second"))]  # fmt: skip
    first = write_run(tmp_path / "first", rows[1 : 2 if settings else 3], {"slices": ["kind", "words"]})
    other = write_run(tmp_path / "other", rows[:1], {"slices": ["kind", "words"], **settings})
    told = refused(first, other, "--output", tmp_path / "out")
    assert told.startswith(f"{other}: cannot be merged with {first}: {reason}")


def test_what_is_no_run_to_merge_is_refused(tmp_path: Path) -> None:
    """A run without a fingerprint too: that of all would be the one of the others, as of runs over other samples."""
    one, other = (write_run(tmp_path / name, [row(name, 1.0, kind="x")]) for name in ("a", "b"))
    document = read(one / "summary.json")
    system = document["systems"]["predictions"]
    # An earlier version kept it of the whole run alone, which is enough.
    system["fingerprint"] = None
    write(one / "summary.json", document)
    assert command("merge", one, other, "--output", tmp_path / "merged", "--quiet", "--no-html")[::2] == (0, "")
    apart = [read(each / "summary.json")["fingerprint"] for each in (one, other)]
    whole = read(tmp_path / "merged" / "summary.json")["fingerprint"]
    assert int(whole["hash"], 16) == sum(int(each["hash"], 16) for each in apart) % 2**64
    assert refused(one, "--output", tmp_path / "out") == "give at least two runs to merge"
    assert "its result would replace the input" in refused(one, other, "--output", one)
    assert "--output" in refused(one, other)
    system["slices"]["kind=x"]["fingerprint"] = None
    write(one / "summary.json", document)
    said = "its ground truth has no fingerprint in the slice kind=x"
    assert said in refused(one, other, "--output", tmp_path / "out")
    one = write_run(tmp_path / "c", [row("c", 1.0)], predictions=None)
    assert "its predictions have no fingerprint" in refused(one, other, "--output", tmp_path / "out")
    # Nothing would tell whether its samples are others.
    shutil.rmtree(other / "samples")
    said = f"{other}: the rows of the run are missing: samples/ holds no samples-*.parquet"
    assert refused(tmp_path / "merged", other, "--output", tmp_path / "out") == said


@pytest.mark.parametrize(("most", "code"), [((1, 1), 2), ((1, 2), 0), ((2, 1), 0)])
def test_together_they_have_no_more_slices_than_one_of_them_may_have(tmp_path: Path, most: Any, code: int) -> None:
    limits = [(name, {"limits": {"slices": limit}}) for name, limit in zip("ab", most, strict=True)]
    runs = [write_run(tmp_path / name, [row(name, 1.0, kind=name)], limit) for name, limit in limits]
    found = command("merge", *runs, "--output", tmp_path / "out", "--no-html", "--quiet")
    said = "beamscore: predictions: together the runs have 2 slices, more than the 1 of limits.slices; "
    said += "evaluate one of them again with a higher limit\n"
    assert found[::2] == (code, said if code else "")


def test_whether_a_task_is_attempted_is_one_decision_for_a_system_on_every_path(tmp_path: Path) -> None:
    """A slice without any prediction of a task that is attempted elsewhere is 0, and loses a comparison."""
    task = "task5.score"
    kind = {"task1": {"output": {"chart_type": "line"}}}
    box = {"x0": 0, "y0": 0, "width": 10, "height": 10}
    legend = {"task5": {"output": {"legend_pairs": [{"id": 0, "bb": box}]}}}

    def charts(sources: str, attempted: str) -> list[Record]:
        """Charts of the sources, with task 5 in those of them that are `attempted`."""
        more = {each: legend if each in attempted else {} for each in sources}
        return [
            {"sample_id": f"{each}{n}", "source": each, **kind, **more[each]} for each in sources for n in range(10)
        ]

    def of_task(system: Any) -> list[float | None]:
        return [each["values"][task] for each in (system, *system["slices"].values())]

    flags = ("--quiet", "--slice", "source", "--set", "bootstrap.replicates=50", "--set", "tasks=[task1,task5]")
    found: dict[str, Any] = {}
    for sources in ("ab", "a", "b"):
        answers = {name: charts(sources, attempted) for name, attempted in zip(SYSTEMS, ("a", "ab", ""), strict=True)}
        run = evaluate_records(tmp_path / sources, charts(sources, "ab"), answers, *flags, config="chart")
        found[sources] = run.summary["systems"]
    half = found["ab"]["half"]
    assert [of_task(found["ab"][name]) for name in ("half", "nothing")] == [[0.5, 1, 0], [None] * 3]
    low, high = half["slices"]["source=b"]["intervals"][task]
    assert (low, high < 0.5) == (0, True)
    # Alone, the half without the task says nothing of it.
    assert found["b"]["half"]["values"][task] is None
    assert command("merge", tmp_path / "a", tmp_path / "b", "--output", tmp_path / "merged")[0] == 0
    assert read(tmp_path / "merged" / "summary.json")["systems"] == found["ab"]
    command("compare", f"{tmp_path}/ab:right", f"{tmp_path}/ab:half", "--output", tmp_path / "compared")
    document = read(tmp_path / "compared" / "comparison.json")
    whole, failed = document["metrics"][task], document["slices"]["source=b"]["metrics"][task]
    assert (failed["baseline"], failed["candidate"], failed["difference"], failed["verdict"]) == (1, 0, -1, "worse")
    same = document["slices"]["source=a"]["metrics"][task]
    assert (same["verdict"], whole["verdict"]) == ("identical", "worse")


def test_a_run_that_another_replaces_while_it_is_merged_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(name: str) -> Path:
        records: list[Record] = [{"sample_id": name, "text": "x"}]
        return evaluate_records(tmp_path / name, records, records, "--quiet", "--no-html").output

    def replaced(_: str) -> None:
        (files,) = (one / ".runs").iterdir()
        kept = shutil.copytree(files, tmp_path / "kept")
        evaluated("a")
        shutil.copytree(kept, files, dirs_exist_ok=True)

    one, other = evaluated("a"), evaluated("b")
    monkeypatch.setattr(merge, "prepare_output", replaced)
    said = f"{one}: another run has replaced the result meanwhile; merge again"
    assert refused(one, other, "--output", tmp_path / "out") == said
