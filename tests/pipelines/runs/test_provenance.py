"""run.json: what it says, and that all that differs between equal runs stands there and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems

from beamscore.metrics.version import VERSION
from beamscore.pipelines.runs import provenance
from beamscore.pipelines.runs.provenance import (
    HIDDEN,
    Invocation,
    input_sides,
    run_document,
    seconds,
    utc,
    without_secrets,
)
from beamscore.pipelines.runs.run import open_result
from beamscore.transforms.io.files import SourceFile
from beamscore.transforms.records import GROUND_TRUTH
from tests import toy
from tests.plain_loop import make_benchmark
from tests.runs import evaluate, write_lines

CORPUS = [toy.sample(index, 0) for index in range(12)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_lines(folder / "t-1.jsonl", [truth for truth, _ in CORPUS[:5]])
    write_lines(folder / "t-2.jsonl", [truth for truth, _ in CORPUS[5:]])
    write_lines(folder / "p.jsonl", [prediction for _, prediction in CORPUS if prediction])
    return folder


def test_a_run_says_where_it_comes_from_and_what_differs_between_equal_runs_is_nowhere_else(
    corpus: Path, tmp_path: Path
) -> None:
    sides = {"ours": corpus / "p.jsonl", "same": corpus / "p.jsonl"}
    found, again = (
        evaluate(tmp_path / name, f"{corpus}/t-*.jsonl", sides, "--quiet", "--no-html") for name in ("a", "b")
    )
    assert found.code == 0
    assert (found.bytes(), found.report) == (again.bytes(), again.report)
    document, other = (json.loads((run.output / "run.json").read_bytes()) for run in (found, again))
    assert list(document) == [
        *("format", "run_id", "benchmark", "systems", "started", "ended", "seconds", "command", "runner", "host"),
        *("versions", "inputs"),
    ]
    assert document["run_id"] == open_result(str(found.output)).run_id != other["run_id"]
    assert all(document[key] == other[key] for key in ("versions", "inputs"))
    assert (document["benchmark"], document["systems"]) == ("toy", ["ours", "same"])
    assert (document["command"][:3], document["command"][-1]) == (["beamscore", "evaluate", "toy"], "--no-html")
    assert document["runner"] == "DirectRunner"
    assert document["seconds"] == pytest.approx(seconds(document["ended"]) - seconds(document["started"]), abs=0.002)
    versions = document["versions"]
    assert versions["beamscore"] == found.summary["version"] == VERSION
    assert set(versions) == {"beamscore", "python", "platform", "packages", "tools"}
    assert "apache-beam" in versions["packages"]
    truth, predictions = document["inputs"]["ground_truth"], document["inputs"]["predictions"]
    assert (truth["records"], truth["count"]) == (12, 2)
    stats = {f"{corpus}/t-{number}.jsonl": (corpus / f"t-{number}.jsonl").stat() for number in (1, 2)}
    assert truth["files"] == [
        {"path": path, "bytes": stat.st_size, "modified": utc(stat.st_mtime), "checksum": None}
        for path, stat in stats.items()
    ]
    assert truth["bytes"] == sum(stat.st_size for stat in stats.values())
    assert list(predictions) == ["ours", "same"]
    assert predictions["ours"]["records"] == sum(1 for _, prediction in CORPUS if prediction)


def test_the_versions_of_tex_are_told_where_the_benchmark_runs_it() -> None:
    assert "latex" in provenance.versions(make_benchmark("formula"))["tools"]
    versions = provenance.versions(make_benchmark("traffic_rules"))
    assert (versions["tools"], set(versions["packages"])) == ({}, set(provenance.PACKAGES))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["--s3_secret_access_key=abc", "--a=eu"], [f"--s3_secret_access_key={HIDDEN}", "--a=eu"]),
        (["--s3_session_token", "abc", "x"], ["--s3_session_token", HIDDEN, "x"]),
        (["--s3_access_key_id=abc"], [f"--s3_access_key_id={HIDDEN}"]),
        (["--password", "--quiet"], ["--password", "--quiet"]),
        (["--set", "cluster=token"], ["--set", "cluster=token"]),
    ],
)  # fmt: skip
def test_secrets_of_the_command_line_are_not_kept(typed: list[str], shown: list[str]) -> None:
    assert without_secrets(["beamscore", *typed]) == ["beamscore", *shown]


@pytest.mark.parametrize(("modified", "shown"), [(1.5, "1970-01-01T00:00:01.500Z"), (0.0, None)])
def test_the_checksum_of_an_object_store_is_told(
    monkeypatch: pytest.MonkeyPatch, modified: float, shown: str | None
) -> None:
    """One that cannot be had is null, and so is a time that is not known."""

    def checksum(path: str) -> str:
        if not modified:
            raise OSError("gone")
        return f"etag of {path}"

    monkeypatch.setattr(FileSystems, "checksum", checksum)
    ((side, files),) = input_sides([SourceFile(GROUND_TRUTH, 0, "s3://b/t.jsonl", 7, "jsonl", modified)])
    assert (side, files.files[0].modified) == (GROUND_TRUTH, shown)
    assert files.files[0].checksum == ("etag of s3://b/t.jsonl" if modified else None)


def test_of_many_files_the_first_are_listed_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "MAX_FILES_LISTED", 2)
    files = [SourceFile(0, number, f"{number}.jsonl", 10, "jsonl", 1.0) for number in range(5)]
    ((_, side),) = input_sides(files)
    assert (side.count, side.bytes, len(side.files)) == (5, 50, 2)
    changed = [*files[:4], SourceFile(0, 4, "4.jsonl", 10, "jsonl", 2.0)]
    assert input_sides(changed)[0][1].digest != side.digest


def test_a_path_that_is_not_utf_8_can_be_written() -> None:
    launch = Invocation(
        ("beamscore", "a\udcff"), "DirectRunner", 1.0, input_sides([SourceFile(0, 0, "a\udcff", 1, "jsonl")])
    )
    document = run_document(launch, "id", make_benchmark("toy"), ["ours"], {})
    assert json.dumps(document, ensure_ascii=False).encode()
