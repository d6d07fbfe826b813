"""`beamscore select`: the hard cases of a run with both of their records."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.runs import Run, command, evaluate, refused, write_lines

TRUTHS = [{"sample_id": name, "text": "xx", "page": 1} for name in "abcde"]
GOOD = [{"sample_id": name, "text": "xx"} for name in "abcd"]
# b differs by one letter in length, c by three, d is rejected and e missing.
POOR: list[Any] = [
    {"sample_id": "a", "text": "xx"},
    {"sample_id": "b", "text": "xxx", "seconds": 3},
    {"sample_id": "c", "text": "xxxxx"},
    b'{"sample_id": "d", "text": "\xff"}',
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("select")
    write_lines(folder / "t.jsonl", TRUTHS)
    systems = {"good": write_lines(folder / "good.jsonl", GOOD), "poor": write_lines(folder / "poor.jsonl", POOR)}
    more = ("--slice", "page", "--set", "derived.macro=slice_mean(similarity, page)", "--quiet", "--no-html")
    return evaluate(folder / "run", folder / "t.jsonl", systems, *more)


def select(run: Run | str, output: Path, *flags: str | Path) -> list[Any]:
    path = run if isinstance(run, str) else run.output
    code, stdout, stderr = command("select", path, "--output", output, *flags)
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    these = "1 record" if len(found) == 1 else f"{len(found)} records"
    assert (code, stdout, stderr) == (0, f"{output}: {these}\n", "")
    return found


def ids(found: list[Any]) -> list[str]:
    return [each["sample_id"] for each in found]


def test_samples_below_the_threshold_with_their_records(run: Run, tmp_path: Path) -> None:
    found = select(run, tmp_path / "o.jsonl", "--system", "poor", "--below", "0.5")
    told = [(each["sample_id"], each["status"], each["similarity"]) for each in found]
    assert told == [("c", "scored", 1 / 4), ("d", "missing_prediction", 0), ("e", "missing_prediction", 0)]
    scores = {"status": "scored", "exact_match": 0, "similarity": 0.25, "details": {"read": "xxxxx"}}
    records = {"ground_truth": TRUTHS[2], "prediction": POOR[2]}
    assert found[0] == {"sample_id": "c", "system": "poor", **scores, **records}
    # What cannot be read is shown as text, and the threshold itself is not below it.
    assert [each["prediction"] for each in found[1:]] == ['{"sample_id": "d", "text": "\ufffd"}', None]
    assert ids(select(run, tmp_path / "o.jsonl", "--system", "poor", "--below", "0.25")) == ["d", "e"]


def test_by_default_all_but_the_perfect_ones_of_the_best_system(run: Run, tmp_path: Path) -> None:
    assert ids(select(run, tmp_path / "o.jsonl")) == ["e"]
    found = select(f"{run.output}:poor", tmp_path / "o.jsonl", "--value", "exact_match")
    assert (ids(found), found[0]["prediction"]) == (["b", "c", "d", "e"], POOR[1])
    assert command("select", run.output, "--output", tmp_path / "o.parquet", "--system", "poor")[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    assert (table.schema.names, str(table.schema.field("similarity").type)) == (list(found[0]), "double")
    pages = [(row["sample_id"], json.loads(row["ground_truth"])["page"]) for row in table.to_pylist()]
    assert pages == [(name, 1) for name in "bcde"]


def test_of_a_metric_that_is_better_when_lower_those_above_the_best(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (similarity,) = (spec for spec in toy.ToyBenchmark.sample_metrics if spec.main)
    monkeypatch.setattr(toy.ToyBenchmark, "sample_metrics", (replace(similarity, higher_is_better=False),))
    poor = ("--system", "poor")
    assert ids(select(run, tmp_path / "o.jsonl", *poor)) == ["a", "b", "c"]
    assert ids(select(run, tmp_path / "o.jsonl", *poor, "--below", "0.5")) == ["c", "d", "e"]
    listed = write_lines(tmp_path / "list.jsonl", [{"sample_id": "e"}])
    assert ids(select(run, tmp_path / "o.jsonl", *poor, "--samples", listed)) == ["e"]


def test_nothing_to_select_is_an_error_and_an_earlier_selection_goes(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "o.jsonl"
    output.write_text("{}\n")
    told = f"{run.output}: no sample of good has similarity below 0; nothing is written"
    assert refused("select", run.output, "--output", output, "--below", "0") == told
    assert not output.exists()


def test_inputs_that_have_moved_or_changed_are_told_and_can_be_given(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "there"
    shutil.copytree(run.output.parent, there, ignore=shutil.ignore_patterns(".runs"))
    path = there / "run" / "summary.json"
    path.write_text(path.read_text().replace(str(run.output.parent), "/gone"))
    flags = ("select", there / "run", "--output", there / "o.jsonl", "--system", "good")
    told = refused(*flags)
    assert told.startswith("--ground-truth /gone/t.jsonl: no file matches; check the path and quote the pattern")
    assert told.endswith("; if the inputs of the run have moved, give --ground-truth and --predictions")
    now = ("--ground-truth", there / "t.jsonl", "--predictions", there / "good.jsonl")
    assert ids(select(str(there / "run"), there / "o.jsonl", *flags[4:], *now)) == ["e"]
    (there / "o.jsonl").unlink()
    write_lines(there / "t.jsonl", TRUTHS[:1])
    assert refused(*flags, *now) == "sample e of the run is no longer in its ground truth; evaluate again"
    assert not list(there.glob("o.jsonl*"))


def test_the_samples_of_a_list_or_of_a_comparison(run: Run, tmp_path: Path) -> None:
    """Whatever they score; a sample that the run does not have, and one that is listed twice, change nothing."""
    listed = [{"sample_id": name, "change": number} for number, name in enumerate(("c", "a", "c", "none"))]
    given = ("--system", "poor", "--samples", write_lines(tmp_path / "list.jsonl.gz", listed))
    found = select(run, tmp_path / "o.jsonl", *given)
    assert [(each["sample_id"], each["similarity"]) for each in found] == [("a", 1), ("c", 0.25)]
    assert ids(select(run, tmp_path / "o.jsonl", *given, "--below", "0.5")) == ["c"]
    sides = (f"{run.output}:good", f"{run.output}:poor")
    assert command("compare", *sides, "--output", tmp_path / "out", "--no-html")[0] == 0
    for path in (tmp_path / "out" / "changes").iterdir():
        # e has no prediction in either.
        assert ids(select(run, tmp_path / "o.jsonl", *given[:3], path)) == ["b", "c", "d"]
