"""Data sets as CSV, TSV, Arrow and folders: the same records give the same result, whatever they are stored in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import Run, command, evaluate, write_lines
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


def values(run: Run) -> Any:
    """What does not name files."""
    del run.summary["config"]
    return run.sums["systems"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("plain")
    truths, predictions = stored(folder, "t", TRUTHS, "jsonl"), stored(folder, "p", PREDICTIONS, "jsonl")
    return evaluate(folder / "plain", truths, predictions, *FEW)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "arrow", "folder", "mixed"])
def test_the_same_records_give_the_same_sums(tmp_path: Path, plain: Run, ending: str) -> None:
    if ending == "mixed":
        truths, predictions = stored(tmp_path, "t", TRUTHS, "jsonl"), tmp_path / "p?.*"
        for place, each in enumerate(["csv", "arrow", "jsonl"]):
            stored(tmp_path, f"p{place}", PREDICTIONS[place::3], each)
    else:
        truths, predictions = stored(tmp_path, "t", TRUTHS, ending), stored(tmp_path, "p", PREDICTIONS, ending)
    run = evaluate(tmp_path / "out", truths, predictions, *FEW)
    assert (plain.code, run.code, run.stderr) == (0, 0, "")
    assert values(run) == values(plain)
    assert [row["sample_id"] for row in run.samples] == [row["sample_id"] for row in plain.samples]


@pytest.mark.parametrize("ending", ["csv", "folder"])
def test_check_split_and_select_read_them(tmp_path: Path, ending: str) -> None:
    truths, predictions = stored(tmp_path, "t", TRUTHS, ending), stored(tmp_path, "p", PREDICTIONS, ending)
    given = ("--ground-truth", truths, "--predictions", predictions, "--check", "--slice", "kind")
    code, stdout, stderr = command("evaluate", "toy", *given)
    assert (code, stderr) == (0, "")
    assert "  fields found: text in 29 of 29, words in 29 of 29\n  other columns: kind\n" in stdout
    assert (
        f"{len(PREDICTIONS)} of all {len(PREDICTIONS)} sample_ids are in all 29 records of the ground truth" in stdout
    )
    code, _, stderr = command("evaluate", "toy", *given[:-1], "knd")
    assert (code, stderr.count("\n")) == (2, 1)
    assert "there is no column knd, only sample_id, text, words, kind" in stderr
    output, by_id = tmp_path / "split.jsonl", {each["sample_id"]: each["text"] for each in TRUTHS}
    assert command("split", "toy", "--ground-truth", truths, "--output", output)[0] == 0
    written = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert {each["sample_id"]: each["text"] for each in written} == by_id
    evaluate(tmp_path / "out", truths, predictions, *FEW)
    assert command("select", tmp_path / "out", "--output", tmp_path / "hard.jsonl")[0] == 0
    hard = [json.loads(line) for line in (tmp_path / "hard.jsonl").read_bytes().splitlines()]
    assert hard
    assert all(each["ground_truth"]["text"] == by_id[each["sample_id"]] for each in hard)


def test_a_bad_line_is_quarantined_with_its_number(tmp_path: Path) -> None:
    truths = stored(tmp_path, "t", TRUTHS, "csv")
    (tmp_path / "p.csv").write_text('sample_id,text\ns1,"x\ny"\ns2,a,b\ns3,x\n')
    run = evaluate(tmp_path / "out", truths, tmp_path / "p.csv", *FEW)
    assert run.code == 1
    (entry,) = [each for each in run.quarantine if each["side"] == "predictions"]
    assert (entry["source"], entry["line"], entry["cause"]) == (str(tmp_path / "p.csv"), 4, "unreadable")
    assert entry["error"] == "the record has 3 fields, but the first line names 2 columns"
    assert entry["text"] == '"s2,a,b"'
    assert run.summary["systems"]["predictions"]["coverage"]["balanced"]


@pytest.mark.parametrize("name", ["p.csv", "p.arrow", "p.parquet"])
def test_a_file_with_the_name_of_another_format_ends_the_run_with_one_line(tmp_path: Path, name: str) -> None:
    truths = stored(tmp_path, "t", TRUTHS, "jsonl")
    write_lines(tmp_path / name, PREDICTIONS)
    run = evaluate(tmp_path / "out", truths, tmp_path / name, *FEW)
    assert (run.code, run.stderr.count("\n")) == (2, 1)
    assert str(tmp_path / name) in run.stderr
