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


def options(master: str, *more: str) -> PipelineOptions:
    return PipelineOptions([f"--flink_master={master}", *more])


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_the_job_of_the_name_is_cancelled(cluster: Cluster, scheme: str) -> None:
    cancel_job(options(scheme + cluster.address, "--job_name=mine"))
    assert cluster.asked == ["GET /jobs/overview", "PATCH /jobs/a0?mode=cancel"]


@pytest.mark.parametrize("name", ["shared", "gone"])
def test_a_job_that_may_be_somebody_elses_is_left_alone(cluster: Cluster, name: str) -> None:
    cancel_job(options(cluster.address, f"--job_name={name}"))
    assert cluster.asked == ["GET /jobs/overview"]


def test_a_job_without_a_name_is_left_alone(cluster: Cluster) -> None:
    cancel_job(options(cluster.address))
    assert cluster.asked == []


@pytest.mark.parametrize("master", ["[auto]", "[local]", "localhost:1", "http://"])
def test_a_cluster_that_cannot_be_asked_is_left_alone(master: str) -> None:
    cancel_job(options(master, "--job_name=mine"))


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
