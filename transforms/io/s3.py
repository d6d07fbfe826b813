"""Beam's client of S3, with what Beam leaves out: shared connections, empty objects, and an end of failed uploads.

Beam makes a client of boto3 for each call, which takes longer than most requests. It uploads whatever it writes in
parts, which S3 does not accept for an empty object; parts of an upload that failed stay and are paid for. Its
filesystems choose a class by the scheme of a path and allow one for each, so the client that this class makes is
changed, not the class.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import uuid
from collections.abc import Iterator
from typing import IO, Any

from apache_beam.io.aws import s3io
from apache_beam.io.aws.clients.s3 import boto3_client, messages

from ..process import Shared

MAX_CLIENTS = 8
BYTES_IN_MEMORY = 8 << 20

_lock = threading.Lock()
_clients: dict[int, tuple[Any, Any]] = {}


@contextlib.contextmanager
def _shared_clients() -> Iterator[None]:
    # In a process that never leaves this, the end of Python does, when names of modules may be gone.
    module, before = boto3_client, _BeamClient
    module.Client = SharedClient
    try:
        yield
    finally:
        module.Client = before


shared_clients = Shared(_shared_clients)
"""Makes Beam use SharedClient within, wherever it opens a path of S3 in this process."""


def _shared(options: Any) -> Any:
    """Returns the client of boto3 for some options, the same for the same object."""
    with _lock:
        found = _clients.get(id(options))
        if found is None or found[0] is not options:
            if len(_clients) >= MAX_CLIENTS:
                _clients.clear()
            found = _clients[id(options)] = (options, _BeamClient(options).client)
        return found[1]


_BeamClient: Any = boto3_client.Client


class SharedClient(_BeamClient):
    """Beam's client on connections that all of a process share; what is written is uploaded when it is closed."""

    def __init__(self, options: Any) -> None:
        if s3io.boto3_client.boto3 is None:
            raise RuntimeError("paths of S3 need boto3: install beamscore with the extra aws")
        self.client = _shared(options)
        self._download_request = self._download_stream = None
        self._download_pos = 0
        self._uploads: dict[str, tuple[Any, IO[bytes]]] = {}

    def create_multipart_upload(self, request: Any) -> Any:
        """Begins an upload, of which S3 is not told yet."""
        name = uuid.uuid4().hex
        self._uploads[name] = request, tempfile.SpooledTemporaryFile(BYTES_IN_MEMORY)  # noqa: SIM115
        return messages.UploadResponse(name)

    def upload_part(self, request: Any) -> Any:
        """Keeps a part in memory, or in a temporary file."""
        self._uploads[request.upload_id][1].write(request.bytes)
        return messages.UploadPartResponse("", request.part_number)

    def complete_multipart_upload(self, request: Any) -> None:
        """Uploads all: boto3 takes one request for a small object, and removes the parts of one that fails."""
        from boto3.s3.transfer import TransferConfig

        # Python closes the file of a failed upload at some later time, and that comes here again.
        upload, content = self._uploads.pop(request.upload_id, (None, None))
        if upload is None or content is None:
            raise messages.S3ClientError("the upload has failed before", 400)
        with content:
            content.seek(0)
            try:
                kind, here = {"ContentType": upload.mime_type}, TransferConfig(use_threads=False)
                self.client.upload_fileobj(content, upload.bucket, upload.object, kind, Config=here)
            except Exception as error:
                raise messages.S3ClientError(str(error), boto3_client.get_http_error_code(error)) from error
