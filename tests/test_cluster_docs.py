"""Pages and configs/ for clusters and nights: commands are understood, files are valid, and the image is sound."""

import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from beamscore.metrics.registry import benchmark_names
from beamscore.metrics.version import VERSION
from beamscore.pipelines.commands import arguments, messages
from beamscore.pipelines.runners import launch
from tests.flink.cluster import NETWORK_MIB, OFF_HEAP_MIB, SHUFFLE_BUFFERS
from tests.pipelines.runners.test_dataflow_template import PARAMETERS
from tests.test_docs_examples import NIGHTLY, blocks

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
DATAFLOW, FLINK = (ROOT / "docs" / "how-to" / f"{name}.md" for name in ("dataflow", "flink"))
IMAGE = CONFIGS / "dataflow"
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
    of_flink, *of_dataflow = [*commands(FLINK), *commands(DATAFLOW)]
    assert len(of_dataflow) == 2
    for call in (of_flink, *of_dataflow):
        understood(call)
    for call in of_dataflow:
        options = {word.partition("=")[0] for word in shlex.split(call)}
        assert {"--project", "--region", "--temp_location", "--sdk_container_image"} <= options
        assert "--runner=DataflowRunner" in call


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
    name = kubernetes("flink/job.yaml")["metadata"]["name"]
    assert f"\n    kubectl logs --follow job/{name} -c {command['name']}\n" in FLINK.read_text(encoding="utf-8")
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
        assert int(configured["taskmanager.network.sort-shuffle.min-buffers"]) == SHUFFLE_BUFFERS
        assert configured["restart-strategy.type"] == "fixed-delay"
        assert configured["cluster.uncaught-exception-handling"] == "FAIL"


def test_the_template_is_run_with_its_parameters_of_which_each_is_named() -> None:
    (run,) = [block.replace("\\\n", " ") for block in blocks(DATAFLOW) if "flex-template run" in block]
    given = dict(each.split("=", 1) for each in re.findall(r"--parameters (\S+)", run))
    assert set(given) <= set(PARAMETERS)
    assert {name for name, parameter in PARAMETERS.items() if not parameter.get("isOptional")} <= set(given)
    _, _, rest = DATAFLOW.read_text().partition("The parameters correspond to the command's arguments: ")
    assert re.findall(r"`(\w+)`", rest.partition(", the image")[0]) == list(PARAMETERS)


def test_nights_run_the_command_and_try_again_only_what_may_pass() -> None:
    unit = (UNITS / "beamscore-nightly.service").read_text(encoding="utf-8")
    service = dict(re.findall(r"^(\w+)=(.*)$", unit.partition("[Service]")[2], re.MULTILINE))
    job = kubernetes("kubernetes/nightly.yaml")["spec"]["jobTemplate"]["spec"]
    shell, option, script = shlex.split(service["ExecStart"].replace("%%", "%").replace("$$", "$"))
    assert (shell, option, service["Restart"]) == ("/bin/sh", "-c", "on-failure")
    (container,), (rule,) = job["template"]["spec"]["containers"], job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert job["template"]["spec"]["restartPolicy"] == "Never", "the policy needs this"
    of_job = container["args"][0], rule["onExitCodes"]["values"]
    for command, codes in ((script, service["RestartPreventExitStatus"].split()), of_job):
        understood("beamscore " + command.partition("beamscore ")[2])
        assert set(map(int, codes)) == SAME_WHEN_REPEATED
    (cron,) = (block.replace("\\%", "%") for block in blocks(NIGHTLY) if "flock" in block)
    # The PATH of cron has no beamscore.
    understood("beamscore " + cron.partition(" .venv/bin/beamscore ")[2].partition(" || ")[0])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze here")
def test_the_units_are_valid() -> None:
    verify = ["systemd-analyze", "verify", *map(str, UNITS.iterdir())]
    assert subprocess.check_output(verify, stderr=subprocess.STDOUT) == b""


@pytest.mark.parametrize("path", ["kubernetes/nightly.yaml", "flink/job.yaml"])
@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_jobs_follow_the_schema_of_kubernetes(path: str, version: str) -> None:
    kubernetes_validate.validate(kubernetes(path), version, strict=True)


DOCKERFILE = re.sub(r"^#.*\n", "", (IMAGE / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
STAGES = re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)[1:]


def instructions(word: str, text: str = DOCKERFILE) -> list[list[str]]:
    """Returns the arguments of each instruction of a kind."""
    return [words.split() for words in re.findall(rf"^{word} (.*)$", text, re.MULTILINE)]


def test_what_is_copied_exists_and_the_distribution_is_whole() -> None:
    names = [words[-1] for words in instructions("FROM")]
    for number, stage in enumerate(STAGES):
        for *sources, target in instructions("COPY", stage):
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in names[:number]
            else:
                assert len(sources) == 1 or target.endswith("/"), "several files go into a folder"
                assert all((ROOT / source).exists() for source in sources), sources
    copied = {Path(source).name for *sources, _ in instructions("COPY", STAGES[1]) for source in sources}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    modules = {path.name for path in ROOT.glob("*.py")}
    others = {"pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "configs", "py.typed"}
    assert copied == others | packages | modules


def test_bases_are_pinned_and_versions_fit_the_ranges_of_the_package() -> None:
    bases = [words[0] for words in instructions("FROM")]
    assert all(re.search(r":(?!latest)[\w.-]+$", base) for base in bases)
    ((python, beam_version),) = set(re.findall(r"^FROM apache/beam_python(.*)_sdk:(\S*)", DOCKERFILE, re.MULTILINE))
    assert f"python{python.replace('.', '')}-template-launcher-base" in bases[0]
    pins = re.findall(r"^([^#\n]+)==(.+)$", (IMAGE / "constraints.txt").read_text(), re.MULTILINE)
    constraints = {canonicalize_name(name): version for name, version in pins}
    declared = list(map(Requirement, importlib.metadata.requires("beamscore") or []))
    of_extras = {str(each.marker) for each in declared if "extra" in str(each.marker)}
    requirements = {canonicalize_name(each.name): each for each in declared if str(each.marker) not in of_extras}
    assert set(constraints) == set(requirements)
    for name, version in constraints.items():
        assert requirements[name].specifier.contains(version), name
    beam = canonicalize_name("apache-beam")
    assert constraints[beam] == beam_version
    for extra in ("gcp", "aws"):
        (requirement,) = (each for each in declared if str(each.marker) == f'extra == "{extra}"')
        assert (requirement.name, requirement.extras) == ("apache-beam", {extra})
        assert requirement.specifier == requirements[beam].specifier


def test_the_image_is_tried_on_every_benchmark_without_rights_and_started_by_beam_with_tex() -> None:
    image = STAGES[-1]
    environment = dict(words[0].split("=") for words in instructions("ENV", image))
    launched = "FLEX_TEMPLATE_PYTHON_PY_FILE"
    assert ["configs/dataflow/launch.py", environment[launched]] in instructions("COPY", image)
    assert ["tests/corpora", "/opt/beamscore/corpora"] in instructions("COPY", image)
    assert {folder.name for folder in (ROOT / "tests" / "corpora").iterdir()} == set(benchmark_names()) - {"toy"}
    before, smoke, after = image.rpartition("\nRUN ")
    assert f'"${launched}" --config=' in after.partition("\n")[0]
    # Workers run as root.
    assert (instructions("USER", before), instructions("USER", smoke + after)) == ([["beamscore"]], [["root"]])
    runs = " ".join(" ".join(words) for words in instructions("RUN"))
    assert ("sh /tmp/install-tex" in runs, "texlive" in runs) == (True, False)
    assert os.access(ROOT / ".ci" / "install-tex", os.X_OK)
    assert environment["RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT"] == "1"
    assert instructions("ENTRYPOINT") == instructions("ENTRYPOINT", image) == [['["/opt/apache/beam/boot"]']]
    assert f'org.opencontainers.image.version="{VERSION}"' in instructions("LABEL", image)[0]
    build: Any = yaml.safe_load((IMAGE / "cloudbuild.yaml").read_text())
    (step,) = build["steps"]
    assert step["args"] == ["build", "--file", "configs/dataflow/Dockerfile", "--tag", *build["images"], "."]
