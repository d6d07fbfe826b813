"""Object stores on this machine, each with a bucket of its own for a test, and a list of the requests that it got."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers import free_ports

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass
class Requests:
    """An application that notes each request before another one answers it, one after the other: moto has no locks.

    refuse: where it says so of a request, that is answered with an error that no client tries again.
    served: called with each request that was answered, before the client gets the answer.
    """

    application: Wsgi
    seen: list[tuple[str, str]] = field(default_factory=list)
    refuse: Callable[[str, str], bool] = lambda method, path: False
    served: Callable[[str, str], None] = lambda method, path: None
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        request = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.seen.append(request)
        if self.refuse(*request):
            start_response("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"refused by the test"]
        with self.one_at_a_time:
            answer = self.application(environ, start_response)
        self.served(*request)
        return answer


@contextmanager
def serving(application: Wsgi) -> Iterator[str]:
    """Serves an application on a port of this machine, and yields its address."""
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class S3Store:
    """A bucket of moto's server: its address, the options of a command that reaches it, and what is in it."""

    def __init__(self, url: str, requests: Requests, bucket: str) -> None:
        import boto3

        self.base = f"s3://{bucket}"
        self.flags: tuple[str, ...] = ("--s3_endpoint_url", url)
        self.requests: Requests | None = requests
        self._bucket = bucket
        self._client = boto3.client("s3", endpoint_url=url)
        self._client.create_bucket(Bucket=bucket)

    def put(self, key: str, content: bytes) -> None:
        self._client.put_object(Bucket=self._bucket, Key=key, Body=content)

    def files(self) -> Mapping[str, bytes]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket)
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {key: self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read() for key in keys}

    def uploads(self) -> int | None:
        """How many uploads were begun and neither ended nor taken back; None where that cannot be asked."""
        return len(self._client.list_multipart_uploads(Bucket=self._bucket).get("Uploads", []))


class GcsStore:
    """The same of gcp-storage-emulator."""

    def __init__(self, bucket: str) -> None:
        from google.cloud import storage

        self.base = f"gs://{bucket}"
        self.flags: tuple[str, ...] = ("--no_auth",)
        self.requests: Requests | None = None
        self._bucket = storage.Client.create_anonymous_client().create_bucket(bucket)

    def put(self, key: str, content: bytes) -> None:
        self._bucket.blob(key).upload_from_string(content)

    def files(self) -> Mapping[str, bytes]:
        return {blob.name: blob.download_as_bytes() for blob in self._bucket.list_blobs()}

    def uploads(self) -> int | None:
        return None


Store = S3Store | GcsStore


@contextmanager
def s3_server() -> Iterator[tuple[str, Requests]]:
    """Runs moto's server of S3; yields its address and its requests."""
    from moto.server import DomainDispatcherApplication, create_backend_app

    requests = Requests(DomainDispatcherApplication(create_backend_app))
    with serving(requests) as url:
        yield url, requests


@contextmanager
def gcs_server() -> Iterator[str]:
    """Runs gcp-storage-emulator; yields its address."""
    from gcp_storage_emulator.server import create_server

    [port] = free_ports(1)
    server = create_server("127.0.0.1", port, in_memory=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()
