"""The source distribution, installed and run far from this checkout. It is slow: `make test-dist` runs it."""

import importlib.metadata
import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from beamscore.metrics.registry import benchmark_names
from tests.flink.install import PROJECT, install, new_environment, run, source
from tests.runs import evaluate, write_lines
from tests.servers import bare_environment
from tests.test_benchmark_files import EXAMPLE

pytestmark = pytest.mark.dist

SIDES = ("ground_truth", "predictions")
FLOORS = ("metrics", "transforms", "pipelines")
BENCHMARKS = [name for name in benchmark_names() if name != "toy"]


@dataclass(frozen=True)
class Installed:
    """The distribution, the Python of the environment with it, the versions of the others, and a folder of its own."""

    archive: Path
    python: Path
    constraints: Path
    folder: Path

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment, in the folder."""
        program = [str(self.python.with_name(str(command[0]))), *map(str, command[1:])]
        environment = bare_environment(self.python)
        return subprocess.run(program, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=180)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("dist")
    run(new_environment(base / "tools", "build>=1,<2"), "-m", "build", "--sdist", "--outdir", base, source(base))
    (archive,) = base.glob("*.tar.gz")
    # With the versions that are installed here.
    versions = {found.name: found.version for found in importlib.metadata.distributions()}
    others = versions.keys() - {"beamscore", "pip", "setuptools"}
    constraints, folder = base / "constraints.txt", base / "elsewhere"
    constraints.write_text("".join(f"{name}=={versions[name]}\n" for name in others))
    shutil.copytree(PROJECT / "tests" / "corpora", folder)
    return Installed(archive, new_environment(base / "environment", "-c", constraints, archive), constraints, folder)


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
def test_worker_processes_give_the_bytes_of_a_local_run(installed: Installed, benchmark: str, tmp_path: Path) -> None:
    if benchmark == "formula" and not shutil.which("latex"):
        pytest.skip("needs TeX")
    truths, predictions = (str(installed.folder / benchmark / f"{side}.jsonl") for side in SIDES)
    inputs = ["--ground-truth", truths, "--predictions", predictions, "--slice", "source", "--processes", "2"]
    done = installed.run("beamscore", "evaluate", benchmark, *inputs, "--output", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    local = evaluate(tmp_path / "local", truths, predictions, "--slice", "source", config=benchmark)
    assert local.code == 0, local.stderr
    for name, content in local.bytes().items():
        assert (tmp_path / "there" / name).read_bytes() == content, name


@pytest.fixture(scope="module")
def plugin(installed: Installed) -> str:
    """Installs the package of tests/plugin with the file of the docs; returns the name of its benchmark."""
    package = shutil.copytree(PROJECT / "tests" / "plugin", installed.folder.with_name("plugin"))
    (package / "word_error_rate" / "benchmark.py").write_text(EXAMPLE)
    for arguments in (("--no-deps", package), ("pytest", "pytest-timeout", "hypothesis")):
        install(installed.python, "-c", installed.constraints, *arguments)
    return "word_error_rate"


def test_a_benchmark_of_another_package_is_listed_and_run(installed: Installed, plugin: str, tmp_path: Path) -> None:
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
    for number in "12":
        output = (f"--output={tmp_path / number}", f"--processes={number}")
        done = installed.run("beamscore", "evaluate", plugin, *inputs, *output)
        assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "1" / "summary.json").read_text())
    # a: one substitution and one deletion of 3 words; b has no prediction: 2 deletions of 2 words.
    assert summary["systems"]["predictions"]["values"] == {"word_error_rate": 4 / 5, "exact_match": 0.0}
    versions = json.loads((tmp_path / "1" / "run.json").read_text())["versions"]
    assert versions["packages"]["beamscore_word_error_rate"] == "0.1.0"
    report = (tmp_path / "1" / "report.md").read_text()
    assert report.index("| b ") < report.index("| a "), "lower is better: the highest rate is the worst sample"
    for name in ("summary.json", "sums.json", "report.md"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_laws_hold_for_a_benchmark_of_another_package(installed: Installed, plugin: str) -> None:
    laws = PROJECT / "tests" / "test_laws.py"
    done = installed.run("python", "-m", "pytest", "-p", "no:cacheprovider", laws, "-k", plugin)
    assert done.returncode == 0, done.stdout
