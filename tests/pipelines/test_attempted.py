"""Whether a task is attempted is one decision for each system of a run, on every path that gives values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.runs import Record, Run, command, evaluate, write_lines

LEGEND = {"output": {"legend_pairs": [{"id": 0, "bb": {"x0": 0, "y0": 0, "width": 10, "height": 10}}]}}
CLASS: Record = {"output": {"chart_type": "line"}}
FLAGS = ("--quiet", "--slice", "source", "--set", "bootstrap.replicates=50", "--set", "tasks=[task1,task5]")
TASK = "task5.score"


def charts(source: str) -> list[Record]:
    return [{"sample_id": f"{source}{n}", "source": source, "task1": CLASS, "task5": LEGEND} for n in range(10)]


def answers(source: str, **tasks: Record) -> list[Record]:
    return [{"sample_id": f"{source}{n}", "task1": CLASS, **tasks} for n in range(10)]


TRUTH = [*charts("a"), *charts("b")]
RIGHT = [*answers("a", task5=LEGEND), *answers("b", task5=LEGEND)]
HALF = [*answers("a", task5=LEGEND), *answers("b")]
"""Task 5 of slice a alone."""


def run(folder: Path, name: str, truth: Sequence[Record], **systems: list[Record]) -> Run:
    paths = {each: write_lines(folder / f"in-{name}" / f"{each}.jsonl", found) for each, found in systems.items()}
    return evaluate(folder / name, write_lines(folder / f"in-{name}" / "t.jsonl", truth), paths, *FLAGS, config="chart")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("attempted")
    nothing = [*answers("a"), *answers("b")]
    assert run(made, "whole", TRUTH, half=HALF, right=RIGHT, nothing=nothing).code == 0
    for source in "ab":
        part = {"half": HALF, "right": RIGHT, "nothing": nothing}
        mine = {name: [each for each in found if each["sample_id"][0] == source] for name, found in part.items()}
        assert run(made, source, charts(source), **mine).code == 0
    return made


def test_a_slice_without_a_prediction_of_the_task_is_0_with_an_interval(folder: Path) -> None:
    systems = json.loads((folder / "whole" / "summary.json").read_bytes())["systems"]
    half, nothing = systems["half"], systems["nothing"]
    assert [half["values"][TASK], *(each["values"][TASK] for each in half["slices"].values())] == [0.5, 1, 0]
    low, high = half["slices"]["source=b"]["intervals"][TASK]
    assert (low, high < 0.5) == (0, True)
    assert [nothing["values"][TASK], *(each["values"][TASK] for each in nothing["slices"].values())] == [None] * 3


def test_parts_that_are_merged_have_the_bytes_of_one_evaluation(folder: Path) -> None:
    assert command("merge", folder / "a", folder / "b", "--output", folder / "merged")[0] == 0
    merged, whole = (json.loads((folder / name / "summary.json").read_bytes()) for name in ("merged", "whole"))
    assert merged["systems"] == whole["systems"]
    # Alone, the half without the task says nothing of it.
    alone = json.loads((folder / "b" / "summary.json").read_bytes())
    assert alone["systems"]["half"]["values"][TASK] is None


def test_a_comparison_tests_the_slice_that_fails_completely(folder: Path) -> None:
    whole = folder / "whole"
    command("compare", f"{whole}:right", f"{whole}:half", "--output", folder / "compared")
    document = json.loads((folder / "compared" / "comparison.json").read_bytes())
    found = document["slices"]["source=b"]["metrics"][TASK]
    assert (found["baseline"], found["candidate"], found["difference"], found["verdict"]) == (1, 0, -1, "worse")
    assert document["slices"]["source=a"]["metrics"][TASK]["verdict"] == "identical"
    assert document["metrics"][TASK]["verdict"] == "worse"
