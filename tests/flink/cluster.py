"""A Flink session cluster and Beam's job server, as processes that end with the block that started them."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.flink.jars import class_path
from tests.flink.rest import FlinkRest
from tests.flink.workers import install_project, worker_python

START_SECONDS = 120
_PR_SET_PDEATHSIG = 1

# Flink and the libraries within it reach into these packages of Java.
_OPEN = [
    *(f"java.base/java.{name}" for name in ("lang", "net", "io", "nio", "text", "time", "util", "lang.reflect")),
    *(f"java.base/java.util.{name}" for name in ("concurrent", "concurrent.atomic", "concurrent.locks")),
    "java.base/sun.nio.ch",
]
_EXPORT = ["java.base/sun.net.util", "java.management/sun.management", "java.rmi/sun.rmi.registry"]
_JAVA = [
    "java",
    *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPEN),
    *(f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORT),
    "-XX:+UseSerialGC",
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


@dataclass(slots=True)
class _Process:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def end(self, how: signal.Signals) -> None:
        """Signals the process and all that it started, such as the workers of a TaskManager."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, how)


class FlinkCluster:
    """One JobManager, some TaskManagers with one slot each, and a job server, all on this machine.

    with FlinkCluster() as cluster:
        main(["evaluate", ..., *cluster.options()])

    Every process has free ports and a log in `logs`, and ends with the block, or with the thread that started it if
    that ends before. With one slot each, a job of parallelism 2 runs on two TaskManagers for certain. Flink starts a
    job again 4 s after a failure, up to four times, and waits for as many slots as it had: after the loss of a
    TaskManager, for a new one. A pipeline with a fault of its own fails after as many attempts.

    Workers have the project as it was when the cluster started, and nothing else of this working tree: a pipeline
    may hold functions of the project, of `__main__` and local ones, but none of the test modules.
    """

    def __init__(self, folder: Path | None = None, task_managers: int = 2) -> None:
        """Prepares a cluster that keeps its files in `folder`; without one, in a new folder that is kept."""
        self.folder = Path(folder or tempfile.mkdtemp(prefix="beamscore-flink-")).resolve()
        self.logs = self.folder / "logs"
        self._wanted = task_managers
        self._processes: list[_Process] = []
        rest, rpc, blobs, self._job_port, self._artifact_port = _free_ports(5)
        self.rest = FlinkRest(f"http://localhost:{rest}")
        self._settings = _settings(self.folder, rest, rpc, blobs)

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
            f"--environment_config={json.dumps({'command': str(self.folder / 'worker')})}",
            "--environment_cache_millis=10000",
            f"--parallelism={parallelism}",
        ]

    def start_task_manager(self) -> int:
        """Starts one more TaskManager and returns its number, from 0."""
        number = sum(process.name.startswith("taskmanager") for process in self._processes)
        direct = ["-Xmx768m", "-XX:MaxDirectMemorySize=832m"]
        self._run(f"taskmanager-{number}", direct, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
                  "--configDir", str(self.folder / "conf"))  # fmt: skip
        return number

    def running_task_managers(self) -> list[int]:
        """Returns the numbers of the TaskManagers that have not ended."""
        running = [process.name for process in self._processes if process.process.poll() is None]
        return [int(name.partition("-")[2]) for name in running if name.startswith("taskmanager-")]

    def kill_task_manager(self, number: int) -> None:
        """Kills a TaskManager and its workers at once, as the loss of a machine would."""
        victim = next(process for process in self._processes if process.name == f"taskmanager-{number}")
        victim.end(signal.SIGKILL)
        victim.process.wait()

    def stop(self) -> None:
        """Ends every process; those that do not end by themselves within 10 s are killed."""
        for process in reversed(self._processes):
            process.end(signal.SIGTERM)
        deadline = time.monotonic() + 10
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.process.wait(max(0.1, deadline - time.monotonic()))
            process.end(signal.SIGKILL)
            process.process.wait()

    def _start(self) -> None:
        self._write_files()
        configuration = str(self.folder / "conf")
        self._run("jobmanager", ["-Xmx512m"], "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
                  "--configDir", configuration)  # fmt: skip
        for _ in range(self._wanted):
            self.start_task_manager()
        self._run("jobserver", ["-Xmx512m"], "org.apache.beam.runners.flink.FlinkJobServerDriver",
                  f"--flink-master={self.rest.url.removeprefix('http://')}", f"--flink-conf-dir={configuration}",
                  "--job-host=localhost", f"--job-port={self._job_port}", f"--artifact-port={self._artifact_port}",
                  "--expansion-port=0", f"--artifacts-dir={self.folder / 'artifacts'}")  # fmt: skip
        self._await("all TaskManagers", lambda: len(self.rest.task_managers()) == self._wanted)
        self._await("the job server", lambda: _listens(self._job_port))

    def _write_files(self) -> None:
        for name in ("conf", "logs", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        lines = [f"{name}: {value}\n" for name, value in self._settings.items()]
        (self.folder / "conf" / "config.yaml").write_text("".join(lines))
        (self.folder / "conf" / "log4j.properties").write_text(_LOG4J)
        install_project(self.folder / "project")
        worker = self.folder / "worker"
        command = shlex.join([str(worker_python()), str(Path(__file__).with_name("boot.py"))])
        log = shlex.quote(str(self.logs))
        path = f"PYTHONPATH={shlex.quote(str(self.folder / 'project'))}"
        worker.write_text(f'#!/bin/sh\n{path} exec {command} "$@" >> {log}/worker-$$.log 2>&1\n')
        worker.chmod(0o755)

    def _run(self, name: str, memory: Sequence[str], main: str, *arguments: str) -> None:
        log4j = f"-Dlog4j.configurationFile={self.folder / 'conf' / 'log4j.properties'}"
        scratch = f"-Djava.io.tmpdir={self.folder / 'tmp'}"
        command = [*_JAVA, *memory, log4j, scratch, "-cp", class_path(), main, *arguments]
        log = self.logs / f"{name}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        self._processes.append(_Process(name, process, log))

    def _await(self, what: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError):
                if ready():
                    return
            ended = next((process for process in self._processes if process.process.poll() is not None), None)
            if ended:
                raise RuntimeError(f"{ended.name} ended while {what} came up; see {ended.log}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come up within {START_SECONDS} s; see {self.logs}")
            time.sleep(0.2)


def _settings(folder: Path, rest: int, rpc: int, blobs: int) -> dict[str, str | int | float]:
    """Returns Flink's configuration; memory is named in full, as the processes are started without Flink's scripts."""
    return {
        "jobmanager.rpc.address": "localhost",
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": "localhost",
        "blob.server.port": blobs,
        "rest.address": "localhost",
        "rest.bind-address": "localhost",
        "rest.port": rest,
        "taskmanager.host": "localhost",
        "taskmanager.bind-host": "localhost",
        "taskmanager.numberOfTaskSlots": 1,
        "taskmanager.cpu.cores": 1.0,
        "taskmanager.memory.framework.heap.size": "128m",
        "taskmanager.memory.task.heap.size": "640m",
        "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.task.off-heap.size": "512m",
        "taskmanager.memory.network.min": "192m",
        "taskmanager.memory.network.max": "192m",
        "taskmanager.memory.managed.size": "256m",
        "taskmanager.memory.jvm-metaspace.size": "512m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "io.tmp.dirs": str(folder / "tmp"),
        "heartbeat.interval": 1000,
        "heartbeat.timeout": 10_000,
        # The delay lets a lost TaskManager be noticed first: an attempt that still counts on it fails at once.
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 4,
        "restart-strategy.fixed-delay.delay": "4 s",
    }


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in sockets]


def _listens(port: int) -> bool:
    with socket.create_connection(("localhost", port), timeout=1):
        return True


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
