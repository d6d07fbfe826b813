"""A job server and a pool of workers, as processes: all that a portable runner needs, without a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.servers import await_servers, end_servers, free_ports, listens, start_server
from tests.worker_pool import bare_environment, worker_pool

START_SECONDS = 60


@contextlib.contextmanager
def portable_cluster(python: Path, folder: Path) -> Iterator[list[str]]:
    """Runs both in the environment of `python`, in `folder`; gives the pipeline options that run a pipeline there."""
    (port,) = free_ports(1)
    module = "apache_beam.runners.portability.local_job_service_main"
    command = [str(python), "-m", module, f"--port={port}", f"--staging_dir={folder / 'jobs'}"]
    with worker_pool(python, folder) as workers:
        jobs = start_server("jobserver", command, folder, folder, bare_environment(python))
        try:
            await_servers("the job server", lambda: listens(port), [jobs], START_SECONDS)
            yield ["--runner=PortableRunner", f"--job_endpoint=localhost:{port}", *workers]
        finally:
            end_servers([jobs])
