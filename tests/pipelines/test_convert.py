"""`beamscore convert`: every layout becomes records that can be scored, and nothing is lost on the way.

What holds for the writing of convert, select and split alike is here, too.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import execution
from PIL import Image

from beamscore.metrics.chart.converter import ChartConverter
from beamscore.metrics.converter import Part
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.transforms.records import zstd
from tests.plain_loop import make_benchmark, score_records, total
from tests.runs import command, evaluate, refused, write_lines

SAMPLES = 6
"""Of each small data set in the layout of a benchmark, with a mistake here and there in the predictions."""


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def image(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (width, height)).save(stream, "PNG")
    return stream.getvalue()


def chart(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        box = {"x0": 10, "y0": 10 * index, "width": 20, "height": 8}
        for side, shift in (("truth", 0), ("predictions", index % 2 * 3)):
            blocks = [{"id": 1, "bb": {**box, "x0": 10 + shift}, "text": f"label {index}"}]
            chart_type = "Line" if side == "predictions" and index == 3 else "Pie"
            tasks = {
                "task1": {"input": {}, "output": {"chart_type": chart_type}},
                "task2": {"input": None, "output": {"text_blocks": blocks}},
            }
            write(folder / side / f"chart {index}.json", "\ufeff" + json.dumps(tasks))
        write(folder / "images" / f"chart {index}.png", image(100, 80 + index))
    return {
        "truth": [f"json={folder}/truth/*.json", f"images={folder}/images/*.png"],
        "predictions": [f"{folder}/predictions/*.json"],
    }


def chemistry(folder: Path) -> dict[str, list[str]]:
    texts = ["\\chemfig { A -[:90] B }", "H _ { 2 } O", "浓 \\chemfig { A =[:0] O }"]
    truth = "".join(f"images/train_{index}.jpg\t{texts[index % 3]}\n" for index in range(SAMPLES))
    write(folder / "truth.txt", "\ufeff" + truth)
    for index in range(SAMPLES):
        text = "H _ { 3 } O" if index == 4 else texts[index % 3]
        write(folder / "predictions" / f"train_{index}.json", json.dumps({"ssml_normed": text}))
    return {"truth": [f"{folder}/truth.txt"], "predictions": [f"json={folder}/predictions/*.json"]}


def figure_text(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        words = [f"word {index}", "###", 'comma, quote " and é']
        truth = [f"{x},10,{x + 60},30,{word}" for x, word in zip((10, 110, 210), words, strict=True)]
        read = [f"{x + index},10,{x + 60},30,{word}" for x, word in zip((10, 110, 210), words, strict=True)]
        write(folder / "truth" / f"gt_img_{index}.txt", "\ufeff" + "\r\n".join(truth))
        write(folder / "predictions" / f"res_img_{index}.txt", "\n".join(read[index % 2 :]) + "\n")
    return {"truth": [f"{folder}/truth/*.txt"], "predictions": [f"spotting={folder}/predictions/*.txt"]}


def formula(folder: Path) -> dict[str, list[str]]:
    """CDM's JSON, with an object whose img_id is absent."""
    objects = [
        {"img_id": f"case_{index}", "gt": f"x ^ {index} + y", "pred": "x - y" if index == 2 else f"x^{index} + y"}
        for index in range(SAMPLES)
    ]
    del objects[4]["img_id"]
    write(folder / "cdm.json", json.dumps(objects))
    return {"truth": [f"{folder}/cdm.json"], "predictions": [f"cdm_predictions={folder}/cdm.json"]}


def traffic_rules(folder: Path) -> dict[str, list[str]]:
    for index in range(SAMPLES):
        rule = {"LaneType": "BusLane", "EffectiveTime": "7:00-9:00"}
        for side in ("truth", "predictions"):
            time = "8:00-9:00" if side == "predictions" and index == 2 else "7:00-9:00"
            label = {"0": {"attr_info": {**rule, "EffectiveTime": time}, "centerline": [index], "semantic_polygon": []}}
            write(folder / side / f"clip_{index}" / "label.json", json.dumps(label))
    return {
        "truth": [f"{folder}/truth/*/label.json"],
        "predictions": [f"matched_predictions={folder}/predictions/*/label.json"],
    }


LAYOUTS = (chart, chemistry, figure_text, formula, traffic_rules)


def convert(benchmark: str, inputs: Sequence[str], output: Path, *more: str) -> tuple[int, str, str]:
    flags = [flag for each in inputs for flag in ("--input", each)]
    return command("convert", benchmark, *flags, "--output", output, *more)


def records_of(path: Path) -> list[Any]:
    unpack = {".gz": gzip.decompress, ".zst": zstd.decompress}.get(path.suffix, bytes)
    return [json.loads(line) for line in unpack(path.read_bytes()).splitlines()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_both_formats_hold_every_record_in_order_and_give_the_same_sums_to_the_last_bit(
    tmp_path: Path, layout: Callable[[Path], dict[str, list[str]]]
) -> None:
    name = layout.__name__
    assert {each.__name__ for each in LAYOUTS} == {
        each for each in benchmark_names() if benchmark_class(each).converter
    }
    outputs = {
        "truth": ("truth.jsonl.zst", "truth.parquet"),
        "predictions": ("p.jsonl.gz", "p.parquet", "again.parquet"),
    }
    for side, inputs in layout(tmp_path / "layout").items():
        for file in outputs[side]:
            # The same input gives the same bits, however many work on it.
            workers = ("--direct_num_workers=3", "--direct_running_mode=multi_threading") if "again" in file else ()
            code, stdout, stderr = convert(name, inputs, tmp_path / file, *workers)
            assert (code, stdout, stderr) == (0, f"{tmp_path / file}: {SAMPLES} records\n", "")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "p.parquet").read_bytes()
    run = evaluate(
        tmp_path / "run", tmp_path / "truth.parquet", tmp_path / "p.parquet", "--quiet", "--no-html", config=name
    )
    assert (run.code, run.stderr) == (0, "")
    truths, predictions = (
        {record["sample_id"]: json.dumps(record).encode() for record in records_of(tmp_path / file)}
        for file in ("truth.jsonl.zst", "p.jsonl.gz")
    )
    expected = total(score_records(make_benchmark(name), truths, predictions).values()).units()
    assert run.sums["systems"]["predictions"]["sums"] == expected
    for records in (truths, predictions):
        assert list(records) == sorted(records)
    assert not [*tmp_path.glob("*.rejected.jsonl"), *tmp_path.glob("*.part")]
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
    rows = pq.read_table(tmp_path / "t.parquet", columns=["sample_id", *more["a"]]).to_pylist()
    assert rows == [
        {"sample_id": "a", "page": 3, "kind": "x", "tags": '["u"]', "ratio": 0.5, "odd": "1"},
        {"sample_id": "b", "page": 4, "kind": None, "tags": None, "ratio": None, "odd": '"y"'},
    ]
    # And they can be sliced by.
    files = (tmp_path / "t.parquet",) * 2
    run = evaluate(tmp_path / "run", *files, "--slice", "odd", "--no-html", config="chart")
    assert sorted(run.summary["systems"]["predictions"]["slices"]) == ["odd=1", "odd=y"]


def test_sources_that_cannot_be_read_are_listed_and_the_others_converted(tmp_path: Path) -> None:
    inputs = chart(tmp_path)["truth"]
    told = {
        "truth/broken.json": (b"{", "not a JSON object"),
        "truth/list.json": (b"[]", "not a JSON object"),
        "truth/latin.json": (b'{"a": "\xff"}', "not a JSON object"),
        "truth/twice.json": (b'{"task1": {}, "task1": {}}', "is duplicated in one object"),
        "truth/deep.json": (b'{"a":' * 100_000, "nested deeper than can be read"),
        "images/none.png": (b"no image", "not an image of the kinds"),
        "truth/chart 0.json.gz": (gzip.compress(b"{}")[:-4], "ended before the end-of-stream marker was reached"),
        "other/chart 1.json": (b"{}", "two files are named 'chart 1'"),
    }
    for name, (content, _) in told.items():
        write(tmp_path / name, content)
    (tmp_path / "images" / "chart 2.png").unlink()
    more = [f"{tmp_path}/truth/*.gz", f"{tmp_path}/other/*.json"]
    code, stdout, stderr = convert("chart", [*inputs, *more], tmp_path / "out" / "t.jsonl")
    listed = tmp_path / "out" / "t.jsonl.rejected.jsonl"
    assert (code, stdout) == (1, f"{tmp_path}/out/t.jsonl: 4 records\n")
    assert stderr == f"beamscore: {len(told) + 1} records or sources were rejected; {listed} says which and why\n"
    errors = {Path(entry["source"]).name: entry["error"] for entry in records_of(listed)}
    assert errors.pop("chart 2.json").endswith("chart 2.json: none of the files given as images is of 'chart 2'")
    # Of the two of one name the image is listed.
    expected = {Path(name).name.replace("1.json", "1.png"): error for name, (_, error) in told.items()}
    assert errors.keys() == expected.keys()
    assert not [name for name, error in expected.items() if error not in errors[name]]
    kept = [record["sample_id"] for record in records_of(tmp_path / "out" / "t.jsonl")]
    assert kept == [f"chart {index}" for index in (0, 3, 4, 5)]
    # The list of an earlier run does not outlive a run without fault.
    for name in told:
        (tmp_path / name).unlink()
    assert convert("chart", chart(tmp_path)["truth"], tmp_path / "out" / "t.jsonl")[0] == 0
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


def test_the_roles_of_files_are_told() -> None:
    roles = command("convert", "chart", "--input", "roles")[1].splitlines()
    assert roles[1] == "images: the chart images, of which only the size is read"


MARK = "text_blocks"


ONE = ["o.jsonl"]


@pytest.mark.parametrize(
    ("flags", "told", "names"),
    [
        ("split toy", "30 records", ONE),
        ("split toy --group page", "30 records", ONE),
        ("split toy --shards 3", "30 records in 3 files", [f"o-0000{number}-of-00003.jsonl" for number in range(3)]),
        ("select", "30 records", ONE),
        ("convert", f"{SAMPLES} records", ONE),
    ],
)
def test_no_record_waits_in_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, told: str, names: list[str]
) -> None:
    """What convert, select and split shuffle is in blocks on the disk."""
    name, *more = flags.split()
    records = [{"sample_id": f"s{number:02}", "text": MARK, "page": number % 5} for number in range(30)]
    truths = write_lines(tmp_path / "t.jsonl", records)
    if name == "select":
        assert evaluate(tmp_path / "run", truths, truths, "--quiet", "--no-html").code == 0
    held: list[bytes] = []
    # Grouped collections, and those that wait for a side input.
    for buffer in (execution.ListBuffer, execution.GroupingBuffer):

        def append(self: object, element: bytes, original: object = buffer.append) -> None:
            held.append(element)
            original(self, element)  # type: ignore[operator]

        monkeypatch.setattr(buffer, "append", append)
    given: dict[str, list[str | Path]] = {
        "split": [*more, "--ground-truth", truths],
        "select": [tmp_path / "run", "--below", "2"],
        "convert": ["chart", "--input", *chart(tmp_path / "layout")["truth"]],
    }
    if len(names) > 1:
        # One of an earlier run goes.
        write(tmp_path / "o-00003-of-00004.jsonl", MARK)
    code, stdout, _ = command(name, *given[name], "--output", tmp_path / "o.jsonl")
    assert (code, stdout) == (0, f"{tmp_path}/o.jsonl: {told}\n")
    lines = {path.name: path.read_text().splitlines() for path in tmp_path.glob("o*.jsonl")}
    assert sorted(lines) == names
    assert all(MARK in each[0] for each in lines.values())
    # Every record is in one of the files.
    count = int(told.split()[0])
    assert len({json.loads(line)["sample_id"] for each in lines.values() for line in each}) == count
    assert sum(map(len, lines.values())) == count
    assert held
    assert not [element for element in held if MARK.encode() in element]
