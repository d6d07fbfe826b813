"""The night of configs/airflow/nightly_dataflow.py: its operator starts the launcher as it would for Dataflow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.test_nightly import AIRFLOW, CORPUS, DATE, ROOT, beamscore
from tests.runs import write_lines

pytestmark = pytest.mark.airflow

PYTHON = AIRFLOW.parent / "python"
PROVIDERS = "airflow.providers.apache.beam.operators.beam, airflow.providers.google.cloud.operators.dataflow"


@pytest.fixture(scope="session", autouse=True)
def providers(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path_factory.mktemp("providers"))}
    found = subprocess.run(
        [PYTHON, "-c", f"import {PROVIDERS}"], env=environment, capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip(f"the providers are not installed: {found.stderr.splitlines()[-1]}")


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the place of the bucket: a configuration, a blessed run, and no predictions yet."""
    folder = tmp_path_factory.mktemp("bucket")
    (folder / "configs").mkdir()
    (folder / "configs" / "nightly.yaml").write_text(
        f"benchmark: traffic_rules\nground_truth: [{CORPUS}/ground_truth.jsonl]\n"
        "gates: {overall.f1: {not_worse_than: baseline, margin: 0.05}}\n"
    )
    beamscore(
        *("evaluate", "traffic_rules", "--ground-truth", CORPUS / "ground_truth.jsonl", "--quiet"),
        *("--predictions", f"tonight={CORPUS}/predictions.jsonl", "--output", folder / "scores" / "first"),
    )
    (folder / "scores" / "blessed.txt").write_text("first\n")
    return folder


@pytest.mark.parametrize("night", ["success", "failed"])
def test_the_task_is_a_success_where_the_gate_is(bucket: Path, tmp_path: Path, night: str) -> None:
    records = [json.loads(line) for line in (CORPUS / "predictions.jsonl").read_bytes().splitlines()]
    date = DATE if night == "success" else "2026-02-01"
    answers = records if night == "success" else [{**each, "rules": []} for each in records]
    dag = (ROOT / "configs" / "airflow" / "nightly_dataflow.py").read_text().replace("*.parquet", "*.jsonl")
    (tmp_path / "dag.py").write_text(dag)
    write_lines(bucket / "predictions" / date / "a.jsonl", answers)
    done = subprocess.run(
        [PYTHON, ROOT / "tests" / "airflow" / "dataflow_night.py", tmp_path / "dag.py", date],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path),
            "BEAMSCORE_BUCKET": str(bucket),
            "BEAMSCORE_LAUNCHER": str(ROOT / "configs" / "dataflow" / "launch.py"),
            "BEAMSCORE_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    log = done.stdout + done.stderr
    told: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told |= json.loads(line)
    command = told["command"]
    assert command[:3] == [sys.executable, str(ROOT / "configs" / "dataflow" / "launch.py"), "--runner=DataflowRunner"]
    assert [each.partition("=")[0] for each in command[3:]] == [
        *("--job_name", "--project", "--region", "--labels"),
        *("--config", "--predictions", "--output", "--baseline", "--temp_location", "--sdk_container_image"),
    ]
    assert (done.returncode == 0) == (night == "success"), log
    assert ("waited_for" in told) == (night == "success"), "the operator asks the service after the command"
    assert ("failed with return code 1" in log) == (night == "failed")
    assert ("worse by more than the margin of 0.05" in log) == (night == "failed")
    assert (bucket / "scores" / date / "summary.json").exists()
