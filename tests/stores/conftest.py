"""A fresh bucket for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.stores.servers import S3Store, Store, s3_server

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3() -> Iterator[tuple[str, object]]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        with s3_server() as found:
            yield found


@pytest.fixture
def store(s3: tuple[str, object]) -> Iterator[Store]:
    url, requests = s3
    found = S3Store(url, requests, f"bucket-{uuid.uuid4().hex[:8]}")  # type: ignore[arg-type]
    found.requests.seen.clear()
    yield found
    found.requests.refuse = lambda method, path: False
