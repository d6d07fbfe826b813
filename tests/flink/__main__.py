"""Starts a cluster for a command, which gets its options: `python -m tests.flink beamscore evaluate CONFIG ...`."""

import subprocess
import sys

from tests.flink.cluster import FlinkCluster

with FlinkCluster() as cluster:
    print(f"Flink is at http://{cluster.master}, its logs are in {cluster.logs}", file=sys.stderr)
    code = subprocess.run([*sys.argv[1:], *cluster.options()], check=False).returncode
sys.exit(code)
