"""`beamscore split`: a sample's split depends on its group and the seed alone, and no record or column is lost."""

from __future__ import annotations

import json
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.commands.split import SplitPlan, folds
from tests.runs import command, write_lines

FIFTHS = {"training": Fraction(1, 5), "none": Fraction(0), "testing": Fraction(4, 5)}
RECORDS: list[dict[str, Any]] = [
    {"sample_id": f"s{n:02}", "text": "x", "page": page, "words": ["a"], "source": n % 3}
    for n in range(40)
    for page in [{"number": n // 4} if n < 30 else None]
]


def part(group: str, fractions: dict[str, Fraction], seed: int = 0, purpose: str = "part") -> str:
    return SplitPlan(None, "split", fractions, seed, purpose).part(group)


def test_the_draw_is_written_down() -> None:
    """The numbers must stay: a data set that was split yesterday is split so tomorrow."""
    assert [part(f"article {n}", folds(5), purpose="fold") for n in range(10)] == [*"0043220142"]
    # It draws exactly this number, which belongs to the part that begins with it.
    parts = {"": Fraction(7189596520410170696, 2**64), "next": Fraction(1, 2**64)}
    assert part("article 0", parts, purpose="") == "next"
    drawn = [("a", 0, ""), ("a", 1, ""), ("a", 0, "fold"), ("b", 0, "")]
    assert len({part(group, folds(1000), seed, purpose) for group, seed, purpose in drawn}) == 4


def test_parts_have_their_fractions() -> None:
    parts = Counter(part(str(n), FIFTHS) for n in range(10_000))
    assert parts.keys() == {"training", "testing"}
    # 2,000 expected, with a standard deviation of 40.
    assert 1800 < parts["training"] < 2200


@given(st.text(), st.integers(0, 5), st.fractions(0, 1), st.fractions(0, 1))
def test_a_part_that_grows_keeps_its_groups(group: str, seed: int, one: Fraction, other: Fraction) -> None:
    small, large = ({"training": each, "testing": 1 - each} for each in sorted((one, other)))
    assert (part(group, small, seed), part(group, large, seed)) != ("training", "testing")


def split(folder: Path, records: list[Any], *flags: str, output: str = "o.jsonl") -> dict[str, Any]:
    """Splits records given as JSON lines, and returns what was written by sample_id."""
    truths, path = write_lines(folder / "t.jsonl", records), folder / output
    done = command("split", "toy", "--ground-truth", truths, "--output", path, *flags)
    assert done == (0, f"{path}: {len(records)} records\n", "")
    return {record["sample_id"]: record for record in map(json.loads, path.read_bytes().splitlines())}


def test_a_split_depends_on_group_and_seed_alone(tmp_path: Path) -> None:
    fractions = ("--fractions", "training=0.5, testing=1/2", "--group", "page", "--seed", "3")
    whole = split(tmp_path, RECORDS, *fractions)
    # Every column is there as it was, and the split beside them.
    assert [{**record, "split": whole[record["sample_id"]]["split"]} for record in RECORDS] == list(whole.values())
    assert {record["split"] for record in whole.values()} == {"training", "testing"}
    some = split(tmp_path, random.Random(0).sample(RECORDS, 15), *fractions)
    assert some == {sample_id: whole[sample_id] for sample_id in some}
    found = {(str(record["page"]), record["split"]) for record in whole.values() if record["page"]}
    assert len(found) == len({page for page, _ in found}) == 8
    # Samples without a group are groups of their own.
    assert len({record["split"] for record in whole.values() if record["page"] is None}) == 2
    fourths = split(tmp_path, RECORDS, "--folds", "4", "--column", "fold")
    assert {name: each["fold"] for name, each in fourths.items()} == {
        name: part(f"sample:{name}", folds(4), purpose="fold") for name in whole
    }


def test_parquet_keeps_every_column_and_its_type(tmp_path: Path) -> None:
    rows = [{key: value for key, value in record.items() if key != "page"} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    flags = ("--ground-truth", tmp_path / "t.parquet", "--output", tmp_path / "o.parquet", "--group", "source")
    assert command("split", "toy", *flags)[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    types = {"sample_id": "string", "words": "extension<arrow.json>", "source": "int64"}
    assert {each.name: str(each.type) for each in table.schema} == {**types, "split": "string", "text": "string"}
    found = [{**row, "words": json.loads(row["words"])} for row in table.to_pylist()]
    assert [{key: row[key] for key in rows[0]} for row in found] == rows


def test_what_is_rejected_or_duplicated_is_listed(tmp_path: Path) -> None:
    latin = b'{"sample_id": "latin", "text": "\xff"}'
    bad: list[Any] = [b"{broken", {**RECORDS[3], "text": "again"}, {"text": "no id"}, latin]
    flags = ("--ground-truth", write_lines(tmp_path / "t.jsonl", [*RECORDS, *bad]), "--output", tmp_path / "o.jsonl")
    listed = tmp_path / "o.jsonl.rejected.jsonl"
    told = f"beamscore: 4 records or sources were rejected; {listed} says which and why\n"
    assert command("split", "toy", *flags)[::2] == (1, told)
    entries = [json.loads(line) for line in listed.read_bytes().splitlines()]
    causes = ["unreadable", "duplicate", "no_sample_id", "unreadable"]
    assert [(entry["line"], entry["cause"]) for entry in entries] == list(enumerate(causes, start=41))
    written = [json.loads(line) for line in (tmp_path / "o.jsonl").read_bytes().splitlines()]
    assert [{key: each[key] for key in RECORDS[0]} for each in written] == RECORDS
    # A ground truth without any record gives an empty file.
    write_lines(tmp_path / "t.jsonl", [])
    told = f"beamscore: warning: ground truth: there is no record in {tmp_path}/t.jsonl\n"
    assert command("split", "toy", *flags) == (0, f"{tmp_path}/o.jsonl: 0 records\n", told)
    assert (tmp_path / "o.jsonl").read_bytes() == b""
    assert not listed.exists()
