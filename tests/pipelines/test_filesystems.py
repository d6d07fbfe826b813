"""A whole evaluation on filesystems that are not this machine's: inputs, configuration, and result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.memory_files import FolderStore, ObjectStore
from tests.runs import command, evaluate, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(40)]
TRUTHS = [truth for truth, _ in SAMPLES]
PREDICTIONS = [prediction for _, prediction in SAMPLES if prediction]
BROKEN = b'{"sample_id": "broken"'

CONFIG = b"benchmark: toy\nmax_rejected_fraction: 0.5\nbootstrap: {replicates: 20}\nslices: [kind]\n"


@pytest.fixture(params=[ObjectStore, FolderStore], ids=["objects", "folders"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """An empty store, with this process in an empty folder of the machine's own."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    yield request.param(None)
    assert list((tmp_path / "empty").iterdir()) == []
    ObjectStore.clear()
    FolderStore.clear()


def put(store: ObjectStore, folder: Path) -> str:
    """Copies a corpus of both formats, and its configuration, from `folder` into the store; returns where it is."""
    write_lines(folder / "truth-0.jsonl.gz", TRUTHS[:20])
    pq.write_table(pa.Table.from_pylist(TRUTHS[20:]), folder / "truth-1.parquet")
    write_lines(folder / "predictions.jsonl", [*PREDICTIONS, BROKEN])
    (folder / "config.yaml").write_bytes(CONFIG)
    base = f"{store.scheme()}://bucket/in"
    if store.has_dirs():
        store.mkdirs(base)
    for path in folder.glob("*.*"):
        store.FILES[f"{base}/{path.name}"] = path.read_bytes()
    return base


def given(base: str, output: str) -> list[str]:
    inputs = ["--ground-truth", f"{base}/truth-*", "--predictions", f"{base}/predictions.jsonl"]
    return ["evaluate", f"{base}/config.yaml", *inputs, "--output", output]


def run(base: str, output: str, *more: str) -> None:
    assert command(*given(base, output), *more)[::2] == (0, "")


def below(store: ObjectStore, folder: str) -> list[str]:
    """The paths below a folder, with what differs from run to run cut out."""
    names = [path.removeprefix(f"{folder}/") for path in store.FILES if path.startswith(f"{folder}/")]
    return sorted(re.sub(r"[0-9a-f]{12}", "ID", name) for name in names)


DOCUMENTS = ["report.html", "report.md", "run.json", "summary.json", "sums.json"]
PLAIN = [*DOCUMENTS, "quarantine/quarantine-ID.jsonl", "samples/samples-ID.parquet"]
WHOLE = sorted([*PLAIN, *(f".runs/ID/{name}" for name in (*PLAIN, "run.json.files"))])


def run_folder(store: ObjectStore, output: str) -> str:
    return f"{output}/.runs/{json.loads(store.FILES[f'{output}/run.json'])['run_id']}"


def plain(store: ObjectStore, folder: str) -> dict[str, bytes]:
    """The files of a result below a folder, by name."""
    found = {
        path.removeprefix(f"{folder}/"): store.FILES[path] for path in store.FILES if path.startswith(f"{folder}/")
    }
    return {name: content for name, content in found.items() if not name.startswith(".") and name != "run.json.files"}


def test_the_result_is_the_one_that_a_local_run_gives(store: ObjectStore, tmp_path: Path) -> None:
    base = put(store, tmp_path)
    output = f"{store.scheme()}://bucket/nightly/1"
    run(base, output)
    assert below(store, output) == WHOLE, "and nothing else is left over"
    inputs = str(tmp_path / "truth-*"), str(tmp_path / "predictions.jsonl")
    local = evaluate(tmp_path / "out", *inputs, config=tmp_path / "config.yaml")
    for name, content in local.bytes().items():
        found, expected = json.loads(store.FILES[f"{output}/{name}"]), json.loads(content)
        for side in ("ground_truth", "predictions"):
            del found["config"][side], expected["config"][side]
        assert found == expected
    assert plain(store, output) == plain(store, run_folder(store, output))
    (path,) = [path for path in store.FILES if path.startswith(f"{output}/samples/")]
    rows = pq.ParquetFile(pa.BufferReader(store.FILES[path])).read().to_pylist()
    assert sorted(rows, key=lambda row: row["sample_id"]) == local.samples
    (path,) = [path for path in store.FILES if path.startswith(f"{output}/quarantine/")]
    (entry,) = [line for line in store.FILES[path].splitlines() if b"broken" in line]
    assert json.loads(entry)["source"] == f"{base}/predictions.jsonl"


@pytest.mark.parametrize(
    ("truths", "output", "message"),
    [
        ("{base}/none-*.jsonl", "{base}/out", "--ground-truth {base}/none-*.jsonl: no file matches"),
        ("{base}/truth-0.jsonl.gz", "nowhere://bucket/out", "--output nowhere://bucket/out: cannot be written: "),
        ("nowhere://bucket/a.jsonl", "{base}/out", "--ground-truth nowhere://bucket/a.jsonl: cannot be listed: "),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    store: ObjectStore, tmp_path: Path, truths: str, output: str, message: str
) -> None:
    base = put(store, tmp_path)
    arguments = ("--predictions", f"{base}/predictions.jsonl", "--ground-truth", truths.format(base=base))
    code, _, stderr = command("evaluate", "toy", *arguments, "--output", output.format(base=base))
    assert code == 2
    assert stderr.startswith(f"beamscore: {message.format(base=base)}")
    assert stderr.count("\n") == 1
