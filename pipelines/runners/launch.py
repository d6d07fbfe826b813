"""Runs a pipeline on the runner of the options, and reports errors in one line."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    DirectOptions,
    GoogleCloudOptions,
    PipelineOptions,
    SetupOptions,
    StandardOptions,
    WorkerOptions,
)

from ...metrics.common.text import nearest
from ...transforms.beam_internals import (
    file_system_options_restored,
    local_runner,
    option_names,
    option_parser,
    shared_clients,
    worker_environment,
)
from ...transforms.blocks import IN_PIPELINE, BlockFolder
from ...transforms.io.storage import reason_of
from ...transforms.process import one_blas_thread, quiet_root_logger, temporary_folder
from ..config.errors import UsageError, as_input_errors, unknown_option
from .lifetime import remove_folder, stop_if_worker_ends, worker_command
from .reachable import cancel_job, check_addresses, check_reachable

MANY_CORES = 4
MUCH_INPUT = 64 << 20

LOCAL_RUNNERS = (None, "DirectRunner", "FnApiRunner")


@contextlib.contextmanager
def run_in_this_process() -> Iterator[None]:
    """Prepares this process for running Beam within this block, and restores its state at the end."""
    with quiet_root_logger, shared_clients, file_system_options_restored:
        yield


def beam_options(flags: Sequence[str], ours: Sequence[str] = ()) -> PipelineOptions:
    """Returns the options of the Beam pipeline for `flags`.

    ours: the options of the command, for hints. Raises UsageError if Beam has no such option: it would ignore a
    mistyped flag.
    """
    parser = option_parser()
    try:
        _, unknown = parser.parse_known_args(list(flags))
    except (argparse.ArgumentError, SystemExit) as error:
        raise UsageError(f"{' '.join(flags)}: {error}") from error
    if unknown:
        raise unknown_option(unknown[0], ours, option_names(parser))
    options = PipelineOptions(list(flags))
    _name_runner(options.view_as(StandardOptions))
    setup = options.view_as(SetupOptions)
    if setup.save_main_session is None:
        # Workers have the package; Dataflow's runner would pickle the calling script anyway.
        setup.save_main_session = False
    if not is_local(options):
        # Beam's workers import it at their start.
        setup.beam_plugins = [*(setup.beam_plugins or []), CLUSTER_WORKER]
    return options


def _name_runner(options: StandardOptions) -> None:
    """Sets the full name of the runner: Beam accepts names in any case and without the suffix, such as `flink`.

    Raises UsageError if Beam has no such runner; a runner with a module path is left to Beam.
    """
    runner = options.runner
    if runner is None or "." in runner:
        return
    known = {name.lower(): name for name in StandardOptions.KNOWN_RUNNER_NAMES if name not in NOT_FOR_US}
    name = known.get(runner.lower()) or known.get(f"{runner.lower()}runner")
    if name is None:
        hint = nearest(runner, list(known.values()))
        raise UsageError(f"--runner {runner}: Beam has no such runner{hint}; there are {', '.join(known.values())}")
    options.runner = name


NOT_FOR_US = ("BundleBasedDirectRunner",)
"""Runners of Beam that cannot split a file."""
CLUSTER_WORKER = "beamscore.pipelines.runners.cluster_worker"


def is_local(options: PipelineOptions) -> bool:
    """Returns whether the pipeline runs on this machine, under this command."""
    return options.view_as(StandardOptions).runner in LOCAL_RUNNERS


def runner_name(options: PipelineOptions) -> str:
    """Returns the name of the runner; DirectRunner for a local run, whatever its number of workers."""
    return str(options.view_as(StandardOptions).runner or "DirectRunner")


def path_for_workers(options: PipelineOptions, path: str) -> str:
    """Returns a path that is valid in the workers: those of a cluster have a different current folder."""
    return path if is_local(options) else _from_root(path)


def files_for_workers(options: PipelineOptions, files: Iterable[Any]) -> list[Any]:
    """Returns files with a `path` that is valid in the workers; the options, slow to query, are queried once."""
    if is_local(options):
        return list(files)
    return [replace(file, path=_from_root(file.path)) for file in files]


def _from_root(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def block_folder(pipeline: beam.Pipeline) -> BlockFolder:
    """Returns where a pipeline stores its blocks: if local, in the folder that is removed with it."""
    return BlockFolder(pipeline.local_tempdir) if is_local(pipeline.options) else IN_PIPELINE


def name_job(options: PipelineOptions, command: str, run_id: str) -> None:
    """Names the job of a cluster: people find the job by its name, and `run` cancels it by its name.

    A name from the options is unchanged on Dataflow, which never runs two jobs of the same name. Other runners get the
    run_id as a suffix, so that no other job has the name.
    """
    cloud = options.view_as(GoogleCloudOptions)
    if is_local(options) or (cloud.job_name and runner_name(options) == "DataflowRunner"):
        return
    cloud.job_name = f"{cloud.job_name or f'beamscore-{command}'}-{run_id}"


def is_detached(options: PipelineOptions) -> bool:
    """Returns whether the command hands its job over and ends before the job does.

    This is the case with --no_wait_until_finish, and in the launcher of a Dataflow template, which starts the job only
    after the program has ended.
    """
    handed_over = options.view_as(GoogleCloudOptions).template_location
    return not is_local(options) and bool(handed_over or options.view_as(StandardOptions).no_wait_until_finish)


def run(
    options: PipelineOptions, build: Callable[[beam.Pipeline], Any], abandon: Callable[[], None] = lambda: None
) -> beam.runners.runner.PipelineResult:
    """Builds and runs a pipeline, and waits for its end; a job that is interrupted is cancelled.

    abandon: called before the job is cancelled, as a remote cancellation may be slow, or fail.

    Raises UsageError if an input turns out to be wrong during the run.
    """
    result = None
    try:
        result = submit(options, build)
        with as_input_errors():
            state = result.wait_until_finish()
    except KeyboardInterrupt:
        # The last callback runs first; each one runs even if others fail.
        with contextlib.ExitStack() as stack:
            stack.callback(cancel_job, options)
            if result is not None:
                stack.callback(result.cancel)
            stack.callback(abandon)
        raise
    if state is not None and state != beam.runners.runner.PipelineState.DONE:
        raise RuntimeError(f"the pipeline ended in the state {state}; see the runner's log")
    return result


def submit(options: PipelineOptions, build: Callable[[beam.Pipeline], Any]) -> beam.runners.runner.PipelineResult:
    """Builds a pipeline and starts it; a local run has then ended, a remote one goes on.

    Raises UsageError if nothing answers at an address in the options, the runner lacks one of its programs, there is no
    temporary folder, or an input turns out to be wrong during the run.
    """
    if not is_local(options):
        check_addresses(options)
        cloud = options.view_as(GoogleCloudOptions)
        # Beam retries a folder of Dataflow that does not answer for many minutes.
        check_reachable(path for path in (cloud.temp_location, cloud.staging_location, cloud.template_location) if path)
    with as_input_errors():
        # Beam's pipelines also have a folder there.
        temporary_folder()
    with as_input_errors(), _worker_environment(options) as environment, contextlib.ExitStack() as stack:
        pipeline = empty_pipeline(options, environment)
        # Beam removes this folder of a pipeline only if the pipeline runs.
        stack.callback(remove_folder, pipeline.local_tempdir)
        build(pipeline)
        try:
            with one_blas_thread if is_local(options) else contextlib.nullcontext():
                return pipeline.run()
        except (RuntimeError, ValueError, NotImplementedError, OSError) as error:
            name = runner_name(options)
            if name not in START_SERVERS:
                raise
            raise UsageError(f"--runner {name}: {reason_of(error).split('. ')[0]}; {_START}") from error


START_SERVERS = ("FlinkRunner", "SparkRunner", "KafkaStreamsRunner", "PrismRunner", "PortableRunner")
"""Runners whose job server Beam starts, or gets from an option."""
_START = (
    "it needs Java and its job server (such as --flink_job_server_jar FILE), its program (--prism_location FILE), "
    "or the address of one that runs (--runner PortableRunner --job_endpoint HOST:PORT)"
)


def empty_pipeline(options: PipelineOptions, environment: Any) -> beam.Pipeline:
    """Returns an empty pipeline; raises UsageError if the runner is unavailable, or options conflict."""
    try:
        # Otherwise the options name the runner.
        runner = local_runner(options, environment) if is_local(options) else None
        return beam.Pipeline(runner=runner, options=options)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"--runner {runner_name(options)}: {reason_of(error)}") from error


def use_processes(options: PipelineOptions, processes: int | None, input_bytes: int) -> None:
    """Makes a local run use several worker processes, unless the options of Beam set how to run it.

    processes: their number; None: one for each core if the input is large and there are many cores. Otherwise starting
    processes and communicating with them costs more than it gains.
    """
    direct = options.view_as(DirectOptions)
    if not is_local(options) or direct.direct_running_mode != "in_memory" or direct.direct_num_workers != 1:
        return
    if processes is None:
        cores = os.cpu_count() or 1
        processes = cores if cores >= MANY_CORES and input_bytes >= MUCH_INPUT else 1
    if processes > 1:
        direct.direct_running_mode = "multi_processing"
        direct.direct_num_workers = processes


@contextlib.contextmanager
def _worker_environment(options: PipelineOptions) -> Iterator[Any]:
    """Yields the environment that starts our worker processes if the options request processes, else None.

    The runner would otherwise start Beam's worker, so the option is removed within this block.
    """
    direct = options.view_as(DirectOptions)
    if not is_local(options) or direct.direct_running_mode != "multi_processing":
        yield None
        return
    direct.direct_running_mode = None
    try:
        with worker_command() as command_line, stop_if_worker_ends():
            yield worker_environment(command_line)
    finally:
        direct.direct_running_mode = "multi_processing"


def quiet_workers(options: PipelineOptions, verbose: bool) -> None:
    """Keeps the log of local worker processes off the console, unless the options set a log level."""
    worker = options.view_as(WorkerOptions)
    if is_local(options) and not verbose and worker.default_sdk_harness_log_level is None:
        worker.default_sdk_harness_log_level = "CRITICAL"
