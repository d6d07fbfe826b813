"""Records of another benchmark are told from those of the right one, in the same words by all commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names
from beamscore.pipelines.config import settings
from beamscore.pipelines.inputs.inputs import Inputs, find_inputs
from beamscore.pipelines.inputs.mismatch import RECORDS_LOOKED_AT, doubtful_sides, listed, other_ids, shown
from tests.runs import Record, write_lines

CORPORA = Path(__file__).parents[2] / "corpora"
PUBLISHED = sorted(path.name for path in CORPORA.iterdir() if (path / "ground_truth.jsonl").exists())


def inputs(benchmark: str, truths: Path, predictions: Path) -> Inputs:
    given = {"ground_truth": [str(truths)], "predictions": {"ours": [str(predictions)]}}
    return find_inputs(settings.check({"benchmark": benchmark, **given}, "test"), ())


def corpus(name: str) -> tuple[Path, Path]:
    return CORPORA / name / "ground_truth.jsonl", CORPORA / name / "predictions.jsonl"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_benchmark_that_was_meant_is_among_the_hints_and_the_right_one_has_none(name: str) -> None:
    assert (len(PUBLISHED), name in benchmark_names()) == (5, True)
    for other in PUBLISHED:
        lines = doubtful_sides(inputs(name, *corpus(other)))
        assert len(lines) == (0 if other == name else 2)
        for side, line in zip(("ground truth", "predictions of ours"), lines, strict=False):
            told, _, hint = line.partition(" (did you mean the benchmark ")
            assert told.startswith(f"{side}: no record has a field that {name} reads, ")
            assert other in hint.removesuffix("?)").split(" or ")


def test_an_empty_side_is_told_and_of_many_records_the_first_are_looked_at(tmp_path: Path) -> None:
    nothing = write_lines(tmp_path / "p.jsonl", [{"sample_id": "a", "latex": None}])
    assert doubtful_sides(inputs("formula", corpus("formula")[0], nothing)) == []
    empty = write_lines(tmp_path / "empty.jsonl", [])
    truths, _ = corpus("chart")
    assert doubtful_sides(inputs("chart", truths, empty)) == [f"predictions of ours: there is no record in {empty}"]
    assert doubtful_sides(inputs("chart", empty, truths)) == [f"ground truth: there is no record in {empty}"]
    records: list[Record] = [{"sample_id": f"{n}", "x": 1} for n in range(RECORDS_LOOKED_AT + 1)]
    many = write_lines(tmp_path / "t.jsonl", [*records, {"sample_id": "late", "rules": []}])
    line = doubtful_sides(inputs("traffic_rules", many, many))[0]
    assert line.startswith(f"ground truth: none of the first {RECORDS_LOOKED_AT:,} records has a field that traffic_ru")
    last = write_lines(tmp_path / "l.jsonl", [*records[2:], {"sample_id": "last", "rules": []}])
    assert doubtful_sides(inputs("traffic_rules", last, last)) == []


def test_names_of_unknown_origin_are_shown_on_one_line() -> None:
    names = {"a b": "a b", "": "''", " a\n": "' a\\n'", "x" * 41: "x" * 40 + "…"}
    assert {name: shown(name) for name in names} == names
    assert listed([str(number) for number in range(9)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 1 more"
    remedy = "; give both sides the same ids, or name their field under fields"
    example = "no predicted sample_id is in the ground truth (which has a, for example, not 'b\\n')"
    assert other_ids("a", "b\n") == example + remedy
    assert other_ids(None, "b") == "no predicted sample_id is in the ground truth" + remedy
