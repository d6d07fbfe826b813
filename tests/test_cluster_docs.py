"""The pages about clusters and nights, and the files of configs/ for clusters and schedulers.

What they tell people to type and what they start is understood, and the files are valid where they go.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from beamscore.pipelines.commands import arguments, messages
from beamscore.pipelines.runners import launch
from tests.flink.cluster import NETWORK_MIB, OFF_HEAP_MIB
from tests.test_docs_examples import blocks

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
DATAFLOW, FLINK, NIGHTLY = (ROOT / "docs" / "how-to" / f"{name}.md" for name in ("dataflow", "flink", "nightly"))
PARAMETERS = {
    parameter["name"]: parameter
    for parameter in json.loads((CONFIGS / "dataflow" / "metadata.json").read_bytes())["parameters"]
}
UNITS = CONFIGS / "systemd"
SAME_WHEN_REPEATED = {messages.FAILED, messages.WRONG_USAGE, messages.INCONCLUSIVE}
"""The exit codes after which another try would end alike: a gate failed, wrong usage, a gate is inconclusive."""


def commands(page: Path) -> list[str]:
    """Returns every call of beamscore on a page, alone or within another command."""
    lines = [line for block in blocks(page) for line in block.replace("\\\n", " ").split("\n")]
    calls = [re.search(r"(?:^|-c\|)(beamscore evaluate .*?)(?=\"?$)", line.strip()) for line in lines]
    return [call.group(1) for call in calls if call]


def understood(command: str) -> None:
    plain = command.replace("\\$(date +%F)", "2026-01-31").replace("$(date +%F)", "2026-01-31")
    parsed, rest = arguments.parser().parse_known_args(shlex.split(plain)[1:])
    assert parsed.config
    assert parsed.output
    launch.beam_options(rest)


def test_commands_on_dataflow_and_flink_are_understood() -> None:
    (call,) = commands(FLINK)
    understood(call)
    calls = commands(DATAFLOW)
    assert len(calls) == 2
    for call in calls:
        understood(call)
        assert "--runner=DataflowRunner" in call
        for option in ("project", "region", "temp_location", "sdk_container_image"):
            assert f"--{option}=" in call


def kubernetes(path: str) -> Any:
    return yaml.safe_load((CONFIGS / path).read_text(encoding="utf-8"))


def test_the_job_on_kubernetes_fits_its_cluster() -> None:
    cluster, job = kubernetes("flink/cluster.yaml")["spec"], kubernetes("flink/job.yaml")["spec"]["template"]["spec"]
    (command,) = job["containers"]
    understood(shlex.join([*command["command"], *command["args"]]))
    given = dict(argument.removeprefix("--").split("=", 1) for argument in command["args"] if "=" in argument)
    slots = int(cluster["flinkConfiguration"]["taskmanager.numberOfTaskSlots"])
    assert int(given["sdk_worker_parallelism"]) == slots
    assert int(given["parallelism"]) == slots * cluster["taskManager"]["replicas"]
    (server,) = job["initContainers"]
    assert server["args"] == [f"--flink-master={given['flink_master']}"]
    assert server["startupProbe"]["tcpSocket"]["port"] == int(given["job_endpoint"].partition(":")[2])
    _, workers = cluster["taskManager"]["podTemplate"]["spec"]["containers"]
    assert (workers["image"], workers["args"]) == (command["image"], ["--worker_pool"])
    assert workers["volumeMounts"] == command["volumeMounts"]


def test_every_slot_has_the_memory_that_the_tests_on_flink_give_it() -> None:
    (page,) = [yaml.safe_load(block) for block in blocks(FLINK) if "numberOfTaskSlots" in block]
    for configured in (page, kubernetes("flink/cluster.yaml")["spec"]["flinkConfiguration"]):
        slots = int(configured["taskmanager.numberOfTaskSlots"])
        for end in ("min", "max"):
            assert configured[f"taskmanager.memory.network.{end}"] == f"{slots * NETWORK_MIB}m"
        assert configured["taskmanager.memory.task.off-heap.size"] == f"{slots * OFF_HEAP_MIB // 1024}g"
        assert configured["restart-strategy.type"] == "fixed-delay"
        assert configured["cluster.uncaught-exception-handling"] == "FAIL"


def test_the_template_is_run_with_its_parameters() -> None:
    (run,) = [block.replace("\\\n", " ") for block in blocks(DATAFLOW) if "flex-template run" in block]
    given = dict(each.split("=", 1) for each in re.findall(r"--parameters (\S+)", run))
    assert set(given) <= set(PARAMETERS)
    assert {name for name, parameter in PARAMETERS.items() if not parameter.get("isOptional")} <= set(given)
    for name, value in given.items():
        plain = value.strip('"').replace("$IMAGE", "gcr.io/project/beamscore:1").replace("$BUCKET", "bucket")
        assert all(re.fullmatch(pattern, plain) for pattern in PARAMETERS[name]["regexes"]), name


def test_every_parameter_is_named() -> None:
    sentence = (
        DATAFLOW.read_text().partition("The parameters are options of the command: ")[2].partition(", the image")[0]
    )
    assert re.findall(r"`(\w+)`", sentence) == list(PARAMETERS)


def test_files_that_are_named_are_there() -> None:
    for page in (DATAFLOW, FLINK, NIGHTLY):
        for path in re.findall(
            r"configs/[\w/]+\.\w+", page.read_text().replace("$BUCKET/configs/", "").replace("-bucket/configs/", "")
        ):
            assert (ROOT / path).exists(), path


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
