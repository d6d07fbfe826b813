"""Filesystems that do not answer, and those that answer in whatever way."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.io.filesystems import FileSystems

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import reachable
from beamscore.pipelines.runners.reachable import check_reachable
from tests.runs import command


class Cloud:
    """A filesystem whose bucket `silent` never answers; all others do, each in its way."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.end = threading.Event()

    def exists(self, path: str) -> bool:
        self.asked.append(path)
        if "silent" in path:
            self.end.wait()
        if "forbidden" in path:
            raise PermissionError(path)
        return "there" in path


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    cloud = Cloud()
    monkeypatch.setattr(FileSystems, "exists", cloud.exists)
    monkeypatch.setattr(reachable, "_answered", set())
    monkeypatch.setattr(reachable, "find_spec", lambda name: name)
    yield cloud
    cloud.end.set()


def test_every_bucket_is_asked_once(cloud: Cloud) -> None:
    check_reachable(
        ["a/b", "gs://there/a/*.jsonl", "name=gs://there/b", "s3://forbidden/a", "gs://gone/a", "s3://gone/a"]
    )
    check_reachable(["gs://there/c"])
    assert cloud.asked == ["gs://there/a/*.jsonl", "s3://forbidden/a", "gs://gone/a", "s3://gone/a"]


@pytest.mark.parametrize(
    ("truth", "predictions", "output"),
    [
        ("gs://silent/t.jsonl", "p.jsonl", "out"),
        ("t.jsonl", "ours=gs://silent/p.jsonl", "out"),
        ("t.jsonl", "p.jsonl", "gs://silent/out"),
    ],
)
def test_a_bucket_that_does_not_answer_ends_the_command_with_one_line_each_time(
    cloud: Cloud, truth: str, predictions: str, output: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reachable, "SECONDS", 0.01)
    for times in (1, 2):
        given = ("--ground-truth", truth, "--predictions", predictions, "--output", output)
        code, stdout, stderr = command("evaluate", "toy", *given)
        assert (code, stdout, stderr.count("\n"), len(cloud.asked)) == (2, "", 1, times)
        assert "gs://silent/" in stderr
        reason = ": nothing answers within 0.01 seconds; check the bucket, the credentials and the network\n"
        assert stderr.endswith(reason)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "extra"),
    [
        ("s3://bucket/a.jsonl", "beamscore[aws]"),
        ("name=gs://bucket/*.jsonl", "beamscore[gcp]"),
        ("hdfs://host/a.jsonl", "hdfs"),
        ("azfs://account/a.jsonl", "apache-beam[azure]"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, path: str, extra: str
) -> None:
    monkeypatch.setattr(reachable, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=rf"need a package that is not installed: pip install '{re.escape(extra)}'"):
        check_reachable([path])
    assert cloud.asked == []
