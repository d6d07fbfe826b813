"""A fresh bucket for each test, of each store whose server is installed."""

from __future__ import annotations

import importlib.util
import uuid
from collections.abc import Iterator

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beamscore.transforms.beam_internals import shared_clients
from tests.stores.servers import GcsStore, Requests, S3Store, Store, gcs_server, s3_server

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3() -> Iterator[tuple[str, Requests]]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        with s3_server() as found:
            yield found


@pytest.fixture(scope="session")
def gcs() -> Iterator[str]:
    if importlib.util.find_spec("gcp_storage_emulator") is None:
        pytest.skip("gcp-storage-emulator is not installed (make test-stores)")
    with pytest.MonkeyPatch.context() as monkeypatch, gcs_server() as url:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
        yield url


@pytest.fixture(params=["s3", "gcs"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    bucket = f"bucket-{uuid.uuid4().hex[:8]}"
    if request.param == "gcs":
        request.getfixturevalue("gcs")
        yield GcsStore(bucket)
        return
    url, requests = request.getfixturevalue("s3")
    found = S3Store(url, requests, bucket)
    # For the tests that read the store themselves; a command sets its own and leaves these behind.
    FileSystems.set_options(PipelineOptions(list(found.flags)))
    with shared_clients:
        yield found
    FileSystems.set_options(PipelineOptions([]))
    requests.refuse = lambda method, path: False
    requests.served = lambda method, path: None


@pytest.fixture
def requests(store: Store) -> Requests:
    """What the store was asked for; the test is skipped where that cannot be known."""
    if store.requests is None:
        pytest.skip("the requests to this store are not seen")
    store.requests.seen.clear()
    return store.requests
