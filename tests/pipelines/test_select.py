"""`beamscore select`: the hard cases of a run with both of their records."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.runs import Run, command, evaluate, write_lines

TRUTHS = [{"sample_id": name, "text": "xx", "page": 1} for name in ("a", "b", "c", "d", "e")]
GOOD = [{"sample_id": name, "text": "xx"} for name in ("a", "b", "c", "d")]
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
    return evaluate(folder / "run", folder / "t.jsonl", systems, "--slice", "page", "--quiet")


def select(run: Run, output: Path, *flags: str) -> list[Any]:
    code, stdout, stderr = command("select", run.output, "--output", output, *flags)
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    these = "1 record" if len(found) == 1 else f"{len(found)} records"
    assert (code, stdout, stderr) == (0, f"{output}: {these}\n", "")
    return found


def selects_nothing(run: Run, output: Path, reason: str, *flags: str) -> None:
    """Also where an earlier selection is there, which goes."""
    output.write_text("{}\n")
    code, stdout, stderr = command("select", run.output, "--output", output, *flags)
    assert (code, stdout, stderr) == (2, "", f"beamscore: {run.output}: no sample of {reason}; nothing is written\n")
    assert not output.exists()


def test_samples_below_the_threshold_with_their_records(run: Run, tmp_path: Path) -> None:
    found = select(run, tmp_path / "o.jsonl", "--system", "poor", "--below", "0.5")
    assert [(each["sample_id"], each["status"], each["similarity"]) for each in found] == [
        ("c", "scored", 1 / 4),
        ("d", "missing_prediction", 0),
        ("e", "missing_prediction", 0),
    ]
    assert found[0] == {
        "sample_id": "c",
        "system": "poor",
        "status": "scored",
        "exact_match": 0,
        "similarity": 0.25,
        "details": {"read": "xxxxx"},
        "ground_truth": TRUTHS[2],
        "prediction": POOR[2],
    }
    # What cannot be read is shown as text.
    assert found[1]["prediction"] == '{"sample_id": "d", "text": "\ufffd"}'
    assert found[2]["prediction"] is None


def test_by_default_all_but_the_perfect_ones_of_the_best_system(run: Run, tmp_path: Path) -> None:
    assert [each["sample_id"] for each in select(run, tmp_path / "o.jsonl")] == ["e"]
    code, _, stderr = command(
        "select", f"{run.output}:poor", "--output", tmp_path / "o.jsonl", "--value", "exact_match"
    )
    assert (code, stderr) == (0, "")
    found = [json.loads(line) for line in (tmp_path / "o.jsonl").read_bytes().splitlines()]
    assert [each["sample_id"] for each in found] == ["b", "c", "d", "e"]
    assert found[0]["prediction"] == POOR[1]
    selects_nothing(run, tmp_path / "o.jsonl", "good has similarity below 0", "--below", "0")


def test_parquet(run: Run, tmp_path: Path) -> None:
    assert command("select", run.output, "--output", tmp_path / "o.parquet", "--system", "poor")[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    assert table.schema.names == [
        *("sample_id", "system", "status", "exact_match", "similarity", "details", "ground_truth", "prediction")
    ]
    assert str(table.schema.field("similarity").type) == "double"
    assert [(row["sample_id"], json.loads(row["ground_truth"])["page"]) for row in table.to_pylist()] == [
        (name, 1) for name in ("b", "c", "d", "e")
    ]


@pytest.fixture
def moved(run: Run, tmp_path: Path) -> Path:
    """A folder with a run, under its plain names alone, whose inputs have moved to another folder."""
    shutil.copytree(run.output.parent, tmp_path / "there", ignore=shutil.ignore_patterns(".runs"))
    path = tmp_path / "there" / "run" / "summary.json"
    path.write_text(path.read_text().replace(str(run.output.parent), "/gone"))
    return tmp_path / "there"


def test_inputs_that_have_moved_are_told_and_can_be_given(moved: Path) -> None:
    flags = ("--output", moved / "o.jsonl", "--system", "good")
    code, _, stderr = command("select", moved / "run", *flags)
    assert (code, stderr) == (
        2,
        "beamscore: --ground-truth /gone/t.jsonl: no file matches; check the path and quote the pattern in the shell; "
        "where the inputs of the run have moved, give --ground-truth and --predictions\n",
    )
    now = ("--ground-truth", moved / "t.jsonl", "--predictions", moved / "good.jsonl")
    assert command("select", moved / "run", *flags, *now)[0] == 0
    assert [json.loads(line)["sample_id"] for line in (moved / "o.jsonl").read_bytes().splitlines()] == ["e"]


def test_inputs_that_have_changed_are_told(moved: Path) -> None:
    write_lines(moved / "t.jsonl", TRUTHS[:1])
    now = ("--ground-truth", moved / "t.jsonl", "--predictions", moved / "good.jsonl")
    code, _, stderr = command("select", moved / "run", "--output", moved / "o.jsonl", *now)
    assert (code, stderr) == (
        2,
        "beamscore: sample e of the run is no longer in its ground truth; evaluate again\n",
    )
    assert not list(moved.glob("o.jsonl*"))


def test_a_run_of_no_samples_has_no_hard_cases(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.jsonl", [])
    empty = evaluate(tmp_path / "run", tmp_path / "t.jsonl", tmp_path / "t.jsonl", "--quiet")
    assert empty.code == 1
    selects_nothing(empty, tmp_path / "o.jsonl", "predictions has similarity below 1")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "jsonl.gz"])
def test_the_samples_of_a_list(run: Run, tmp_path: Path, suffix: str) -> None:
    """Whatever they score; a sample that the run does not have, and one that is listed twice, change nothing."""
    listed = [{"sample_id": name, "change": number} for number, name in enumerate(("c", "a", "c", "none"))]
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(listed), tmp_path / "list.parquet")
    else:
        write_lines(tmp_path / f"list.{suffix}", listed)
    flags = ("--system", "poor", "--samples", str(tmp_path / f"list.{suffix}"))
    found = select(run, tmp_path / "o.jsonl", *flags)
    assert [(each["sample_id"], each["similarity"]) for each in found] == [("a", 1), ("c", 0.25)]
    assert [each["sample_id"] for each in select(run, tmp_path / "o.jsonl", *flags, "--below", "0.5")] == ["c"]


def test_the_changes_of_a_comparison_can_be_selected(run: Run, tmp_path: Path) -> None:
    code, _, stderr = command("compare", f"{run.output}:good", f"{run.output}:poor", "--output", tmp_path / "out")
    assert code == 0, stderr
    for path in (tmp_path / "out" / "changes").iterdir():
        found = select(run, tmp_path / "o.jsonl", "--system", "poor", "--samples", str(path))
        # e has no prediction in either.
        assert [each["sample_id"] for each in found] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("list.jsonl", b'{"id": "a"}\n', "this is no list of samples: line 1: there is no sample_id; "),
        ("list.jsonl", b'{"sample_id": 1.5}\n', "this is no list of samples: line 1: sample_id must be a string or an"),
        ("list.jsonl", b"a\n", "this is no list of samples: line 1: this is not JSON: JSON is malformed"),
        ("list.parquet", b"PAR1", "cannot be read as parquet: Parquet file size is 4 bytes"),
        ("none.jsonl", None, "no file matches"),
    ],
)
def test_a_list_that_cannot_be_read_is_told(
    run: Run, tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, _, stderr = command("select", run.output, "--output", tmp_path / "o.jsonl", "--samples", tmp_path / name)
    assert (code, stderr.count("\n")) == (2, 1)
    assert stderr.startswith(f"beamscore: --samples {tmp_path}/{name}: {reason}")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--value", "f1"], "--value f1: no such metric; there are exact_match, similarity"),
        (["--system", "best"], "--system best: not in this run; there are good, poor"),
        (["--system", "good"], "RUN:poor and --system good: these are two systems; give one"),
        ([], "RUN:best: not in this run; there are good, poor"),
        (["--below", "nan"], "--below nan: must be a number"),
        (["--below", "low"], "argument --below: invalid float value: 'low'"),
        (["--output", "o.csv"], "--output o.csv: must end with "),
    ],
)
def test_wrong_usage_is_told_in_one_line(run: Run, tmp_path: Path, flags: list[str], message: str) -> None:
    named = message.partition(" ")[0].rstrip(":").replace("RUN", str(run.output))
    given = named if message.startswith("RUN") else run.output
    code, stdout, stderr = command("select", given, "--output", tmp_path / "o.jsonl", *flags)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: {message.replace('RUN', str(run.output))}")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_finished_run_is_told(run: Run, tmp_path: Path) -> None:
    def refusal() -> str:
        code, _, stderr = command("select", tmp_path / "run", "--output", tmp_path / "o.jsonl")
        assert (code, stderr.count("\n")) == (2, 1)
        return stderr.removeprefix("beamscore: ").replace(f"{tmp_path}/", "")

    assert refusal().startswith("run/summary.json: no finished run is here (")
    (tmp_path / "run").mkdir()
    for text in ("{", "[]", "{}", '{"config": {}, "systems": [], "ranking": []}'):
        (tmp_path / "run" / "summary.json").write_text(text)
        assert refusal().startswith("run/summary.json: no finished run can be read here: ")
    shutil.copy(run.output / "summary.json", tmp_path / "run")
    assert refusal().startswith("run: the rows of the run are missing: ")
    assert command("select", tmp_path / "run")[2] == "beamscore: give --output FILE\n"
