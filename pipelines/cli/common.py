"""What the commands share: their parsers, their inputs, their exit codes."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import apache_beam as beam
import shtab
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from ...metrics.benchmark import Ability
from ...metrics.registry import benchmark_class, benchmark_names
from ...transforms.faults import faults_end_the_bundle
from ...transforms.io.claim import DETACHED_LEASE_S, Claim, Process, heartbeat
from ...transforms.io.publication import own_output, owned_output
from ...transforms.io.published import Layout, Published, TakenOver, find_published
from ...transforms.io.record_files import WriteRecords
from ...transforms.io.staging import mark_abandoned
from ...transforms.io.storage import STORAGE_ERRORS, file_version
from ...transforms.records import InputProblem, printable
from ..config.errors import UsageError
from ..config.explain import not_positive
from ..config.settings import Configuration
from ..config.systems import DEFAULT_SYSTEM
from ..runtime import launch
from .interrupt import explained
from .messages import say

_NAMED = re.compile(r"([A-Za-z0-9_.-]+)=(.*)", re.DOTALL)

DONE, FAILED, WRONG_USAGE, CRASHED, INCONCLUSIVE, INTERRUPTED = 0, 1, 2, 3, 4, 130


class Parser(argparse.ArgumentParser):
    """An argument parser that ends with one line."""

    _starts_with_option = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses arguments, of which a CONFIG may stand behind globs, which would be taken for one more."""
        return super().parse_known_args(None if args is None else self._config_first(list(args)), namespace)

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of ending the process."""
        if "required: CONFIG" in message and self._starts_with_option:
            message += "; give it first, as --ground-truth and --predictions take all paths that follow them"
        raise UsageError(f"{message}; see {self.prog} --help")

    def _config_first(self, args: list[str]) -> list[str]:
        takes_config = any(action.dest == "config" for action in self._actions)
        self._starts_with_option = takes_config and args[:1] != [] and args[0].startswith("-")
        if not self._starts_with_option:
            return args
        for index in range(2, len(args)):
            is_config = args[index] in benchmark_names() or args[index].endswith((".yaml", ".yml"))
            if is_config and not args[index - 1].startswith("-"):
                return [args[index], *args[:index], *args[index + 1 :]]
        return args


class Globs(argparse.Action):
    """Adds the globs that follow an option, one or several, to those given before."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`."""
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *values])


class NamedGlobs(Globs):
    """Adds globs that may have a name, NAME=GLOB: one without belongs to the name before it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`, each with its name."""
        named: list[str] = []
        name = ""
        for value in values:
            found = _NAMED.match(value)
            name = f"{found[1]}=" if found else name
            named.append(value if found else name + value)
        super().__call__(parser, namespace, named, option_string)


class SystemGlobs(NamedGlobs):
    """Adds the globs of systems.

    Several paths that follow one option, none of them a pattern and none with a name, may be what the shell made of a
    pattern: `notes` of the namespace says what they are taken for.
    """

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Adds `values`, each with its name."""
        if len(values) > 1 and not any(_NAMED.match(value) or re.search(r"[*?[]", value) for value in values):
            text = f"--predictions: {len(values)} paths without a name are one system; NAME=PATH makes one of each"
            namespace.notes = [*getattr(namespace, "notes", []), text]
        super().__call__(parser, namespace, values, option_string)


def add_command(commands: Any, name: str, run: Callable[..., int], text: str) -> argparse.ArgumentParser:
    """Adds a command that `run` carries out."""
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    command.add_argument("--verbose", action="store_true", help="show the log of Beam too")
    command.add_argument(
        "--log-format", choices=["text", "json"], default="text", help="how messages are written (default: text)"
    )
    command.set_defaults(command=run)
    command.epilog = "Any option of a Beam pipeline may follow, such as --runner or --direct_num_workers."
    return command


def add_config(command: argparse.ArgumentParser) -> None:
    """Adds the configuration and what overrides it."""
    config = command.add_argument("config", metavar="CONFIG", help="a YAML file, or the name of a benchmark")
    config.complete = shtab.FILE  # type: ignore[attr-defined]
    command.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="set a key of the config")


def add_ground_truth(command: argparse.ArgumentParser) -> None:
    """Adds the ground truth."""
    command.add_argument(
        "--ground-truth",
        metavar="GLOB",
        action=Globs,
        nargs="+",
        default=[],
        help="files of records, or a folder of them",
    )


def add_predictions(command: argparse.ArgumentParser, of_several: str) -> None:
    """Adds the predictions; of_several: what the command does with several systems."""
    command.add_argument(
        "--predictions",
        metavar="[NAME=]GLOB",
        action=SystemGlobs,
        nargs="+",
        default=[],
        help=f"the files of a system; {of_several}",
    )


def run_and_publish(
    options: PipelineOptions,
    build: Callable[[beam.Pipeline], Any],
    output: str,
    run_id: str,
    layout: Layout,
    on_result: Callable[[Any], None] = lambda _: None,
) -> Published:
    """Runs a pipeline that publishes to the folder `output`, and returns its result.

    The run owns the output for that time. Of a run that fails, nothing stays there. A job that goes on after an
    interrupt, until its runner has cancelled it, publishes nothing. on_result: takes the result of the pipeline.

    Raises UsageError where another run owns the output, or it cannot be written.
    """
    claim = Claim(run_id, Process.of(os.getpid()), is_job=not launch.is_local(options))
    with (
        _in_words(),
        explained(partial(_held, output, run_id, layout)),
        owned_output(output, claim, layout),
        heartbeat(output, run_id),
    ):
        on_result(launch.run(options, build, partial(mark_abandoned, output, run_id)))
        found = find_published(output, layout)
        if found is None or found.run_id != run_id:
            raise TakenOver(output)
        return found


def without_page(code: int, page: str, problem: str | None, instead: str) -> int:
    """Returns the exit code of a command whose page could not be made, if there is a problem, and says so."""
    if problem is None:
        return code
    say("ERROR", printable(f"{page} could not be made: {problem}; {instead} has the result"))
    return code or CRASHED


def _held(output: str, run_id: str, layout: Layout) -> str:
    """Returns what an output holds after a run that was interrupted."""
    try:
        found = find_published(output, layout)
    except STORAGE_ERRORS:
        return f"{output} cannot be read, to tell whether it holds the earlier result or the new one"
    if found is None:
        return f"{output} holds no result"
    if found.run_id == run_id:
        return f"{output} holds the new result, whole"
    return f"{output} holds the earlier result, as it was"


def hand_over(
    options: PipelineOptions, build: Callable[[beam.Pipeline], Any], output: str, run_id: str, layout: Layout
) -> None:
    """Starts a job that publishes to the folder `output`, which it owns, when this command has ended."""
    claim = Claim(run_id, Process.of(os.getpid()), is_job=True, detached=True, lease_s=DETACHED_LEASE_S)
    with _in_words():
        own_output(output, claim, layout)
    try:
        launch.submit(options, build)
    except BaseException:
        with contextlib.suppress(*STORAGE_ERRORS):
            mark_abandoned(output, run_id)
        raise


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except InputProblem as error:
        raise UsageError(error.message) from error


def add_record_output(command: argparse.ArgumentParser) -> None:
    """Adds the file of records that a command writes."""
    command.add_argument("--output", metavar="FILE", help="ends with .jsonl, .jsonl.gz, .jsonl.zst or .parquet")
    command.add_argument(
        "--shards", metavar="N", type=int, default=1, help="write N files, numbered before the ending (default: 1)"
    )


def write_records(
    options: PipelineOptions,
    build: Callable[[beam.Pipeline], Any],
    inputs: Collection[str],
    write: WriteRecords,
    rejected: WriteRecords | None,
) -> int:
    """Runs a pipeline that writes records, and prints where they are; 1 where anything was rejected.

    inputs: the files that it reads, none of which it may replace. rejected: where the pipeline lists what it rejects;
    there is no list where there is nothing to list. Where the command leaves before the job ends, the list tells by
    itself: one of an earlier run is removed by the job.
    """
    outputs = [write] if rejected is None else [write, rejected]
    for output in outputs:
        output.prepare(inputs)
    if launch.is_detached(options):
        launch.submit(options, build)
        return DONE
    before = file_version(write.path)
    with explained(lambda: _written(write, before)):
        try:
            launch.run(options, build)
        except BaseException:
            for output in outputs:
                output.remove_leftovers()
            raise
        write.remove_older()
    for path in write.paths:
        print(path)
    if rejected is None:
        return DONE
    if not FileSystems.exists(rejected.path):
        return DONE
    with FileSystems.open(rejected.path) as stream:
        count = sum(1 for _ in stream)
    these = "record or source was" if count == 1 else "records or sources were"
    say("ERROR", f"{count} {these} rejected; {rejected.path} says which and why", rejected=count)
    return FAILED


def _written(write: WriteRecords, before: object) -> str:
    """Returns what an output holds after a command that was interrupted. before: the version of it that was there."""
    if len(write.paths) > 1:
        return f"each file of {write.path} is as it was, or written as a whole"
    after = file_version(write.path)
    if after == before:
        return f"{write.path} is as it was" if before else f"{write.path} was not written"
    return f"{write.path} is written, whole"


def rejected_beside(write: WriteRecords) -> WriteRecords:
    """Returns the list of what was rejected, beside the records."""
    return WriteRecords(f"{write.path}.rejected.jsonl", {}, only_if_any=True)


@contextlib.contextmanager
def naming(option: str) -> Iterator[None]:
    """Puts the option that an input was given with before what is wrong with it."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option} {error}") from error


def warn(warnings: Iterable[str]) -> None:
    """Prints warnings, a line each, on standard error."""
    for warning in warnings:
        say("WARNING", printable(warning))


def systems(predictions: Sequence[str]) -> dict[str, list[str]]:
    """Returns the globs by system; a glob without a name belongs to DEFAULT_SYSTEM."""
    named: dict[str, list[str]] = {}
    for each in predictions:
        found = _NAMED.match(each)
        name, glob = (found.group(1), found.group(2)) if found else (DEFAULT_SYSTEM, each)
        named.setdefault(name, []).append(glob)
    return named


def positive(text: str) -> int:
    """Returns a whole number of at least 1; raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(not_positive(text))
    return int(text)


def unsupported(ability: Ability, name: str) -> UsageError:
    """Returns the error of a command that needs an ability which the benchmark called `name` lacks."""
    having = [each for each in benchmark_names() if ability in benchmark_class(each).abilities()]
    return UsageError(f"{ability} does not support the benchmark {name}, only {', '.join(having)}")


def check_tools(configuration: Configuration) -> None:
    """Raises UsageError where a program that the benchmark needs is missing on this machine."""
    with _in_words(), faults_end_the_bundle("the start of scoring"):
        try:
            configuration.benchmark.setup()
        finally:
            configuration.benchmark.teardown()
