"""`beamscore convert`: every layout becomes records that can be scored; and how convert, select and split write."""

import errno
import gzip
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
SIDES = ("truth", "predictions")
LAYOUTS = {
    "chart": (["json=truth/*.json", "images=images/*.png"], ["predictions/*.json"]),
    "chemistry": (["truth/*.txt"], ["json=predictions/*.json"]),
    "figure_text": (["truth/*.txt"], ["spotting=predictions/*.txt"]),
    "formula": (["cdm/*.json"], ["cdm_predictions=cdm/*.json"]),
    "traffic_rules": (["truth/*/label.json"], ["matched_predictions=predictions/*/label.json"]),
}
"""The inputs of both sides, below the folder that `write_layout` makes."""


def sample(name: str, index: int) -> dict[str, Any]:
    """The files of a sample in the layout of a benchmark, with a mistake in each second prediction."""
    off = index % 2
    if name == "chart":
        png = io.BytesIO()
        Image.new("L", (100, 80 + index)).save(png, "PNG")
        files: dict[str, Any] = {f"images/chart {index}.png": png.getvalue()}
        for side, kind, left in zip(SIDES, ("Pie", "Line" if off else "Pie"), (10, 10 + 30 * off), strict=True):
            block = {"id": 1, "bb": {"x0": left, "y0": 10, "width": 20, "height": 8}, "text": f"label {index}"}
            output = {"task1": {"chart_type": kind}, "task2": {"text_blocks": [block]}}
            files[f"{side}/chart {index}.json"] = {task: {"input": {}, "output": each} for task, each in output.items()}
        return files
    if name == "chemistry":
        truth, answer = (f"浓 \\chemfig {{ A -[:90] {atom} }}" for atom in ("B", "C" if off else "B"))
        line = f"images/train_{index}.jpg\t{truth}\n"
        return {f"truth/{index}.txt": line, f"predictions/train_{index}.json": {"ssml_normed": answer}}
    if name == "figure_text":
        words = ["10,10,70,30,word\n", '110,10,170,30,comma, quote " and é\n']
        return {f"truth/gt_img_{index}.txt": "".join(words), f"predictions/res_img_{index}.txt": "".join(words[off:])}
    if name == "formula":
        formulas = {"gt": f"x ^ {index} + y", "pred": "x - y" if off else f"x^{index} + y"}
        return {f"cdm/{index}.json": [{"img_id": f"case_{index}", **formulas}]}
    rules = [{"LaneType": "BusLane", "EffectiveTime": f"{hour}:00-9:00"} for hour in (7, 7 + off)]
    return {
        f"{side}/clip_{index}/label.json": {"0": {"attr_info": rule, "centerline": [index], "semantic_polygon": []}}
        for side, rule in zip(SIDES, rules, strict=True)
    }


def write(path: Path, content: Any) -> None:
    """Writes bytes, text or a JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, (str, bytes)) else json.dumps(content)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def write_layout(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """Writes a small data set in the layout of a benchmark; returns the inputs of each side."""
    for index in range(SAMPLES):
        for path, content in sample(name, index).items():
            write(folder / path, content)
    sides = ([each.rpartition("=") for each in side] for side in LAYOUTS[name])
    truths, predictions = ([f"{role}{equals}{folder}/{glob}" for role, equals, glob in side] for side in sides)
    return truths, predictions


def convert(benchmark: str, inputs: Sequence[str], output: Path, *more: str) -> tuple[int, str, str]:
    flags = [flag for each in inputs for flag in ("--input", each)]
    return command("convert", benchmark, *flags, "--output", output, "--runtime_type_check", *more)


REJECTED = "t.jsonl.rejected.jsonl"


def records_of(path: Path) -> list[Any]:
    unpack = {".gz": gzip.decompress, ".zst": zstd.decompress}.get(path.suffix, bytes)
    return [json.loads(line) for line in unpack(path.read_bytes()).splitlines()]


@pytest.mark.parametrize("name", LAYOUTS)
def test_both_formats_hold_every_record_in_order_and_give_the_same_sums(tmp_path: Path, name: str) -> None:
    assert LAYOUTS.keys() == {each for each in benchmark_names() if benchmark_class(each).converter}
    outputs = ("truth.jsonl.zst", "truth.parquet"), ("p.jsonl.gz", "p.parquet", "again.parquet")
    for inputs, files in zip(write_layout(name, tmp_path / "layout"), outputs, strict=True):
        for file in files:
            # The same input gives the same bits, however many work on it.
            workers = ("--direct_num_workers=3", "--direct_running_mode=multi_threading") if "again" in file else ()
            found = convert(name, inputs, tmp_path / file, *workers)
            assert found == (0, f"{tmp_path / file}: {SAMPLES} records\n", "")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "p.parquet").read_bytes()
    sides = tmp_path / "truth.parquet", tmp_path / "p.parquet"
    run = evaluate(tmp_path / "run", *sides, "--quiet", "--no-html", config=name)
    assert (run.code, run.stderr) == (0, "")
    written = (records_of(tmp_path / file) for file in ("truth.jsonl.zst", "p.jsonl.gz"))
    truths, predictions = ({each["sample_id"]: json.dumps(each).encode() for each in records} for records in written)
    expected = total(score_records(make_benchmark(name), truths, predictions).values()).units()
    assert run.sums["systems"]["predictions"]["sums"] == expected
    assert list(truths) == list(predictions) == sorted(truths)
    assert not [*tmp_path.glob("*.rejected.jsonl"), *tmp_path.glob("*.part")]
    system = run.summary["systems"]["predictions"]
    assert [system["coverage"][side]["scored"] for side in ("ground_truth", "predictions")] == [SAMPLES] * 2
    figures = [value for value in system["values"].values() if value is not None]
    assert (0.4 < max(figures) <= 1, min(figures) < 1) == (True, True)


def rejected(output: Path) -> dict[str, str]:
    """Returns the errors in the list of what was rejected, by the name of the source."""
    return {Path(each["source"]).name: each["error"] for each in records_of(output.with_name(REJECTED))}


def test_sources_that_cannot_be_read_are_listed_and_the_others_converted(tmp_path: Path) -> None:
    inputs, _ = write_layout("chart", tmp_path)
    cut, same, output = tmp_path / "truth/chart 0.json.gz", tmp_path / "other/chart 1.json", tmp_path / "out/t.jsonl"
    write(tmp_path / "truth/list.json", b"[]")
    write(cut, gzip.compress(b"{}")[:-4])
    write(same, b"{}")
    write(tmp_path / "truth/chart 3.json", b'{"task6": NaN}')
    (tmp_path / "images/chart 2.png").unlink()
    code, stdout, stderr = convert("chart", [*inputs, str(cut), str(same)], output)
    listed = output.with_name(REJECTED)
    assert (code, stdout) == (1, f"{output}: 3 records\n")
    assert stderr == f"beamscore: 5 records or sources were rejected; {listed} says which and why\n"
    # Of the two of one name the image is listed.
    told = {
        "list.json": "not a JSON object",
        "chart 0.json.gz": "Truncated compressed stream",
        "chart 1.png": "sample 'chart 1' comes 2 times",
        "chart 3.json": "chart 3.json: not a JSON object: NaN is not JSON",
        "chart 2.json": "chart 2.json: none of the files given as images is of 'chart 2'",
    }
    errors = rejected(output)
    assert errors.keys() == told.keys()
    assert not [name for name, error in told.items() if error not in errors[name]]
    assert [record["sample_id"] for record in records_of(output)] == [f"chart {index}" for index in (0, 4, 5)]
    # The list of an earlier run does not outlive a run without fault.
    (tmp_path / "truth/list.json").unlink()
    assert convert("chart", write_layout("chart", tmp_path)[0], output)[0] == 0
    assert not listed.exists()


def test_a_bad_line_is_listed_and_the_other_lines_converted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\tH\nno tab\nb\tO\n\xff\tO\nc\tN\n")
    assert convert("chemistry", [f"{tmp_path}/a.txt"], tmp_path / "t.jsonl")[0] == 1
    assert [record["sample_id"] for record in records_of(tmp_path / "t.jsonl")] == ["a", "b", "c"]
    errors = sorted(entry["error"] for entry in records_of(tmp_path / REJECTED))
    assert [error.partition(", ")[2].partition(":")[0] for error in errors] == ["line 2", "line 4"]
    # The roles of files are told.
    roles = command("convert", "chart", "--input", "roles")[1].splitlines()
    assert roles[1] == "images: the chart images, of which only the size is read"


def test_a_failure_is_listed_and_one_of_the_machine_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    failures = {"chart 2": ZeroDivisionError("no luck"), "chart 4": full}

    def records(_: Any, key: str, parts: Sequence[Part]) -> list[Mapping[str, Any]]:
        if key in failures:
            raise failures[key]
        return [{"sample_id": key, "x": "\ud800" if key == "chart 3" else ""}]

    monkeypatch.setattr(ChartConverter, "records", records)
    _, inputs = write_layout("chart", tmp_path)
    given = ["convert", "chart", "--input", *inputs, f"--output={tmp_path}/t.jsonl"]
    assert "No space left on device" in refused(*given)
    del failures["chart 4"]
    assert command(*given)[0] == 1
    errors = rejected(tmp_path / "t.jsonl")
    assert errors["chart 2.json"] == "cannot be converted: ZeroDivisionError: no luck"
    assert errors["chart 3.json"].startswith("cannot be converted: UnicodeEncodeError: ")
    assert len(records_of(tmp_path / "t.jsonl")) == SAMPLES - 2


MARK = "text_blocks"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("split toy --ground-truth t.jsonl", "30 records"),
        ("split toy --ground-truth t.jsonl --group page", "30 records"),
        ("select run --below 2", "30 records"),
        ("convert chart --input json=layout/truth/*.json", f"{SAMPLES} records"),
    ],
)
def test_no_record_waits_in_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str) -> None:
    """What convert, select and split shuffle is in blocks on the disk."""
    monkeypatch.chdir(tmp_path)
    write_layout("chart", Path("layout"))
    records = [{"sample_id": f"s{number:02}", "text": MARK, "page": number % 5} for number in range(30)]
    truths = write_lines(Path("t.jsonl"), records)
    if line.startswith("select"):
        assert evaluate(Path("run"), truths, truths, "--quiet", "--no-html").code == 0
    held: list[bytes] = []
    # Grouped collections, and those that wait for a side input.
    for buffer in (execution.ListBuffer, execution.GroupingBuffer):

        def append(self: object, element: bytes, original: object = buffer.append) -> None:
            held.append(element)
            original(self, element)  # type: ignore[operator]

        monkeypatch.setattr(buffer, "append", append)
    code, stdout, _ = command(*line.split(), "--output", tmp_path / "o.jsonl")
    assert (code, stdout) == (0, f"{tmp_path}/o.jsonl: {told}\n")
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert len({json.loads(each)["sample_id"] for each in lines}) == len(lines) == int(told.split()[0])
    assert all(MARK in each for each in lines)
    assert held
    assert not [element for element in held if MARK.encode() in element]
