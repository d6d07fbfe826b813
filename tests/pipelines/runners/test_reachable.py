"""Filesystems, job servers and clusters that do not answer, or in whatever way; and the job that is cancelled there."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import reachable
from beamscore.pipelines.runners.reachable import cancel_job, check_addresses, check_reachable
from tests.runs import refused


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
    "paths",
    [
        ("gs://silent/a", "ours=p.jsonl", "out"),
        ("t.jsonl", "ours=gs://silent/a", "out"),
        ("t.jsonl", "ours=p.jsonl", "gs://silent/a"),
    ],
)
def test_a_silent_bucket_is_told(asked: list[str], paths: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reachable, "BUCKET_TIMEOUT_S", 0.01)
    for times in (1, 2):
        line = refused("evaluate", "toy", "--ground-truth", paths[0], "--predictions", paths[1], "--output", paths[2])
        assert len(asked) == times
        assert "gs://silent/" in line
        assert line.endswith(": nothing answers within 0.01 seconds; check the bucket, the credentials and the network")
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_is_not_installed_is_named(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        if "." in name:
            raise ModuleNotFoundError("no parent package")

    monkeypatch.setattr(reachable, "find_spec", missing)
    for path, extra in {
        "s3://bucket/a.jsonl": "beamscore[aws]",
        "name=gs://bucket/*.jsonl": "beamscore[gcp]",
        "azfs://account/a.jsonl": "apache-beam[azure]",
    }.items():
        told = f"need a package that is not installed: pip install '{extra}'"
        with pytest.raises(UsageError, match=re.escape(told)):
            check_reachable([path])
    assert asked == []


JOBS = {"a0": "mine", "b1": "another", "c2": "shared", "d3": "shared"}
OVERVIEW, CANCELLED = "GET /jobs/overview", "PATCH /jobs/a0?mode=cancel"
ASKED: list[str] = []


class Cluster(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        ASKED.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"jobs": [{"jid": job, "name": name} for job, name in JOBS.items()]}).encode())

    def do_PATCH(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    ASKED.clear()
    with ThreadingHTTPServer(("localhost", 0), Cluster) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"localhost:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ("--flink_master={0} --job_name=mine", [OVERVIEW, CANCELLED]),
        ("--flink_master=http://{0} --job_name=mine", [OVERVIEW, CANCELLED]),
        # A job that may be somebody else's is left alone, and one without a name.
        ("--flink_master={0} --job_name=shared", [OVERVIEW]),
        ("--flink_master={0} --job_name=gone", [OVERVIEW]),
        ("--flink_master={0}", []),
        *((f"--flink_master={each} --job_name=mine", []) for each in ("[auto]", "[local]", "localhost:1", "http://")),
    ],
)
def test_the_job_of_the_name_is_cancelled(address: str, flags: str, asked: list[str]) -> None:
    cancel_job(PipelineOptions(flags.format(address).split()))
    assert asked == ASKED


@pytest.mark.parametrize(
    "flags",
    [
        "--runner=PortableRunner --job_endpoint={0}",
        "--runner=PortableRunner --job_endpoint={0} --artifact_endpoint={0}",
        "--runner=FlinkRunner --flink_master={0}",
        "--runner=FlinkRunner --flink_master=http://{0}",
        # What is no address of this network is not asked.
        "--runner=DataflowRunner",
        "--runner=PortableRunner --job_endpoint=embed",
        "--runner=PortableRunner --flink_master=known-there-alone:8081",
        "--runner=FlinkRunner --flink_master=[local]",
    ],
)
def test_something_must_answer_at_an_address(address: str, flags: str) -> None:
    check_addresses(PipelineOptions(flags.format(address).split()))
    if "{0}" in flags:
        last = flags.rpartition("--")[2].partition("=")[0]
        given = flags.format(address).removesuffix(address) + "localhost:1"
        with pytest.raises(UsageError, match=rf"^--{last} .*localhost:1: nothing answers there: "):
            check_addresses(PipelineOptions(given.split()))
