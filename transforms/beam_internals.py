"""What the project uses of Apache Beam that Beam does not promise to keep.

Everything else in the project goes by Beam's public interface, so a new version of Beam can only break these functions;
their tests say which.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from apache_beam.io.aws.clients.s3.messages import S3ClientError
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.worker import sdk_worker_main
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from .process import Shared

__all__ = [
    "STORE_ERRORS",
    "file_system_options_restored",
    "list_prefix",
    "local_runner",
    "option_names",
    "option_parser",
    "run_worker",
    "worker_environment",
]


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

    The DirectRunner first tries to download and start another program, on which a local run must not depend.
    """
    encoded = JobServiceHandle.encode_pipeline_options(options.get_all_options())
    info = fn_runner.ExtendedProvisionInfo(beam_provision_api_pb2.ProvisionInfo(pipeline_options=encoded))
    return FnApiRunner(default_environment=environment, provision_info=info)


@contextlib.contextmanager
def _options_restored() -> Iterator[None]:
    options = FileSystems._pipeline_options
    try:
        yield
    finally:
        FileSystems.set_options(options)


file_system_options_restored = Shared(_options_restored)
"""Sets the options of Beam's filesystems back, which each pipeline sets to its own."""


def worker_environment(command_line: str) -> Any:
    """Returns the environment of workers that the local runner starts by a command line."""
    return SubprocessSDKEnvironment.from_command_string(command_line)


def run_worker(arguments: list[str]) -> None:
    """Runs Beam's worker in this process until its runner has no more to do."""
    sdk_worker_main.main(arguments)
