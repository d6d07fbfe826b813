"""Shared by the commands: running a pipeline that publishes, or one that writes records."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import apache_beam as beam
import msgspec
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.benchmark import Ability
from ...metrics.registry import usable_benchmarks
from ...transforms.counters import NAMESPACE
from ...transforms.io.publication import (
    Claim,
    Layout,
    LostClaim,
    Process,
    Published,
    cancel_run,
    find_published,
    heartbeat,
    own_output,
    owned_output,
)
from ...transforms.io.record_files import Columns, WriteRecords
from ...transforms.io.storage import exists, open_file, reason_of
from ...transforms.process import faults_end_the_bundle
from ...transforms.records import InputProblem, Quarantined, printable
from ..config.errors import UsageError, as_input_errors
from ..config.settings import Configuration
from ..runners import launch
from ..runs.numbers import count_of
from ..runs.run import Run
from .messages import DONE, FAILED, say, warn


def run_and_publish(
    options: PipelineOptions,
    build: Callable[[beam.Pipeline], Any],
    output: str,
    run_id: str,
    layout: Layout,
    on_success: Callable[[], object] = lambda: None,
) -> Published:
    """Runs a pipeline that publishes to the folder `output`, and returns its result.

    The run owns the output for that time. A run that fails leaves nothing in it. A job that goes on after an interrupt,
    until its runner has cancelled it, publishes nothing. on_success: called when the pipeline has finished.

    Raises UsageError if another run owns the output, or it cannot be written.
    """
    claim = Claim(run_id, Process.of(os.getpid()), "local" if launch.is_local(options) else "job")
    with as_input_errors(), owned_output(output, claim, layout), heartbeat(output, run_id):
        launch.run(options, build, partial(cancel_run, output, run_id))
        on_success()
        published = find_published(output, layout)
        if published is None or published.run_id != run_id:
            raise LostClaim(output)
        return published


def hand_over(
    options: PipelineOptions,
    build: Callable[[beam.Pipeline], Any],
    output: str,
    run_id: str,
    layout: Layout,
    note: str = "",
) -> int:
    """Starts a job that owns the folder `output` and publishes to it after this command has ended, and says so."""
    claim = Claim(run_id, Process.of(os.getpid()), "detached")
    with as_input_errors():
        own_output(output, claim, layout)
    try:
        launch.submit(options, build)
    except BaseException:
        with contextlib.suppress(OSError):
            cancel_run(output, run_id)
        raise
    print(f"the job continues without this command; its result will be in {output}{note}")
    return DONE


def write_records(
    parsed: argparse.Namespace,
    options: PipelineOptions,
    build: Callable[[beam.Pipeline], tuple[beam.PCollection, tuple[beam.PCollection, ...]]],
    inputs: Collection[str],
    columns: Columns,
    nothing: str = "",
    listed: int = 0,
) -> int:
    """Runs a pipeline that writes records to --output, prints how many and where, and returns 1 if any was rejected.

    build: returns the records and the lines of the list of rejected ones, both as WriteRecords accepts them; without
    such lines there is no list. inputs: the files that it reads; it may replace none of them. columns: see
    WriteRecords. nothing: the error message if there is no record to write; empty: that is no error. listed: how many
    samples of a run were asked for; fewer records bring a warning.

    If the command does not wait for the job, it prints nothing and returns 0: whether a record was written or rejected
    shows only in the files; the job replaces those of an earlier run.

    Raises UsageError if --output is not a file name.
    """
    if not parsed.output:
        raise UsageError("give --output FILE")
    path = launch.path_for_workers(options, parsed.output)
    write = WriteRecords(path, columns, nothing=nothing)
    rejected = WriteRecords(f"{write.path}.rejected.jsonl", {}, only_if_any=True)
    for output in (write, rejected):
        output.prepare(inputs)

    def build_all(pipeline: beam.Pipeline) -> None:
        records, lines = build(pipeline)
        write.folder = rejected.folder = launch.block_folder(pipeline)
        _ = (records | "Count" >> beam.Map(_counted),) | "Write" >> write
        _ = lines | "WriteRejected" >> rejected

    if launch.is_detached(options):
        launch.submit(options, build_all)
        return DONE
    try:
        result = launch.run(options, build_all)
    except BaseException:
        for output in (write, rejected):
            output.remove_leftovers()
        raise
    count = _count(result, launch.is_local(options))
    print(printable(write.path if count is None else f"{write.path}: {count_of(count, 'record')}"))
    if count is not None and count < listed:
        lacking = listed - count
        warn([f"{lacking:,} of {count_of(listed, 'listed sample')} {'is' if lacking == 1 else 'are'} not in the run"])
    if not exists(rejected.path):
        return DONE
    with open_file(rejected.path) as stream:
        lines = sum(1 for _ in stream)
    subject = "record or source was" if lines == 1 else "records or sources were"
    say(f"{lines} {subject} rejected; {rejected.path} says which and why")
    return FAILED


_COUNTER = "records_written"


def _counted(record: tuple[str, bytes]) -> tuple[str, bytes]:
    Metrics.counter(NAMESPACE, _COUNTER).inc()
    return record


def _count(result: Any, is_local: bool) -> int | None:
    """Returns the number of records that were written; None if a remote runner does not count."""
    counted = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE).with_name(_COUNTER))["counters"]
    return sum(each.result or 0 for each in counted) if counted or is_local else None


def require_rows(run: Run) -> None:
    """Raises UsageError if a run has no file of rows; a run without samples has an empty one."""
    if not run.rows:
        raise UsageError(f"{run.path}: the rows of the run are missing: samples/ holds no samples-*.parquet")


def read_quarantine(path: str) -> Iterator[Quarantined]:
    """Yields the entries of a file of the quarantine of a finished run; raises InputProblem if it is damaged."""
    try:
        with open_file(path) as stream:
            for line in stream:
                yield msgspec.json.decode(line, type=Quarantined)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputProblem(f"{path}: cannot be read as a file of a finished run: {reason_of(error)}") from error


def unsupported(ability: Ability, name: str) -> UsageError:
    """Returns the error of a command that needs an ability that the benchmark `name` lacks."""
    supporting = [each for each, kind in usable_benchmarks().items() if ability in kind.abilities()]
    return UsageError(f"{ability} does not support the benchmark {name}, only {', '.join(supporting)}")


def check_tools(configuration: Configuration, options: PipelineOptions | None = None) -> None:
    """Raises UsageError if the workers lack what the benchmark needs: a program, or a file that only we have.

    options: those of the run; None: it runs on this machine.
    """
    if options is not None and not launch.is_local(options):
        if file := configuration.benchmark.file:
            raise UsageError(
                f"{file}: the workers of a cluster do not have this file; install the benchmark there as a package "
                "(see docs/how-to/new_benchmark.md), or leave --runner out"
            )
        return
    with as_input_errors(), faults_end_the_bundle("the start of scoring"):
        try:
            configuration.benchmark.setup()
        finally:
            configuration.benchmark.teardown()
