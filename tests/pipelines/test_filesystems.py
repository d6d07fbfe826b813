"""A whole evaluation on filesystems that are not this machine's: inputs, configuration, and result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.memory_files import FolderStore, ObjectStore
from tests.runs import Run, command, evaluate, refused, write_lines

SAMPLES = [toy.sample(index, 0) for index in range(40)]
TRUTHS = [truth for truth, _ in SAMPLES]
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
    write_lines(folder / "predictions.jsonl", [*(prediction for _, prediction in SAMPLES if prediction), BROKEN])
    (folder / "config.yaml").write_bytes(CONFIG)
    base = f"{store.scheme()}://bucket/in"
    if store.has_dirs():
        store.mkdirs(base)
    for path in folder.glob("*.*"):
        store.FILES[f"{base}/{path.name}"] = path.read_bytes()
    return base


def test_the_result_is_the_one_that_a_local_run_gives(store: ObjectStore, tmp_path: Path) -> None:
    base, output = put(store, tmp_path), f"{store.scheme()}://bucket/nightly/1"
    names = "truth-*", "predictions.jsonl"
    sides = [f"--{side}={base}/{name}" for side, name in zip(("ground-truth", "predictions"), names, strict=True)]
    assert command("evaluate", f"{base}/config.yaml", *sides, "--output", output)[::2] == (0, "")
    files = {path.removeprefix(f"{output}/"): store.FILES[path] for path in store.FILES if path.startswith(output)}
    for name, content in files.items():
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    found = Run(0, "", "", tmp_path / "copy")
    local = evaluate(tmp_path / "out", *(str(tmp_path / name) for name in names), config=tmp_path / "config.yaml")
    for each, expected in ((found.summary, local.summary), (found.sums, local.sums)):
        for side in ("ground_truth", "predictions"):
            del each["config"][side], expected["config"][side]
        assert each == expected
    assert found.samples == local.samples
    (source,) = [entry["source"] for entry in found.quarantine if "broken" in entry["text"]]
    assert source == f"{base}/predictions.jsonl"


def test_what_is_wrong_is_told_in_one_line(store: ObjectStore, tmp_path: Path) -> None:
    base = put(store, tmp_path)
    for truths, output, message in (
        (f"{base}/none-*.jsonl", f"{base}/out", f"--ground-truth {base}/none-*.jsonl: no file matches"),
        (f"{base}/truth-0.jsonl.gz", "nowhere://bucket/out", "--output nowhere://bucket/out: cannot be written: "),
        ("nowhere://b/a.jsonl", f"{base}/out", "--ground-truth nowhere://b/a.jsonl: cannot be listed: "),
    ):
        given = ("--predictions", f"{base}/predictions.jsonl", "--ground-truth", truths, "--output", output)
        assert refused("evaluate", "toy", *given).startswith(message)
