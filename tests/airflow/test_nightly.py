"""The nights of configs/airflow: by `airflow dags test`, and by the operator that starts the launcher for Dataflow."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs import Run, evaluate, write_lines

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpora" / "traffic_rules"
TRUTHS, PREDICTIONS = CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl"
LAUNCHER = ROOT / "configs" / "dataflow" / "launch.py"
AIRFLOW = Path(os.environ.get("AIRFLOW", ROOT / ".venv-airflow" / "bin" / "airflow"))
PYTHON = AIRFLOW.parent / "python"
PROVIDERS = "airflow.providers.apache.beam.operators.beam, airflow.providers.google.cloud.operators.dataflow"
DATE = "2026-01-31"
# A minimum that lies within the interval of the metric is inconclusive.
GATES = {"success": "0.1", "failed": "0.999", "inconclusive": "VALUE"}

pytestmark = pytest.mark.airflow


def run(home: Path, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of Airflow's environment, whose files are in `home`."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "configs" / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "NO_COLOR": "1",
        **variables,
    }
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=240)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("airflow")
    migrated = run(folder, AIRFLOW, "db", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    return folder


def tonight(output: Path) -> Run:
    """Evaluates the corpus without Airflow, as the system `tonight`."""
    done = evaluate(output, TRUTHS, {"tonight": PREDICTIONS}, "--quiet", config="traffic_rules")
    assert done.code == 0, done.stderr
    return done


@pytest.fixture(scope="session")
def value(tmp_path_factory: pytest.TempPathFactory) -> float:
    summary = tonight(tmp_path_factory.mktemp("baseline")).summary
    return float(summary["systems"]["tonight"]["values"]["overall.f1"])


@pytest.mark.parametrize("night", GATES)
def test_the_night_is_a_success_where_its_gate_is(home: Path, tmp_path: Path, value: float, night: str) -> None:
    scores, truths = tmp_path / "scores", os.path.relpath(TRUTHS, tmp_path)
    gate = f"{{overall.f1: {{minimum: {GATES[night].replace('VALUE', repr(value))}}}}}"
    (tmp_path / "nightly.yaml").write_text(f"benchmark: traffic_rules\nground_truth: [{truths}]\ngates: {gate}\n")
    ran = run(
        home,
        *(AIRFLOW, "dags", "test", "beamscore_nightly", DATE),
        BEAMSCORE=f"{sys.executable} -m beamscore.pipelines.commands",
        PYTHONPATH=str(ROOT),
        BEAMSCORE_FOLDER=str(tmp_path),
        BEAMSCORE_PREDICTIONS=str(PREDICTIONS),
        BEAMSCORE_SCORES="scores",
        BEAMSCORE_BASELINE="",
    )
    judged = "skipped" if night == "inconclusive" else night
    log = ran.stdout + ran.stderr
    assert (ran.returncode == 0) == (night == "success"), log
    states = re.findall(r"new_state=(\w+)", log)
    assert sorted(states) == sorted(["success", judged, "success", "success" if night == "success" else "failed"])
    assert (scores / DATE / "summary.json").exists()
    assert (scores / "history.md").exists(), "every night is in the history, whatever its verdict"
    assert (f"the gate of the night is {night}" in log) == (night != "success")


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the place of the bucket: a configuration, a blessed run, and no predictions yet."""
    folder = tmp_path_factory.mktemp("bucket")
    found = run(folder, PYTHON, "-c", f"import {PROVIDERS}")
    if found.returncode:
        pytest.skip(f"the providers are not installed: {found.stderr.splitlines()[-1]}")
    (folder / "configs").mkdir()
    (folder / "configs" / "nightly.yaml").write_text(
        f"benchmark: traffic_rules\nground_truth: [{TRUTHS}]\n"
        "gates: {overall.f1: {not_worse_than: baseline, margin: 0.05}}\n"
    )
    tonight(folder / "scores" / "first")
    (folder / "scores" / "blessed.txt").write_text("first\n")
    return folder


@pytest.mark.parametrize(("night", "date"), [("success", DATE), ("failed", "2026-02-01")])
def test_the_task_is_a_success_where_the_gate_is(bucket: Path, tmp_path: Path, night: str, date: str) -> None:
    records = [json.loads(line) for line in PREDICTIONS.read_bytes().splitlines()]
    answers = records if night == "success" else [{**each, "rules": []} for each in records]
    write_lines(bucket / "predictions" / date / "a.jsonl", answers)
    dag = (ROOT / "configs" / "airflow" / "nightly_dataflow.py").read_text().replace("*.parquet", "*.jsonl")
    (tmp_path / "dag.py").write_text(dag)
    program = ROOT / "tests" / "airflow" / "dataflow_night.py"
    given = {"BEAMSCORE_BUCKET": str(bucket), "BEAMSCORE_LAUNCHER": str(LAUNCHER), "BEAMSCORE_PYTHON": sys.executable}
    done = run(tmp_path, PYTHON, program, tmp_path / "dag.py", date, **given)
    log = done.stdout + done.stderr
    told: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told |= json.loads(line)
    command = told["command"]
    assert command[:3] == [sys.executable, str(LAUNCHER), "--runner=DataflowRunner"]
    names = "job_name project region labels config predictions output baseline temp_location sdk_container_image"
    assert [each.partition("=")[0] for each in command[3:]] == [f"--{name}" for name in names.split()]
    assert (done.returncode == 0) == (night == "success"), log
    assert ("waited_for" in told) == (night == "success"), "the operator asks the service after the command"
    assert ("failed with return code 1" in log) == (night == "failed")
    assert ("worse by more than the margin of 0.05" in log) == (night == "failed")
    assert (bucket / "scores" / date / "summary.json").exists()
