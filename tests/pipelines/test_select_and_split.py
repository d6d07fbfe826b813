"""`beamscore select` and `split`: the hard cases of a run with both of their records, and splits that never move."""

import json
import math
import random
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamscore.pipelines.commands.split import SplitPlan, folds
from tests import toy
from tests.runs import Record, command, evaluate_records, refused, write_lines


def written(output: Path, *arguments: str | Path, told: str = "") -> list[Record]:
    """Runs a command that must write records, and say no more of them than `told`; returns these."""
    code, stdout, stderr = command(*arguments, "--output", output)
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    these = "1 record" if len(found) == 1 else f"{len(found)} records"
    assert (code, stdout, stderr) == (0, f"{output}: {these}\n", told)
    return found


def ids(found: list[Record]) -> str:
    return "".join(each["sample_id"] for each in found)


TRUTHS = [{"sample_id": name, "text": "xx", "page": 1} for name in "abcde"]
# b differs by one letter in length, c by three, d is rejected and e missing.
POOR: list[Any] = [{"sample_id": "a", "text": "xx"}, {"sample_id": "b", "text": "xxx"}]
POOR += [b'{"sample_id": "c", "text": "xxxxx", "seconds": -1e999}', b'{"sample_id": "d", "text": "\xff"}']


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("select") / "run"
    more = ("--slice", "page", "--set", "derived.macro=slice_mean(similarity, page)", "--quiet", "--no-html")
    assert evaluate_records(output, TRUTHS, {"good": TRUTHS[:4], "poor": POOR}, *more).code == 1
    return output


def test_a_selection_holds_the_scores_of_a_sample_and_its_records(run: Path, tmp_path: Path) -> None:
    found = written(tmp_path / "o.jsonl", "select", f"{run}:poor", "--below", "0.5")
    told = [(each["sample_id"], each["status"], each["similarity"]) for each in found]
    assert told == [("c", "scored", 1 / 4), ("d", "missing_prediction", 0), ("e", "missing_prediction", 0)]
    scores = {"status": "scored", "exact_match": 0, "similarity": 0.25, "details": {"read": "xxxxx"}}
    records = {"ground_truth": TRUTHS[2], "prediction": {"sample_id": "c", "text": "xxxxx", "seconds": -math.inf}}
    assert found[0] == {"sample_id": "c", "system": "poor", **scores, **records}
    assert [each["prediction"] for each in found[1:]] == [{"sample_id": "d", "text": "\ufffd"}, None]
    assert command("select", f"{run}:poor", "--output", tmp_path / "o.parquet")[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    assert (table.schema.names, str(table.schema.field("similarity").type)) == (list(found[0]), "double")
    pages = [(row["sample_id"], json.loads(row["ground_truth"])["page"]) for row in table.to_pylist()]
    assert pages == [(name, 1) for name in "bcde"]
    # Records have all their columns, also those of Parquet.
    truths = [{**each, "more": [math.inf, 1]} for each in TRUTHS]
    pq.write_table(pa.Table.from_pylist(truths), tmp_path / "t.parquet")
    moved = ("--ground-truth", tmp_path / "t.parquet", "--predictions", f"{run}-good.jsonl")
    (found_one,) = written(tmp_path / "o.jsonl", "select", run, *moved)
    assert found_one["ground_truth"] == truths[4]


@pytest.mark.parametrize(
    ("system", "flags", "lower", "expected"),
    [
        # By default all but the perfect ones of the best system; the threshold itself is not below it.
        ("", "", False, "e"),
        (":poor", "--value exact_match", False, "bcde"),
        # Of a metric that is better when lower, those above the best.
        (":poor", "", True, "abc"),
        (":poor", "--below 0.5", True, "cde"),
        # Those of a list whatever they score; one that the run lacks is told, one listed twice counts once.
        (":poor", "--samples list.jsonl.gz", False, "ac"),
        (":poor", "--samples list.jsonl.gz --below 0.5", False, "c"),
        # Those of a comparison; e has no prediction in either.
        (":poor", "--samples changes.jsonl", False, "bcd"),
    ],
)
def test_which_samples_are_selected(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, flags: str, lower: bool, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines(Path("list.jsonl.gz"), [{"sample_id": name, "change": 1} for name in ("c", "a", "c", "none")])
    if "changes" in flags:
        command("compare", f"{run}:good", f"{run}:poor", "--output", "compared", "--no-html")
        (path,) = Path("compared/changes").glob("*.jsonl")
        path.rename("changes.jsonl")
    if lower:
        (similarity,) = (spec for spec in toy.ToyBenchmark.sample_metrics if spec.main)
        monkeypatch.setattr(toy.ToyBenchmark, "sample_metrics", (replace(similarity, higher_is_better=False),))
    told = "beamscore: warning: 1 of 3 listed samples is not in the run\n" if flags.endswith("gz") else ""
    assert ids(written(tmp_path / "o.jsonl", "select", f"{run}{system}", *flags.split(), told=told)) == expected


def test_a_system_is_selected_beside_another_one_with_fields_of_its_own(tmp_path: Path) -> None:
    flags = ("--set", "fields.b.text=text", "--quiet", "--no-html")
    run = evaluate_records(tmp_path / "run", TRUTHS, {"a": TRUTHS, "b": TRUTHS}, *flags).output
    assert ids(written(tmp_path / "o.jsonl", "select", f"{run}:a", "--below", "2")) == "abcde"


def test_nothing_to_select_is_an_error_that_leaves_an_earlier_selection(run: Path, tmp_path: Path) -> None:
    output = tmp_path / "o.jsonl"
    output.write_text("{}\n")
    told = f"{run}: no sample of good has similarity below 0; nothing is written"
    assert refused("select", run, "--output", output, "--below", "0") == told
    assert output.read_text() == "{}\n"


def test_inputs_that_have_moved_or_changed_are_told_and_can_be_given(run: Path, tmp_path: Path) -> None:
    there = shutil.copytree(run.parent, tmp_path / "there", ignore=shutil.ignore_patterns(".runs"))
    path, output = there / "run" / "summary.json", there / "o.jsonl"
    path.write_text(path.read_text().replace(str(run.parent), "/gone"))
    told = refused("select", there / "run", "--output", output)
    assert told.startswith("--ground-truth /gone/run-truth.jsonl: no file matches; check the path and quote the patt")
    assert told.endswith("; if the inputs of the run have moved, give --ground-truth and --predictions")
    sides = ("--ground-truth", there / "run-truth.jsonl", "--predictions", there / "run-good.jsonl")
    assert ids(written(output, "select", there / "run", *sides)) == "e"
    output.unlink()
    write_lines(there / "run-truth.jsonl", TRUTHS[:1])
    fix = "evaluate again, or give the files of the run by --ground-truth and --predictions"
    told = f"sample e of the run is no longer in its ground truth; {fix}"
    assert refused("select", there / "run", *sides, "--output", output) == told
    assert not list(there.glob("o.jsonl*"))


@pytest.mark.parametrize(
    ("side", "place", "text", "told"),
    [
        # What the benchmark does not read may change.
        ("p", 2, "xxxxx", ""),
        ("t", 2, "xx", ""),
        ("p", 2, "xx", "the prediction of sample c"),
        ("t", 2, "xxxxx", "the ground truth of sample c"),
        ("t", 2, 7, "the ground truth of sample c"),
        # The prediction is gone, could not be read, or was missing.
        ("p", 0, None, "the prediction of sample a"),
        ("p", 3, "xx", "the prediction of sample d"),
        ("p", 4, "xx", "the prediction of sample e"),
    ],
)
def test_changed_records_are_refused(run: Path, tmp_path: Path, side: str, place: int, text: Any, told: str) -> None:
    records: dict[str, list[Any]] = {"t": [*TRUTHS], "p": [*POOR]}
    record = {"sample_id": "abcde"[place], "text": text, "more": 1}
    records[side][place : place + 1] = [] if text is None else [record]
    truths, predictions = (write_lines(tmp_path / f"{name}.jsonl", each) for name, each in records.items())
    sides = ("--ground-truth", truths, "--predictions", predictions)
    given = ("select", f"{run}:poor", "--samples", f"{run}-truth.jsonl", *sides)
    if told:
        fix = "evaluate again, or give the files of the run by --ground-truth and --predictions"
        assert refused(*given, "--output", tmp_path / "o.jsonl") == f"{told} is not as the run read it; {fix}"
        assert not list(tmp_path.glob("o.jsonl*"))
    else:
        assert ids(written(tmp_path / "o.jsonl", *given)) == "abcde"


RECORDS: list[dict[str, Any]] = [
    {"sample_id": f"s{n:02}", "text": "x", "page": page, "words": ["a"], "source": n % 3}
    for n in range(40)
    for page in [{"number": n // 4 if n % 2 else float(n // 4)} if n < 30 else None]
]


def part(group: str, fractions: dict[str, Fraction], seed: int = 0, purpose: str = "part") -> str:
    return SplitPlan(None, "split", fractions, seed, purpose).part(group)


def test_the_draw_is_written_down() -> None:
    """The numbers must stay: a data set that was split yesterday is split so tomorrow."""
    assert [part(f"article {n}", folds(5), purpose="fold") for n in range(10)] == [*"0043220142"]
    # It draws exactly this number, which belongs to the part that begins with it.
    parts = {"": Fraction(7189596520410170696, 2**64), "none": Fraction(0), "next": Fraction(1, 2**64)}
    assert part("article 0", parts, purpose="") == "next"
    drawn = [("a", 0, ""), ("a", 1, ""), ("a", 0, "fold"), ("b", 0, "")]
    assert len({part(group, folds(1000), seed, purpose) for group, seed, purpose in drawn}) == 4


@given(st.text(), st.integers(0, 5), st.fractions(0, 1), st.fractions(0, 1))
def test_a_part_that_grows_keeps_its_groups(group: str, seed: int, one: Fraction, other: Fraction) -> None:
    small, large = ({"training": each, "testing": 1 - each} for each in sorted((one, other)))
    assert (part(group, small, seed), part(group, large, seed)) != ("training", "testing")


def test_a_split_depends_on_group_and_seed_alone(tmp_path: Path) -> None:
    def split(records: list[Any], *flags: str) -> dict[str, Any]:
        truths = write_lines(tmp_path / "t.jsonl", records)
        found = written(tmp_path / "o.jsonl", "split", "toy", "--ground-truth", truths, *flags)
        assert len(found) == len(records)
        return {record["sample_id"]: record for record in found}

    fractions = ("--fractions", "training=0.5, testing=1/2", "--group", "page", "--seed", "3")
    whole = split(RECORDS, *fractions)
    # Every column is there as it was, and the split beside them.
    assert [{**record, "split": whole[record["sample_id"]]["split"]} for record in RECORDS] == list(whole.values())
    assert {record["split"] for record in whole.values()} == {"training", "testing"}
    some = split(random.Random(0).sample(RECORDS, 15), *fractions)
    assert some == {sample_id: whole[sample_id] for sample_id in some}
    found = {(record["page"]["number"], record["split"]) for record in whole.values() if record["page"]}
    assert len(found) == len({page for page, _ in found}) == 8
    # Samples without a group are groups of their own.
    assert len({record["split"] for record in whole.values() if record["page"] is None}) == 2
    fourths = {name: each["fold"] for name, each in split(RECORDS, "--folds", "4", "--column", "fold").items()}
    assert fourths == {name: part(f"sample:{name}", folds(4), purpose="fold") for name in whole}


def test_parquet_keeps_every_column_and_its_type(tmp_path: Path) -> None:
    rows = [{key: value for key, value in record.items() if key != "page"} for record in RECORDS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    flags = ("--ground-truth", tmp_path / "t.parquet", "--output", tmp_path / "o.parquet")
    assert command("split", "toy", *flags)[0] == 0
    table = pq.read_table(tmp_path / "o.parquet")
    types = {"sample_id": "string", "words": "extension<arrow.json>", "source": "int64"}
    assert {each.name: str(each.type) for each in table.schema} == {**types, "split": "string", "text": "string"}
    found = [{**row, "words": json.loads(row["words"])} for row in table.to_pylist()]
    assert [{key: row[key] for key in rows[0]} for row in found] == rows
    # An infinite number is no group, and NaN none either; JSON has none.
    numbers = {"page": [math.inf, math.nan, 1], "more": [[1.0], [math.nan], [math.inf]]}
    pq.write_table(pa.table({"sample_id": ["a", "b", "c"], **numbers}), tmp_path / "t.parquet")
    assert command("split", "toy", *flags, "--group", "page", "--folds", "1000", "--column", "fold")[0] == 1
    assert pq.read_table(tmp_path / "o.parquet")["fold"].to_pylist() == [part("sample:b", folds(1000), purpose="fold")]
    told = (tmp_path / "o.parquet.rejected.jsonl").read_text()
    assert all(each in told for each in ("the column page, by which ", "more has an infinite number, which "))


def test_what_is_rejected_or_duplicated_is_listed(tmp_path: Path) -> None:
    latin, output = b'{"sample_id": "latin", "text": "\xff"}', tmp_path / "o.jsonl"
    bad: list[Any] = [b"{broken", {**RECORDS[3], "text": "again"}, {"text": "no id"}, latin]
    flags = ("--ground-truth", write_lines(tmp_path / "t.jsonl", [*RECORDS, *bad]), "--output", output)
    listed = tmp_path / "o.jsonl.rejected.jsonl"
    told = f"beamscore: 4 records or sources were rejected; {listed} says which and why\n"
    assert command("split", "toy", *flags)[::2] == (1, told)
    entries = [json.loads(line) for line in listed.read_bytes().splitlines()]
    causes = ["unreadable", "duplicate", "no_sample_id", "unreadable"]
    assert [(entry["line"], entry["cause"]) for entry in entries] == list(enumerate(causes, start=41))
    found = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert [{key: each[key] for key in RECORDS[0]} for each in found] == RECORDS
    # A ground truth without any record gives an empty file.
    write_lines(tmp_path / "t.jsonl", [])
    told = f"beamscore: warning: ground truth: there is no record in {tmp_path}/t.jsonl\n"
    assert command("split", "toy", *flags) == (0, f"{output}: 0 records\n", told)
    assert (output.read_bytes(), listed.exists()) == (b"", False)


def test_what_is_selected_has_its_fields_under_both_names(tmp_path: Path) -> None:
    """That columns with other names give the same values is in api/test_arguments."""
    fields = "fields={ground_truth: {sample_id: image.id, text: label}, predictions: {sample_id: id, text: out.best}}"
    truths = [{"image": {"id": number}, "label": "xx"} for number in range(30)]
    predictions = [{"id": number, "out": {"best": "?"}} for number in range(30)]
    run = evaluate_records(tmp_path / "run", truths, predictions, "--no-html", "--set", fields)
    assert run.code == 0, run.stderr
    assert command("select", run.output, "--output", tmp_path / "hard.jsonl")[::2] == (0, "")
    truth = json.loads((tmp_path / "hard.jsonl").read_text().partition("\n")[0])["ground_truth"]
    assert (truth["text"], truth["sample_id"]) == (truth["label"], str(truth["image"]["id"]))
