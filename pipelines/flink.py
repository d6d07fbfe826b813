"""What Beam's own interface leaves to do on a Flink cluster."""

from __future__ import annotations

import contextlib
import json
import urllib.request
from typing import Any

from apache_beam.options.pipeline_options import FlinkRunnerOptions, GoogleCloudOptions, PipelineOptions

_NO_ADDRESS = ("[auto]", "[local]", "[collection]")
_SECONDS = 10


def cancel_job(options: PipelineOptions) -> None:
    """Cancels the job of these options where they name both the cluster, by --flink_master, and the job.

    Cancelling a job at Beam's job server ends its wait for the Flink job, which goes on. A cluster that cannot be
    asked is left alone.
    """
    master = options.view_as(FlinkRunnerOptions).flink_master
    name = options.view_as(GoogleCloudOptions).job_name
    if not name or not master or master in _NO_ADDRESS:
        return
    url = master if "://" in master else f"http://{master}"
    with contextlib.suppress(OSError, ValueError):
        for job in _request("GET", f"{url}/jobs/overview")["jobs"]:
            if job["name"] == name:
                _request("PATCH", f"{url}/jobs/{job['jid']}?mode=cancel")


def _request(method: str, url: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=_SECONDS) as answer:
        return json.load(answer)
