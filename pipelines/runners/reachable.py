"""Checks that remote filesystems answer: cloud libraries search for credentials and buckets for minutes."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable
from importlib.util import find_spec

from apache_beam.io.filesystems import FileSystems

from ..config.errors import UsageError

SECONDS = 30

_PACKAGES = {
    "s3": ("boto3", "beamscore[aws]"),
    "gs": ("google.cloud.storage", "beamscore[gcp]"),
    "hdfs": ("hdfs", "hdfs"),
    "azfs": ("azure.storage.blob", "apache-beam[azure]"),
}
"""The package that each filesystem of Beam needs, and the requirement that installs it."""

_BUCKET = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*")
_answered: set[str] = set()


def check_reachable(paths: Iterable[str]) -> None:
    """Queries the filesystem of each bucket, once, for one of these paths.

    Any answer is sufficient, as later uses of the path report errors. Raises UsageError if there is no answer within
    SECONDS, or the package that the filesystem needs is not installed.
    """
    for path in paths:
        match = _BUCKET.search(path)
        if match is None or match[0] in _answered:
            continue
        _check_package(path, match[0].partition("://")[0].lower())
        # If it does not end, it is left behind: it cannot be stopped.
        asking = threading.Thread(target=_ask, args=(path[match.start() :],), daemon=True)
        asking.start()
        asking.join(SECONDS)
        if asking.is_alive():
            raise UsageError(
                f"{path}: nothing answers within {SECONDS} seconds; check the bucket, the credentials and the network"
            )
        _answered.add(match[0])


def _check_package(path: str, scheme: str) -> None:
    package, extra = _PACKAGES.get(scheme, ("", ""))
    try:
        is_there = not package or find_spec(package) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        raise UsageError(f"{path}: paths of {scheme}:// need a package that is not installed: pip install '{extra}'")


def _ask(path: str) -> None:
    # Beam retries a path of only a bucket for minutes, as if a server had failed.
    key = path.partition("://")[2].partition("/")[2]
    with contextlib.suppress(Exception):
        FileSystems.exists(path if key else f"{path.rstrip('/')}/.beamscore")
