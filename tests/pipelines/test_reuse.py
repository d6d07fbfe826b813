"""Reusing the rows of a finished run: the same bytes, and only what has changed is scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

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
ANSWERS = [
    *(prediction for _, prediction in CORPUS if prediction and prediction["sample_id"] != "s16"),
    {"sample_id": "truth", "text": "x"},
    {"sample_id": "prediction", "text": "prediction is bad"},
    {"sample_id": "fails", "text": "score fails"},
    {"sample_id": "s16", "text": 7},
]
FLAGS = ("--slice", "kind", "--set", "max_rejected_fraction=1", "--set", "bootstrap.replicates=20", "--quiet")


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The texts of each pair that is scored, in this process."""
    return toy.scored_pairs(monkeypatch)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reuse")
    write_lines(folder / "t.jsonl", [truth for truth, _ in CORPUS] + BAD)
    write_lines(folder / "p.jsonl", ANSWERS)
    changed = [{**each, "text": "new"} if each["sample_id"] == "s1" else each for each in ANSWERS]
    write_lines(folder / "q.jsonl", changed)
    assert run(folder, folder / "first", "p").code == 0
    return folder


def run(folder: Path, output: Path, answers: str, *more: str) -> Run:
    return evaluate(output, folder / "t.jsonl", folder / f"{answers}.jsonl", *FLAGS, *more)


def same(found: Run, other: Run) -> None:
    assert found.bytes() == other.bytes()
    assert (found.samples, found.report, found.quarantine) == (other.samples, other.report, other.quarantine)


def copied(run: Path, target: Path) -> Path:
    return Path(shutil.copytree(run, target, ignore=shutil.ignore_patterns(".runs")))


def test_the_result_has_the_same_bytes_and_only_what_changed_or_was_rejected_is_scored(
    nights: Path, tmp_path: Path, scored: list[tuple[str, str]]
) -> None:
    """Of the rejected ones the quarantine must tell again, as they are tried with and without their prediction."""
    without = run(nights, tmp_path / "without", "q")
    scored.clear()
    found = run(nights, tmp_path / "with", "q", "--reuse", str(nights / "first"))
    answers = [answer for _, answer in scored]
    assert (set(answers), answers.count("new")) == ({"new", "x", "prediction is bad", "score fails", ""}, 1)
    assert len(scored) <= 8
    assert (found.code, found.stderr) == (without.code, without.stderr) == (0, "")
    same(found, without)
    assert "reused" in json.loads((tmp_path / "with" / "run.json").read_bytes())
    # A row that was reused is reused again.
    scored.clear()
    same(run(nights, tmp_path / "again", "q", "--reuse", str(tmp_path / "with")), without)
    assert "new" not in [answer for _, answer in scored]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("options", 'it used protocol: "published" instead of "released"'),
        ("packages", "it used different versions of packages"),
        ("no provenance", "it used different versions of packages"),
    ],
)
def test_what_may_score_otherwise_is_not_reused(
    nights: Path, tmp_path: Path, scored: list[tuple[str, str]], change: str, reason: str
) -> None:
    earlier = copied(nights / "first", tmp_path / "earlier")
    document = json.loads((earlier / "run.json").read_bytes())
    document["versions"][change] = {"latex": "of old"}
    (earlier / "run.json").write_text("{}" if change == "no provenance" else json.dumps(document))
    more = ("--set", "protocol=released") if change == "options" else ()
    found = run(nights, tmp_path / "out", "p", *more, "--reuse", str(earlier))
    assert found.code == 0
    assert found.stderr.startswith(f"beamscore: warning: nothing is reused from {earlier}: {reason}")
    assert len(scored) >= 36  # all that have a prediction


def test_a_row_that_was_changed_is_scored_again(nights: Path, tmp_path: Path, scored: list[tuple[str, str]]) -> None:
    earlier = copied(nights / "first", tmp_path / "earlier")
    for path in (earlier / "samples").glob("*.parquet"):
        table = pq.ParquetFile(path).read()
        bad = [text and '{"samples": 1e300}' for text in table["statistics"].to_pylist()]
        pq.write_table(table.drop_columns(["statistics"]).append_column("statistics", [bad]), path)
    found = run(nights, tmp_path / "out", "p", "--reuse", str(earlier))
    assert found.bytes() == Run(0, "", "", nights / "first").bytes()
    assert len(scored) >= 40
