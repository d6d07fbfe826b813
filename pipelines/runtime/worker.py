"""A worker process of a local run with several: Beam's own, but quiet, and tied to its command.

What it logs goes to the command, which shows it or not.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from ...transforms.process import quiet_root_logger
from .worker_processes import end_with, temporary_folder


def main(parent: int) -> None:
    """Works until the command, the process `parent`, has no more to do; the argument is the folder that it lives by."""
    # It ends at once: Python would look for garbage among all objects of the libraries once more.
    atexit.register(gc.freeze)
    with quiet_root_logger:
        from ...transforms.beam_internals import run_worker
        from ...transforms.io.s3 import shared_clients

        with shared_clients, temporary_folder(os.path.dirname(sys.argv[1])) as temporary:
            end_with(sys.argv[1], temporary, parent)
            run_worker(sys.argv)
