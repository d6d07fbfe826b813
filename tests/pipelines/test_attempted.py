"""Whether a task is attempted is one decision for each system of a run, on every path that gives values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runs import Record, command, evaluate, write_lines

LEGEND = {"output": {"legend_pairs": [{"id": 0, "bb": {"x0": 0, "y0": 0, "width": 10, "height": 10}}]}}
CLASS: Record = {"output": {"chart_type": "line"}}
FLAGS = ("--quiet", "--slice", "source", "--set", "bootstrap.replicates=50", "--set", "tasks=[task1,task5]")
TASK = "task5.score"


ATTEMPTED = {"half": "a", "right": "ab", "nothing": ""}
"""The slices in which each system attempts task 5."""


def charts(sources: str, attempted: str) -> list[Record]:
    """Charts of the sources, with task 5 in those of them that are `attempted`."""
    return [
        {"sample_id": f"{source}{n}", "source": source, "task1": CLASS, **({"task5": LEGEND} if has_legend else {})}
        for source in sources
        for has_legend in [source in attempted]
        for n in range(10)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over two slices, and a run over each of them."""
    made = tmp_path_factory.mktemp("attempted")
    for name, sources in (("whole", "ab"), ("a", "a"), ("b", "b")):
        truth = write_lines(made / f"in-{name}" / "t.jsonl", charts(sources, "ab"))
        systems = {
            system: write_lines(truth.with_name(f"{system}.jsonl"), charts(sources, attempted))
            for system, attempted in ATTEMPTED.items()
        }
        assert evaluate(made / name, truth, systems, *FLAGS, config="chart").code == 0
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
