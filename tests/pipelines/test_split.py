"""`beamscore split`: a sample's split depends on its group and the seed alone, and no record or column is lost."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.commands.split import fold
from tests.runs import command, write_lines

RECORDS: list[dict[str, Any]] = [
    {
        "sample_id": f"s{number:02}",
        "text": "x",
        "page": {"number": number // 4} if number < 30 else None,
        "words": ["a"],
        "source": number % 3,
    }
    for number in range(40)
]


def split(folder: Path, records: list[Any], *flags: str, output: str = "o.jsonl") -> dict[str, Any]:
    """Splits records given as JSON lines, and returns what was written by sample_id."""
    write_lines(folder / "t.jsonl", records)
    code, stdout, stderr = command(
        "split", "toy", "--ground-truth", folder / "t.jsonl", "--output", folder / output, *flags
    )
    assert (code, stdout, stderr) == (0, f"{folder}/{output}: {len(records)} records\n", "")
    return {record["sample_id"]: record for record in map(json.loads, (folder / output).read_bytes().splitlines())}


def test_a_split_depends_on_group_and_seed_alone(tmp_path: Path) -> None:
    fractions = ("--fractions", "training=0.5, testing=1/2", "--group", "page", "--seed", "3")
    whole = split(tmp_path, RECORDS, *fractions)
    # Every column is there as it was, and the split beside them.
    assert [{**record, "split": whole[record["sample_id"]]["split"]} for record in RECORDS] == list(whole.values())
    assert set(Counter(record["split"] for record in whole.values())) == {"training", "testing"}
    shuffled = random.Random(0).sample(RECORDS, 15)
    some = split(tmp_path, shuffled, *fractions)
    assert some == {sample_id: whole[sample_id] for sample_id in some}
    groups: dict[str, set[str]] = {}
    for record in whole.values():
        if record["page"] is not None:
            groups.setdefault(str(record["page"]), set()).add(record["split"])
    assert all(len(found) == 1 for found in groups.values())
    # Samples without a group are groups of their own.
    assert len({record["split"] for record in whole.values() if record["page"] is None}) == 2


def test_folds(tmp_path: Path) -> None:
    folds = split(tmp_path, RECORDS, "--folds", "4", "--column", "fold")
    assert {record["fold"] for record in folds.values()} == {"0", "1", "2", "3"}
    assert all(record["fold"] == str(fold(f"sample:{name}", 4, 0)) for name, record in folds.items())


def test_parquet_keeps_every_column_and_its_type(tmp_path: Path) -> None:
    rows = [{key: value for key, value in record.items() if key != "page"} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    flags = ("--ground-truth", tmp_path / "t.parquet", "--output", tmp_path / "o.parquet", "--group", "source")
    assert command("split", "toy", *flags)[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    assert {field.name: str(field.type) for field in table.schema} == {
        "sample_id": "string",
        "words": "extension<arrow.json>",
        "source": "int64",
        "split": "string",
        "text": "string",
    }
    found = [{**row, "words": json.loads(row["words"])} for row in table.to_pylist()]
    assert [{key: row[key] for key in rows[0]} for row in found] == rows


BAD = [
    b"{broken",
    json.dumps({**RECORDS[3], "text": "again"}).encode(),
    b'{"text": "no id"}',
    b'{"sample_id": "latin", "text": "\xff"}',
]


@pytest.mark.parametrize(
    ("truths", "output", "more"),
    [
        ("t.jsonl", "t.jsonl", ()),
        ("t.jsonl", "./x/../t.jsonl", ()),
        # The numbered files of an earlier run are removed.
        ("t-00000-of-00003.jsonl", "t.jsonl", ("--shards", "2")),
    ],
)
def test_an_input_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, truths: str, output: str, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").mkdir()
    write_lines(tmp_path / truths, [*RECORDS, b"{broken"])
    before = Path(truths).read_bytes()
    code, _, stderr = command("split", "toy", "--ground-truth", truths, "--output", output, *more)
    assert (code, stderr) == (
        2,
        f"beamscore: --output {output}: it would replace the input {truths}; give another --output\n",
    )
    assert Path(truths).read_bytes() == before


def test_what_is_rejected_or_stands_twice_is_listed(tmp_path: Path) -> None:
    write_lines(tmp_path / "t.jsonl", [*RECORDS, *BAD])
    flags = ("--ground-truth", tmp_path / "t.jsonl", "--output", tmp_path / "o.jsonl")
    code, _, stderr = command("split", "toy", *flags)
    listed = tmp_path / "o.jsonl.rejected.jsonl"
    assert (code, stderr) == (
        1,
        f"beamscore: 4 records or sources were rejected; {listed} says which and why\n",
    )
    entries = [json.loads(line) for line in listed.read_bytes().splitlines()]
    assert [(entry["line"], entry["cause"]) for entry in entries] == [
        (41, "unreadable"),
        (42, "duplicate"),
        (43, "no_sample_id"),
        (44, "unreadable"),
    ]
    written = [json.loads(line) for line in (tmp_path / "o.jsonl").read_bytes().splitlines()]
    assert [{key: each[key] for key in RECORDS[0]} for each in written] == RECORDS


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--fractions", "a=0.5,b=0.4"],
            "--fractions a=0.5,b=0.4: they add up to 0.9; give NAME=X,... that add",
        ),
        (["--fractions", "a=0.5,a=0.5"], "--fractions a=0.5,a=0.5: each part needs a name of its own, not 'a=0.5'; "),
        (["--fractions", "a"], "--fractions a: Invalid literal for Fraction: ''; give NAME=X,..."),
        (["--fractions", "a=nan"], "--fractions a=nan: Invalid literal for Fraction: 'nan'; "),
        (["--fractions", "a=2,b=-1"], "--fractions a=2,b=-1: fractions must be between 0 and 1"),
        (["--fractions", "a=1/0"], "--fractions a=1/0: "),
        (["--folds", "1"], "--folds 1: cross validation needs at least 2"),
        (["--folds", "3", "--fractions", "a=1"], "argument --fractions: not allowed with argument --folds"),
        (["--column", "sample_id"], "--column sample_id: the split needs a column of its own"),
        (["--column", "page", "--group", "page"], "--column page: the split needs a column of its own"),
        (["--column", "text"], "t.jsonl:1: there is a column text already; give another name with --column"),
        (["--group", "pages"], "--group pages: no record has such a column (did you mean page?)"),
        (["--shards", "0"], "--shards 0: must be from 1 to 10000"),
    ],
)
def test_wrong_usage_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "t.jsonl", RECORDS[:1])
    code, stdout, stderr = command("split", "toy", "--ground-truth", "t.jsonl", "--output", "o.jsonl", *flags)
    assert (code, stdout, stderr.count("\n")) == (2, "", 1)
    assert stderr.startswith(f"beamscore: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_an_empty_data_set_is_split_into_an_empty_file_and_told(tmp_path: Path) -> None:
    truths, output = write_lines(tmp_path / "t.jsonl", []), tmp_path / "o.jsonl"
    code, stdout, stderr = command("split", "toy", "--ground-truth", truths, "--output", output, "--group", "page")
    told = f"beamscore: warning: ground truth: there is no record in {truths}\n"
    assert (code, stdout, stderr, output.read_bytes()) == (0, f"{output}: 0 records\n", told, b"")
