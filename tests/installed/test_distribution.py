"""The source distribution, installed and run far from this checkout. It is slow: runs where BEAMSCORE_DIST is set."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metrics.benchmark import benchmark_names
from tests.installed.cluster import portable_cluster
from tests.installed.install import PROJECT, build_source, install
from tests.pipelines.test_foreign_packages import CORPUS, foreign
from tests.runs import evaluate
from tests.worker_pool import bare_environment, started_workers

pytestmark = pytest.mark.skipif(not os.environ.get("BEAMSCORE_DIST"), reason="set BEAMSCORE_DIST=1 to install and run")

BENCHMARKS = [name for name in benchmark_names() if name != "toy"]


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
        return subprocess.run(
            program,
            cwd=self.folder,
            env=bare_environment(self.python),
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    base = tmp_path_factory.mktemp("dist")
    archive = build_source(base)
    python = install(archive, base / "environment")
    folder = base / "elsewhere"
    shutil.copytree(PROJECT / "tests" / "corpora", folder)
    with portable_cluster(python, base) as options:
        yield Installed(archive, python, folder, options, base)


def test_the_distribution_has_the_packages_the_configurations_and_the_license(installed: Installed) -> None:
    with tarfile.open(installed.archive) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    configurations = {str(path.relative_to(PROJECT)) for path in (PROJECT / "configs").rglob("*") if path.is_file()}
    assert {"LICENSE", "README.md", "setup.py", "pyproject.toml", "MANIFEST.in"} | configurations <= names
    sources = {str(path.relative_to(PROJECT)) for floor in ("metrics", "transforms", "pipelines")
               for path in (PROJECT / floor).rglob("*.py")}  # fmt: skip
    assert sources <= names
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if "." not in name} == {"", "LICENSE", "configs", "metrics", "pipelines", "transforms",
                                                         "PKG-INFO"}  # fmt: skip


def test_the_package_is_that_of_the_environment(installed: Installed) -> None:
    code = "import metrics, transforms, pipelines; print(metrics.__file__, transforms.__file__, pipelines.__file__)"
    done = installed.run("python", "-c", code)
    assert done.returncode == 0, done.stderr
    prefix = str(installed.python.parents[1])
    assert all(path.startswith(prefix) for path in done.stdout.split())
    assert installed.run("python", "-c", "import tests.runs").returncode == 1, "the tests are not installed"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_a_pool_of_workers_gives_the_bytes_of_a_local_run(installed: Installed, benchmark: str, tmp_path: Path) -> None:
    if benchmark == "formula" and not shutil.which("latex"):
        pytest.skip("needs TeX")
    truths, predictions = (
        str(installed.folder / benchmark / f"{side}.jsonl") for side in ("ground_truth", "predictions")
    )
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
    parameters = [f"--{name}=chart/{name}.jsonl" for name in ("ground_truth", "predictions")]
    done = installed.run("python", tmp_path / "launch.py", "--config=chart", *parameters, "--output=out/launched")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "out" / "launched" / "summary.json").exists()


def test_foreign_packages_in_the_current_folder_do_no_harm(installed: Installed, tmp_path: Path) -> None:
    inputs = [f"--{name}={CORPUS / name.replace('-', '_')}.jsonl" for name in ("ground-truth", "predictions")]
    here = foreign(tmp_path, "metrics", "transforms", "pipelines")
    apart = Installed(installed.archive, installed.python, here, installed.cluster, installed.logs)
    done = apart.run("beamscore", "evaluate", "traffic_rules", *inputs, "--output", "out", "--processes", "2")
    assert (done.returncode, done.stderr) == (0, "")
    (here / "pipelines" / "__init__.py").unlink()
    (here / "pipelines").rmdir()
    done = apart.run("python", "-m", "pipelines.cli", "evaluate", "traffic_rules", *inputs, "--output", "again")
    assert (done.returncode, done.stderr) == (0, "")
