"""Checks that filesystems, job servers and clusters answer, and the cancellation of jobs of Flink, which Beam lacks.

Cloud libraries search for credentials and buckets for minutes.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import urllib.request
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)

from ...transforms.beam_internals import file_systems
from ..config.errors import UsageError

BUCKET_TIMEOUT_S = 30

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
    BUCKET_TIMEOUT_S, or the package that the filesystem needs is not installed.
    """
    for path in paths:
        match = _BUCKET.search(path)
        if match is None or match[0] in _answered:
            continue
        _check_package(path, match[0].partition("://")[0].lower())
        # If it does not end, it is left behind: it cannot be stopped.
        asking = threading.Thread(target=_ask, args=(path[match.start() :],), daemon=True)
        asking.start()
        asking.join(BUCKET_TIMEOUT_S)
        if asking.is_alive():
            raise UsageError(
                f"{path}: nothing answers within {BUCKET_TIMEOUT_S} seconds; "
                "check the bucket, the credentials and the network"
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
        file_systems().exists(path if key else f"{path.rstrip('/')}/.beamscore")


_NO_ADDRESS = ("[auto]", "[local]", "[collection]")
_ADDRESS_TIMEOUT_S = 10


def check_addresses(options: PipelineOptions) -> None:
    """Checks that the job server and the cluster answer at the addresses in the options.

    Raises UsageError if one does not: Beam would wait for minutes without a message.
    """
    portable = options.view_as(PortableOptions)
    addresses = {"--job_endpoint": portable.job_endpoint, "--artifact_endpoint": portable.artifact_endpoint}
    if options.view_as(StandardOptions).runner == "FlinkRunner":
        # Its job server runs here; a remote one may know the cluster by a name that is unknown here.
        addresses["--flink_master"] = options.view_as(FlinkRunnerOptions).flink_master
    for flag, address in addresses.items():
        match = re.fullmatch(r"(?:https?://)?([^:/\[\]]+):(\d{1,5})/?", address or "")
        if match:
            try:
                socket.create_connection((match[1], int(match[2])), timeout=_ADDRESS_TIMEOUT_S).close()
            except (OSError, OverflowError) as error:
                raise UsageError(f"{flag} {address}: nothing answers there: {error}") from error


def cancel_job(options: PipelineOptions) -> None:
    """Cancels the job of these options if they name both the cluster, by --flink_master, and the job.

    Cancelling a job at Beam's job server ends its wait for the Flink job, but not the Flink job. Beam does not report
    the id of that job, so it is looked up by the job's name, which is unique. If several jobs have the name, none is
    cancelled, as they may belong to other users; nor if the cluster does not answer.
    """
    master = options.view_as(FlinkRunnerOptions).flink_master
    name = options.view_as(GoogleCloudOptions).job_name
    if not name or not master or master in _NO_ADDRESS:
        return
    url = master if "://" in master else f"http://{master}"
    with contextlib.suppress(OSError, ValueError):
        ids = [job["jid"] for job in _request("GET", f"{url}/jobs/overview")["jobs"] if job["name"] == name]
        if len(ids) == 1:
            _request("PATCH", f"{url}/jobs/{ids[0]}?mode=cancel")


def _request(method: str, url: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=_ADDRESS_TIMEOUT_S) as answer:
        return json.load(answer)
