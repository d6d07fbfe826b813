"""A passing, a failing and an inconclusive night, each by `airflow dags test`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpora" / "traffic_rules"
AIRFLOW = Path(os.environ.get("AIRFLOW", ROOT / ".venv-airflow" / "bin" / "airflow"))
DATE = "2026-01-31"
GATES = {
    "success": "{overall.f1: {minimum: 0.1}}",
    "failed": "{overall.f1: {minimum: 0.999}}",
    "inconclusive": "{overall.f1: {minimum: VALUE}}",
}

pytestmark = pytest.mark.airflow


def airflow(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "configs" / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "NO_COLOR": "1",
        **variables,
    }
    return subprocess.run(
        [AIRFLOW, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=240
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("airflow")
    migrated = airflow(folder, "db", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    return folder


def beamscore(*arguments: object) -> None:
    command = [sys.executable, "-m", "beamscore.pipelines.commands", *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


@pytest.fixture(scope="session")
def value(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The metric of the corpus: a minimum that lies within its interval is inconclusive."""
    output = tmp_path_factory.mktemp("baseline")
    truth, predictions = CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl"
    inputs = ("--ground-truth", truth, "--predictions", predictions)
    beamscore("evaluate", "traffic_rules", *inputs, "--output", output, "--quiet")
    summary: Any = json.loads((output / "summary.json").read_bytes())
    return float(summary["systems"]["predictions"]["values"]["overall.f1"])


def states(log: str) -> list[str]:
    """Returns the states of the tasks of a run, in the order in which they ended."""
    return re.findall(r"new_state=(\w+)", log)


@pytest.mark.parametrize("night", GATES)
def test_the_night_is_a_success_where_its_gate_is(home: Path, tmp_path: Path, value: float, night: str) -> None:
    config, scores = tmp_path / "nightly.yaml", tmp_path / "scores"
    gates = GATES[night].replace("VALUE", repr(value))
    config.write_text(f"benchmark: traffic_rules\nground_truth: [{CORPUS}/ground_truth.jsonl]\ngates: {gates}\n")
    ran = airflow(
        home,
        *("dags", "test", "beamscore_nightly", DATE),
        BEAMSCORE=f"{sys.executable} -m beamscore.pipelines.commands",
        PYTHONPATH=str(ROOT),
        BEAMSCORE_CONFIG=str(config),
        BEAMSCORE_PREDICTIONS=str(CORPUS / "predictions.jsonl"),
        BEAMSCORE_SCORES=str(scores),
        BEAMSCORE_BASELINE="",
    )
    gate = "skipped" if night == "inconclusive" else night
    log = ran.stdout + ran.stderr
    assert (ran.returncode == 0) == (night == "success"), log
    assert sorted(states(log)) == sorted(["success", gate, "success", "success" if night == "success" else "failed"])
    assert (scores / DATE / "summary.json").exists()
    assert (scores / "history.md").exists(), "every night is in the history, whatever its verdict"
    assert (f"the gate of the night is {night}" in log) == (night != "success")
