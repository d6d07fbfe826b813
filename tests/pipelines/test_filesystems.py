"""A whole evaluation on filesystems that are not this machine's: inputs, configuration, and result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamscore.transforms.io import publication
from tests import toy
from tests.memory_files import ObjectStore
from tests.runs import command, evaluate, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(40)]
TRUTHS = [truth for truth, _ in SAMPLES]
PREDICTIONS = [prediction for _, prediction in SAMPLES if prediction]
BROKEN = b'{"sample_id": "broken"'

CONFIG = b"benchmark: toy\nmax_rejected_fraction: 0.5\nbootstrap: {replicates: 20}\nslices: [kind]\n"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """An empty store, with this process in an empty folder of the machine's own."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    yield ObjectStore(None)
    assert list((tmp_path / "empty").iterdir()) == []
    ObjectStore.clear()


def put(store: ObjectStore, folder: Path) -> str:
    """Copies a corpus of both formats, and its configuration, from `folder` into the store; returns where it is."""
    write_lines(folder / "truth-0.jsonl.gz", TRUTHS[:20])
    pq.write_table(pa.Table.from_pylist(TRUTHS[20:]), folder / "truth-1.parquet")
    write_lines(folder / "predictions.jsonl", [*PREDICTIONS, BROKEN])
    (folder / "config.yaml").write_bytes(CONFIG)
    base = f"{store.scheme()}://bucket/in"
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


def test_a_later_run_takes_the_place_of_an_earlier_one(store: ObjectStore, tmp_path: Path) -> None:
    base, output = put(store, tmp_path), f"{store.scheme()}://bucket/out"
    run(base, output)
    earlier = {path for path in store.FILES if path.startswith(f"{output}/")}
    store.FILES[f"{output}/notes.txt"] = b"mine"
    store.FILES[f"{output}/samples/notes.txt"] = b"mine"
    run(base, output, "--set", "missing=exclude")
    assert below(store, output) == sorted([*WHOLE, "notes.txt", "samples/notes.txt"])
    stay = {f"{output}/{name}" for name in DOCUMENTS}
    assert earlier - set(store.FILES) == earlier - stay
    assert json.loads(store.FILES[f"{output}/summary.json"])["config"]["missing"] == "exclude"


def test_the_rows_of_a_run_are_those_that_it_lists(store: ObjectStore, tmp_path: Path) -> None:
    """A file beside them, as a worker leaves it that was given up and came to its end later, is none of them."""
    base, output = put(store, tmp_path), f"{store.scheme()}://bucket/out"
    run(base, output)
    store.FILES[f"{run_folder(store, output)}/samples/samples-other.parquet"] = b"of another attempt"
    local = tmp_path / "empty" / ".." / "hard.jsonl"
    assert command("select", output, "--output", local, "--below", "2")[0] == 0
    assert len(local.read_bytes().splitlines()) == len(SAMPLES)


def test_a_run_that_fails_leaves_the_earlier_result_and_nothing_of_its_own(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, output = put(store, tmp_path), f"{store.scheme()}://bucket/out"
    run(base, output)
    earlier = dict(store.FILES)

    def fail(*_: Any) -> None:
        assert any("/.runs/" in path for path in store.FILES), "the rows are there already"
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(publication, "held_claim", fail)
    assert command(*given(base, output))[0] == 3
    assert earlier == store.FILES


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
