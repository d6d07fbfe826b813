"""Starts a cluster for as long as a command runs, which gets the pipeline options appended.

python -m tests.flink beamscore evaluate configs/chart.yaml --ground-truth ... --predictions ... --output out
"""

from __future__ import annotations

import subprocess
import sys

from tests.flink.cluster import FlinkCluster


def main() -> int:
    """Returns the exit code of the command."""
    with FlinkCluster() as cluster:
        print(f"Flink is at {cluster.rest.url}, its logs are in {cluster.logs}", file=sys.stderr)
        return subprocess.run([*sys.argv[1:], *cluster.options()], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
