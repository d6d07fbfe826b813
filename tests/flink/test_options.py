"""The options that docs/how-to/flink.md gives for clusters that stand already: the runner, the pool of workers."""

from __future__ import annotations

import contextlib
import re
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.flink.cluster import EXPORT, OPEN, FlinkCluster
from tests.flink.conftest import evaluate_well, sides_of
from tests.flink.install import class_path, worker_python
from tests.runs import Run
from tests.servers import await_servers, bare_environment, end_servers, free_ports, listens, start_server

SLOTS = 2
KEPT = ("--environment_cache_millis=10000", f"--sdk_worker_parallelism={SLOTS}", f"--parallelism={SLOTS}")
BRIDGE, HERE = "beamscore", "10.73.0.1"
PORT = 50_000
"""The port of a pool on a machine of its own, as each machine of a cluster has to have it at the same one."""


class Machine(NamedTuple):
    """A machine, which has the files of this one and an address of its own: a namespace of the network."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        return ["ip", "netns", "exec", self.name]


@contextlib.contextmanager
def machines(count: int) -> Iterator[list[Machine]]:
    """Makes machines, which reach this one at HERE; raises OSError where it is not allowed to make any."""
    made = [Machine(f"{BRIDGE}{number}", f"10.73.0.{number + 2}") for number in range(count)]
    make = [f"link add {BRIDGE} type bridge", f"addr add {HERE}/24 dev {BRIDGE}", f"link set {BRIDGE} up"]
    for name, address in made:
        make += [
            *(f"netns add {name}", f"link add {name} type veth peer name inside netns {name}"),
            *(f"link set {name} master {BRIDGE} up", f"netns exec {name} ip addr add {address}/24 dev inside"),
            *(f"netns exec {name} ip link set inside up", f"netns exec {name} ip link set lo up"),
        ]
    remove = [f"link del {BRIDGE}", *(f"netns del {machine.name}" for machine in made)]
    # Those that a run has left that was killed.
    _ip(remove, "-force")
    try:
        problem = _ip(make)
        if problem:
            raise OSError(problem)
        yield made
    finally:
        _ip(remove, "-force")


def _ip(commands: Sequence[str], *flags: str) -> str:
    """Configures the network by the program `ip`; returns what went wrong."""
    batch = ["ip", *flags, "-batch", "-"]
    return subprocess.run(batch, input="\n".join(commands), capture_output=True, text=True, check=False).stderr.strip()


@contextlib.contextmanager
def worker_pool(
    folder: Path, more: Mapping[str, str], executable: Path | None = None, machine: Machine | None = None
) -> Iterator[list[str]]:
    """Runs a pool of workers in `folder`, as it runs beside each TaskManager; gives the pipeline options that use it.

    more: variables of the environment. executable: what starts a worker by the contract of Beam's containers, as the
    pool in an image has it; without one, the pool starts workers itself. machine: where it runs, by default here.
    """
    python, (port,) = worker_python(), [PORT] if machine else free_ports(1)
    prefix, host = (machine.prefix, machine.address) if machine else ([], "localhost")
    command = [*prefix, str(python), "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    command += [f"--container_executable={executable}"] if executable else []
    pool = start_server("pool", command, folder, folder, {**bare_environment(python), **more})
    try:
        await_servers("the pool", lambda: listens(port, host), [pool], 60)
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
    """Returns the options of the runner that starts a job server of its own, from a jar in the folder.

    The jar holds nothing but the names of the jars that are downloaded, and of the class to run.
    """
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


def test_the_runner_that_brings_its_job_server_with_a_pool_of_workers(
    single: FlinkCluster, here: Run, tmp_path: Path
) -> None:
    with worker_pool(tmp_path, {"PYTHONPATH": str(single.project)}) as pool:
        there = evaluate_chart(tmp_path / "out", *flink_runner(single, tmp_path), *KEPT, *pool)
    assert there.bytes() == here.bytes()
    assert started_workers(tmp_path) == SLOTS, "one for each slot, kept from stage to stage"


def test_machines_that_have_a_pool_each(here: Run, tmp_path: Path) -> None:
    """Each TaskManager finds the workers beside it, under an address that is the same for all."""
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(machines(2))
        except OSError as error:
            pytest.skip(f"machines cannot be made here: {error}")
        prefixes = [machine.prefix for machine in made]
        cluster = stack.enter_context(FlinkCluster(tmp_path / "flink", address=HERE, prefixes=prefixes))
        pool: list[str] = []
        for machine in made:
            (tmp_path / machine.name).mkdir()
            path = {"PYTHONPATH": str(cluster.project)}
            pool = stack.enter_context(worker_pool(tmp_path / machine.name, path, machine=machine))
        there = evaluate_chart(tmp_path / "out", *flink_runner(cluster, tmp_path), *KEPT, *pool)
        assert there.bytes() == here.bytes()
        assert all(started_workers(tmp_path / machine.name) for machine in made)


def test_a_job_server_that_runs_already_with_a_pool_of_workers_in_containers(
    single: FlinkCluster, here: Run, tmp_path: Path
) -> None:
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
