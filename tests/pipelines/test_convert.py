"""`beamscore convert`: every layout becomes records that can be scored, and nothing is lost on the way."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamscore.metrics.chart.converter import ChartConverter
from beamscore.metrics.converter import Part
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.transforms.records import zstd
from tests.pipelines.layouts import LAYOUTS, SAMPLES, chart, chemistry
from tests.plain_loop import make_benchmark, score_records, total
from tests.runs import command, evaluate, refused


def convert(benchmark: str, inputs: Sequence[str], output: Path, *more: str) -> tuple[int, str, str]:
    flags = [flag for each in inputs for flag in ("--input", each)]
    return command("convert", benchmark, *flags, "--output", output, *more)


def records_of(path: Path) -> list[Any]:
    unpack = {".gz": gzip.decompress, ".zst": zstd.decompress}.get(path.suffix, bytes)
    return [json.loads(line) for line in unpack(path.read_bytes()).splitlines()]


WITH_CONVERTER = [name for name in benchmark_names() if name != "toy" and benchmark_class(name).converter is not None]


@pytest.fixture(scope="module", params=WITH_CONVERTER)
def converted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of a benchmark, and a folder with both sides as compressed JSONL and as Parquet."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    for side, inputs in LAYOUTS[name](folder / "layout").items():
        for ending in {"truth": ("jsonl.zst", "parquet"), "predictions": ("jsonl.gz", "parquet")}[side]:
            output = folder / f"{side}.{ending}"
            code, stdout, stderr = convert(name, inputs, output)
            assert (code, stdout.partition(":")[0], stderr) == (0, str(output), "")
    # The same input gives the same bits, however many work on it.
    output = folder / "again.parquet"
    flags = ("--direct_num_workers=3", "--direct_running_mode=multi_threading")
    assert convert(name, inputs, output, *flags)[0] == 0
    assert output.read_bytes() == (folder / f"{side}.parquet").read_bytes()
    return name, folder


def test_both_formats_hold_every_record_in_order_and_give_the_same_sums_to_the_last_bit(
    converted: tuple[str, Path],
) -> None:
    name, folder = converted
    files = folder / "truth.parquet", folder / "predictions.parquet"
    run = evaluate(folder / "run", *files, "--quiet", "--no-html", config=name)
    assert (run.code, run.stderr) == (0, "")
    truths, predictions = (
        {record["sample_id"]: json.dumps(record).encode() for record in records_of(folder / file)}
        for file in ("truth.jsonl.zst", "predictions.jsonl.gz")
    )
    expected = total(score_records(make_benchmark(name), truths, predictions).values()).units()
    assert run.sums["systems"]["predictions"]["sums"] == expected
    for records in (truths, predictions):
        assert list(records) == sorted(records)
    assert not [*folder.glob("*.rejected.jsonl"), *folder.glob("*.part")]
    counts = run.summary["systems"]["predictions"]["coverage"]
    assert counts["ground_truth"]["scored"] == counts["predictions"]["scored"] == SAMPLES
    figures = [value for value in run.summary["systems"]["predictions"]["values"].values() if value is not None]
    assert (0.4 < max(figures) <= 1, min(figures) < 1) == (True, True)


def test_columns_that_no_metric_needs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"a": {"page": 3, "kind": "x", "tags": ["u"], "ratio": 0.5, "odd": 1}, "b": {"page": 4, "odd": "y"}}

    def records(_: Any, key: str, parts: Sequence[Part]) -> list[Mapping[str, Any]]:
        return [{**more[key], "sample_id": key, "task1": json.loads(parts[0].content)}]

    monkeypatch.setattr(ChartConverter, "records", records)
    for key in more:
        (tmp_path / f"{key}.json").write_text('{"output": {"chart_type": "Pie"}}')
    convert("chart", [f"{tmp_path}/*.json"], tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["page"], types["kind"], types["ratio"]) == ("int64", "string", "double")
    assert {name for name, kind in types.items() if "json" in kind} >= {"tags", "odd", "task1"}
    rows = table.select(["sample_id", "page", "kind", "tags", "odd"]).to_pylist()
    assert rows == [
        {"sample_id": "a", "page": 3, "kind": "x", "tags": '["u"]', "odd": "1"},
        {"sample_id": "b", "page": 4, "kind": None, "tags": None, "odd": '"y"'},
    ]
    # And they can be sliced by.
    files = (tmp_path / "t.parquet",) * 2
    run = evaluate(tmp_path / "run", *files, "--slice", "odd", "--no-html", config="chart")
    assert sorted(run.summary["systems"]["predictions"]["slices"]) == ["odd=1", "odd=y"]


def test_sources_that_cannot_be_read_are_listed_and_the_others_converted(tmp_path: Path) -> None:
    inputs = chart(tmp_path)["truth"]
    bad = {
        "truth/broken.json": b"{",
        "truth/list.json": b"[]",
        "truth/latin.json": b'{"a": "\xff"}',
        "truth/twice.json": b'{"task1": {}, "task1": {}}',
        "truth/deep.json": b'{"a":' * 100_000,
        "images/none.png": b"no image",
        "truth/chart 0.json.gz": gzip.compress(b"{}")[:-4],
        "other/chart 1.json": b"{}",
    }
    for name, content in bad.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    more = [f"{tmp_path}/truth/*.gz", f"{tmp_path}/other/*.json"]
    code, stdout, stderr = convert("chart", [*inputs, *more], tmp_path / "out" / "t.jsonl")
    listed = tmp_path / "out" / "t.jsonl.rejected.jsonl"
    assert (code, stdout.partition(":")[0]) == (1, f"{tmp_path}/out/t.jsonl")
    assert stderr == f"beamscore: {len(bad)} records or sources were rejected; {listed} says which and why\n"
    errors = {Path(entry["source"]).name: entry["error"] for entry in records_of(listed)}
    told = {
        **dict.fromkeys(("broken.json", "list.json", "latin.json"), "not a JSON object"),
        "twice.json": "is duplicated in one object",
        "deep.json": "nested deeper than can be read",
        "none.png": "not an image of the kinds",
        "chart 0.json.gz": "Compressed file ended before the end-of-stream marker was reached",
        "chart 1.png": "two files are named 'chart 1'",
    }
    assert errors.keys() == told.keys()
    assert not [name for name, text in told.items() if text not in errors[name]]
    assert [record["sample_id"] for record in records_of(tmp_path / "out" / "t.jsonl")] == [
        f"chart {index}" for index in (0, 2, 3, 4, 5)
    ]
    # The list of an earlier run does not outlive a run without fault.
    for name in bad:
        (tmp_path / name).unlink()
    assert convert("chart", inputs, tmp_path / "out" / "t.jsonl")[0] == 0
    assert not listed.exists()


def test_an_unexpected_failure_of_a_converter_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def records(_: Any, key: str, parts: Sequence[Part]) -> list[Mapping[str, Any]]:
        if key == "chart 2":
            raise ZeroDivisionError("no luck")
        return [{"sample_id": key, "x": "\ud800" if key == "chart 3" else ""}]

    monkeypatch.setattr(ChartConverter, "records", records)
    inputs = chart(tmp_path)["predictions"]
    assert convert("chart", inputs, tmp_path / "p.jsonl")[0] == 1
    errors = {Path(each["source"]).stem: each["error"] for each in records_of(tmp_path / "p.jsonl.rejected.jsonl")}
    assert errors["chart 2"] == "cannot be converted: ZeroDivisionError: no luck"
    assert errors["chart 3"].startswith("cannot be converted: UnicodeEncodeError: ")
    assert len(records_of(tmp_path / "p.jsonl")) == SAMPLES - 2

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ChartConverter, "records", full)
    assert "No space left on device" in refused(
        "convert", "chart", "--input", *inputs, "--output", tmp_path / "o.jsonl"
    )


def test_a_bad_line_is_listed_and_the_other_lines_converted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\tH\nno tab\nb\tO\n\xff\tO\nc\tN\n")
    assert convert("chemistry", [f"{tmp_path}/a.txt"], tmp_path / "t.jsonl")[0] == 1
    assert [record["sample_id"] for record in records_of(tmp_path / "t.jsonl")] == ["a", "b", "c"]
    errors = sorted(entry["error"] for entry in records_of(tmp_path / "t.jsonl.rejected.jsonl"))
    assert [error.partition(", ")[2].partition(":")[0] for error in errors] == ["line 2", "line 4"]


def test_shards_hold_every_record_once_and_older_ones_go(tmp_path: Path) -> None:
    inputs = chemistry(tmp_path)["truth"]
    for shards in (3, 2):
        code, stdout, _ = convert("chemistry", inputs, tmp_path / "t.jsonl", "--shards", str(shards))
        names = [f"t-{number:05}-of-{shards:05}.jsonl" for number in range(shards)]
        assert (code, stdout) == (0, f"{tmp_path}/t.jsonl: 6 records in {shards} files\n")
        assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == names
        ids = [record["sample_id"] for name in names for record in records_of(tmp_path / name)]
        assert sorted(ids) == [f"train_{index}" for index in range(SAMPLES)]


def test_a_chart_whose_picture_is_missing_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = command("convert", "chart", "--input", "roles")[1].splitlines()
    assert roles[1] == "images: the chart images, of which only the size is read"
    inputs = chart(tmp_path)["truth"]
    monkeypatch.chdir(tmp_path / "truth")
    # A pattern may start in the current folder.
    assert command("convert", "chart", "--input", "*.json", "--output", "t.jsonl") == (0, "t.jsonl: 6 records\n", "")
    (tmp_path / "images" / "chart 2.png").unlink()
    assert convert("chart", inputs, tmp_path / "t.jsonl")[0] == 1
    [entry] = records_of(tmp_path / "t.jsonl.rejected.jsonl")
    assert entry["error"].endswith("truth/chart 2.json: none of the files given as images is of 'chart 2'")
    assert len(records_of(tmp_path / "t.jsonl")) == SAMPLES - 1
