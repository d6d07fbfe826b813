"""The pipeline against a plain loop: the same bytes, however the corpus is cut, ordered, stored or run."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.transforms.io import files
from tests import toy
from tests.memory_files import FolderStore, ObjectStore
from tests.plain_loop import make_benchmark
from tests.runs import Record, Run, command, evaluate, plain_score, plain_sums, refused, unpack_replicates, write_lines
from tests.transforms.samples import store as store_as

COUNT = 130
SYSTEMS = ("ours", "theirs")
BOOTSTRAP = Bootstrap(replicates=20, seed=5)
SETTINGS = ("--set", "bootstrap.replicates=20", "--set", "bootstrap.seed=5", "--set", "cluster=page")
SLICES = ("--slice", "kind", "--slice", "words", "--slice", "kind,words")


def truth_and_predictions(index: int) -> tuple[Record, list[Record | None]]:
    truth, ours = toy.sample(index, seed=0)
    theirs = None if index % 7 == 1 else {"sample_id": truth["sample_id"], "text": "x" * (index % 5)}
    return {**truth, "page": f"p{index // 3}"}, [ours, theirs]


CORPUS = [truth_and_predictions(index) for index in range(COUNT)]
TRUTHS = [truth for truth, _ in CORPUS]
PREDICTIONS = {name: [each[n] for _, each in CORPUS if each[n] is not None] for n, name in enumerate(SYSTEMS)}


def run(folder: Path, *more: str) -> Run:
    """Runs on `truth/*`, `ours/*` and `theirs/*` of a folder, named relatively: the globs are part of the summary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        systems = {name: f"{name}/*" for name in SYSTEMS}
        found = evaluate(folder / "out", "truth/*", systems, "--quiet", *SETTINGS, *SLICES, *more)
    assert (found.code, found.stdout, found.stderr) == (0, "", "")
    return found


def store(folder: Path, write: Callable[[Path, list[Any]], object]) -> Path:
    write(folder / "truth", TRUTHS)
    for name in SYSTEMS:
        write(folder / name, PREDICTIONS[name])
    return folder


def one_file(folder: Path, records: list[Any]) -> None:
    write_lines(folder / "all.jsonl", records)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(store(tmp_path_factory.mktemp("baseline"), one_file))


def test_rows_and_sums_replicates_and_coverage_of_every_slice_are_those_of_a_plain_loop(baseline: Run) -> None:
    benchmark = make_benchmark("toy")
    document = baseline.sums
    assert baseline.summary["intervals_method"]["bounded"] == "logit-t"
    for system, name in enumerate(SYSTEMS):
        parts: dict[str, list[Any]] = {}
        rows = {row["sample_id"]: row for row in baseline.samples if row["system"] == name}
        for truth, predictions in CORPUS:
            score = plain_score(benchmark, truth, predictions[system])
            assert score is not None
            row = rows.pop(truth["sample_id"])
            assert {metric: row[metric] for metric in score.metrics} == score.metrics
            status = "missing_prediction" if predictions[system] is None else "scored"
            assert (row["status"], json.loads(row["details"])) == (status, score.details)
            kind, words = f"kind={truth['kind']}", [f"words={word}" for word in truth["words"]]
            for label in ("", kind, *words, *(f"{kind},{word}" for word in words)):
                parts.setdefault(label, []).append((json.dumps(truth["page"]), score))
        assert rows == {}
        expected = {label: plain_sums(each, BOOTSTRAP) for label, each in parts.items()}
        found = {"": document["systems"][name], **document["systems"][name]["slices"]}
        assert sorted(found) == sorted(expected)
        for label, (sums, *replicates) in expected.items():
            assert json.dumps(found[label]["sums"]) == json.dumps(sums.units())
            assert unpack_replicates(found[label]["replicates"], BOOTSTRAP.replicates) == replicates
        present = sum(predictions[system] is not None for _, predictions in CORPUS)
        assert 0 < present < COUNT
        none, scored = {"rejected": 0, "duplicate": 0}, {"read": present, "scored": present}
        assert baseline.summary["systems"][name]["coverage"] == {
            "ground_truth": {**none, "read": COUNT, "scored": present, "missing_prediction": COUNT - present},
            "predictions": {**none, **scored, "unmatched": 0},
            "balanced": True,
        }
        odd = [predictions[system] is not None for truth, predictions in CORPUS if truth["kind"] == 1]
        assert baseline.summary["systems"][name]["slices"]["kind=1"]["coverage"] == {
            "ground_truth": {"missing_prediction": odd.count(False), "scored": odd.count(True)},
            "predictions": {"scored": odd.count(True)},
        }


def stored(*endings: str) -> Callable[[Path, list[Any]], None]:
    """Returns what writes records in another order and formats; CSV, whose cells are texts, has predictions alone."""

    def write(folder: Path, records: list[Any]) -> None:
        write_lines(folder / "empty.jsonl", [])
        shuffled = random.Random(1).sample(records, len(records))
        for number, ending in enumerate(endings):
            part = shuffled[number :: len(endings)]
            if ending == "parquet":
                part = [{name: value if isinstance(value, (str, int)) else json.dumps(value)
                         for name, value in each.items()} for each in part]  # fmt: skip
            is_text = "sv" in ending and folder.name == "truth"
            store_as(folder / f"{9 - number}.{'arrow' if is_text else ending}", part, 7)

    return write


LINES = ("jsonl", "jsonl.gz", "ndjson", "json.zst", "jsonl")


@pytest.mark.parametrize("endings", [LINES, ("parquet", "arrow", "csv", "tsv.gz")], ids=str)
def test_files_orders_and_formats_do_not_change_a_byte(
    tmp_path: Path, baseline: Run, endings: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BYTES_PER_PART", 700)
    found = run(store(tmp_path, stored(*endings)))
    assert found.bytes() == baseline.bytes()
    assert found.samples == baseline.samples


def test_parts_batches_and_worker_processes_do_not_change_a_byte(
    tmp_path: Path, baseline: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = store(tmp_path, one_file)
    with monkeypatch.context() as patch:
        patch.setattr(files, "BYTES_PER_PART", 13)
        patch.setattr(toy.ToyBenchmark, "batch_size", 1)
        assert run(corpus).bytes() == baseline.bytes()
    found = run(corpus, "--direct_running_mode=multi_processing", "--direct_num_workers=2")
    assert found.bytes() == baseline.bytes()
    assert found.samples == baseline.samples
    # Nor do the workers write to the console on their own.
    assert capfd.readouterr() == ("", "")


BROKEN = b'{"sample_id": "broken"'
CONFIG = b"benchmark: toy\nmax_rejected_fraction: 0.5"


@pytest.mark.parametrize("kind", [ObjectStore, FolderStore])
def test_filesystems_that_are_not_this_machines_do_not_change_a_result(
    tmp_path: Path, baseline: Run, kind: type[ObjectStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration, inputs of both formats, and the result are there; nothing is left on this machine."""

    def mixed(folder: Path, records: list[Any]) -> None:
        write_lines(folder / "more.jsonl.gz", [*records[90:], *([BROKEN] if folder.name == "theirs" else [])])
        store_as(folder / "0.parquet", records[:90], 16)

    for each, name, empty in ((kind, "FILES", {}), (FolderStore, "FOLDERS", set())):
        monkeypatch.setattr(each, name, empty)
    corpus, there = store(tmp_path / "in", mixed), f"{kind.scheme()}://bucket/"
    write_lines(corpus / "config.yaml", [CONFIG])
    if kind is FolderStore:
        for name in ("truth", *SYSTEMS):
            FolderStore({}).mkdirs(f"{there}in/{name}")
    for path in corpus.rglob("*.*"):
        kind.FILES[f"{there}in/{path.relative_to(corpus)}"] = path.read_bytes()
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    systems = ("--predictions", *(f"{name}={there}in/{name}/*" for name in SYSTEMS), *SETTINGS, *SLICES)
    given = ("--ground-truth", f"{there}in/truth/*", *systems, "--output", f"{there}out/1")
    assert command("evaluate", f"{there}in/config.yaml", *given)[::2] == (0, "")
    for name, content in list(kind.FILES.items()):
        if name.startswith(f"{there}out/1/"):
            copy = tmp_path / "copy" / name.removeprefix(f"{there}out/1/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    found = Run(0, "", "", tmp_path / "copy")
    assert found.samples == baseline.samples
    for system in SYSTEMS:
        for part in ("sums", "counts", "replicates", "slices"):
            assert found.sums["systems"][system][part] == baseline.sums["systems"][system][part]
    (entry,) = found.quarantine
    assert (entry["text"], entry["source"]) == (BROKEN.decode(), f"{there}in/theirs/more.jsonl.gz")
    for truths, output, message in (
        (f"{there}in/none-*.jsonl", f"{there}out/2", f"--ground-truth {there}in/none-*.jsonl: no file matches"),
        (f"{there}in/truth/*", "nowhere://bucket/out", "--output nowhere://bucket/out: cannot be written: "),
        ("nowhere://b/a.jsonl", f"{there}out/2", "--ground-truth nowhere://b/a.jsonl: cannot be listed: "),
    ):
        assert refused("evaluate", "toy", "--ground-truth", truths, *systems, "--output", output).startswith(message)
    assert command("compare", f"{there}out/1:ours", f"{tmp_path}/copy:ours", "--quiet") == (0, "", "")
    assert list((tmp_path / "empty").iterdir()) == []
