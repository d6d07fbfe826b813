"""`evaluate --check`, and data sets whose columns have other names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.runs import command, evaluate, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(30)]
TRUTHS = [truth for truth, _ in SAMPLES]
PREDICTIONS = [prediction for _, prediction in SAMPLES if prediction]
FLAGS = ("--slice", "kind", "--no-html", "--set", "bootstrap.replicates=10")
CONFIG = """\
benchmark: toy
sample_id_type: any
fields:
  ground_truth: {sample_id: image.id, text: label}
  predictions: {sample_id: id, text: out.best}
"""


def renamed(truth: dict[str, Any]) -> dict[str, Any]:
    image = {"id": int(truth["sample_id"][1:])}
    return {"image": image, "label": truth["text"], "words": truth["words"], "kind": truth["kind"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "t.jsonl", TRUTHS)
    write_lines(tmp_path / "p.jsonl", PREDICTIONS)
    write_lines(tmp_path / "named-t.jsonl", map(renamed, TRUTHS))
    predictions = [{"id": int(each["sample_id"][1:]), "out": {"best": each["text"]}} for each in PREDICTIONS]
    write_lines(tmp_path / "named-p.jsonl", predictions)
    pq.write_table(pa.Table.from_pylist([renamed(truth) for truth in TRUTHS]), tmp_path / "named-t.parquet")
    pq.write_table(pa.Table.from_pylist(predictions), tmp_path / "named-p.parquet")
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def check(truths: str, predictions: str, *more: str, config: str = "toy") -> tuple[int, list[str], str]:
    given = ("--ground-truth", truths, "--predictions", predictions, "--check", *more)
    code, stdout, stderr = command("evaluate", config, *given)
    return code, stdout.splitlines(), stderr


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_columns_with_other_names_give_the_same_values(folder: Path, ending: str) -> None:
    plain = evaluate(folder / "plain", "t.jsonl", "p.jsonl", *FLAGS)
    named = evaluate(folder / "named", f"named-t.{ending}", f"named-p.{ending}", *FLAGS, config=folder / "config.yaml")
    assert (plain.code, named.code, named.stderr) == (0, 0, "")
    # The weights of the bootstrap follow from the sample_id, which is another one: the intervals differ.
    for key in ("values", "coverage"):
        assert named.summary["systems"]["predictions"][key] == plain.summary["systems"]["predictions"][key]
    assert {row["sample_id"] for row in named.samples} == {str(index) for index in range(30)}
    code, _, stderr = command("select", "named", "--output", "hard.jsonl")
    assert (code, stderr) == (0, "")
    selected = [json.loads(line) for line in (folder / "hard.jsonl").read_text().splitlines()]
    assert selected[0]["ground_truth"]["text"] == selected[0]["ground_truth"]["label"]


def test_it_says_what_the_run_would_do_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    code, lines, stderr = check("t.jsonl", "p.jsonl", "--slice", "kind", "--output", "out")
    assert (code, stderr) == (0, "")
    assert sorted(folder.iterdir()) == before
    size = (folder / "t.jsonl").stat().st_size
    assert lines[:4] == [
        "benchmark: toy, protocol published",
        f"ground truth: 1 file, {size:,} bytes, 30 records",
        "  fields found: text in 30 of 30, words in 30 of 30",
        "  other columns: kind",
    ]
    # Samples 5, 16 and 27 have no prediction.
    assert "pairs: 27 of all 27 sample_ids are in all 30 records of the ground truth" in lines
    done = evaluate(folder / "done", "t.jsonl", "p.jsonl", "--set", "missing=exclude")
    values = done.summary["systems"]["predictions"]["values"]
    (scored,) = [line for line in lines if line.startswith("  the first 27: ")]
    assert scored.endswith(f"exact_match {values['exact_match']:.4g}, similarity {values['similarity']:.4g}")
    assert "  slices so far: kind=0, kind=1" in lines


def test_what_would_score_nothing_is_a_problem(folder: Path) -> None:
    code, _, stderr = check("t.jsonl", "named-p.jsonl")
    assert (code, "predictions: no record has a field that toy reads, text; they have id, out" in stderr) == (2, True)
    assert "predictions: no record has a sample_id that can be used" in stderr
    code, _, stderr = check("t.jsonl", "p.jsonl", "--set", "fields.prediction.text=x")
    assert (code, "fields.prediction: there is no such side (did you mean pr" in stderr) == (2, True)


def test_more_records_than_it_looks_at_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beamscore.pipelines.inputs.inputs.RECORDS_LOOKED_AT", 10)
    write_lines(folder / "many.jsonl", [{"sample_id": f"s{1000 + index}", "text": "x"} for index in range(500)])
    code, lines, _ = check("many.jsonl", "many.jsonl")
    assert code == 0
    assert lines[1].endswith(" bytes, 10 and more records")
    # The ids of the first records may not meet where the rest does.
    code, lines, _ = check("t.jsonl", "many.jsonl")
    assert (code, any("among the first records, no sample_id" in line for line in lines)) == (0, True)
