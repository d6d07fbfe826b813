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
        threading.Thread(target=server.serve_forever, daemon=True).start()
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
