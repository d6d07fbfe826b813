"""Reusing the rows of a finished run: the same bytes, and only what has changed is scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.runs import Record, Run, evaluate, write_lines

CORPUS = [toy.sample(index, 0) for index in range(40)]
BAD: list[Record] = [
    {"sample_id": "truth", "text": "truth is bad"},
    {"sample_id": "prediction", "text": "x"},
    {"sample_id": "fails", "text": "x"},
]
FLAGS = ("--slice", "kind", "--set", "max_rejected_fraction=1", "--set", "bootstrap.replicates=20", "--quiet")


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The texts of each pair that is scored, in this process."""
    return toy.scored_pairs(monkeypatch)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reuse")
    truths = [truth for truth, _ in CORPUS] + BAD
    answers = [prediction for _, prediction in CORPUS if prediction]
    answers += [
        {"sample_id": "truth", "text": "x"},
        {"sample_id": "prediction", "text": "prediction is bad"},
        {"sample_id": "fails", "text": "score fails"},
        {"sample_id": "s16", "text": 7},
    ]
    answers = [each for place, each in enumerate(answers) if each["sample_id"] != "s16" or place >= len(answers) - 4]
    write_lines(folder / "t.jsonl", truths)
    write_lines(folder / "p.jsonl", answers)
    write_lines(
        folder / "q.jsonl", [{**each, "text": "new"} if each["sample_id"] == "s1" else each for each in answers]
    )
    assert run(folder, "first", "p").code == 0
    return folder


def run(folder: Path, name: str, answers: str, *more: str, into: Path | None = None) -> Run:
    inputs = (folder / "t.jsonl", folder / f"{answers}.jsonl")
    return evaluate((into or folder) / name, *inputs, *FLAGS, *more)


def same(found: Run, other: Run) -> None:
    assert found.bytes() == other.bytes()
    assert found.samples == other.samples
    assert found.report == other.report
    assert found.quarantine == other.quarantine


@pytest.mark.parametrize("answers", ["p", "q"])
def test_the_result_has_the_same_bytes_with_and_without(nights: Path, tmp_path: Path, answers: str) -> None:
    without = run(nights, "without", answers, into=tmp_path)
    found = run(nights, "with", answers, "--reuse", str(nights / "first"), into=tmp_path)
    assert (found.code, found.stderr) == (without.code, without.stderr) == (0, "")
    same(found, without)
    assert "reused" in json.loads((tmp_path / "with" / "run.json").read_bytes())


def test_only_what_changed_or_was_rejected_is_scored_again(
    nights: Path, tmp_path: Path, scored: list[tuple[str, str]]
) -> None:
    """Of the rejected ones the quarantine must tell again, as they are tried with and without their prediction."""
    run(nights, "with", "q", "--reuse", str(nights / "first"), into=tmp_path)
    answers = [answer for _, answer in scored]
    assert set(answers) == {"new", "x", "prediction is bad", "score fails", ""}
    assert answers.count("new") == 1
    assert len(scored) <= 8


def test_a_row_that_was_reused_is_reused_again(nights: Path, tmp_path: Path, scored: list[tuple[str, str]]) -> None:
    second = run(nights, "second", "p", "--reuse", str(nights / "first"), into=tmp_path)
    third = run(nights, "third", "p", "--reuse", str(tmp_path / "second"), into=tmp_path)
    same(second, third)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("--set", "protocol=released"), 'it was made with protocol: "published", not "released"'),
        ("packages", "it was made with other versions of packages"),
        ("no provenance", "it was made with other versions of packages"),
    ],
)
def test_what_may_score_otherwise_is_not_reused(
    nights: Path, tmp_path: Path, scored: list[tuple[str, str]], change: Any, reason: str
) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(nights / "first", earlier, ignore=shutil.ignore_patterns(".runs"))
    document = json.loads((earlier / "run.json").read_bytes())
    if change == "no provenance":
        document = {}
    elif isinstance(change, str):
        document["versions"][change] = {"latex": "of old"}
    (earlier / "run.json").write_text(json.dumps(document))
    more = change if isinstance(change, tuple) else ()
    found = run(nights, "out", "p", *more, "--reuse", str(earlier), into=tmp_path)
    assert found.code == 0
    assert found.stderr.startswith(f"beamscore: warning: nothing is reused of {earlier}: {reason}")
    assert len(scored) >= 36  # all that have a prediction


@pytest.mark.parametrize("damage", ["none", "cut", "column"])
def test_rows_that_cannot_be_read_are_told_in_one_line(nights: Path, tmp_path: Path, damage: str) -> None:
    earlier = tmp_path / "earlier"
    if damage != "none":
        shutil.copytree(nights / "first", earlier, ignore=shutil.ignore_patterns(".runs"))
        for path in (earlier / "samples").glob("*.parquet"):
            if damage == "cut":
                path.write_bytes(path.read_bytes()[:-20])
            else:
                pq.write_table(pq.ParquetFile(path).read().drop_columns(["truth_hash"]), path)
    found = run(nights, "out", "p", "--reuse", str(earlier), into=tmp_path)
    assert (found.code, found.stdout) == (2, "")
    assert found.stderr.count("\n") == 1
    assert str(earlier) in found.stderr
    assert not (tmp_path / "out" / "summary.json").exists()


def test_a_row_with_impossible_numbers_is_scored_again(
    nights: Path, tmp_path: Path, scored: list[tuple[str, str]]
) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(nights / "first", earlier, ignore=shutil.ignore_patterns(".runs"))
    for path in (earlier / "samples").glob("*.parquet"):
        table = pq.ParquetFile(path).read()
        bad = pa.array([None if text is None else '{"samples": 1e300}' for text in table["statistics"].to_pylist()])
        pq.write_table(table.set_column(table.schema.get_field_index("statistics"), "statistics", bad), path)
    found = run(nights, "out", "p", "--reuse", str(earlier), into=tmp_path)
    assert found.bytes() == Run(0, "", "", nights / "first").bytes()
    assert len(scored) >= 40


def test_a_sample_corpus_has_the_same_bytes(tmp_path: Path) -> None:
    truths, answers = (Path(__file__).parents[1] / "corpora" / "chart" / name
                       for name in ("ground_truth.jsonl", "predictions.jsonl"))  # fmt: skip
    more = ("--slice", "source", "--set", "bootstrap.replicates=20", "--quiet")
    first = evaluate(tmp_path / "a", truths, answers, *more, config="chart")
    again = evaluate(tmp_path / "b", truths, answers, *more, "--reuse", str(tmp_path / "a"), config="chart")
    same(again, first)
