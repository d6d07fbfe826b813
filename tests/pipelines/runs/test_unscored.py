"""Runs that score nothing: the wrong benchmark, wrong fields, empty inputs, ids that never meet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runs import Run, evaluate, write_lines

CORPORA = Path(__file__).parents[2] / "corpora"
RULES = [{"id": 1, "properties": {"LaneType": "bus"}, "centerlines": ["a"]}]
TRUTHS = [{"sample_id": f"s{index}", "rules": RULES} for index in range(4)]
Records = list[dict[str, Any]]


def renamed(records: Records, names: dict[str, str]) -> Records:
    return [{names.get(key, key): value for key, value in record.items()} for record in records]


def run(folder: Path, truths: Records, *more: str, config: str = "traffic_rules", **systems: Records) -> Run:
    truth = write_lines(folder / "t.jsonl", truths)
    predictions = {name: write_lines(folder / f"{name}.jsonl", records) for name, records in systems.items()}
    settings = ("--quiet", "--set", "bootstrap.replicates=0", *more)
    return evaluate(folder / "out", truth, predictions, *settings, config=config)


def failed(found: Run) -> str:
    """Returns the one line of a run that failed, whose result is written all the same."""
    assert (found.code, found.stdout) == (1, "")
    assert found.stderr.startswith("beamscore: ")
    assert found.stderr.count("\n") == 1
    assert all(system["coverage"]["balanced"] for system in found.summary["systems"].values())
    return found.stderr.removeprefix("beamscore: ").rstrip("\n")


MISSPELLED = "no record has a field that traffic_rules reads, rules; they have rule (did you mean rules?)"


OTHER_IDS = [{**record, "sample_id": f"{record['sample_id']}.png"} for record in TRUTHS]
REJECTED: Records = [{"sample_id": record["sample_id"], "rules": 5} for record in TRUTHS]
ODD: Records = [{"sample_id": "s0", "a\nb": 1, "": 2, "\x1b[31m": 3, "x" * 500: 4}]
WRONG = renamed(TRUTHS, {"rules": "rule"})
BARE = "no record has a field that traffic_rules reads, rules; they have a sample_id alone"


@pytest.mark.parametrize(
    ("truths", "systems", "told"),
    [
        (TRUTHS, {"ours": WRONG}, f"the predictions of ours: {MISSPELLED}"),
        # Both are wrong: the ground truth is told, and it once.
        (WRONG, {"ours": WRONG, "other": TRUTHS}, f"the ground truth: {MISSPELLED}"),
        ([], {"ours": TRUTHS}, "the ground truth: there is no record in "),
        (TRUTHS, {"ours": []}, "the predictions of ours: there is no record in "),
        (
            TRUTHS,
            {"ours": OTHER_IDS},
            "the predictions of ours: nothing was scored: no sample_id is in the ground truth, which has s0, not "
            "s0.png, for example; give both sides the same ids, or name their field under fields",
        ),
        (
            TRUTHS,
            {"ours": REJECTED},
            "the predictions of ours: nothing was scored: 4 prediction records rejected; most often: "
            "Expected `array | null`, got `int` - at `$.rules` (s0 at ",
        ),
        (TRUTHS, {"ours": ODD}, "the predictions of ours: no record has a field that traffic_rules reads, rules; "),
        (TRUTHS, {"ours": [{"sample_id": "s0"}]}, f"the predictions of ours: {BARE}"),
    ],
)
def test_why_nothing_was_scored_is_one_line(
    tmp_path: Path, truths: Records, systems: dict[str, Any], told: str
) -> None:
    more = ("--set", "missing=exclude", "--set", "max_rejected_fraction=1")
    line = failed(run(tmp_path, truths, *more, **systems))
    assert line.startswith(told)
    assert line.isprintable()
    assert len(line) < 500


@pytest.mark.parametrize(
    ("benchmark", "other", "told"),
    [
        ("chart", "formula", "they have latex, source, kind, tags, document (did you mean the benchmark formula?)"),
        ("formula", "chart", "task4, task5 and 1 more (did you mean the benchmark chart?)"),
        ("traffic_rules", "figure_text", "(did you mean the benchmark figure_text?)"),
    ],
)
def test_the_wrong_benchmark_is_told_from_the_right_one(tmp_path: Path, benchmark: str, other: str, told: str) -> None:
    truths, predictions = (CORPORA / other / f"{side}.jsonl" for side in ("ground_truth", "predictions"))
    line = failed(evaluate(tmp_path / "out", truths, predictions, "--quiet", config=benchmark))
    assert line.startswith(f"the ground truth: no record has a field that {benchmark} reads, ")
    assert line.endswith(told)


def test_of_several_systems_only_the_one_that_is_wrong_is_told(tmp_path: Path) -> None:
    gates = ("--set", "gates.overall.f1.minimum=0.5", "--set", "gates.overall.f1.judge=point")
    found = run(tmp_path, TRUTHS, *gates, good=TRUTHS, none=[], wrong=renamed(TRUTHS, {"rules": "rule"}))
    assert (found.code, found.stderr.splitlines()) == (
        1,
        [
            f"beamscore: the predictions of none: there is no record in {tmp_path / 'none.jsonl'}; nothing was scored",
            f"beamscore: the predictions of wrong: {MISSPELLED}",
        ],
    )
    assert found.summary["systems"]["good"]["values"]["overall.f1"] == 1


def test_a_ground_truth_that_measures_nothing_is_told(tmp_path: Path) -> None:
    """A chart with an image has a field of the benchmark, and yet there is no task to score."""
    truths: Records = [{"sample_id": "a", "image": {"width": 5, "height": 5}}]
    predictions: Records = [{"sample_id": "a", "task1": {"output": {"chart_type": "pie"}}}]
    line = failed(run(tmp_path, truths, config="chart", ours=predictions))
    assert line == "the predictions of ours: no metric has a value; see the ground truth"


def test_records_may_go_without_any_field_where_others_have_one(tmp_path: Path) -> None:
    """A model that predicts nothing of a sample may write so."""
    some: Records = [{"sample_id": "s0"}, {"sample_id": "s1", "rules": None}, TRUTHS[2]]
    found = run(tmp_path, TRUTHS, ours=some)
    assert (found.code, found.stderr) == (0, "")
    coverage = found.summary["systems"]["ours"]["coverage"]
    assert coverage["predictions_without_fields"] == 2
    assert "ground_truth_without_fields" not in coverage


def test_a_model_that_predicts_nothing_at_all_is_scored(tmp_path: Path) -> None:
    nothing = [{"sample_id": record["sample_id"], "rules": None} for record in TRUTHS]
    found = run(tmp_path, TRUTHS, ours=nothing)
    assert (found.code, found.stderr) == (0, "")
    assert found.summary["systems"]["ours"]["values"]["overall.f1"] == 0
    # A Parquet file of it has the column, with nulls.
    table = pa.table({"sample_id": [record["sample_id"] for record in TRUTHS], "rules": pa.nulls(4, pa.string())})
    pq.write_table(table, tmp_path / "ours.parquet")
    again = evaluate(
        tmp_path / "out", tmp_path / "t.jsonl", tmp_path / "ours.parquet", "--quiet", config="traffic_rules"
    )
    assert (again.code, again.stderr) == (0, "")


def test_a_parquet_file_without_a_column_of_the_benchmark_is_told(tmp_path: Path) -> None:
    truths = write_lines(tmp_path / "t.jsonl", TRUTHS)
    rules = [json.dumps(record["rules"]) for record in TRUTHS]
    pq.write_table(pa.table({"sample_id": [r["sample_id"] for r in TRUTHS], "rule": rules}), tmp_path / "p.parquet")
    found = evaluate(tmp_path / "out", truths, {"ours": tmp_path / "p.parquet"}, "--quiet", config="traffic_rules")
    assert failed(found) == f"the predictions of ours: {MISSPELLED}"
