"""Runs that score nothing: the wrong benchmark, wrong fields, empty inputs, ids that never meet."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.runs import causes
from beamscore.transforms.records import CauseCount, Quarantined
from tests.runs import Run, command, evaluate, evaluate_records, write_lines
from tests.toy import ToyBenchmark

Records = list[dict[str, Any]]
RULES = [{"id": 1, "properties": {"LaneType": "bus"}, "centerlines": ["a"]}]


def records(**fields: Any) -> Records:
    return [{"sample_id": f"s{index}", **fields} for index in range(4)]


TRUTHS, WRONG = records(rules=RULES), records(rule=RULES)
ODD: Records = [{"sample_id": "s0", "a\nb": 1, "": 2, "\x1b[31m": 3, "x" * 500: 4}]
NONE = "no record has a field that traffic_rules reads, rules; they have"
MISSPELLED = f"{NONE} rule (did you mean rules?)"


def run(folder: Path, truths: Records, *more: str, config: str = "traffic_rules", **systems: Records) -> Run:
    settings = ("--quiet", "--no-html", "--set", "bootstrap.replicates=0", *more)
    return evaluate_records(folder / "out", truths, systems, *settings, config=config)


@pytest.mark.parametrize(
    ("truths", "systems", "told"),
    [
        # Of several systems only those that are wrong are told.
        (TRUTHS, {"good": TRUTHS, "ours": WRONG}, f"the predictions of ours: {MISSPELLED}"),
        # Both are wrong: the ground truth is told, and it once.
        (WRONG, {"ours": WRONG, "other": TRUTHS}, f"the ground truth: {MISSPELLED}"),
        ([], {"ours": TRUTHS}, "the ground truth: there is no record in "),
        (TRUTHS, {"ours": []}, "the predictions of ours: there is no record in "),
        (TRUTHS, {"ours": [{**each, "sample_id": f"{each['sample_id']}.png"} for each in TRUTHS]},
         "the predictions of ours: nothing was scored: no predicted sample_id is in the ground truth (which has "
         "s0, for example, not s0.png); give both sides the same ids, or name their field under fields"),
        (TRUTHS, {"ours": records(rules=5)},
         "the predictions of ours: nothing was scored: 4 prediction records rejected; most often: "
         "Expected `array | null`, got `int` - at `$.rules` (s0 at "),
        (TRUTHS, {"ours": ODD}, f"the predictions of ours: {NONE} 'a\\nb', '', "),
        (TRUTHS, {"ours": [{"sample_id": "s0"}]}, f"the predictions of ours: {NONE} only a sample_id"),
        ([{"sample_id": "s0", "text": "C"}], {"ours": TRUTHS},
         f"the ground truth: {NONE} text (did you mean the benchmark chemistry"),
    ],
)  # fmt: skip
def test_why_nothing_was_scored_is_one_line(tmp_path: Path, truths: Records, systems: Any, told: str) -> None:
    found = run(tmp_path, truths, "--set", "missing=exclude", "--set", "max_rejected_fraction=1", **systems)
    line = found.stderr.removeprefix("beamscore: ").removesuffix("\n")
    assert (found.code, found.stdout, line.isprintable()) == (1, "", True)
    assert line.startswith(told)
    assert len(line) < 500
    for name, system in found.summary["systems"].items():
        assert system["coverage"]["balanced"]
        assert (system["values"]["overall.f1"] == 1) == (name == "good")


def test_a_model_that_predicts_nothing_of_some_samples_or_of_all_is_scored(tmp_path: Path) -> None:
    """A Parquet file of it has the column, with nulls."""
    some: Records = [{"sample_id": "s0"}, {"sample_id": "s1", "rules": None}, TRUTHS[2]]
    table = pa.table({"sample_id": [each["sample_id"] for each in TRUTHS], "rules": pa.nulls(4, pa.string())})
    pq.write_table(table, tmp_path / "nothing.parquet")
    pq.write_table(table.rename_columns(["sample_id", "rule"]), tmp_path / "wrong.parquet")
    truth, given = write_lines(tmp_path / "t.jsonl", TRUTHS), write_lines(tmp_path / "some.jsonl", some)
    sides = {"some": given, "nothing": tmp_path / "nothing.parquet"}
    flags = ("--quiet", "--no-html")
    found = evaluate(tmp_path / "out", truth, sides, *flags, config="traffic_rules")
    assert (found.code, found.stderr) == (0, "")
    assert "predictions_without_fields" not in found.summary["systems"]["some"]["coverage"]
    assert found.summary["systems"]["nothing"]["values"]["overall.f1"] == 0
    # One without the column is told.
    again = evaluate(tmp_path / "out", truth, tmp_path / "wrong.parquet", *flags, config="traffic_rules")
    assert (again.code, again.stderr) == (1, f"beamscore: the predictions: {MISSPELLED}\n")


class Lenient(msgspec.Struct, frozen=True):
    text: str = ""


def test_a_record_that_gives_the_default_has_a_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyBenchmark, "prediction_type", Lenient)
    for name, code in (("text", 0), ("txt", 1)):
        found = run(tmp_path, records(text="a"), config="toy", ours=records(**{name: ""}))
        assert (found.code, "a field that toy reads, text; they have txt" in found.stderr) == (code, code == 1)


@pytest.mark.parametrize(
    ("config", "metric", "truth", "systems", "told"),
    [
        # Of a system with a field nothing is told.
        ("traffic_rules", "overall.f1", {"rules": RULES}, {"a": "rules", "b": "rule"},
         "b: nothing was scored: no prediction has a field of the benchmark"),
        ("chart", "task1.macro_f1", {"task": 1}, {"a": "task1"},
         "a: nothing was scored: no ground-truth record has a field of the benchmark"),
        ("chart", "task1.macro_f1", {"image": {"width": 5, "height": 5}}, {"a": "task1"},
         "a: nothing was scored: no metric has a value; see the ground truth and the predictions"),
    ],
)  # fmt: skip
def test_a_run_that_scored_nothing_fails_wherever_it_is_judged(
    tmp_path: Path, config: str, metric: str, truth: Any, systems: Any, told: str
) -> None:
    gate = [f"--set=gates.{metric}.{key}" for key in ("maximum=1", "tier=advisory", "judge=point")]
    values = {"task1": {"output": {"chart_type": "pie"}}}
    for part in "xy":
        (tmp_path / part).mkdir()
        sides = {name: [{"sample_id": part, field: values.get(field, RULES)}] for name, field in systems.items()}
        found = run(tmp_path / part, [{"sample_id": part, **truth}], *gate, config=config, **sides)
        # A chart with an image has a field of the benchmark, and yet there is no task to score.
        no_value = "beamscore: the predictions of a: no metric has a value; see the ground truth and the predictions\n"
        assert (found.code, found.stderr == no_value) == (1, "no metric has a value" in told)
    runs = [tmp_path / part / "out" for part in "xy"]
    files: tuple[str | Path, ...] = "--quiet", "--markdown", tmp_path / "m.md", "--junit", tmp_path / "j.xml"
    merged: tuple[str | Path, ...] = "merge", *runs, "--output", tmp_path / "merged", "--no-html"
    for words in (("gate", runs[0]), merged):
        code, _, stderr = command(*words, *files)
        assert (code, f"beamscore: {told}\n" in stderr) == (1, True)
        assert (tmp_path / "m.md").read_text().startswith("**FAIL** ")
        assert f'<failure message="{told}"' in (tmp_path / "j.xml").read_text()
    assert "::error title=" in command("export", runs[0], "--to", "github")[1]
    assert command("history", tmp_path, "--no-html")[0] == 0
    for page in (runs[0] / "report.md", tmp_path / "merged" / "report.md", tmp_path / "history.md"):
        text = page.read_text()
        assert ("**FAIL** " in text, f"- {told}\n" in text, "Every record was read" in text) == (True, True, False)


def test_the_most_frequent_cause_is_that_of_rejected_records() -> None:
    def cause(name: Any, records: int, side: str = "ours", system: str = "") -> causes.QuarantineCause:
        return causes.QuarantineCause(side, "read", name, records, [causes.QuarantinedRecord("p:1", name)], system)

    known = [cause("unmatched", 9), cause("invalid", 2), cause("failed", 3), cause("failed", 5, "other")]
    assert causes.most_frequent(known, "ours", ("ours",)) is known[2]
    assert causes.most_frequent(known, "ours", ("ours",), ()) is known[0]
    assert causes.most_frequent(known[:1], "ours", ("ours", "ground_truth")) is None
    truths = [cause("invalid", 1, "ground_truth"), cause("failed", 3, "ground_truth", "other")]
    assert [causes.most_frequent(truths, name, ("ground_truth",)) for name in ("ours", "other")] == truths


def test_a_cause_shows_its_first_record_and_the_remedy_and_duplicates_are_warned_of() -> None:
    records = [causes.QuarantinedRecord(f"p.jsonl:{line}", f"text: problem {line}") for line in (3, 9)]
    listed = [causes.QuarantineCause("ours", "read", "duplicate", 1200, records),
              causes.QuarantineCause("ground_truth", "read", "duplicate", 1, records[:1]),
              causes.QuarantineCause("ours", "read", "failed", 1, records)]  # fmt: skip
    assert str(listed[0]) == "text: problem 3 (p.jsonl:3); give each record a sample_id of its own"
    # A record of a collection is in no file.
    entry = Quarantined("ours", "b", "", 10, None, "read", "invalid", "text: problem 3", "{}")
    ((example,),) = (cause.examples for cause in causes.quarantine_causes([CauseCount(1, (entry,))]))
    assert example.place == "b at the record with the hash 000000000000000a"
    told = [
        "the predictions of ours: 1,200 records with a duplicate sample_id: "
        "p.jsonl:3 (text: problem 3), p.jsonl:9 (text: problem 9); quarantine/ lists all",
        "the ground truth: 1 record with a duplicate sample_id: p.jsonl:3 (text: problem 3); quarantine/ lists all",
    ]
    assert causes.duplicate_warnings(listed, repeats=True) == told
    assert causes.duplicate_warnings(listed, repeats=False) == [f"{told[0]}; {causes.SCORE_ALL}", told[1]]
    stored = {"quarantine": msgspec.to_builtins(listed)}
    assert causes.stored_causes(stored) == listed
    stored["quarantine"][0]["examples"] = []
    assert causes.stored_causes(stored) == causes.stored_causes({}) == []
