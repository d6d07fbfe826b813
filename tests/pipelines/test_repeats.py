"""Repeats from the records to each command: what is counted, that nothing depends on the order, and what is refused."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import beamscore
from beamscore.metrics.repeats import MAX_REPEATS
from beamscore.pipelines.reports.against import run_differences
from beamscore.pipelines.runs.named import SystemRun
from beamscore.pipelines.runs.row_changes import differing_units, top_contributors
from beamscore.pipelines.runs.run import Run as Finished
from beamscore.transforms.repeats import MAX_LABEL_LENGTH
from tests import toy
from tests.page.corpora import page_data
from tests.pipelines.api.test_transform import check_same, evaluated
from tests.runs import Record, Run, command, evaluate_records, refused, write_lines

TRUTHS = [{**toy.sample(index, 0)[0], "page": index // 3} for index in range(40)]
REPEATS = ("--quiet", "--set", "repeats=true")
SLICED = ("--slice", "kind")


def predictions(wrong: float = 0.4, repeats: int = 3, seed: int = 0) -> list[Record]:
    """Predictions of every sample, numbered by `repeat`, of which a share is wrong."""
    rng = random.Random(f"{seed}")
    return [
        {**truth, "repeat": repeat, "text": "?" * 9 if rng.random() < wrong else truth["text"]}
        for truth in TRUTHS
        for repeat in range(repeats)
    ]


def scored(output: Path, given: list[Any], *more: str, truths: list[Record] = TRUTHS) -> Run:
    return evaluate_records(output, truths, given, *REPEATS, "--no-html", *more)


def system_of(run: Run) -> Any:
    return run.summary["systems"]["predictions"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    found = evaluate_records(tmp_path_factory.mktemp("repeats") / "run", TRUTHS, predictions(), *REPEATS, *SLICED)
    assert found.code == 0, found.stderr
    return found


def test_a_run_has_the_repeats_by_hand(run: Run) -> None:
    """What follows from the scores of the repeats of a sample is in metrics/test_repeats.py."""
    by_repeat = [[each["text"] == truth["text"] for truth, each in zip(TRUTHS, predictions()[repeat::3], strict=True)]
                 for repeat in range(3)]  # fmt: skip
    shares = [sum(each) / 40 for each in by_repeat]
    system = system_of(run)
    assert system["values"]["exact_match"] == pytest.approx(sum(shares) / 3)
    table, counts = system["tables"]
    assert counts["rows"] == [["samples", 120], ["equal", sum(map(sum, by_repeat))]]
    assert [row[:2] for row in table["rows"]] == [[str(number), share] for number, share in enumerate(shares)]
    assert system["units"]["exact_match"] == 40
    # A sample is one row, with what each repeat scored.
    for row in run.samples:
        details = json.loads(row["details"])
        scores = {label: each["metrics"] for label, each in details["repeats"].items()}
        number = int(row["sample_id"][1:])
        equal = {str(repeat): float(by_repeat[repeat][number]) for repeat in range(3)}
        assert {label: each["exact_match"] for label, each in scores.items()} == equal
        assert row["exact_match"] == pytest.approx(sum(equal.values()) / 3)
        assert scores[details["worst"]]["similarity"] == min(each["similarity"] for each in scores.values())
    assert "similarity of each: 0: " in json.dumps(page_data(run.output / "report.html"))


def test_no_order_no_file_and_no_way_to_evaluate_changes_a_byte(run: Run, tmp_path: Path) -> None:
    given = predictions()
    random.Random(1).shuffle(given)
    more = write_lines(tmp_path / "more.jsonl", given[::3])
    shuffled = scored(tmp_path / "shuffled", given[1::3] + given[2::3], *SLICED, "--predictions", str(more))
    assert shuffled.sums["systems"] == run.sums["systems"]
    assert system_of(shuffled) == system_of(run)
    result = beamscore.evaluate("toy", TRUTHS, given, repeats=True, slices=["kind"])
    intervals = {name: each and list(each) for name, each in result.intervals.items()}
    expected = system_of(run)["values"], system_of(run)["intervals"], list(run.sums["systems"]["predictions"]["sums"])
    assert (result.values, intervals, list(result.sums)) == expected
    assert sorted(result.samples.column("details").to_pylist()) == sorted(each["details"] for each in run.samples)
    few = scored(tmp_path / "few", given, *SLICED, "--set", "bootstrap.replicates=5")
    check_same(evaluated({"ground_truth": TRUTHS, "predictions": given}, repeats=True, slices=["kind"]), few)


def test_the_check_scores_one_prediction_of_each_sample_whichever_repeat_it_is(tmp_path: Path) -> None:
    given = predictions(wrong=0)
    random.Random(1).shuffle(given)
    found = scored(tmp_path / "out", [BAD[1], *given], "--check")
    # One of s1 has no repeat.
    assert (found.code, "of the first 40: exact_match 1, similarity 1" in found.stdout) == (0, True)
    assert re.search("  1 of the first records would be rejected, such as .*:1: repeat must be ", found.stdout)


def test_the_example_of_the_docs_is_as_it_is_shown(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/repeats.md").read_text().splitlines()
    shown = [json.loads(line) for line in page if line.startswith('    {"sample_id"')]
    truths = [each for each in shown if each["repeat"] == 1]
    found = evaluate_records(tmp_path / "run", truths, shown, *REPEATS, "--no-html", config="chemistry")
    shown_lines = [line.removeprefix("    ") for line in page if line.startswith("    | `exact_match")]
    assert [line in found.report.splitlines() for line in shown_lines] == [True] * 4


BAD: list[Record] = [
    {"sample_id": "s0", "text": "x", "repeat": "2"},
    {"sample_id": "s1", "text": "x"},
    {"sample_id": "s1", "text": "x", "repeat": True},
    {"sample_id": "s1", "text": "x", "repeat": ""},
    {"sample_id": "s1", "text": "x", "repeat": "r" * (MAX_LABEL_LENGTH + 1)},
    {"sample_id": "nowhere", "text": "x", "repeat": 1.0},
    {"sample_id": "s4", "text": 7, "repeat": 1},
]
"""A duplicate of repeat 2, four without a repeat, one without a ground truth, and one that cannot be decoded."""


@pytest.mark.filterwarnings("ignore:.* were rejected")
@pytest.mark.parametrize("missing", ["wrong", "exclude"])
def test_every_record_is_counted_once(tmp_path: Path, missing: Any) -> None:
    lost = {("s2", 0), ("s2", 1), ("s2", 2), ("s3", 1), ("s4", 1), ("s5", 2)}
    kept = [each for each in predictions() if (each["sample_id"], each["repeat"]) not in lost]
    failing = [{**each, "text": "score fails"} if each["sample_id"] == "s6" and each["repeat"] == 0 else each
               for each in kept]  # fmt: skip
    lost_truths: dict[str, Any] = {"invalid": 3, "bad": "truth is bad", "fails": "x"}
    of_lost = [{"sample_id": each, "repeat": n, "text": "score fails"} for each in lost_truths for n in range(3)]
    truths = [*TRUTHS, *({"sample_id": name, "text": text} for name, text in lost_truths.items())]
    records = [*failing, *BAD, *of_lost]
    found = scored(tmp_path / "out", records, "--set", f"missing={missing}", truths=truths)
    assert found.code == 1
    coverage = system_of(found)["coverage"]
    truth = {"read": 43, "scored": 39, "missing_prediction": 1, "rejected": 3, "duplicate": 0}
    # 114 + 7 + 9 records; that of s4 cannot be decoded, so it is missing too, and s6 fails in one repeat.
    read = {"read": 130, "scored": 113, "unmatched": 7, "duplicate": 1, "rejected": 9}
    assert (coverage["ground_truth"], coverage["predictions"]) == (truth, read)
    assert (coverage["missing_repeats"], coverage["balanced"]) == (6, True)
    causes = sorted(entry["cause"] for entry in found.quarantine if entry["side"] != "ground_truth")
    assert causes == ["duplicate", *["failed"] * 4, "invalid", *["no_repeat"] * 4, *["unmatched"] * 7]
    listed = [entry["sample_id"] for entry in found.quarantine if entry["side"] == "ground_truth"]
    assert sorted(listed) == sorted(lost_truths)
    shown = [entry["error"].partition("; it is ")[2] for entry in found.quarantine if entry["cause"] == "no_repeat"]
    assert sorted(shown) == ["''", f"'{'r' * (MAX_LABEL_LENGTH + 1)}'", "True", "null or missing"]
    assert "give each prediction a repeat" in found.stderr + found.report
    assert "the repeat 2 of this sample_id is first at" in json.dumps(found.quarantine)
    twice = "the repeat 2 of the sample_id is duplicated; the first record counts"
    with pytest.warns(UserWarning, match=f"{twice}.; `rejected` lists all$"):
        result = beamscore.evaluate("toy", truths, records, repeats=True, missing=missing)
    assert (result.coverage, result.values) == (coverage, system_of(found)["values"])
    assert twice in {each.message for each in result.rejected}
    row = next(each for each in found.samples if each["sample_id"] == "s3")
    right = [each["text"] == TRUTHS[3]["text"] for each in kept if each["sample_id"] == "s3"]
    assert row["exact_match"] == pytest.approx(sum(right) / (3 if missing == "wrong" else 2))
    details = json.loads(row["details"])
    # A prediction can be shown, and a missing one, of which the similarity is 0, cannot.
    assert details["repeats"][details["worst"]]["status"] == "scored"
    limits = ("--set", "max_missing_fraction=0.04", "--set", "max_rejected_fraction=1")
    limited = scored(tmp_path / "out", [*failing, *BAD], *limits)
    # Of 40 samples times 3 repeats one failed, and 6 of 119 are 5%.
    assert (limited.code, "6 of 119 repeats of samples have no prediction" in limited.stderr) == (1, True)


def test_a_system_without_predictions_and_one_with_fewer_repeats_stand_beside(tmp_path: Path) -> None:
    systems = {name: predictions(repeats=each) for name, each in {"none": 0, "two": 2, "five": 5}.items()}
    found = evaluate_records(tmp_path / "out", TRUTHS, systems, *REPEATS, "--no-html")
    assert found.quarantine == [], "repeats of one system are none of another"
    values = {name: system["values"] for name, system in found.summary["systems"].items()}
    assert [values[name]["repeats"] for name in systems] == [1, 2, 5]
    assert (values["none"]["exact_match"], values["none"]["exact_match.pass_at[1]"]) == (0, 0)
    assert "exact_match.pass_at[3]" not in values["two"]
    assert values["five"]["exact_match.pass_at[5]"] >= values["five"]["exact_match.pass_at[4]"]


def test_a_repeat_that_few_samples_have_is_warned_of(tmp_path: Path) -> None:
    given = predictions()
    given[3 * 7 + 1]["repeat"] = "l1"
    found = scored(tmp_path / "out", given)
    told = "repeats that few samples have may be mistyped: {}; the most frequent has 40 predictions with a ground truth"
    told += "; samples without one miss a prediction"
    assert found.summary["warnings"] == [f"the predictions: {told.format('l1 has 1')}"]
    assert told.format("l1 has 1") in found.stderr
    # Predictions without a ground truth do not make a repeat frequent.
    others = [{"sample_id": f"other{number}", "repeat": 9, "text": ""} for number in range(50)]
    given = [*predictions(), *others]
    assert told.format("9 has 0") in scored(tmp_path / "others", given).stderr
    with pytest.warns(UserWarning, match=told.format("9 has 0")):
        beamscore.evaluate("toy", TRUTHS, given, repeats=True)
    # No sample lacks the repeats of an update without a ground truth.
    scorer = beamscore.Scorer("toy", repeats=True)
    scorer.update([], others)
    scorer.update(TRUTHS, predictions())
    assert scorer.compute().warnings == beamscore.evaluate("toy", TRUTHS, predictions(), repeats=True).warnings


def test_merged_runs_warn_of_the_rare_repeats_of_each_and_of_columns_that_none_has(tmp_path: Path) -> None:
    """A run without records has neither, and hides none."""
    given, runs = predictions(), []
    given[1]["repeat"] = given[61]["repeat"] = "l1"
    for name, first, last in (("none", 0, 0), ("first", 0, 20), ("second", 20, 40)):
        part = given[3 * first : 3 * last]
        runs.append(scored(tmp_path / name, part, "--slice", "absent", truths=TRUTHS[first:last]).output)
    assert command("merge", *runs, "--output", tmp_path / "out", "--quiet", "--no-html")[0] == 0
    column, *rare = Run(0, "", "", tmp_path / "out").summary["warnings"]
    assert column.startswith("no ground-truth record has a value in the column absent, ")
    told = "{}: the predictions: repeats that few samples have may be mistyped: l1 has 1; the most frequent has 20 "
    assert [line.partition("predictions with")[0] for line in rare] == [told.format(each) for each in runs[1:]]
    # A ground truth that is rejected has the column; samples without any prediction lack the repeats of the others.
    odd = scored(tmp_path / "odd", [], "--slice", "absent", truths=[{"sample_id": "odd", "text": 5, "absent": 1}])
    assert command("merge", *runs, odd.output, "--output", tmp_path / "all", "--quiet", "--no-html")[0] == 1
    assert not any("absent" in line for line in Run(0, "", "", tmp_path / "all").summary["warnings"])
    alone = scored(tmp_path / "alone", [], "--slice", "absent", truths=TRUTHS[39:])
    for order in ([runs[1], alone.output], [alone.output, runs[1]]):
        assert "it has different repeats (" in refused("merge", *order, "--output", tmp_path / "never")


def test_finished_runs_with_repeats_are_compared_gated_and_followed(run: Run, tmp_path: Path) -> None:
    gate = {"not_worse_than": "baseline", "margin": 0.01}
    gates = json.dumps({"exact_match.pass_at[3]": gate, "exact_match.spread": {"maximum": 0.5}})
    flags = ("--set", f"gates={gates}", "--baseline", str(run.output))
    night = scored(tmp_path / "runs/night", predictions(wrong=0.85, seed=1), *SLICED, *flags)
    assert night.code == 1, night.stderr
    fingerprints = {system_of(each)["predictions_fingerprint"] for each in (run, night)}
    assert len(fingerprints) == 2, "systems with equal predictions are taken for one"
    assert [each["verdict"] for each in night.summary["gates"]] == ["fail", "pass"]
    assert command("gate", night.output, "--baseline", run.output)[0] == 1
    assert command("compare", run.output, night.output, "--output", tmp_path / "out", "--quiet")[::2] == (0, "")
    found = json.loads((tmp_path / "out/comparison.json").read_bytes())["metrics"]
    assert found["exact_match.pass_at[3]"]["verdict"] == found["exact_match"]["verdict"] == "worse"
    for card in page_data(tmp_path / "out/comparison.html")["cards"]:
        for side in card["sides"]:
            explained = side["words"][0].partition(";")[0].replace(" ", ": ")
            assert explained in side["prediction"].splitlines(), "another repeat is shown than explained"
    assert command("history", tmp_path / "runs", "--output", tmp_path / "out")[0] == 0
    assert "exact_match.spread" in (tmp_path / "out/history.md").read_text()


def test_names_in_the_same_order_and_the_number_of_repeats_change_nothing(run: Run, tmp_path: Path) -> None:
    """The repeats of `many` are those of `night`, twice."""
    given = predictions(wrong=0.6, seed=1)
    named = [{**each, "repeat": f"seed{each['repeat'] + 9}"} for each in given]
    many = [*named, *({**each, "repeat": f"again{each['repeat']}"} for each in given)]
    same = [{**each, "repeat": f"seed{each['repeat'] + 9}"} for each in predictions()]
    written = {"night": given, "named": named, "many": many, "same": same}
    base = Finished.read(str(run.output))
    compared, moved, differing = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name, records in written.items():
        output = scored(tmp_path / name, records, *SLICED).output
        night = SystemRun(Finished.read(str(output)), "predictions")
        before, benchmark = SystemRun(base, "predictions"), base.configuration.benchmark
        found = top_contributors(benchmark, "exact_match", night, before, count=99)
        found += top_contributors(benchmark, "similarity", before, night, "kind=1", count=99)
        moved[name] = [(each.sample_id, round(each.effect, 9)) for each in found if abs(each.effect) > 1e-9]
        differing[name] = [differing_units(*each, ["exact_match"], 99) for each in ((night, before), (before, night))]
        if name != "many":
            assert command("compare", run.output, output, "--output", tmp_path / "out", "--quiet", "--no-html")[0] == 0
            compared[name] = json.loads((tmp_path / "out/comparison.json").read_bytes())["metrics"]
    assert compared["named"] == compared["night"]
    assert {each["verdict"] for each in compared["same"].values()} == {"identical"}
    assert (moved["same"], differing["same"]) == ([], [{"exact_match": 0}] * 2)
    assert (moved["named"], differing["named"]) == (moved["night"], differing["night"])
    assert sorted(moved["many"]) == sorted(moved["night"])


def test_answers_that_repeats_trade_are_not_called_identical(run: Run, tmp_path: Path) -> None:
    """Every replicate has a difference of 0."""
    given = [{**each, "repeat": (each["repeat"] + 1) % 3} for each in predictions()]
    turned, base = (Finished.read(str(each.output)) for each in (scored(tmp_path / "turned", given), run))
    differences, _ = run_differences(turned, base, {"predictions": "predictions"}, with_slices=False)
    assert {each.difference.verdict for each in differences.values()} == {"no difference shown"}


def test_repeats_that_one_side_alone_measured_may_hide_a_loss(tmp_path: Path) -> None:
    """Of the wrong answers, the first repeat alone is measured."""
    gate = {"not_worse_than": "baseline", "margin": 0.02}
    flags = ("--set", "missing=exclude", "--set", "max_rejected_fraction=1")
    base = scored(tmp_path / "base", predictions(), *flags)
    gates = json.dumps({"exact_match": gate, "exact_match.pass_at[2]": gate})
    given = predictions(wrong=0.5, seed=1)
    hidden = {(each["sample_id"], each["repeat"]) for each in given if each["repeat"] and each["text"] == "?" * 9}
    missing = [each for each in given if (each["sample_id"], each["repeat"]) not in hidden]
    failing = [{**each, "text": "score fails"} if each not in missing else each for each in given]
    for records in (missing, failing):
        judged = ("--set", f"gates={gates}", "--baseline", str(base.output))
        found = scored(tmp_path / "night", records, *flags, *judged)
        assert [each["verdict"] for each in found.summary["gates"]] == ["inconclusive"] * 2
        mean, of_two = (each["reason"] for each in found.summary["gates"])
        assert ("measured on one side alone" in mean, "one side measured " in of_two) == (True, True)
        _, _, warned = command("compare", base.output, found.output, "--output", tmp_path / "out", "--quiet")
        assert f"the baseline has 120 scored repeats of samples, the candidate {len(missing)}: those" in warned
        assert "over samples that may not be the same in all samples" in found.report
    # A sample that lacks one of 3 repeats counts for nothing in what all 3 get right: 6 of 40 are more than the margin.
    right = predictions(wrong=0)
    base = scored(tmp_path / "right", right, *flags)
    gate = {"not_worse_than": "baseline", "margin": 0.1}
    gates = json.dumps({"exact_match": gate, "exact_match.worst_of[3]": gate})
    lacking = [each for number, each in enumerate(right) if number % 3 or number >= 18]
    found = scored(tmp_path / "night", lacking, *flags, "--set", f"gates={gates}", "--baseline", str(base.output))
    assert [each["verdict"] for each in found.summary["gates"]] == ["pass", "inconclusive"]


def test_a_selection_has_the_prediction_of_the_worst_repeat(tmp_path: Path) -> None:
    """The worst of c is missing; d has no score, so its first is shown; of e and f the benchmark rejects one."""
    truths: list[Record] = [{"sample_id": name, "text": 3 if name == "d" else "xx"} for name in "abcdef"]
    texts = [("a", 1, "xx"), ("a", 2, "x"), ("b", 1, "xx"), ("b", "2", "x"), ("c", 2, 7), ("d", 2, "x"), ("d", 1, "x")]
    texts += [("e", 1, "prediction is bad"), ("e", 2, "x"), ("f", 1, "score fails"), ("f", 2, "x")]
    given = [{"sample_id": name, "repeat": repeat, "text": text} for name, repeat, text in texts]
    output = scored(tmp_path / "run", given, truths=truths).output
    listed = ("--samples", tmp_path / "run-truth.jsonl", "--output", tmp_path / "o.jsonl")
    assert command("select", output, *listed)[0] == 0
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_bytes().splitlines()]
    assert [each["prediction"] and each["prediction"]["repeat"] for each in found] == [2, "2", None, 2, 2, 2]
    assert [each["details"] and each["details"]["worst"] for each in found] == ["2", "2", "1", None, "2", "2"]
    # A repeat that has changed is refused although another one is shown.
    given[2]["text"] = "xxx"
    write_lines(tmp_path / "run-predictions.jsonl", given)
    assert refused("select", output, *listed).startswith("the prediction of sample b is not as the run read it; ")


def test_runs_with_other_numbers_of_repeats_are_gated_but_neither_compared_nor_merged(run: Run, tmp_path: Path) -> None:
    """After a swap, the third repeat would exist for some of the samples only."""
    gates = json.dumps({"exact_match": {"not_worse_than": "baseline", "margin": 0.9}})
    flags = ("--set", f"gates={gates}", "--baseline", str(run.output))
    two = scored(tmp_path / "two", predictions(repeats=2), *SLICED, *flags)
    assert [each["verdict"] for each in two.summary["gates"]] == ["pass"]
    once = scored(tmp_path / "once", predictions(repeats=1), "--set", "repeats=false")
    told = {two: "they have 3 and 2 repeats; a gate with not_worse_than compares their means",
            once: "used repeats: null instead of true"}  # fmt: skip
    for other, reason in told.items():
        for allowed in ((), ("--allow-differences",)):
            assert reason in refused("compare", run.output, other.output, *allowed)
    shards = []
    for name, part, repeats in (("first", slice(15), 3), ("second", slice(15, None), 3), ("fewer", slice(15, None), 2)):
        ids = {truth["sample_id"] for truth in TRUTHS[part]}
        given = [each for each in predictions() if each["sample_id"] in ids and each["repeat"] < repeats]
        shards.append(scored(tmp_path / name, given, *SLICED, truths=TRUTHS[part]).output)
    merged = tmp_path / "merged"
    assert command("merge", *shards[:2], "--output", merged, "--quiet")[0] == 0
    assert system_of(Run(0, "", "", merged)) == system_of(run)
    reason = "it has different repeats (0, 1, not 0, 1, 2)"
    assert reason in refused("merge", shards[0], shards[2], "--output", merged)


def test_a_scorer_needs_the_same_repeats_in_each_update() -> None:
    scorer, other = (beamscore.Scorer("toy", repeats=True) for _ in range(2))
    for part, repeats in ((slice(10), slice(30)), (slice(10, None), slice(30, None))):
        scorer.update(TRUTHS[part], predictions()[repeats])
    assert scorer.compute().values == beamscore.evaluate("toy", TRUTHS, predictions(), repeats=True).values
    other.update([{"sample_id": "new", "text": ""}], [{"sample_id": "new", "text": "", "repeat": 0}])
    with pytest.raises(ValueError, match="each update must have the same; there are 0, and were 0, 1, 2"):
        scorer.merge(other)
    with pytest.raises(ValueError, match="give both sides a sample_id"):
        scorer.update([{"text": "a"}], [{"text": "a", "repeat": 1}])
    assert len(scorer.compute().samples) == 40


def test_what_cannot_work_is_refused(run: Run, tmp_path: Path) -> None:
    many = [{"sample_id": "s0", "text": "", "repeat": number} for number in range(MAX_REPEATS + 1)]
    for given, more, told in (
        (predictions(), ("--reuse", str(run.output)), "--reuse: scores of samples with repeats cannot be"),
        (predictions(), ("--resume",), "--resume: scores of samples with repeats cannot be"),
        (many, (), f"a system has more than {MAX_REPEATS}"),
    ):
        found = scored(tmp_path / "out", given, *more)
        assert (found.code, told in found.stderr) == (2, True)
    with pytest.raises(ValueError, match=f"^repeats: a system has more than {MAX_REPEATS}"):
        beamscore.evaluate("toy", TRUTHS, many, repeats=True)
