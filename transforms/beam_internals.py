"""The non-public parts of Apache Beam that the project uses, and its client of S3 with what Beam omits.

Everything else in the project uses Beam's public interface, so a new version of Beam can only break these functions;
their tests show which.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import uuid
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, Any

from apache_beam.io.aws import s3io
from apache_beam.io.aws.clients.s3 import boto3_client, messages
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner, fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.worker import sdk_worker, sdk_worker_main
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from .process import Shared


def file_systems() -> Any:
    """Returns Beam's filesystems, with default options until a pipeline or a command sets its own: S3 needs some."""
    if FileSystems._pipeline_options is None:
        FileSystems.set_options(PipelineOptions([]))
    return FileSystems


def list_prefix(prefix: str) -> list[Any]:
    """Returns the metadata of the files whose paths start with `prefix`, only directly below it if there are folders.

    `FileSystems.match` accepts patterns only, and characters of a pattern cannot be escaped.
    """
    return [entry for entry in file_systems().get_filesystem(prefix)._list(prefix) if entry.path.startswith(prefix)]


def option_parser() -> argparse.ArgumentParser:
    """Returns a parser of every option that Beam knows; an option that two of Beam's classes declare is added once.

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


def local_runner(options: PipelineOptions, environment: Any) -> Any:
    """Returns Beam's in-process runner, whose workers are started in `environment` and know the options.

    The DirectRunner first tries to download and start a separate program; a local run must not depend on it.
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
"""Restores the options of Beam's filesystems, which each pipeline sets to its own."""


def worker_environment(command_line: str) -> Any:
    """Returns the environment of workers that the local runner starts by a command line."""
    return SubprocessSDKEnvironment.from_command_string(command_line)


def run_worker(arguments: list[str]) -> None:
    """Runs Beam's worker in this process until its runner is done."""
    # It reports a failed bundle to the runner, and would print it as well.
    sdk_worker.print = lambda *_, **__: None
    sdk_worker_main.main(arguments)


BYTES_IN_MEMORY = 8 << 20


@contextlib.contextmanager
def _shared_clients() -> Iterator[None]:
    # If a process never leaves this block, the shutdown of Python does, when module globals may be gone.
    module, before = boto3_client, _BeamClient
    module.Client = SharedClient
    try:
        yield
    finally:
        module.Client = before


shared_clients = Shared(_shared_clients)
"""Makes Beam use SharedClient within, whenever it opens a path of S3 in this process."""


@lru_cache(maxsize=8)
def _shared(options: Any) -> Any:
    """Returns the client of boto3 for some options, the same client for the same object.

    Raises OSError if it has no credentials: Beam would repeat each of its requests for minutes.
    """
    from botocore.exceptions import BotoCoreError

    try:
        client = _BeamClient(options).client
        # It is signed, and not sent.
        client.generate_presigned_url("list_buckets")
    except BotoCoreError as error:
        advice = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with the AWS CLI"
        raise OSError(f"no credentials for S3: {error}; {advice}") from error
    return client


_BeamClient: Any = boto3_client.Client


class SharedClient(_BeamClient):
    """Beam's client on connections shared by the process; a file is uploaded when it is closed."""

    def __init__(self, options: Any) -> None:
        if s3io.boto3_client.boto3 is None:
            raise RuntimeError("paths of S3 need boto3: install beamscore with the extra aws")
        self.client = _shared(options)
        self._download_request = self._download_stream = None
        self._download_pos = 0
        self._uploads: dict[str, tuple[Any, IO[bytes]]] = {}

    def create_multipart_upload(self, request: Any) -> Any:
        """Begins an upload without a request to S3."""
        name = uuid.uuid4().hex
        self._uploads[name] = request, tempfile.SpooledTemporaryFile(BYTES_IN_MEMORY)  # noqa: SIM115
        return messages.UploadResponse(name)

    def upload_part(self, request: Any) -> Any:
        """Keeps a part in memory, or in a temporary file."""
        self._uploads[request.upload_id][1].write(request.bytes)
        return messages.UploadPartResponse("", request.part_number)

    def complete_multipart_upload(self, request: Any) -> None:
        """Uploads the file: boto3 uses one request for a small object, and removes the parts of a failed upload."""
        from boto3.s3.transfer import TransferConfig

        # Python closes the file of a failed upload at some later time, which calls this again.
        begun = self._uploads.pop(request.upload_id, None)
        if begun is None:
            raise messages.S3ClientError("the upload has failed before", 400)
        upload, content = begun
        with content:
            content.seek(0)
            try:
                kind, config = {"ContentType": upload.mime_type}, TransferConfig(use_threads=False)
                self.client.upload_fileobj(content, upload.bucket, upload.object, kind, Config=config)
            except Exception as error:
                raise messages.S3ClientError(str(error), boto3_client.get_http_error_code(error)) from error
