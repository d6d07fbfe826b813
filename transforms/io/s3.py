"""Beam's client of S3, with what Beam leaves out: shared connections, empty objects, and one request for a small one.

Beam makes a client of boto3 for each call, which takes longer than most requests. It uploads whatever it writes in
parts: three requests for a small object, none of which S3 accepts for an empty one; parts of an upload that failed stay
and are paid for. Its filesystems choose a class by the scheme of a path and allow one for each, so the client that this
class makes is changed, not the class.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apache_beam.io.aws import s3io
from apache_beam.io.aws.clients.s3 import boto3_client, messages

from ..process import Shared

MAX_CLIENTS = 8

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


@dataclass
class _Upload:
    """An upload that is not known to S3 before its second part.

    failed: what S3 said of a part that it did not take; nothing more is asked of this upload after that.
    """

    request: Any
    first: bytes | None = None
    first_etag: str = ""
    upload_id: str | None = None
    failed: messages.S3ClientError | None = None


class SharedClient(_BeamClient):
    """Beam's client on connections that all of a process share; an object of one part is one request."""

    def __init__(self, options: Any) -> None:
        if s3io.boto3_client.boto3 is None:
            raise RuntimeError("paths of S3 need boto3: install beamscore with the extra aws")
        self.client = _shared(options)
        self._download_request = self._download_stream = None
        self._download_pos = 0
        self._uploads: dict[str, _Upload] = {}

    def create_multipart_upload(self, request: Any) -> Any:
        """Begins an upload, of which S3 is not told yet."""
        name = uuid.uuid4().hex
        self._uploads[name] = _Upload(request)
        return messages.UploadResponse(name)

    def upload_part(self, request: Any) -> Any:
        """Keeps the first part, and uploads it with the second one.

        Python closes the file of a failed upload at some later time, and that writes again: the error is raised again
        then, without a request for an upload that S3 has forgotten.
        """
        upload = self._uploads[request.upload_id]
        if upload.failed is not None:
            raise upload.failed
        if upload.first is None and upload.upload_id is None:
            upload.first = bytes(request.bytes)
            return messages.UploadPartResponse("", request.part_number)
        try:
            if upload.upload_id is None:
                upload.upload_id = super().create_multipart_upload(upload.request).upload_id
                first = messages.UploadPartRequest(request.bucket, request.object, upload.upload_id, 1, upload.first)
                upload.first_etag, upload.first = super().upload_part(first).etag, None
            request.upload_id = upload.upload_id
            return super().upload_part(request)
        except messages.S3ClientError as error:
            upload.failed = error
            self._abort(upload)
            raise

    def complete_multipart_upload(self, request: Any) -> None:
        """Ends an upload: from now on there is an object."""
        upload = self._uploads.pop(request.upload_id)
        if upload.failed is not None:
            raise upload.failed
        if upload.upload_id is None:
            self._put(upload)
            return
        request.upload_id = upload.upload_id
        request.parts[0]["ETag"] = upload.first_etag
        try:
            super().complete_multipart_upload(request)
        except messages.S3ClientError:
            self._abort(upload)
            raise

    def copy(self, request: Any) -> None:
        """Copies an object by one request where it has no more than 5 GB."""
        source = {"Bucket": request.src_bucket, "Key": request.src_key}
        try:
            self.client.copy_object(CopySource=source, Bucket=request.dest_bucket, Key=request.dest_key)
        except self.client.exceptions.ClientError as error:
            if error.response.get("Error", {}).get("Code") != "InvalidRequest":
                raise _as_beams(error) from error
            super().copy(request)

    def _put(self, upload: _Upload) -> None:
        request = upload.request
        try:
            self.client.put_object(
                Bucket=request.bucket, Key=request.object, Body=upload.first or b"", ContentType=request.mime_type
            )
        except Exception as error:
            raise _as_beams(error) from error

    def _abort(self, upload: _Upload) -> None:
        """Removes the parts of an upload that failed, which nobody sees and everybody pays for."""
        with contextlib.suppress(Exception):
            self.client.abort_multipart_upload(
                Bucket=upload.request.bucket, Key=upload.request.object, UploadId=upload.upload_id
            )


def _as_beams(error: Exception) -> Any:
    return messages.S3ClientError(str(error), boto3_client.get_http_error_code(error))
