"""The source distribution, installed and run far from this checkout. It is slow: `make test-dist` runs it."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names
from tests.flink.install import install, new_environment, run
from tests.runs import evaluate, write_lines
from tests.worker_pool import bare_environment, portable_cluster, started_workers

pytestmark = pytest.mark.dist

PROJECT = Path(__file__).resolve().parents[2]
_NOT_OURS = shutil.ignore_patterns(
    ".venv*", ".git", "out", "node_modules", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis"
)
SIDES = ("ground_truth", "predictions")
FLOORS = ("metrics", "transforms", "pipelines")
BENCHMARKS = [name for name in benchmark_names() if name != "toy"]


def build_source(folder: Path) -> Path:
    """Returns the source distribution of the project as it is now; nothing is left in the working tree."""
    tree = folder / "tree"
    shutil.copytree(PROJECT, tree, ignore=_NOT_OURS)
    run(new_environment(folder / "tools", "build>=1,<2"), "-m", "build", "--sdist", "--outdir", folder / "sdist", tree)
    (archive,) = (folder / "sdist").glob("*.tar.gz")
    shutil.rmtree(tree)
    return archive


@dataclass(frozen=True)
class Installed:
    """The distribution, the Python of the environment with it, a folder of its own, and a cluster: options and logs."""

    archive: Path
    python: Path
    folder: Path
    cluster: list[str]
    logs: Path

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment, in the folder."""
        program = [str(self.python.with_name(str(command[0]))), *map(str, command[1:])]
        environment = bare_environment(self.python)
        return subprocess.run(program, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    base = tmp_path_factory.mktemp("dist")
    archive, folder, constraints = build_source(base), base / "elsewhere", base / "constraints.txt"
    # With the versions that are installed here.
    versions = {found.name: found.version for found in importlib.metadata.distributions()}
    others = versions.keys() - {"beamscore", "pip", "setuptools"}
    constraints.write_text("".join(f"{name}=={versions[name]}\n" for name in others))
    python = new_environment(base / "environment", "-c", constraints, archive)
    shutil.copytree(PROJECT / "tests" / "corpora", folder)
    with portable_cluster(python, base) as options:
        yield Installed(archive, python, folder, options, base)


def test_the_distribution_has_the_packages_the_configurations_and_the_license(installed: Installed) -> None:
    with tarfile.open(installed.archive) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    patterns = ("configs/**/*", *(f"{floor}/**/*.py" for floor in FLOORS))
    files = [path for pattern in patterns for path in PROJECT.glob(pattern) if path.is_file()]
    kept = {str(path.relative_to(PROJECT)) for path in files}
    assert {"LICENSE", "README.md", "setup.py", "pyproject.toml", "MANIFEST.in"} | kept <= names
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if "." not in name} == {"", "LICENSE", "PKG-INFO", "configs", *FLOORS}
    code = "import beamscore, beamscore.pipelines as p; print(beamscore.__file__, p.__file__)"
    done = installed.run("python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert all(path.startswith(str(installed.python.parents[1])) for path in done.stdout.split())
    assert installed.run("python", "-c", "import tests.runs").returncode == 1, "the tests are not installed"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_pool_of_workers_gives_the_bytes_of_a_local_run(installed: Installed, benchmark: str, tmp_path: Path) -> None:
    if benchmark == "formula" and not shutil.which("latex"):
        pytest.skip("needs TeX")
    truths, predictions = (str(installed.folder / benchmark / f"{side}.jsonl") for side in SIDES)
    inputs = ["--ground-truth", truths, "--predictions", predictions, "--slice", "source"]
    workers = started_workers(installed.logs)
    done = installed.run("beamscore", "evaluate", benchmark, *inputs, "--output", tmp_path / "pool", *installed.cluster)
    assert done.returncode == 0, done.stderr
    assert started_workers(installed.logs) > workers, "the job did not run in the pool"
    local = evaluate(tmp_path / "local", truths, predictions, "--slice", "source", config=benchmark)
    assert local.code == 0, local.stderr
    for name, content in local.bytes().items():
        assert (tmp_path / "pool" / name).read_bytes() == content, name


def test_the_launcher_of_the_template_runs_without_the_checkout(installed: Installed, tmp_path: Path) -> None:
    shutil.copy(PROJECT / "configs" / "dataflow" / "launch.py", tmp_path)
    parameters = [f"--{name}=chart/{name}.jsonl" for name in SIDES]
    done = installed.run("python", tmp_path / "launch.py", "--config=chart", *parameters, "--output=out/launched")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "out" / "launched" / "summary.json").exists()


@pytest.fixture(scope="module")
def plugin(installed: Installed) -> str:
    """Installs the package of tests/plugin beside beamscore; returns the name of its benchmark."""
    source = installed.folder.parent / "plugin"
    shutil.copytree(PROJECT / "tests" / "plugin", source)
    constraints = source.with_name("constraints.txt")
    for arguments in (("--no-deps", source), ("pytest", "pytest-timeout", "hypothesis")):
        install(installed.python, "-c", constraints, *arguments)
    return "word_error_rate"


def test_a_benchmark_of_another_package_is_listed_configured_and_run_on_a_pool_of_workers(
    installed: Installed, plugin: str, tmp_path: Path
) -> None:
    done = installed.run("beamscore", "benchmarks", plugin)
    assert done.stdout.startswith(f"{plugin}: transcripts: word edits over the words of the reference\n")
    assert "word edits / words of the references; lower is better" in done.stdout
    (tmp_path / "config.yaml").write_text(f"benchmark: {plugin}\ncase_sensitve: true\n")
    done = installed.run("beamscore", "evaluate", tmp_path / "config.yaml")
    assert (done.returncode, "did you mean case_sensitive?" in done.stderr) == (2, True), done.stderr
    inputs = ["--slice", "sample_id"]
    sides = {"ground-truth": {"a": "keep right here", "b": "lane closed"}, "predictions": {"a": "Keep left"}}
    for side, texts in sides.items():
        records = [{"sample_id": name, "text": text} for name, text in texts.items()]
        inputs.append(f"--{side}={write_lines(tmp_path / f'{side}.jsonl', records)}")
    for name, options in {"local": [], "pool": installed.cluster}.items():
        output = f"--output={tmp_path / name}"
        done = installed.run("beamscore", "evaluate", plugin, *inputs, output, *options)
        assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "local" / "summary.json").read_text())
    # a: one substitution and one deletion of 3 words; b has no prediction: 2 deletions of 2 words.
    assert summary["systems"]["predictions"]["values"] == {"word_error_rate": 4 / 5, "exact_match": 0.0}
    report = (tmp_path / "local" / "report.md").read_text()
    assert report.index("| b ") < report.index("| a "), "lower is better: the highest rate is the worst sample"
    for name in ("summary.json", "sums.json", "report.md"):
        assert (tmp_path / "local" / name).read_bytes() == (tmp_path / "pool" / name).read_bytes()


def test_the_laws_hold_for_a_benchmark_of_another_package(installed: Installed, plugin: str) -> None:
    laws = PROJECT / "tests" / "test_laws.py"
    done = installed.run("python", "-m", "pytest", "-p", "no:cacheprovider", laws, "-k", plugin)
    assert done.returncode == 0, done.stdout
