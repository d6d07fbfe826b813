"""A Flink session cluster and Beam's job server, as processes that end with the block that started them."""

from __future__ import annotations

import json
import shlex
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from tests.flink.install import class_path, install_project, worker_python
from tests.flink.rest import FlinkRest
from tests.servers import Server, await_servers, end_servers, free_ports, listens, start_server

START_SECONDS = 120

# The memory of a TaskManager: for Flink itself, on the heap and as much off it, and for each slot.
FRAMEWORK_MIB = 128
HEAP_MIB, OFF_HEAP_MIB, NETWORK_MIB, MANAGED_MIB = 640, 512, 192, 256

# Flink and the libraries within it reach into these packages of Java.
OPEN = [
    *(f"java.base/java.{name}" for name in ("lang", "net", "io", "nio", "text", "time", "util", "lang.reflect")),
    *(f"java.base/java.util.{name}" for name in ("concurrent", "concurrent.atomic", "concurrent.locks")),
    "java.base/sun.nio.ch",
]
EXPORT = ["java.base/sun.net.util", "java.management/sun.management", "java.rmi/sun.rmi.registry"]
_JAVA = [
    "java",
    *(f"--add-opens={name}=ALL-UNNAMED" for name in OPEN),
    *(f"--add-exports={name}=ALL-UNNAMED" for name in EXPORT),
    "-XX:+UseSerialGC",
    # Jobs here are over before what the second compiler makes faster has paid for its work.
    "-XX:TieredStopAtLevel=1",
    "-XX:MaxMetaspaceSize=512m",
]
_LOG4J = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = Console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
"""


class FlinkCluster:
    """One JobManager, some TaskManagers, and a job server, all on this machine.

    with FlinkCluster() as cluster:
        main(["evaluate", ..., *cluster.options()])

    Every process has free ports and a log in `logs`, and ends with the block, or with the thread that started it if
    that ends before. With one slot each, a job of parallelism 2 runs on two TaskManagers for certain. Flink starts a
    job again 4 s after a failure, up to four times, and waits for as many slots as it had: after the loss of a
    TaskManager, for a new one. A pipeline with a fault of its own fails after as many attempts.

    Workers have the project as it was when the cluster started, and nothing else of this working tree: a pipeline
    may hold functions of the project, of `__main__` and local ones, but none of the test modules.
    """

    def __init__(
        self,
        folder: Path | None = None,
        task_managers: int = 2,
        slots: int = 1,
        address: str = "localhost",
        prefixes: Sequence[Sequence[str]] = ((),),
    ) -> None:
        """Prepares a cluster that keeps its files in `folder`; without one, in a new folder that is kept.

        slots: of each TaskManager. address: where the TaskManagers find all else. prefixes: what stands before the
        command of the first TaskManager, the second and so on, over again where there are more.
        """
        self.folder = Path(folder or tempfile.mkdtemp(prefix="beamscore-flink-")).resolve()
        self.logs = self.folder / "logs"
        self._wanted = task_managers
        self._servers: list[Server] = []
        rest, rpc, blobs, self._job_port, self._artifact_port = free_ports(5)
        self.rest = FlinkRest(f"http://{address}:{rest}")
        self._slots = slots
        self._prefixes = prefixes
        self._settings = _settings(self.folder, address, rest, rpc, blobs, slots)

    def __enter__(self) -> FlinkCluster:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def options(self, parallelism: int = 2) -> list[str]:
        """Returns the pipeline options that run a pipeline here."""
        return [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{self._job_port}",
            f"--artifact_endpoint=localhost:{self._artifact_port}",
            "--environment_type=PROCESS",
            f"--environment_config={json.dumps({'command': str(self.worker)})}",
            "--environment_cache_millis=10000",
            f"--parallelism={parallelism}",
        ]

    @property
    def master(self) -> str:
        """What --flink_master is given."""
        return self.rest.url.removeprefix("http://")

    @property
    def worker(self) -> Path:
        """What starts a worker, by the contract of Beam's containers."""
        return self.folder / "worker"

    @property
    def project(self) -> Path:
        """The folder that Python finds the project in, as it was when the cluster started."""
        return self.folder / "project"

    def start_task_manager(self) -> int:
        """Starts one more TaskManager and returns its number, from 0."""
        number = sum(server.name.startswith("taskmanager") for server in self._servers)
        memory = [
            f"-Xmx{FRAMEWORK_MIB + self._slots * HEAP_MIB}m",
            f"-XX:MaxDirectMemorySize={FRAMEWORK_MIB + self._slots * (OFF_HEAP_MIB + NETWORK_MIB)}m",
        ]
        self._run(f"taskmanager-{number}", memory, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
                  "--configDir", str(self.folder / "conf"),
                  prefix=self._prefixes[number % len(self._prefixes)])  # fmt: skip
        return number

    def running_task_managers(self) -> list[int]:
        """Returns the numbers of the TaskManagers that have not ended."""
        running = [server.name for server in self._servers if server.runs]
        return [int(name.partition("-")[2]) for name in running if name.startswith("taskmanager-")]

    def kill_task_manager(self, number: int) -> None:
        """Kills a TaskManager and its workers at once, as the loss of a machine would."""
        victim = next(server for server in self._servers if server.name == f"taskmanager-{number}")
        victim.signal(signal.SIGKILL)
        victim.process.wait()

    def stop(self) -> None:
        """Ends every process."""
        end_servers(self._servers)

    def _start(self) -> None:
        self._write_files()
        configuration = str(self.folder / "conf")
        self._run("jobmanager", ["-Xmx512m"], "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
                  "--configDir", configuration)  # fmt: skip
        for _ in range(self._wanted):
            self.start_task_manager()
        self._run("jobserver", ["-Xmx512m"], "org.apache.beam.runners.flink.FlinkJobServerDriver",
                  f"--flink-master={self.master}", f"--flink-conf-dir={configuration}",
                  "--job-host=localhost", f"--job-port={self._job_port}", f"--artifact-port={self._artifact_port}",
                  "--expansion-port=0", f"--artifacts-dir={self.folder / 'artifacts'}")  # fmt: skip
        self._await("all TaskManagers", lambda: len(self.rest.task_managers()) == self._wanted)
        self._await("the job server", lambda: listens(self._job_port))

    def _write_files(self) -> None:
        for name in ("conf", "logs", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        lines = [f"{name}: {value}\n" for name, value in self._settings.items()]
        (self.folder / "conf" / "config.yaml").write_text("".join(lines))
        (self.folder / "conf" / "log4j.properties").write_text(_LOG4J)
        install_project(self.project)
        command = shlex.join([str(worker_python()), str(Path(__file__).with_name("boot.py"))])
        log = shlex.quote(str(self.logs))
        path = f"PYTHONPATH={shlex.quote(str(self.project))}"
        self.worker.write_text(f'#!/bin/sh\n{path} exec {command} "$@" >> {log}/worker-$$.log 2>&1\n')
        self.worker.chmod(0o755)

    def _run(self, name: str, memory: Sequence[str], main: str, *arguments: str, prefix: Sequence[str] = ()) -> None:
        log4j = f"-Dlog4j.configurationFile={self.folder / 'conf' / 'log4j.properties'}"
        scratch = f"-Djava.io.tmpdir={self.folder / 'tmp'}"
        command = [*prefix, *_JAVA, *memory, log4j, scratch, "-cp", class_path(), main, *arguments]
        self._servers.append(start_server(name, command, self.logs, self.folder))

    def _await(self, what: str, ready: Callable[[], bool]) -> None:
        await_servers(what, ready, self._servers, START_SECONDS)


def _settings(folder: Path, address: str, rest: int, rpc: int, blobs: int, slots: int) -> dict[str, str | int | float]:
    """Returns Flink's configuration; memory is named in full, as the processes are started without Flink's scripts."""
    return {
        "jobmanager.rpc.address": address,
        "jobmanager.rpc.port": rpc,
        "blob.server.port": blobs,
        "rest.address": address,
        "rest.port": rest,
        **_bound(address),
        "taskmanager.numberOfTaskSlots": slots,
        "taskmanager.cpu.cores": float(slots),
        "taskmanager.memory.framework.heap.size": f"{FRAMEWORK_MIB}m",
        "taskmanager.memory.task.heap.size": f"{slots * HEAP_MIB}m",
        "taskmanager.memory.framework.off-heap.size": f"{FRAMEWORK_MIB}m",
        "taskmanager.memory.task.off-heap.size": f"{slots * OFF_HEAP_MIB}m",
        "taskmanager.memory.network.min": f"{slots * NETWORK_MIB}m",
        "taskmanager.memory.network.max": f"{slots * NETWORK_MIB}m",
        "taskmanager.memory.managed.size": f"{slots * MANAGED_MIB}m",
        "taskmanager.memory.jvm-metaspace.size": "512m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "io.tmp.dirs": str(folder / "tmp"),
        "heartbeat.interval": 1000,
        "heartbeat.timeout": 10_000,
        # The delay lets a lost TaskManager be noticed first: an attempt that still counts on it fails at once.
        "classloader.resolve-order": "parent-first",
        # A TaskManager whose memory is not enough ends, where it would hang otherwise.
        "cluster.uncaught-exception-handling": "FAIL",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 4,
        "restart-strategy.fixed-delay.delay": "4 s",
    }


def _bound(address: str) -> dict[str, str]:
    """Returns where the processes listen, and how a TaskManager knows its own address: by the way to the others."""
    if address == "localhost":
        own, listen = {"taskmanager.host": address}, address
    else:
        own, listen = {"taskmanager.network.bind-policy": "ip"}, "0.0.0.0"
    return {**own, **dict.fromkeys(("jobmanager.bind-host", "rest.bind-address", "taskmanager.bind-host"), listen)}
