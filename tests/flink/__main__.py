"""Starts a cluster for as long as a command runs, which gets the pipeline options appended.

python -m tests.flink beamscore evaluate configs/chart.yaml --ground-truth ... --predictions ... --output out
"""

import subprocess
import sys

from tests.flink.cluster import FlinkCluster

with FlinkCluster() as cluster:
    print(f"Flink is at http://{cluster.master}, its logs are in {cluster.logs}", file=sys.stderr)
    code = subprocess.run([*sys.argv[1:], *cluster.options()], check=False).returncode
sys.exit(code)
