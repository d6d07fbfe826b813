"""Object stores on this machine, whose servers are installed: a bucket for each test, and the requests that it got."""

import importlib.util
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beamscore.transforms.beam_internals import shared_clients
from tests.servers import free_ports

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
ENVIRONMENT["AWS_EC2_METADATA_DISABLED"] = "true"


def never(method: str, path: str) -> bool:
    return False


@dataclass
class Requests:
    """An application that notes each request before another one answers it, one after the other: moto has no locks.

    refuse: where it says so of a request, that is answered with an error that no client tries again.
    served: called with each request that was answered, before the client gets the answer.
    """

    application: Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
    seen: list[tuple[str, str]] = field(default_factory=list)
    refuse: Callable[[str, str], bool] = never
    served: Callable[[str, str], object] = never
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


@dataclass(frozen=True)
class Store:
    """A bucket and the options that reach it. requests: to moto's server of S3; those to Google's are not seen."""

    base: str
    flags: tuple[str, ...]
    requests: Requests | None
    bucket: Any

    def put(self, key: str, content: bytes) -> None:
        if self.requests:
            self.bucket.put_object(Key=key, Body=content)
        else:
            self.bucket.blob(key).upload_from_string(content)

    def files(self) -> dict[str, bytes]:
        if self.requests:
            return {each.key: each.get()["Body"].read() for each in self.bucket.objects.all()}
        return {each.name: each.download_as_bytes() for each in self.bucket.list_blobs()}


@pytest.fixture(scope="session")
def s3() -> Iterator[tuple[str, Requests]]:
    """Runs moto's server of S3 on a port of this machine; yields its address and its requests."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    requests = Requests(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, requests, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def gcs() -> Iterator[None]:
    if importlib.util.find_spec("gcp_storage_emulator") is None:
        pytest.skip("gcp-storage-emulator is not installed (make test-stores)")
    from gcp_storage_emulator.server import create_server

    [port] = free_ports(1)
    server = create_server("127.0.0.1", port, in_memory=True)
    with pytest.MonkeyPatch.context() as monkeypatch:
        server.start()
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        yield
        server.stop()


@pytest.fixture(params=["s3", "gcs"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    if request.param == "gcs":
        request.getfixturevalue("gcs")
        from google.cloud import storage

        yield Store(f"gs://{name}", ("--no_auth",), None, storage.Client.create_anonymous_client().create_bucket(name))
        return
    url, requests = request.getfixturevalue("s3")
    import boto3

    bucket = boto3.resource("s3", endpoint_url=url).create_bucket(Bucket=name)
    found = Store(f"s3://{name}", ("--s3_endpoint_url", url), requests, bucket)
    # For the tests that read the store themselves; a command sets its own and leaves these behind.
    FileSystems.set_options(PipelineOptions(list(found.flags)))
    with shared_clients:
        yield found
    FileSystems.set_options(PipelineOptions([]))
    requests.refuse = requests.served = never


@pytest.fixture
def requests(store: Store) -> Requests:
    """What the store was asked for; the test is skipped where that cannot be known."""
    if store.requests is None:
        pytest.skip("the requests to this store are not seen")
    store.requests.seen.clear()
    return store.requests
