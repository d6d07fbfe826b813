"""The pages about clusters and nights, and their files: what they tell people to type, the code understands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from beamscore.pipelines.commands import arguments
from beamscore.pipelines.runners import launch
from tests.flink.cluster import NETWORK_MIB, OFF_HEAP_MIB
from tests.test_docs_examples import blocks

ROOT = Path(__file__).parents[1]
DATAFLOW, FLINK, NIGHTLY = (ROOT / "docs" / "how-to" / f"{name}.md" for name in ("dataflow", "flink", "nightly"))
PARAMETERS = {
    parameter["name"]: parameter
    for parameter in json.loads((ROOT / "configs" / "dataflow" / "metadata.json").read_bytes())["parameters"]
}


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


def on_kubernetes(name: str) -> Any:
    return yaml.safe_load((ROOT / "configs" / "flink" / name).read_text(encoding="utf-8"))["spec"]


def test_the_job_on_kubernetes_fits_its_cluster() -> None:
    cluster, job = on_kubernetes("cluster.yaml"), on_kubernetes("job.yaml")["template"]["spec"]
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
    for configured in (page, on_kubernetes("cluster.yaml")["flinkConfiguration"]):
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
