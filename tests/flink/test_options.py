"""The options that docs/how-to/flink.md gives for clusters that stand already: the runner, the pool of workers."""

import contextlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.flink.cluster import EXPORT, OPEN, FlinkCluster
from tests.flink.conftest import evaluate_well, sides_of
from tests.flink.install import class_path, worker_python
from tests.runs import Run
from tests.servers import await_servers, bare_environment, end_servers, free_ports, listens, start_server

SLOTS = 2
KEPT = ("--environment_cache_millis=10000", f"--sdk_worker_parallelism={SLOTS}", f"--parallelism={SLOTS}")


@contextlib.contextmanager
def worker_pool(folder: Path, more: Mapping[str, str], executable: Path | None = None) -> Iterator[list[str]]:
    """Runs a pool of workers in `folder`, with `more` variables of the environment; gives the options that use it.

    executable: what starts a worker by the contract of Beam's containers; without one, the pool starts workers itself.
    """
    python, (port,) = worker_python(), free_ports(1)
    command = [str(python), "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    command += [f"--container_executable={executable}"] if executable else []
    pool = start_server("pool", command, folder, folder, {**bare_environment(python), **more})
    try:
        await_servers("the pool", lambda: listens(port), [pool], 60)
        yield ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]
    finally:
        end_servers([pool])


def started_workers(folder: Path) -> int:
    return (folder / "pool.log").read_text().count("Starting worker with command")


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkCluster]:
    """A cluster of one TaskManager, as a pool of workers serves one."""
    with FlinkCluster(tmp_path_factory.mktemp("flink"), task_managers=1, slots=SLOTS) as running:
        yield running


def evaluate_chart(output: Path, *options: str) -> Run:
    return evaluate_well(output, "chart", sides_of("chart"), "--slice", "source", *options)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate_chart(tmp_path_factory.mktemp("here"))


def flink_runner(cluster: FlinkCluster, folder: Path) -> list[str]:
    """Returns the options of the runner that starts its own job server, from a jar that names others and a class."""
    entries = {
        "Manifest-Version": "1.0",
        "Main-Class": "org.apache.beam.runners.flink.FlinkJobServerDriver",
        "Class-Path": " ".join(Path(jar).as_uri() for jar in class_path().split(":")),
        "Add-Opens": " ".join(OPEN),
        "Add-Exports": " ".join(EXPORT),
    }
    # A line of a manifest has at most 72 bytes; one that goes on starts with a space.
    lines = [re.sub(r"(.{71})(?=.)", r"\1\n ", f"{name}: {value}\n") for name, value in entries.items()]
    path = folder / "job-server.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "".join(lines))
    master = f"--flink_master={cluster.master}"
    return ["--runner=FlinkRunner", master, "--flink_version=1.19", f"--flink_job_server_jar={path}"]


def test_a_runner_with_its_job_server_and_a_pool_of_workers(single: FlinkCluster, here: Run, tmp_path: Path) -> None:
    with worker_pool(tmp_path, {"PYTHONPATH": str(single.project)}) as pool:
        there = evaluate_chart(tmp_path / "out", *flink_runner(single, tmp_path), *KEPT, *pool)
    assert there.bytes() == here.bytes()
    assert started_workers(tmp_path) == SLOTS, "one for each slot, kept from stage to stage"


def test_a_running_job_server_with_workers_in_containers(single: FlinkCluster, here: Run, tmp_path: Path) -> None:
    server = [option for option in single.options() if "endpoint" in option]
    nothing_staged = "--experiments=disable_logging_submission_environment"
    staged_before = staged_files(single)
    with worker_pool(tmp_path, {}, executable=single.worker) as pool:
        there = evaluate_chart(tmp_path / "out", "--runner=PortableRunner", *server, nothing_staged, *KEPT, *pool)
    assert there.bytes() == here.bytes()
    assert started_workers(tmp_path) == SLOTS
    assert staged_files(single) == staged_before, "nothing that a TaskManager elsewhere would look for in vain"


def staged_files(single: FlinkCluster) -> set[Path]:
    return {path for path in (single.folder / "artifacts").rglob("*") if path.is_file()}
