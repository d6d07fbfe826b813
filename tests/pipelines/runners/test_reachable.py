"""Filesystems that do not answer, and those that answer in whatever way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import reachable
from beamscore.pipelines.runners.reachable import check_reachable
from tests.runs import command


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was asked of a cloud whose bucket `silent` never answers; all others do, each in its way."""
    asked: list[str] = []
    end = threading.Event()

    def exists(path: str) -> bool:
        asked.append(path)
        if "silent" in path:
            end.wait()
        if "forbidden" in path:
            raise PermissionError(path)
        return "there" in path

    monkeypatch.setattr(FileSystems, "exists", exists)
    monkeypatch.setattr(reachable, "_answered", set())
    monkeypatch.setattr(reachable, "find_spec", lambda name: name)
    yield asked
    end.set()


def test_every_bucket_is_asked_once(asked: list[str]) -> None:
    given = ["a/b", "gs://there/a/*.jsonl", "name=gs://there/b", "s3://forbidden/a", "gs://gone/a", "s3://gone"]
    check_reachable(given)
    check_reachable(["gs://there/c"])
    # Of a bucket alone some file in it is asked for.
    assert asked == ["gs://there/a/*.jsonl", "s3://forbidden/a", "gs://gone/a", "s3://gone/.beamscore"]


@pytest.mark.parametrize(
    "silent", [("gs://silent/t.jsonl", "p", "out"), ("t", "ours=gs://silent/p", "out"), ("t", "p", "gs://silent/out")]
)
def test_a_bucket_that_does_not_answer_ends_the_command_with_one_line_each_time(
    asked: list[str], silent: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reachable, "SECONDS", 0.01)
    truth, predictions, output = silent
    for times in (1, 2):
        given = ("--ground-truth", truth, "--predictions", predictions, "--output", output)
        code, stdout, stderr = command("evaluate", "toy", *given)
        assert (code, stdout, stderr.count("\n"), len(asked)) == (2, "", 1, times)
        assert "gs://silent/" in stderr
        reason = ": nothing answers within 0.01 seconds; check the bucket, the credentials and the network\n"
        assert stderr.endswith(reason)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "extra"),
    [
        ("s3://bucket/a.jsonl", r"beamscore\[aws\]"),
        ("name=gs://bucket/*.jsonl", r"beamscore\[gcp\]"),
        ("hdfs://host/a.jsonl", "hdfs"),
        ("azfs://account/a.jsonl", r"apache-beam\[azure\]"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, path: str, extra: str
) -> None:
    monkeypatch.setattr(reachable, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=f"need a package that is not installed: pip install '{extra}'"):
        check_reachable([path])
    assert asked == []
