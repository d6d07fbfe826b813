"""What Flink's REST interface tells of a session cluster and its jobs."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Vertex:
    """One vertex of a job: a chain of operators that runs in `parallelism` subtasks.

    moved: by subtask, the records read from and written to other vertices, of the latest attempt of each.
    bytes_read: what all subtasks read from other vertices, in the same process or over the network.
    regroups: whether a subtask of it reads from all subtasks of the vertex before, not from its own alone.
    attempts: how often the subtask that was started most often was started.
    """

    name: str
    parallelism: int
    moved: tuple[tuple[int, int], ...]
    attempts: int
    bytes_read: int = 0
    regroups: bool = False

    @property
    def records(self) -> int:
        """The records that it read or wrote, whichever is more."""
        return max(sum(read for read, _ in self.moved), sum(written for _, written in self.moved))

    def least_share(self) -> float:
        """Returns the share of its records that the subtask with the fewest read or wrote."""
        read, written = zip(*self.moved, strict=True)
        more = max(read, written, key=sum)
        return min(more) / sum(more) if sum(more) else 0.0


@dataclass(frozen=True, slots=True)
class FlinkRest:
    """The REST interface at `url`, such as http://localhost:8081."""

    url: str

    def get(self, path: str) -> Any:
        """Returns what a GET of `path` answers.

        Raises OSError where nothing answers.
        """
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def task_managers(self) -> list[str]:
        """Returns the ids of the TaskManagers that are registered."""
        return [manager["id"] for manager in self.get("/taskmanagers")["taskmanagers"]]

    def jobs(self) -> dict[str, str]:
        """Returns the state of each job by its id, the newest first."""
        found = sorted(self.get("/jobs/overview")["jobs"], key=lambda job: job["start-time"], reverse=True)
        return {job["jid"]: job["state"] for job in found}

    def vertices(self, job: str) -> list[Vertex]:
        """Returns the vertices of a job; none while it is being initialised."""
        found = self.get(f"/jobs/{job}")
        ways = {
            node["id"]: {each["ship_strategy"].casefold() for each in node.get("inputs", ())}
            for node in found["plan"].get("nodes", ())
        }
        return [self._vertex(job, vertex, ways[vertex["id"]]) for vertex in found["vertices"]]

    def _vertex(self, job: str, vertex: dict[str, Any], ways: set[str]) -> Vertex:
        subtasks = self.get(f"/jobs/{job}/vertices/{vertex['id']}")["subtasks"]
        return Vertex(
            vertex["name"],
            vertex["parallelism"],
            tuple((each["metrics"]["read-records"], each["metrics"]["write-records"]) for each in subtasks),
            1 + max(subtask["attempt"] for subtask in subtasks),
            sum(each["metrics"]["read-bytes"] for each in subtasks),
            bool(ways - {"forward"}),
        )

    def failures(self, job: str) -> list[str]:
        """Returns what made a job fail or restart, the newest first, each with its first line."""
        history = self.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
        return [f"{entry['exceptionName']}: {entry['stacktrace'].splitlines()[0]}" for entry in history]
