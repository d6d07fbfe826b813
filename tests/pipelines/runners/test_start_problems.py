"""A runner that lacks what it needs is told in one line, with the option that gives it; a defect stays one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import StandardOptions
from apache_beam.runners.portability import prism_runner
from apache_beam.utils import shared, subprocess_server

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import launch


def refused(*flags: str) -> str:
    """Returns the one line of a job that cannot be started."""
    with pytest.raises(UsageError) as problem:
        launch.submit(launch.beam_options(list(flags)), lambda pipeline: pipeline | beam.Create([1]))
    assert "\n" not in str(problem.value)
    return str(problem.value)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a network, caches, or the job server of Prism, which Beam keeps for all runs of a process."""

    def no_network(*_: object, **__: object) -> Any:
        raise URLError("Name or service not known")

    for module in (subprocess_server, prism_runner):
        monkeypatch.setattr(module, "urlopen", no_network)
    monkeypatch.setattr(prism_runner.PrismRunner, "shared_handle", shared.Shared())
    monkeypatch.setattr(subprocess_server.JavaJarServer, "JAR_CACHE", str(tmp_path))
    monkeypatch.setattr(prism_runner.PrismJobServer, "BIN_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--runner=FlinkRunner"], "--flink_job_server_jar FILE"),
        (["--runner=SparkRunner"], "--spark_job_server_jar FILE"),
        (["--runner=PrismRunner"], "--prism_location FILE"),
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
)
def test_what_is_missing_is_told(flags: list[str], said: str) -> None:
    found = refused(*flags)
    assert said in found
    if said.endswith(" FILE") and said.startswith("--"):
        assert found.startswith(f"--runner {flags[0].partition('=')[2]}: Unable to fetch remote ")


def test_java_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "server.jar").write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    said = refused("--runner=FlinkRunner", f"--flink_job_server_jar={tmp_path}/server.jar")
    assert said == "--runner FlinkRunner: it needs Java; install a Java runtime, or set JAVA_HOME"


def test_a_defect_is_none_of_these() -> None:
    assert launch.start_problem("DirectRunner", ValueError("x")) is None
    assert launch.start_problem("FlinkRunner", AttributeError("x")) is None


def test_a_folder_of_dataflow_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def check(paths: Any) -> None:
        asked.extend(paths)
        raise UsageError("not reachable")

    monkeypatch.setattr(launch, "check_reachable", check)
    flags = ("--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://bucket/temp")
    assert (refused(*flags), asked[0]) == ("not reachable", "gs://bucket/temp")
