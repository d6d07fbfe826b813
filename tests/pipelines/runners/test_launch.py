"""How a pipeline is run, and on which runner; one that lacks what it needs is told in one line."""

import contextlib
import errno
import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call
from urllib.error import URLError

import apache_beam as beam
import pytest
from apache_beam.options import pipeline_options
from apache_beam.runners.portability import prism_runner
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.runner import PipelineState
from apache_beam.utils import shared, subprocess_server

from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.runners import launch
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.blocks import IN_PIPELINE, BlockFolder
from beamscore.transforms.io.files import SourceFile
from beamscore.transforms.io.publication import Published
from beamscore.transforms.records import InputProblem

FLINK, DATAFLOW = "--runner=FlinkRunner", "--runner=DataflowRunner"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "local", "workers"),
    [
        ([], True, 1),
        (["--runner", "FnApiRunner"], True, 1),
        (["--runner=direct", "--direct_num_workers=2"], True, 2),
        (["--runner=flink"], False, 1),
        ([DATAFLOW], False, 1),
    ],
)
def test_only_workers_elsewhere_get_our_plugin(flags: list[str], local: bool, workers: int, temporary: Path) -> None:
    options = launch.beam_options(flags)
    assert launch.is_local(options) == local
    assert options.view_as(pipeline_options.DirectOptions).direct_num_workers == workers
    plugins = options.view_as(pipeline_options.SetupOptions).beam_plugins
    assert (plugins or []) == ([] if local else [launch.CLUSTER_WORKER])
    if local or "flink" in flags[0]:
        pipeline = launch.empty_pipeline(options, None)
        assert isinstance(pipeline.runner, FnApiRunner) == local
        # Blocks of a cluster travel.
        assert (launch.block_folder(pipeline) == IN_PIPELINE) == (not local)
    for verbose, level in ((False, "CRITICAL" if local else None), (True, None)):
        options = launch.beam_options(flags)
        launch.quiet_workers(options, verbose)
        assert options.view_as(pipeline_options.WorkerOptions).default_sdk_harness_log_level == level
    options = launch.beam_options([*flags, "--default_sdk_harness_log_level=INFO"])
    launch.quiet_workers(options, verbose=False)
    assert options.view_as(pipeline_options.WorkerOptions).default_sdk_harness_log_level == "INFO"


def test_a_path_is_the_same_for_workers_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    for flags, path, known in (
        ([], "out/a", "out/a"),
        ([FLINK], "out/a", "/here/out/a"),
        ([FLINK], "../*.jsonl", "/*.jsonl"),
        ([FLINK], "/data/a", "/data/a"),
        ([DATAFLOW], "gs://bucket/a", "gs://bucket/a"),
    ):
        options = launch.beam_options(flags)
        assert launch.path_for_workers(options, path) == known
        file = SourceFile(0, 3, path, 7, "jsonl")
        assert launch.files_for_workers(options, (file,)) == [replace(file, path=known)]
        run = Run("run", Mock(), published=Published("", {"samples/0": path}))
        assert run.placed(partial(launch.path_for_workers, options)).rows == [known]


def run(build: Any = lambda pipeline: pipeline | beam.Create([1]), *more: Any, flags: tuple[str, ...] = ()) -> None:
    launch.run(launch.beam_options(list(flags)), build, *more)


def test_a_problem_of_the_input_is_one_of_usage_and_a_defect_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(error: Exception) -> None:
        raise error

    for error, kind in ((InputProblem("cut off"), UsageError), (ZeroDivisionError("cut off"), ZeroDivisionError)):
        with pytest.raises(kind, match=r"^cut off"):
            run(lambda pipeline, error=error: pipeline | beam.Create([error]) | beam.Map(fail))
    for flags, defect in (((), ValueError("x")), ((FLINK,), AttributeError("x"))):
        monkeypatch.setattr(beam.Pipeline, "run", Mock(side_effect=defect))
        with pytest.raises(type(defect), match=r"^x$"):
            run(flags=flags)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--runner=FlinkRunner", "--runner FlinkRunner: Unable to fetch remote "),
        ("--runner=FlinkRunner --flink_job_server_jar=/none", 'Unable to parse jar URL "/none"'),
        ("--runner=FlinkRunner --flink_job_server_jar=JAR", "--runner FlinkRunner: "),
        ("--runner=PrismRunner --prism_location=/none", "--runner PrismRunner: Unable to parse binary URL"),
        ("--runner=PortableRunner", "--runner PortableRunner: "),
    ],
)
def test_what_a_runner_lacks_is_told(flags: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a network, caches, Java, or the job server of Prism, which Beam keeps for all runs of a process."""
    for module in (subprocess_server, prism_runner):
        monkeypatch.setattr(module, "urlopen", Mock(side_effect=URLError("Name or service not known")))
    monkeypatch.setattr(prism_runner.PrismRunner, "shared_handle", shared.Shared())
    monkeypatch.setattr(subprocess_server.JavaJarServer, "JAR_CACHE", str(tmp_path))
    monkeypatch.setattr(prism_runner.PrismJobServer, "BIN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "server.jar").write_bytes(b"")
    with pytest.raises(UsageError) as problem:
        run(flags=tuple(flags.replace("JAR", str(tmp_path / "server.jar")).split()))
    found = str(problem.value)
    assert (said in found, "\n" in found) == (True, False)
    assert all(each in found for each in ("Java", "--flink_job_server_jar", "--prism_location", "--job_endpoint"))


@pytest.mark.parametrize("state", [PipelineState.FAILED, PipelineState.CANCELLED])
def test_a_run_that_does_not_end_well_is_an_error(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam.Pipeline, "run", lambda _: SimpleNamespace(wait_until_finish=lambda: state))
    with pytest.raises(RuntimeError, match=f"ended in the state {state}"):
        run()


@pytest.mark.parametrize("problem", [None, OSError("the output is gone")])
def test_a_job_that_is_interrupted_is_cancelled(monkeypatch: pytest.MonkeyPatch, problem: OSError | None) -> None:
    """Otherwise it would go on. It is abandoned first, since it may publish before it is cancelled."""
    job = Mock()
    job.wait_until_finish.side_effect, job.abandon.side_effect = KeyboardInterrupt, problem
    monkeypatch.setattr(beam.Pipeline, "run", lambda _: job)
    with pytest.raises(OSError if problem else KeyboardInterrupt):
        run(lambda pipeline: pipeline | beam.Create([1]), job.abandon)
    assert job.mock_calls == [call.wait_until_finish(), call.abandon(), call.cancel()]


def test_a_job_elsewhere_has_a_name_and_is_left_where_it_is_asked_for() -> None:
    for flags, name, detached in (
        ([], None, False),
        (["--no_wait_until_finish"], None, False),
        ([FLINK], "beamscore-evaluate-1", False),
        ([DATAFLOW], "beamscore-evaluate-1", False),
        # Dataflow runs no two jobs of one name. On Flink another job may have it, and must not be cancelled.
        ([DATAFLOW, "--job_name=nightly", "--template_location=gs://bucket/job"], "nightly", True),
        ([FLINK, "--job_name=nightly", "--no_wait_until_finish"], "nightly-1", True),
    ):
        options = launch.beam_options(flags)
        launch.name_job(options, "evaluate", "1")
        found = options.view_as(pipeline_options.GoogleCloudOptions).job_name
        assert (found, launch.is_detached(options)) == (name, detached)


@pytest.mark.parametrize(
    ("flags", "processes", "cores", "megabytes", "mode", "workers"),
    [
        ([], None, 4, 64, "multi_processing", 4),
        ([], None, 8, 63, "in_memory", 1),
        ([], None, 3, 100, "in_memory", 1),
        ([], 1, 8, 100, "in_memory", 1),
        ([], 2, 2, 1, "multi_processing", 2),
        (["--direct_running_mode=multi_threading"], 3, 8, 100, "multi_threading", 1),
        (["--direct_num_workers=2"], None, 8, 100, "in_memory", 2),
        ([FLINK], None, 8, 100, "in_memory", 1),
    ],
)
def test_a_local_run_uses_a_process_for_each_core_where_that_pays(
    flags: Any, processes: Any, cores: int, megabytes: int, mode: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    options = pipeline_options.PipelineOptions(flags)
    launch.use_processes(options, processes, megabytes << 20)
    direct = options.view_as(pipeline_options.DirectOptions)
    assert (direct.direct_running_mode, direct.direct_num_workers) == (mode, workers)


def test_without_a_temporary_folder_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    monkeypatch.setattr("tempfile.gettempdir", Mock(side_effect=error))
    with pytest.raises(UsageError, match=r"there is no folder for temporary files: No usable .*; set .* TMPDIR to a"):
        run()


@pytest.mark.parametrize("error", [InputProblem("file 1: cut off"), KeyboardInterrupt()])
def test_the_folder_of_blocks_goes_with_the_pipeline(temporary: Path, error: BaseException) -> None:
    """Also where a worker that outlives the command writes on, as here a thread."""
    folders: list[BlockFolder] = []
    stop, threads = threading.Event(), []

    def write_on() -> None:
        with contextlib.suppress(InputProblem):
            while not stop.is_set():
                folders[0].write([(b"x", b"x")])

    def build(pipeline: beam.Pipeline) -> None:
        folders.append(launch.block_folder(pipeline))
        folders[0].write([(b"x", b"x")])
        threads.append(threading.Thread(target=write_on))
        threads[0].start()
        assert list(temporary.iterdir()) != []
        raise error

    try:
        with pytest.raises((UsageError, KeyboardInterrupt)):
            run(build)
        threads[0].join(10)
        assert not threads[0].is_alive()
        assert list(temporary.iterdir()) == []
    finally:
        stop.set()
