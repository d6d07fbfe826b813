"""The inputs of a pipeline: what is found, refused or doubted before anything runs, in the words of all commands."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.metrics.registry import benchmark_names
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.inputs.inputs import Inputs, find_inputs
from beamscore.pipelines.inputs.mismatch import RECORDS_LOOKED_AT, doubtful_sides, other_ids
from beamscore.transforms.records import GROUND_TRUTH
from tests.runs import Record, evaluate, write_lines
from tests.tables import save_dataset, write_delimited

CORPORA = Path(__file__).parents[2] / "corpora"
PUBLISHED = sorted(path.name for path in CORPORA.iterdir() if (path / "ground_truth.jsonl").exists())


def found(
    truths: list[str], predictions: dict[str, list[str]] | None = None, more: tuple[str, ...] = (), whole: bool = False
) -> Inputs:
    given = {"ground_truth": truths, "predictions": predictions}
    return find_inputs(settings.load("toy", [], given), more, predictions is not None, whole)


def doubts(benchmark: str, truths: Path, predictions: Path) -> list[str]:
    given = {"ground_truth": [str(truths)], "predictions": {"ours": [str(predictions)]}}
    return doubtful_sides(find_inputs(settings.check({"benchmark": benchmark, **given}, "test"), ()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "a.jsonl", "p.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "t.csv").write_text("sample_id,text,page\nx,x,x\n")
    keys = 'no JSON\n{"sample_id": "a", "text": "x"}\n{"sample_id": "b", "page": 1, "text": null}\n'
    (tmp_path / "keys.jsonl").write_text(keys)
    for name, columns in {
        "t.parquet": ["sample_id", "text", "page"],
        "late.parquet": ["sample_id"],
        "id.parquet": ["id"],
        "many.parquet": [f"c{number}" for number in range(30)],
    }.items():
        pq.write_table(pa.table({column: ["x"] for column in columns}), name)
    return tmp_path


def test_files_are_numbered_by_side_and_parquet_columns_are_those_that_are_read(folder: Path) -> None:
    inputs = found(["[ab].jsonl", "[a-d].jsonl"], {"one": ["p.jsonl.gz"], "two": ["a.jsonl"]})
    assert (inputs.systems, inputs.warnings) == (("one", "two"), ())
    assert [(file.side, file.number, file.path) for file in inputs.files] == [
        (GROUND_TRUTH, 0, "a.jsonl"), (GROUND_TRUTH, 1, "b.jsonl"), (0, 0, "p.jsonl.gz"), (1, 0, "a.jsonl")
    ]  # fmt: skip
    columns = found(["t.parquet"], {"one": ["late.parquet"]}, ("page",)).columns
    wanted = [columns[side].wanted for side in (GROUND_TRUTH, 0)]
    assert wanted == [frozenset({"text", "words", "page"}), frozenset({"text"})]
    assert columns[GROUND_TRUTH].structured == {"words"}
    inputs = found(["t.parquet"], None, whole=True)
    assert (inputs.columns[GROUND_TRUTH].wanted, inputs.systems) == (None, ())


COLUMN, ID = "there is no column", "there is no column sample_id, only"
MEANT = "only sample_id, text, page (did you mean page?)"


@pytest.mark.parametrize(
    ("truths", "predictions", "more", "message"),
    [
        (["a.jsonl"], ["."], (),
         "--predictions ours=.: this is a folder; give a pattern of its files, such as './*.jsonl'"),
        (["[il]*.parquet", "t.parquet"], ["a.jsonl"], ("page",), f"id.parquet: {ID} id"),
        (["late.parquet", "t.parquet"], ["a.jsonl"], ("pages",),
         f"late.parquet and the 1 other ground-truth files: {COLUMN} pages, {MEANT}"),
        *(([file], ["a.jsonl"], ("pages", "x"), f"{file}: {COLUMN} pages, {MEANT}")
          for file in ("t.parquet", "t.csv")),
        # Ground truth alone needs the columns to slice by.
        (["t.parquet"], ["id.parquet"], ("page",), f"id.parquet: {ID} id"),
        (["many.parquet"], None, (), f"many.parquet: {ID} {', '.join(f'c{n}' for n in range(20))} and 10 more"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(
    folder: Path, truths: list[str], predictions: list[str] | None, more: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        found(truths, None if predictions is None else {"ours": predictions}, more)
    assert str(error.value) == message


def test_a_column_that_no_record_looked_at_has_is_warned_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hint = "the first ground-truth records have no column pages (did you mean page?), only sample_id, text, page"
    assert found(["keys.jsonl"], more=("page", "pages")).warnings == (hint,)
    assert found(["late.parquet", "keys.jsonl"], more=("pages",)).warnings == (hint,)
    # It is known once any file that is looked at has it, and nothing is known of a file without records.
    for truths in (["keys.jsonl"], ["late.parquet", "keys.jsonl"], ["late.parquet", "t.parquet"], ["a.jsonl"]):
        assert found(truths, None, ("page",)).warnings == ()
    # Only the beginning of a large file is looked at.
    line = b'{"sample_id": "a", "page": 1}\n'
    (folder / "long.jsonl.gz").write_bytes(gzip.compress(line * 99 + line.replace(b"page", b"pages")))
    beginning = 99 * len(line.rstrip())
    for size, count in ((beginning, 1), (beginning + 1, 0)):
        monkeypatch.setattr("beamscore.pipelines.inputs.inputs.BYTES_LOOKED_AT", size)
        assert len(found(["long.jsonl.gz"], None, ("pages",)).warnings) == count


def test_the_first_records_are_summed_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = found(["keys.jsonl"]).first_records(GROUND_TRUTH)
    assert (first.fields, list(first.by_id)) == ({"sample_id": 2, "text": 1, "page": 1}, ["a", "b"])
    assert (first.read, first.records, first.rejected, first.whole, first.sample_id) == (3, 2, 1, True, "a")
    assert first.duplicates == []
    assert first.problem.startswith("keys.jsonl:1: this is not JSON: ")
    # A file lists its fields, with or without values; a file that cannot be read is no record.
    (folder / "gone.jsonl.gz").write_bytes(b"no gzip")
    inputs = found(["t.parquet", "late.parquet", "gone.jsonl.gz"])
    for files, expected in ((3, (2, 0, False)), (2, (2, 0, False)), (1, (1, 0, False))):
        monkeypatch.setattr("beamscore.pipelines.inputs.inputs.FILES_LOOKED_AT", files)
        first = inputs.first_records(GROUND_TRUTH)
        assert (first.records, first.rejected, first.whole) == expected
        assert first.unreadable.startswith("gone.jsonl.gz: cannot be read as jsonl: ") is (files == 3)
        assert list(first.by_id) == ["x"]
    for records, expected in ((2, (2, 0, True)), (1, (1, 0, False))):
        monkeypatch.setattr("beamscore.pipelines.inputs.inputs.RECORDS_LOOKED_AT", records)
        write_lines(folder / "two.jsonl", [{"sample_id": "a"}, {"sample_id": "b"}])
        first = found(["two.jsonl"]).first_records(GROUND_TRUTH)
        assert (first.records, first.rejected, first.whole) == expected


def test_ground_truth_of_csv_and_of_folders_of_data_sets_has_the_sums_of_jsonl(tmp_path: Path) -> None:
    """An empty cell is empty text in a field that every record has, and null in a column to slice by."""
    truths: list[Record] = [
        {"sample_id": f"s{n}", "text": "x" * (n % 3), "words": ["a"], "kind": [None, "0", "1"][n // 3 % 3]}
        for n in range(18)
    ]
    writers: dict[str, Callable[..., Path]] = {"t.jsonl": write_lines, "t.csv.gz": write_delimited, "t": save_dataset}
    sums = []
    for name, write in writers.items():
        truth = write(tmp_path / name, truths)
        run = evaluate(tmp_path / "out", truth, truth, "--slice", "kind", "--no-html")
        assert (run.code, run.stderr) == (0, "")
        sums.append(run.sums["systems"])
    assert sums[0]["predictions"]["slices"].keys() == {"kind=null", "kind=0", "kind=1"}
    assert sums[1:] == sums[:1] * 2


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_benchmark_that_was_meant_is_among_the_hints_and_the_right_one_has_none(name: str) -> None:
    assert (len(PUBLISHED), name in benchmark_names()) == (5, True)
    for other in PUBLISHED:
        lines = doubts(name, *(CORPORA / other / f"{side}.jsonl" for side in ("ground_truth", "predictions")))
        assert len(lines) == (0 if other == name else 2)
        for side, line in zip(("ground truth", "predictions of ours"), lines, strict=False):
            told, _, hint = line.partition(" (did you mean the benchmark ")
            assert told.startswith(f"{side}: no record has a field that {name} reads, ")
            assert other in hint.removesuffix("?)").split(" or ")


def test_an_empty_side_is_told_and_of_many_records_the_first_are_looked_at(tmp_path: Path) -> None:
    charts, empty = CORPORA / "chart" / "ground_truth.jsonl", write_lines(tmp_path / "empty.jsonl", [])
    assert doubts("chart", charts, empty) == [f"predictions of ours: there is no record in {empty}"]
    assert doubts("chart", empty, charts) == [f"ground truth: there is no record in {empty}"]
    broken = write_lines(tmp_path / "broken.jsonl", [b"{", b"["])
    damaged = tmp_path / "damaged.jsonl.gz"
    damaged.write_bytes(gzip.compress(b"{")[:-9])
    assert doubts("chart", damaged, charts) == [], "that is for whoever reads all of it"
    (told,) = doubts("chart", broken, charts)
    assert told.startswith(f"ground truth: all of the first 2 records would be rejected: {broken}:1: this is not JSON")
    # Names of unknown origin are shown on one line.
    odd = write_lines(tmp_path / "odd.jsonl", [dict.fromkeys(["sample_id", "a b", "", " a\n", "x" * 41, *"01234"], 1)])
    shown = f"; they have a b, '', ' a\\n', {'x' * 40}…, 0, 1, 2, 3 and 1 more; name them under fields "
    assert shown in doubts("traffic_rules", charts, odd)[1]
    assert other_ids(None, "b").startswith("no predicted sample_id is in the ground truth; give both sides the same ")
    records: list[Record] = [{"sample_id": f"{n}", "x": 1} for n in range(RECORDS_LOOKED_AT + 1)]
    for some, is_told in ((records, True), (records[2:], False)):
        path = write_lines(tmp_path / "t.jsonl", [*some, {"sample_id": "late", "rules": None}])
        told = f"ground truth: none of the first {RECORDS_LOOKED_AT:,} records has a field that traffic_rules reads"
        assert [line.startswith(told) for line in doubts("traffic_rules", path, path)[:1]] == [True] * is_told
