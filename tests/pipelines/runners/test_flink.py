"""Cancelling a job on a Flink cluster, of which the part of its REST interface that is asked stands in."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners.flink import cancel_job, check_addresses

JOBS = {"a0": "mine", "b1": "another", "c2": "shared", "d3": "shared"}


class Cluster(ThreadingHTTPServer):
    """Answers and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("localhost", 0), Answers)
        self.asked: list[str] = []
        self.address = f"localhost:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer({"jobs": [{"jid": job, "name": name} for job, name in JOBS.items()]})

    def do_PATCH(self) -> None:
        self.answer({})

    def answer(self, document: object) -> None:
        assert isinstance(self.server, Cluster)
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ("--flink_master={0} --job_name=mine", ["GET /jobs/overview", "PATCH /jobs/a0?mode=cancel"]),
        ("--flink_master=http://{0} --job_name=mine", ["GET /jobs/overview", "PATCH /jobs/a0?mode=cancel"]),
        # A job that may be somebody else's is left alone, and one without a name.
        ("--flink_master={0} --job_name=shared", ["GET /jobs/overview"]),
        ("--flink_master={0} --job_name=gone", ["GET /jobs/overview"]),
        ("--flink_master={0}", []),
        *((f"--flink_master={each} --job_name=mine", []) for each in ("[auto]", "[local]", "localhost:1", "http://")),
    ],
)
def test_the_job_of_the_name_is_cancelled(cluster: Cluster, flags: str, asked: list[str]) -> None:
    cancel_job(PipelineOptions(flags.format(cluster.address).split()))
    assert cluster.asked == asked


@pytest.mark.parametrize(
    "flags",
    [
        ["--runner=PortableRunner", "--job_endpoint={0}"],
        ["--runner=PortableRunner", "--job_endpoint={0}", "--artifact_endpoint={0}"],
        ["--runner=FlinkRunner", "--flink_master={0}"],
        ["--runner=FlinkRunner", "--flink_master=http://{0}"],
    ],
)
def test_something_must_answer_at_an_address(cluster: Cluster, flags: list[str]) -> None:
    check_addresses(PipelineOptions([flag.format(cluster.address) for flag in flags]))
    *_, last = flags
    with pytest.raises(UsageError, match=rf"^{last.partition('=')[0]} .*localhost:1: nothing answers there: "):
        check_addresses(
            PipelineOptions([*(flag.format(cluster.address) for flag in flags[:-1]), last.format("localhost:1")])
        )


@pytest.mark.parametrize(
    "flags",
    [
        ["--runner=DataflowRunner"],
        ["--runner=PortableRunner", "--job_endpoint=embed"],
        ["--runner=PortableRunner", "--flink_master=known-there-alone:8081"],
        ["--runner=FlinkRunner", "--flink_master=[local]"],
    ],
)
def test_what_is_no_address_of_this_network_is_not_asked(flags: list[str]) -> None:
    check_addresses(PipelineOptions(flags))
