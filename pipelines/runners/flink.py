"""Checks and cancellation for job servers and Flink clusters that Beam's own interface lacks."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import urllib.request
from typing import Any

from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)

from ..config.errors import UsageError

_NO_ADDRESS = ("[auto]", "[local]", "[collection]")
_SECONDS = 10


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
                socket.create_connection((match[1], int(match[2])), timeout=_SECONDS).close()
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
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=_SECONDS) as answer:
        return json.load(answer)
