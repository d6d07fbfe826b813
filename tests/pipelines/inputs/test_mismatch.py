"""Records of another benchmark are told from those of the right one, in the same words by all commands."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names
from beamscore.pipelines.config import settings
from beamscore.pipelines.inputs.inputs import Inputs, find_inputs
from beamscore.pipelines.inputs.mismatch import RECORDS_LOOKED_AT, doubtful_sides, listed, other_ids, shown
from tests.runs import command, write_lines

CORPORA = Path(__file__).parents[2] / "corpora"
PUBLISHED = sorted(path.name for path in CORPORA.iterdir() if (path / "ground_truth.jsonl").exists())


def inputs(benchmark: str, truths: Path, predictions: Path) -> Inputs:
    given = {"ground_truth": [str(truths)], "predictions": {"ours": [str(predictions)]}}
    return find_inputs(settings.check({"benchmark": benchmark, **given}, "test"), ())


def corpus(name: str) -> tuple[Path, Path]:
    return CORPORA / name / "ground_truth.jsonl", CORPORA / name / "predictions.jsonl"


def test_all_published_benchmarks_have_a_corpus() -> None:
    assert set(PUBLISHED) <= set(benchmark_names())
    assert len(PUBLISHED) == 5


@pytest.mark.parametrize("name", PUBLISHED)
def test_nothing_is_said_of_the_right_records(name: str) -> None:
    assert doubtful_sides(inputs(name, *corpus(name))) == []


@pytest.mark.parametrize(("name", "other"), [*itertools.permutations(PUBLISHED, 2)])
def test_the_benchmark_that_was_meant_is_among_the_hints(name: str, other: str) -> None:
    truth, prediction = doubtful_sides(inputs(name, *corpus(other)))
    assert truth.startswith(f"ground truth: no record has a field that {name} reads, ")
    assert prediction.startswith(f"predictions of ours: no record has a field that {name} reads, ")
    for line in (truth, prediction):
        _, _, hint = line.partition(" (did you mean the benchmark ")
        assert other in hint.removesuffix("?)").split(" or ")


def test_an_empty_side_is_told(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty.jsonl", [])
    truths, _ = corpus("chart")
    assert doubtful_sides(inputs("chart", truths, empty)) == [f"predictions of ours: there is no record in {empty}"]
    assert doubtful_sides(inputs("chart", empty, truths)) == [f"ground truth: there is no record in {empty}"]


def test_a_field_of_nulls_is_one(tmp_path: Path) -> None:
    """A model that read nothing may write so."""
    truths, _ = corpus("formula")
    nothing = write_lines(tmp_path / "p.jsonl", [{"sample_id": "a", "latex": None}])
    assert doubtful_sides(inputs("formula", truths, nothing)) == []


def test_of_many_records_only_the_first_are_known(tmp_path: Path) -> None:
    first = ({"sample_id": str(index), "x": 1} for index in range(RECORDS_LOOKED_AT + 1))
    truths = write_lines(tmp_path / "t.jsonl", first)
    line = doubtful_sides(inputs("traffic_rules", truths, truths))[0]
    assert line == (
        "ground truth: none of the first 1,000 records has a field that traffic_rules reads, rules; they have x; "
        "name them under fields in the configuration"
    )


def test_names_of_unknown_origin_stay_on_one_line() -> None:
    assert shown("a b") == "a b"
    assert shown(" a\n") == "' a\\n'"
    assert shown("") == "''"
    assert shown("x" * 41) == "x" * 40 + "…"
    assert listed([str(number) for number in range(8)]) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert listed([str(number) for number in range(9)]).endswith(", 7 and 1 more")


def test_ids_that_never_meet_have_an_example_where_there_is_one() -> None:
    remedy = "; give both sides the same ids, or name their field under fields"
    example = "no sample_id is in the ground truth, which has a, not 'b\\n', for example"
    assert other_ids("a", "b\n") == example + remedy
    assert other_ids(None, "b") == "no sample_id is in the ground truth" + remedy


@pytest.mark.parametrize(("name", "other"), [("chart", "chemistry"), ("figure_text", "formula")])
def test_draw_refuses_what_it_would_draw_empty(tmp_path: Path, name: str, other: str) -> None:
    truths, predictions = corpus(other)
    sample = json.loads(truths.read_bytes().splitlines()[0])["sample_id"]
    given = ("--ground-truth", truths, "--predictions", predictions, "--sample", sample)
    code, stdout, stderr = command("draw", name, *given, "--output", tmp_path / "x.svg")
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: ground truth: no record has a field that {name} reads, ")
    assert f" (did you mean the benchmark {other}" in stderr
    assert list(tmp_path.iterdir()) == []


def test_draw_draws_a_prediction_beside_nothing_and_names_the_sample_with_neither(tmp_path: Path) -> None:
    truths = write_lines(
        tmp_path / "t.jsonl", [{"sample_id": "a"}, {"sample_id": "b"}, {"sample_id": "c", "regions": []}]
    )
    regions = [{"box": [0, 0, 9, 9], "text": "x"}]
    predictions = write_lines(tmp_path / "p.jsonl", [{"sample_id": "a", "regions": regions}])
    given = ("--ground-truth", truths, "--predictions", predictions, "--sample", "a", "b", "c")
    code, stdout, stderr = command("draw", "figure_text", *given, "--output", tmp_path / "out")
    assert (code, stderr) == (
        2,
        "beamscore: --sample b: cannot be drawn: its records have no field that figure_text reads, such as regions\n",
    )
    assert stdout == f"{tmp_path}/out: 2 pictures\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.svg", "c.svg"]


def test_split_warns_and_keeps_the_records(tmp_path: Path) -> None:
    """What it writes is right whatever the records hold; the benchmark is likely to be a slip."""
    truths, _ = corpus("formula")
    output = tmp_path / "split.jsonl"
    code, stdout, stderr = command("split", "traffic_rules", "--ground-truth", truths, "--output", output)
    assert (code, stdout.partition(":")[0], stderr.count("\n")) == (0, str(output), 1)
    assert stderr.startswith(
        "beamscore: warning: ground truth: no record has a field that traffic_rules reads, rules; "
    )
    assert len(output.read_bytes().splitlines()) == len(truths.read_bytes().splitlines())
