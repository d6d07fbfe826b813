"""What the project uses of Apache Beam that Beam does not promise to keep.

Everything else in the project goes by Beam's public interface, so a new version of Beam can only break these functions;
their tests say which.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator
from types import MethodType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from apache_beam.io.aws.clients.s3.messages import S3ClientError
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, execution, fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.worker import sdk_worker_main
from apache_beam.transforms import core
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from . import heap
from .process import Shared

__all__ = [
    "STORE_ERRORS",
    "OptionsWithViews",
    "file_system_options_restored",
    "list_prefix",
    "local_runner",
    "option_names",
    "option_parser",
    "patched_internals",
    "run_worker",
    "worker_environment",
]


OptionsT = TypeVar("OptionsT", bound=PipelineOptions)

_GOOGLE_ERRORS = {
    "google.api_core.exceptions": ("GoogleAPIError",),
    "google.auth.exceptions": ("GoogleAuthError",),
    "google.cloud.storage.exceptions": ("InvalidResponse", "DataCorruption"),
    "google.resumable_media": ("InvalidResponse", "DataCorruption"),
}


def _store_errors() -> tuple[type[Exception], ...]:
    found: list[type[Exception]] = [S3ClientError]
    for module, names in _GOOGLE_ERRORS.items():
        with contextlib.suppress(ImportError):
            found += [getattr(importlib.import_module(module), name) for name in names]
    return tuple(dict.fromkeys(found))


STORE_ERRORS = _store_errors()
"""What clients of object stores raise through Beam's filesystems; the one of Google Cloud may not be installed."""


def list_prefix(prefix: str) -> list[Any]:
    """Returns the metadata of the files whose paths start with `prefix`, right below it where there are folders.

    `FileSystems.match` accepts patterns only, and no character of a pattern can be quoted.
    """
    return [entry for entry in FileSystems.get_filesystem(prefix)._list(prefix) if entry.path.startswith(prefix)]


class OptionsWithViews(PipelineOptions):
    """Options that make each view of theirs once.

    Beam asks for a view of some kind several times for each transform of a pipeline, and parses all flags each time: a
    fifth of what building and starting a pipeline takes.
    """

    def view_as(self, cls: type[OptionsT]) -> OptionsT:
        """Returns the view of a kind."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        view: OptionsT = views[cls]
        return view


def option_parser() -> argparse.ArgumentParser:
    """Returns a parser of every option that Beam knows; an option that two of Beam's classes declare is there once.

    `PipelineOptions` ignores flags that it does not know.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for kind in [PipelineOptions, *_subclasses(PipelineOptions)]:
        add = vars(kind).get("_add_argparse_args")
        if add is not None:
            with contextlib.suppress(argparse.ArgumentError):
                add.__get__(None, kind)(parser)
    return parser


def option_names(parser: argparse.ArgumentParser) -> list[str]:
    """Returns the names of the options of a parser, such as `--runner`."""
    return [name for action in parser._actions for name in action.option_strings]


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for child in type.__subclasses__(kind):
        yield child
        yield from _subclasses(child)


def local_runner(options: PipelineOptions, environment: Any = None) -> Any:
    """Returns Beam's in-process runner, whose workers are started in `environment` and know the options.

    The DirectRunner first tries to download and start another program, on which a local run must not depend. It takes
    less memory and time within `patched_internals`.
    """
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    info = fn_runner.ExtendedProvisionInfo(beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded))
    return FnApiRunner(default_environment=environment, provision_info=info)


@contextlib.contextmanager
def _patched() -> Iterator[None]:
    core.get_function_args_defaults = _arguments_and_defaults
    execution.GroupingBuffer.partition = _partition_in_pieces
    fn_runner.BundleManager._send_input_to_worker = _send_in_pieces
    try:
        yield
    finally:
        core.get_function_args_defaults = _inspect
        execution.GroupingBuffer.partition = _partition
        fn_runner.BundleManager._send_input_to_worker = _send


patched_internals = Shared(_patched)
"""Makes the local runner take less memory and time within; see the functions below."""


@contextlib.contextmanager
def _options_restored() -> Iterator[None]:
    options = FileSystems._pipeline_options
    try:
        yield
    finally:
        FileSystems.set_options(options)


file_system_options_restored = Shared(_options_restored)
"""Sets the options of Beam's filesystems back, which each pipeline sets to its own."""

_inspect = core.get_function_args_defaults
_INSPECTED: WeakKeyDictionary[Callable[..., Any], tuple[list[str], list[Any]]] = WeakKeyDictionary()


def _arguments_and_defaults(function: Callable[..., Any]) -> tuple[list[str], list[Any]]:
    """Returns what `core.get_function_args_defaults` returns, but looks at a method of a class once.

    Beam looks at all methods of each DoFn several times for each stage: a quarter of what a short run takes.
    """
    if not isinstance(function, MethodType):
        return _inspect(function)  # type: ignore[no-any-return]
    method = function.__func__
    if method not in _INSPECTED:
        _INSPECTED[method] = _inspect(function)
    arguments, defaults = _INSPECTED[method]
    return list(arguments), list(defaults)


_partition = execution.GroupingBuffer.partition
_PIECES = 64


def _partition_in_pieces(buffer: Any, parts: int) -> list[list[bytes]]:
    """Returns what `GroupingBuffer.partition` returns, encoded groups in `parts` lists, but makes it piece by piece.

    Beam's own encodes all groups into one stream, which doubles as it grows, and copies it, beside the groups: four
    times the shuffled bytes at once. Here a piece of the groups is forgotten once it is encoded.
    """
    groups = buffer._table
    if buffer._grouped_output or not groups:
        return _partition(buffer, parts)  # type: ignore[no-any-return]
    heap.trim()
    partitioned: list[list[bytes]] = [[] for _ in range(parts)]
    keys = list(groups)
    size = -(-len(keys) // max(_PIECES, parts))
    for number, start in enumerate(range(0, len(keys), size)):
        buffer._table = {key: groups.pop(key) for key in keys[start : start + size]}
        partitioned[number % parts] += _partition(buffer, 1)[0]
        buffer._grouped_output = None
    buffer._table = {}
    heap.trim()
    found = buffer._grouped_output = [part or [b""] for part in partitioned]
    return found


_send = fn_runner.BundleManager._send_input_to_worker


def _send_in_pieces(manager: Any, bundle: str, transform: str, pieces: Iterable[bytes] | None) -> None:
    """Sends a worker its input, as `BundleManager._send_input_to_worker` does, but in messages of some 10 MB.

    Beam's own makes one message of all of it, four times as large while it is made; no message may have 2 GB.
    """
    stream = manager._worker_handler.data_conn.output_stream(bundle, transform)
    for piece in pieces or ():
        stream.write(piece)
        stream.maybe_flush()
    stream.close()


def worker_environment(command_line: str) -> Any:
    """Returns the environment of workers that the local runner starts by a command line."""
    return SubprocessSDKEnvironment.from_command_string(command_line)


def run_worker(arguments: list[str]) -> None:
    """Runs Beam's worker in this process until its runner has no more to do."""
    sdk_worker_main.main(arguments)
