"""The files for schedulers in configs/: what they start is understood, and they are valid where they go."""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from beamscore.pipelines.commands import messages
from tests.test_cluster_docs import understood

CONFIGS = Path(__file__).parents[1] / "configs"
UNITS = CONFIGS / "systemd"
SAME_WHEN_REPEATED = {messages.FAILED, messages.WRONG_USAGE, messages.INCONCLUSIVE}
"""The exit codes after which another try would end alike: a gate failed, wrong usage, a gate is inconclusive."""


def command_in(shell: str) -> str:
    """Returns the call of beamscore in the command of a shell."""
    return "beamscore " + shell.partition("beamscore ")[2]


def test_the_service_runs_an_evaluation_of_the_day_and_tries_again_only_what_may_pass() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / "beamscore-nightly.service", encoding="utf-8")
    service = parser["Service"]
    shell, option, script = shlex.split(service["ExecStart"].replace("%%", "%").replace("$$", "$"))
    assert (shell, option) == ("/bin/sh", "-c")
    understood(command_in(script))
    assert service["Restart"] == "on-failure"
    assert set(map(int, service["RestartPreventExitStatus"].split())) == SAME_WHEN_REPEATED


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze here")
def test_the_units_are_valid() -> None:
    verified = subprocess.run(
        ["systemd-analyze", "verify", *UNITS.iterdir()], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def kubernetes(path: str) -> Any:
    return yaml.safe_load((CONFIGS / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ["kubernetes/nightly.yaml", "flink/job.yaml"])
@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_jobs_follow_the_schema_of_kubernetes(path: str, version: str) -> None:
    kubernetes_validate.validate(kubernetes(path), version, strict=True)


def test_the_cron_job_runs_the_command_and_repeats_no_failed_gate() -> None:
    job = kubernetes("kubernetes/nightly.yaml")["spec"]["jobTemplate"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    understood(command_in(container["args"][0]))
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert set(rule["onExitCodes"]["values"]) == SAME_WHEN_REPEATED
    assert job["template"]["spec"]["restartPolicy"] == "Never", "the policy needs this"
