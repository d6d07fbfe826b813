"""Starts a cluster for as long as a command runs, which gets the pipeline options appended, or until interrupted.

python -m tests.flink beamscore evaluate configs/chart.yaml --ground-truth ... --predictions ... --output out
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import subprocess
import sys

from tests.flink.cluster import FlinkCluster


def main() -> int:
    """Returns the exit code of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.flink", description=__doc__)
    parser.add_argument("--task-managers", type=int, default=2)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    with FlinkCluster(task_managers=given.task_managers) as cluster:
        options = cluster.options(given.parallelism)
        print(f"Flink is at {cluster.rest.url}, its logs are in {cluster.logs}", file=sys.stderr)
        if given.command:
            return subprocess.run([*given.command, *options], check=False).returncode
        print(shlex.join(options), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
