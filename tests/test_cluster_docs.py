"""The pages about clusters and nights, and the files of configs/ for clusters and schedulers.

What they tell people to type and what they start is understood, the files are valid where they go, and the image for
Dataflow is sound as far as its files tell: what is copied exists, and its versions fit together.
"""

from __future__ import annotations

import configparser
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from beamscore.metrics.registry import benchmark_names
from beamscore.metrics.version import VERSION
from beamscore.pipelines.commands import arguments, messages
from beamscore.pipelines.runners import launch
from tests.flink.cluster import NETWORK_MIB, OFF_HEAP_MIB
from tests.test_docs_examples import blocks

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
DATAFLOW, FLINK = (ROOT / "docs" / "how-to" / f"{name}.md" for name in ("dataflow", "flink"))
IMAGE = CONFIGS / "dataflow"
PARAMETERS = {
    parameter["name"]: parameter for parameter in json.loads((IMAGE / "metadata.json").read_bytes())["parameters"]
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


def test_the_template_is_run_with_its_parameters_of_which_each_is_named() -> None:
    (run,) = [block.replace("\\\n", " ") for block in blocks(DATAFLOW) if "flex-template run" in block]
    given = dict(each.split("=", 1) for each in re.findall(r"--parameters (\S+)", run))
    assert set(given) <= set(PARAMETERS)
    assert {name for name, parameter in PARAMETERS.items() if not parameter.get("isOptional")} <= set(given)
    for name, value in given.items():
        plain = value.strip('"').replace("$IMAGE", "gcr.io/project/beamscore:1").replace("$BUCKET", "bucket")
        assert all(re.fullmatch(pattern, plain) for pattern in PARAMETERS[name]["regexes"]), name
    _, _, rest = DATAFLOW.read_text().partition("The parameters are options of the command: ")
    assert re.findall(r"`(\w+)`", rest.partition(", the image")[0]) == list(PARAMETERS)


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
    verify = ["systemd-analyze", "verify", *map(str, UNITS.iterdir())]
    assert subprocess.check_output(verify, stderr=subprocess.STDOUT) == b""


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


class Instruction(NamedTuple):
    """One instruction of the Dockerfile: its word, its arguments, and the number of its stage from 0."""

    word: str
    arguments: list[str]
    stage: int


def instructions(text: str) -> Iterator[Instruction]:
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    stage = -1
    for word, *rest in map(str.split, filter(str.strip, text.splitlines())):
        stage += word == "FROM"
        yield Instruction(word, rest, stage)


INSTRUCTIONS = list(instructions((IMAGE / "Dockerfile").read_text()))
LAST_STAGE = max(each.stage for each in INSTRUCTIONS)


def found(word: str, stage: int | None = None) -> list[Instruction]:
    return [each for each in INSTRUCTIONS if each.word == word and stage in (None, each.stage)]


def constraints() -> dict[NormalizedName, str]:
    pins = re.findall(r"^([^#\n]+)==(.+)$", (IMAGE / "constraints.txt").read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def environment() -> dict[str, str]:
    return dict(each.arguments[0].split("=") for each in found("ENV", LAST_STAGE))


def test_what_is_copied_exists_and_the_distribution_is_whole() -> None:
    stages = {each.arguments[2]: each.stage for each in found("FROM") if "AS" in each.arguments}
    for copy in found("COPY"):
        *sources, target = copy.arguments
        if sources[0].startswith("--from="):
            assert stages[sources[0].removeprefix("--from=")] < copy.stage
        else:
            assert len(sources) == 1 or target.endswith("/"), "several files go into a folder"
            assert all((ROOT / source).exists() for source in sources), copy.arguments
    copied = {Path(source).name for copy in found("COPY", 1) for source in copy.arguments[:-1]}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    modules = {path.name for path in ROOT.glob("*.py")}
    others = {"pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "configs", "py.typed"}
    assert copied == others | packages | modules


def test_known_instructions_alone_name_one_version_of_beam_and_of_python_on_pinned_bases() -> None:
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "LABEL", "USER", "ENTRYPOINT"}
    assert {each.word for each in INSTRUCTIONS} == known
    bases = [each.arguments[0] for each in found("FROM")]
    assert all(re.search(r":(?!latest)[\w.-]+$", base) for base in bases)
    beam = {re.fullmatch(r"apache/beam_python(.*)_sdk:(.*)", base) for base in bases if base.startswith("apache/")}
    ((python, version),) = {match.groups() for match in beam if match}
    assert constraints()[canonicalize_name("apache-beam")] == version
    assert f"python{python.replace('.', '')}-template-launcher-base" in bases[0]


def test_constraints_and_extras_fit_the_ranges_of_the_package() -> None:
    declared = list(map(Requirement, importlib.metadata.requires("beamscore") or []))
    of_extras = {str(each.marker) for each in declared if "extra" in str(each.marker)}
    requirements = {canonicalize_name(each.name): each for each in declared if str(each.marker) not in of_extras}
    assert set(constraints()) == set(requirements)
    for name, version in constraints().items():
        assert requirements[name].specifier.contains(version), name
    beam = requirements[canonicalize_name("apache-beam")]
    for extra in ("gcp", "aws"):
        (requirement,) = (each for each in declared if str(each.marker) == f'extra == "{extra}"')
        assert (requirement.name, requirement.extras) == ("apache-beam", {extra})
        assert requirement.specifier == beam.specifier


def test_the_smoke_check_runs_the_launchers_file_on_every_benchmark_without_rights() -> None:
    name, copies = "FLEX_TEMPLATE_PYTHON_PY_FILE", [copy.arguments for copy in found("COPY", LAST_STAGE)]
    assert ["configs/dataflow/launch.py", environment()[name]] in copies
    assert ["tests/corpora", "/opt/beamscore/corpora"] in copies
    assert {folder.name for folder in (ROOT / "tests" / "corpora").iterdir()} == set(benchmark_names()) - {"toy"}
    words = [(each.word, each.arguments) for each in INSTRUCTIONS if each.stage == LAST_STAGE]
    smoke = max(index for index, (word, _) in enumerate(words) if word == "RUN")
    assert f'"${name}" --config=' in " ".join(words[smoke][1])
    # Workers run as root.
    assert [arguments for word, arguments in words[:smoke] if word == "USER"] == [["beamscore"]]
    assert [arguments for word, arguments in words[smoke:] if word == "USER"] == [["root"]]


def test_workers_are_started_by_beam_with_tex_of_the_projects_script() -> None:
    runs = " ".join(word for run in found("RUN") for word in run.arguments)
    assert ("sh /tmp/install-tex" in runs, "texlive" in runs) == (True, False)
    assert os.access(ROOT / ".ci" / "install-tex", os.X_OK)
    assert environment()["RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT"] == "1"
    (entry,), (label,) = found("ENTRYPOINT"), found("LABEL", LAST_STAGE)
    assert (entry.arguments, entry.stage) == (['["/opt/apache/beam/boot"]'], LAST_STAGE)
    assert f'org.opencontainers.image.version="{VERSION}"' in label.arguments


def test_the_build_names_this_dockerfile() -> None:
    build: Any = yaml.safe_load((IMAGE / "cloudbuild.yaml").read_text())
    (step,) = build["steps"]
    arguments = step["args"]
    assert ROOT / arguments[arguments.index("--file") + 1] == IMAGE / "Dockerfile"
    assert arguments[-1] == "."
    assert build["images"] == [arguments[arguments.index("--tag") + 1]]
