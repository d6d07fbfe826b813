"""A Flink session cluster and Beam's job server, as processes that end with the block that started them."""

from __future__ import annotations

import json
import shlex
import signal
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.flink.install import class_path, install_project, worker_python
from tests.servers import Server, await_servers, end_servers, free_ports, listens, start_server

START_SECONDS = 120

# The memory of a TaskManager: for Flink itself, on the heap and as much off it, and for each slot.
FRAMEWORK_MIB = 128
HEAP_MIB, OFF_HEAP_MIB, NETWORK_MIB, MANAGED_MIB = 640, 512, 192, 256
SHUFFLE_BUFFERS = 64

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


class Vertex(NamedTuple):
    """One vertex of a job: a chain of operators that runs in some subtasks.

    moved: by subtask, the records that it read from other vertices or wrote to them, whichever is more in all.
    bytes_read: what all subtasks read from other vertices, in the same process or over the network.
    regroups: whether a subtask of it reads from all subtasks of the vertex before, not from its own alone.
    attempts: how often the subtask that was started most often was started.
    """

    name: str
    moved: list[int]
    attempts: int
    bytes_read: int
    regroups: bool

    def least_share(self) -> float:
        """Returns the share of its records that the subtask with the fewest moved."""
        return min(self.moved) / max(1, sum(self.moved))


class FlinkCluster:
    """One JobManager, some TaskManagers and a job server, on this machine, for what runs with `options()` in its block.

    Every process has free ports and a log in `logs`, and ends with the block, or with the thread that started it. With
    one slot each, a job of parallelism 2 runs on two TaskManagers for certain. Flink starts a job again 4 s after a
    failure, up to four times, and waits for as many slots as it had. Workers have the project as it was when it began,
    and none of the test modules.
    """

    def __init__(self, folder: Path | None = None, task_managers: int = 2, slots: int = 1) -> None:
        """Prepares a cluster in `folder`, or in a new one that is kept; slots: of each TaskManager."""
        self.folder = Path(folder or tempfile.mkdtemp(prefix="beamscore-flink-")).resolve()
        self.logs = self.folder / "logs"
        self.worker = self.folder / "worker"
        """What starts a worker, by the contract of Beam's containers."""
        self.project = self.folder / "project"
        """The folder that Python finds the project in, as it was when the cluster started."""
        rest, rpc, blobs, self._job_port, self._artifact_port = free_ports(5)
        self.master = f"localhost:{rest}"
        """What --flink_master is given."""
        self._wanted, self._slots = task_managers, slots
        self._task_managers: list[Server] = []
        self._servers: list[Server] = []
        self._settings = _settings(self.folder, rest, rpc, blobs, slots)

    def __enter__(self) -> FlinkCluster:
        try:
            self._start()
        except BaseException:
            end_servers(self._servers)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_servers(self._servers)

    def options(self) -> list[str]:
        """Returns the pipeline options that run a pipeline here."""
        return [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{self._job_port}",
            f"--artifact_endpoint=localhost:{self._artifact_port}",
            "--environment_type=PROCESS",
            f"--environment_config={json.dumps({'command': str(self.worker)})}",
            "--environment_cache_millis=10000",
            "--parallelism=2",
        ]

    def start_task_manager(self) -> None:
        memory = [
            f"-Xmx{FRAMEWORK_MIB + self._slots * HEAP_MIB}m",
            f"-XX:MaxDirectMemorySize={FRAMEWORK_MIB + self._slots * (OFF_HEAP_MIB + NETWORK_MIB)}m",
        ]
        number = len(self._task_managers)
        started = self._run(
            f"taskmanager-{number}", memory, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
            "--configDir", str(self.folder / "conf"),
        )  # fmt: skip
        self._task_managers.append(started)

    def kill_task_managers(self, count: int) -> None:
        """Kills so many TaskManagers and their workers at once, as the loss of machines would."""
        for victim in [server for server in self._task_managers if server.runs][:count]:
            victim.signal(signal.SIGKILL)
            victim.process.wait()

    def get(self, path: str) -> Any:
        """Returns what Flink's REST interface answers; raises OSError where nothing does."""
        with urllib.request.urlopen(f"http://{self.master}{path}", timeout=10) as answer:
            return json.load(answer)

    def jobs(self) -> dict[str, str]:
        """Returns the state of each job by its id, the newest first."""
        found = sorted(self.get("/jobs/overview")["jobs"], key=lambda job: job["start-time"], reverse=True)
        return {job["jid"]: job["state"] for job in found}

    def vertices(self) -> list[Vertex]:
        """Returns the vertices of the newest job."""
        job = next(iter(self.jobs()))
        found = self.get(f"/jobs/{job}")
        inputs = {node["id"]: node.get("inputs", ()) for node in found["plan"]["nodes"]}
        return [self._vertex(job, each["id"], each["name"], inputs[each["id"]]) for each in found["vertices"]]

    def _vertex(self, job: str, key: str, name: str, inputs: Sequence[Any]) -> Vertex:
        subtasks = self.get(f"/jobs/{job}/vertices/{key}")["subtasks"]
        metrics = [subtask["metrics"] for subtask in subtasks]
        return Vertex(
            name,
            max(([each[f"{way}-records"] for each in metrics] for way in ("read", "write")), key=sum),
            1 + max(subtask["attempt"] for subtask in subtasks),
            sum(each["read-bytes"] for each in metrics),
            any(each["ship_strategy"].casefold() != "forward" for each in inputs),
        )

    def _start(self) -> None:
        configuration = self.folder / "conf"
        for folder in (configuration, self.logs, self.folder / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        (configuration / "config.yaml").write_text("".join(f"{key}: {each}\n" for key, each in self._settings.items()))
        (configuration / "log4j.properties").write_text(_LOG4J)
        install_project(self.project)
        command = shlex.join([str(worker_python()), str(Path(__file__).with_name("boot.py"))])
        log, path = shlex.quote(str(self.logs)), f"PYTHONPATH={shlex.quote(str(self.project))}"
        self.worker.write_text(f'#!/bin/sh\n{path} exec {command} "$@" >> {log}/worker-$$.log 2>&1\n')
        self.worker.chmod(0o755)
        entry = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
        self._run("jobmanager", ["-Xmx512m"], entry, "--configDir", str(configuration))
        for _ in range(self._wanted):
            self.start_task_manager()
        self._run("jobserver", ["-Xmx512m"], "org.apache.beam.runners.flink.FlinkJobServerDriver",
                  f"--flink-master={self.master}", f"--flink-conf-dir={configuration}",
                  "--job-host=localhost", f"--job-port={self._job_port}", f"--artifact-port={self._artifact_port}",
                  "--expansion-port=0", f"--artifacts-dir={self.folder / 'artifacts'}")  # fmt: skip
        for what, ready in (
            ("all TaskManagers", lambda: len(self.get("/taskmanagers")["taskmanagers"]) == self._wanted),
            ("the job server", lambda: listens(self._job_port)),
        ):
            await_servers(what, ready, self._servers, START_SECONDS)

    def _run(self, name: str, memory: Sequence[str], main: str, *arguments: str) -> Server:
        log4j = f"-Dlog4j.configurationFile={self.folder / 'conf' / 'log4j.properties'}"
        scratch = f"-Djava.io.tmpdir={self.folder / 'tmp'}"
        command = [*_JAVA, *memory, log4j, scratch, "-cp", class_path(), main, *arguments]
        self._servers.append(start_server(name, command, self.logs, self.folder))
        return self._servers[-1]


def _settings(folder: Path, rest: int, rpc: int, blobs: int, slots: int) -> dict[str, str | int | float]:
    """Returns Flink's configuration; memory is named in full, as the processes are started without Flink's scripts."""
    addresses = ("jobmanager.rpc.address", "jobmanager.bind-host", "rest.address", "rest.bind-address",
                 "taskmanager.host", "taskmanager.bind-host")  # fmt: skip
    return {
        **dict.fromkeys(addresses, "localhost"),
        "jobmanager.rpc.port": rpc,
        "blob.server.port": blobs,
        "rest.port": rest,
        "taskmanager.numberOfTaskSlots": slots,
        "taskmanager.cpu.cores": float(slots),
        "taskmanager.memory.framework.heap.size": f"{FRAMEWORK_MIB}m",
        "taskmanager.memory.task.heap.size": f"{slots * HEAP_MIB}m",
        "taskmanager.memory.framework.off-heap.size": f"{FRAMEWORK_MIB}m",
        "taskmanager.memory.task.off-heap.size": f"{slots * OFF_HEAP_MIB}m",
        **dict.fromkeys((f"taskmanager.memory.network.{end}" for end in ("min", "max")), f"{slots * NETWORK_MIB}m"),
        # Pipelines that an evaluation is part of have many shuffles; each takes 512 buffers, 16 MiB, by default.
        "taskmanager.network.sort-shuffle.min-buffers": SHUFFLE_BUFFERS,
        "taskmanager.memory.managed.size": f"{slots * MANAGED_MIB}m",
        "taskmanager.memory.jvm-metaspace.size": "512m",
        **dict.fromkeys((f"taskmanager.memory.jvm-overhead.{end}" for end in ("min", "max")), "192m"),
        "io.tmp.dirs": str(folder / "tmp"),
        "heartbeat.interval": 1000,
        "heartbeat.timeout": 10_000,
        "classloader.resolve-order": "parent-first",
        # A TaskManager whose memory is not enough ends, where it would hang otherwise.
        "cluster.uncaught-exception-handling": "FAIL",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 4,
        # The delay lets a lost TaskManager be noticed first: an attempt that still counts on it fails at once.
        "restart-strategy.fixed-delay.delay": "4 s",
    }
