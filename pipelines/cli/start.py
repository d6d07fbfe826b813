"""Where the command begins: the first seconds of it, in which its packages are imported, can be interrupted too."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from ...transforms.process import quiet_root_logger

INTERRUPTED = 130


def main() -> int:
    """Runs the command line and returns the exit code; see pipelines.cli.main."""
    # Else Python looks for garbage once more when it ends, among all objects of the libraries, for half a second.
    atexit.register(gc.freeze)
    # Whoever starts the command may have closed them.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        with quiet_root_logger:
            from .main import main as run
    except KeyboardInterrupt:
        print("beamscore: interrupted", file=sys.stderr)
        return INTERRUPTED
    return run()
