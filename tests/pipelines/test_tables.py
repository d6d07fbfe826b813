"""Data sets as CSV, TSV, Arrow and folders: the same records give the same result, whatever they are stored in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import Run, evaluate, write_lines
from tests.tables import save_dataset, write_arrow, write_delimited

SAMPLES = [toy.sample(index, 0) for index in range(1, 30)]
TRUTHS = [{**truth, "kind": [None, "0", "1"][place % 3]} for place, (truth, _) in enumerate(SAMPLES)]
PREDICTIONS = [prediction for _, prediction in SAMPLES if prediction]
FEW = ("--set", "bootstrap.replicates=20", "--slice", "kind", "--no-html")


def stored(folder: Path, name: str, records: list[dict[str, Any]], ending: str) -> Path:
    if ending == "folder":
        return save_dataset(folder / name, records, 3)
    path = folder / f"{name}.{ending}"
    if ending == "arrow":
        return write_arrow(path, records, 7)
    return write_delimited(path, records) if "sv" in ending else write_lines(path, records)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("plain")
    truths, predictions = stored(folder, "t", TRUTHS, "jsonl"), stored(folder, "p", PREDICTIONS, "jsonl")
    return evaluate(folder / "plain", truths, predictions, *FEW)


@pytest.mark.parametrize("ending", ["csv.gz", "tsv", "folder", "mixed"])
def test_the_same_records_give_the_same_sums(tmp_path: Path, plain: Run, ending: str) -> None:
    if ending == "mixed":
        truths, predictions = stored(tmp_path, "t", TRUTHS, "jsonl"), tmp_path / "p?.*"
        for place, each in enumerate(["csv", "arrow", "jsonl"]):
            stored(tmp_path, f"p{place}", PREDICTIONS[place::3], each)
    else:
        truths, predictions = stored(tmp_path, "t", TRUTHS, ending), stored(tmp_path, "p", PREDICTIONS, ending)
    run = evaluate(tmp_path / "out", truths, predictions, *FEW)
    assert (plain.code, run.code, run.stderr) == (0, 0, "")
    assert run.sums["systems"] == plain.sums["systems"]
    assert [row["sample_id"] for row in run.samples] == [row["sample_id"] for row in plain.samples]


@pytest.mark.parametrize("name", ["p.csv", "p.arrow", "p.parquet"])
def test_a_file_with_the_name_of_another_format_ends_the_run_with_one_line(tmp_path: Path, name: str) -> None:
    truths = stored(tmp_path, "t", TRUTHS, "jsonl")
    write_lines(tmp_path / name, PREDICTIONS)
    run = evaluate(tmp_path / "out", truths, tmp_path / name, *FEW)
    assert (run.code, run.stderr.count("\n")) == (2, 1)
    assert str(tmp_path / name) in run.stderr
