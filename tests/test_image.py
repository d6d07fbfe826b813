"""The image for Dataflow, as far as its files tell: what is copied exists, and its versions fit together."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from beamscore.metrics.registry import benchmark_names
from beamscore.metrics.version import VERSION

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "configs" / "dataflow"


@dataclass(frozen=True)
class Instruction:
    """One instruction of the Dockerfile: its word, its flags, its arguments, and the number of its stage from 0."""

    word: str
    flags: dict[str, str]
    arguments: list[str]
    stage: int


def instructions(text: str) -> Iterator[Instruction]:
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    stage = -1
    for line in filter(None, map(str.strip, text.splitlines())):
        word, *rest = line.split()
        stage += word == "FROM"
        flags = dict(flag.removeprefix("--").split("=", 1) for flag in rest if re.match(r"--[a-z]+=", flag))
        count = len(flags) if word in ("COPY", "FROM", "RUN") else 0
        yield Instruction(word, flags if count else {}, rest[count:], stage)


INSTRUCTIONS = list(instructions((FOLDER / "Dockerfile").read_text()))
LAST = max(each.stage for each in INSTRUCTIONS)


def found(word: str, stage: int | None = None) -> list[Instruction]:
    return [each for each in INSTRUCTIONS if each.word == word and stage in (None, each.stage)]


def constraints() -> dict[NormalizedName, str]:
    lines = [line for line in (FOLDER / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pins = [line.split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in pins}


def environment() -> dict[str, str]:
    return dict(each.arguments[0].split("=") for each in found("ENV", LAST))


def test_known_instructions_alone_on_pinned_bases() -> None:
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "LABEL", "USER", "ENTRYPOINT"}
    assert {each.word for each in INSTRUCTIONS} == known
    assert all(re.search(r":(?!latest)[\w.-]+$", each.arguments[0]) for each in found("FROM"))


def test_what_is_copied_exists_and_the_distribution_is_whole() -> None:
    stages = {each.arguments[2]: each.stage for each in found("FROM") if "AS" in each.arguments}
    for copy in found("COPY"):
        *sources, target = copy.arguments
        assert len(sources) == 1 or target.endswith("/"), "several files go into a folder"
        if "from" in copy.flags:
            assert stages[copy.flags["from"]] < copy.stage
        else:
            assert all((ROOT / source).exists() for source in sources), copy.arguments
    copied = {Path(source).name for copy in found("COPY", 1) for source in copy.arguments[:-1]}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    modules = {path.name for path in ROOT.glob("*.py")}
    others = {"pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "configs", "py.typed"}
    assert copied == others | packages | modules


def test_all_name_one_version_of_beam_and_of_python() -> None:
    bases = [each.arguments[0] for each in found("FROM")]
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
    name, copies = "FLEX_TEMPLATE_PYTHON_PY_FILE", [copy.arguments for copy in found("COPY", LAST)]
    assert ["configs/dataflow/launch.py", environment()[name]] in copies
    assert ["tests/corpora", "/opt/beamscore/corpora"] in copies
    assert {folder.name for folder in (ROOT / "tests" / "corpora").iterdir()} == set(benchmark_names()) - {"toy"}
    words = [(each.word, each.arguments) for each in INSTRUCTIONS if each.stage == LAST]
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
    (entry,), (label,) = found("ENTRYPOINT"), found("LABEL", LAST)
    assert (entry.arguments, entry.stage) == (['["/opt/apache/beam/boot"]'], LAST)
    assert f'org.opencontainers.image.version="{VERSION}"' in label.arguments


def test_the_build_names_this_dockerfile() -> None:
    build: Any = yaml.safe_load((FOLDER / "cloudbuild.yaml").read_text())
    (step,) = build["steps"]
    arguments = step["args"]
    assert ROOT / arguments[arguments.index("--file") + 1] == FOLDER / "Dockerfile"
    assert arguments[-1] == "."
    assert build["images"] == [arguments[arguments.index("--tag") + 1]]
