"""What a run changes in the process of whoever calls it, while it lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...transforms.beam_internals import file_system_options_restored
from ...transforms.blas import blas_threads_restored
from ...transforms.collector import collector_restored
from ...transforms.io.s3 import shared_clients
from ...transforms.process import quiet_root_logger


@contextmanager
def run_in_this_process() -> Iterator[None]:
    """Makes this process ready for runs of Beam; at the end it is as it was before."""
    with quiet_root_logger, shared_clients, file_system_options_restored, blas_threads_restored, collector_restored:
        yield
