"""A runner that lacks what it needs is told in one line, with the option that gives it; a defect stays one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import StandardOptions
from apache_beam.runners.portability import flink_runner, prism_runner
from apache_beam.utils import shared, subprocess_server

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import launch


def refused(*flags: str) -> str:
    """Returns the one line of a job that cannot be started."""
    with pytest.raises(UsageError) as problem:
        launch.submit(launch.beam_options(list(flags)), lambda pipeline: pipeline | beam.Create([1]))
    return str(problem.value)


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgets the job server of Prism, which Beam keeps for all runs of a process whatever their options."""
    monkeypatch.setattr(prism_runner.PrismRunner, "shared_handle", shared.Shared())


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_network(*_: object, **__: object) -> Any:
        raise URLError("Name or service not known")

    for module in (subprocess_server, prism_runner):
        monkeypatch.setattr(module, "urlopen", no_network)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(subprocess_server.JavaJarServer, "JAR_CACHE", str(tmp_path))
    monkeypatch.setattr(prism_runner.PrismJobServer, "BIN_CACHE", str(tmp_path))


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("runner", "option"),
    [
        ("FlinkRunner", "--flink_job_server_jar FILE"),
        ("SparkRunner", "--spark_job_server_jar FILE"),
        ("PrismRunner", "--prism_location FILE"),
    ],
)
def test_a_program_that_cannot_be_downloaded_is_named_with_the_option_that_gives_it(runner: str, option: str) -> None:
    said = refused(f"--runner={runner}")
    assert said.startswith(f"--runner {runner}: Unable to fetch remote ")
    assert "https://" in said
    assert option in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--runner=FlinkRunner", "--flink_job_server_jar=/none"], 'Unable to parse jar URL "/none"; give '),
        (["--runner=PrismRunner", "--prism_location=/none"], "--runner PrismRunner: Unable to parse binary URL"),
        (["--runner=PortableRunner"], "when using --runner=PortableRunner; give --job_endpoint HOST:PORT"),
        pytest.param(
            ["--runner=KafkaStreamsRunner"],
            "give its job server by --kafka_streams_job_server_jar FILE",
            marks=pytest.mark.skipif(
                "KafkaStreamsRunner" not in StandardOptions.KNOWN_RUNNER_NAMES, reason="this Beam has no such runner"
            ),
        ),
        (["--runner=BundleBasedDirectRunner"], "Beam has no such runner"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told(flags: list[str], said: str) -> None:
    found = refused(*flags)
    assert said in found
    assert "\n" not in found


def test_java_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "server.jar").write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    said = refused("--runner=FlinkRunner", f"--flink_job_server_jar={tmp_path}/server.jar")
    assert said == "--runner FlinkRunner: it needs Java; install a Java runtime, or set JAVA_HOME"


class _Silent(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def website() -> Iterator[str]:
    with HTTPServer(("localhost", 0), _Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"localhost:{server.server_port}"
        server.shutdown()


def raised(fail: Callable[[], object]) -> BaseException:
    try:
        fail()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is returned
        return error
    raise AssertionError("nothing was raised")


def test_a_defect_is_none_of_these() -> None:
    theirs = raised(lambda: flink_runner.FlinkRunner().default_job_server(None))
    assert launch.start_problem("DirectRunner", ValueError("x")) is None
    assert isinstance(theirs, AttributeError)
    assert launch.start_problem("FlinkRunner", theirs) is None


def test_a_folder_of_dataflow_whose_package_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def check(paths: Any) -> None:
        said.extend(paths)
        raise UsageError("not reachable")

    monkeypatch.setattr(launch, "check_reachable", check)
    flags = ("--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://bucket/temp")
    assert refused(*flags) == "not reachable"
    assert said[0] == "gs://bucket/temp"
