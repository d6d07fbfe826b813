"""A runner that lacks what it needs is told in one line, with the options that give it; a defect stays one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import URLError

import apache_beam as beam
import pytest
from apache_beam.runners.portability import prism_runner
from apache_beam.utils import shared, subprocess_server

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import launch


def submit(*flags: str) -> str:
    """Returns the one line of a job that cannot be started."""
    with pytest.raises(UsageError) as problem:
        launch.submit(launch.beam_options(list(flags)), lambda pipeline: pipeline | beam.Create([1]))
    assert "\n" not in str(problem.value)
    return str(problem.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--runner=FlinkRunner", "--runner FlinkRunner: Unable to fetch remote "),
        ("--runner=SparkRunner", "--runner SparkRunner: Unable to fetch remote "),
        ("--runner=FlinkRunner --flink_job_server_jar=/none", 'Unable to parse jar URL "/none"'),
        ("--runner=FlinkRunner --flink_job_server_jar=JAR", "--runner FlinkRunner: "),
        ("--runner=PrismRunner --prism_location=/none", "--runner PrismRunner: Unable to parse binary URL"),
        ("--runner=PortableRunner", "--runner PortableRunner: "),
    ],
)
def test_what_is_missing_is_told(flags: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a network, caches, Java, or the job server of Prism, which Beam keeps for all runs of a process."""

    def no_network(*_: object, **__: object) -> Any:
        raise URLError("Name or service not known")

    for module in (subprocess_server, prism_runner):
        monkeypatch.setattr(module, "urlopen", no_network)
    monkeypatch.setattr(prism_runner.PrismRunner, "shared_handle", shared.Shared())
    monkeypatch.setattr(subprocess_server.JavaJarServer, "JAR_CACHE", str(tmp_path))
    monkeypatch.setattr(prism_runner.PrismJobServer, "BIN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "server.jar").write_bytes(b"")
    found = submit(*flags.replace("JAR", str(tmp_path / "server.jar")).split())
    assert said in found
    assert all(each in found for each in ("Java", "--flink_job_server_jar", "--prism_location", "--job_endpoint"))


@pytest.mark.parametrize(("flags", "error"), [((), ValueError), (("--runner=FlinkRunner",), AttributeError)])
def test_a_defect_is_none_of_these(
    flags: tuple[str, ...], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise error("x")

    monkeypatch.setattr(beam.Pipeline, "run", fail)
    with pytest.raises(error, match=r"^x$"):
        launch.submit(launch.beam_options(list(flags)), lambda pipeline: pipeline | beam.Create([1]))


def test_a_folder_of_dataflow_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(paths: Any) -> None:
        raise UsageError(f"not reachable: {next(iter(paths))}")

    monkeypatch.setattr(launch, "check_reachable", check)
    flags = ("--runner=DataflowRunner", "--project=p", "--region=r", "--temp_location=gs://bucket/temp")
    assert submit(*flags) == "not reachable: gs://bucket/temp"
