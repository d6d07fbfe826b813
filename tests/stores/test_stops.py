"""An evaluation that is killed or interrupted at a request of its publishing: a reader always sees one run, whole.

The moments are counted in the requests that change something, from the first document of the result to the last file
that is removed.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.runs.run import open_result
from tests import toy
from tests.stores.servers import Requests, S3Store, Store
from tests.stores.test_commands import WHOLE, below, command, evaluation, lines

pytestmark = pytest.mark.stores

ROOT = Path(__file__).parents[2]
COUNT = 20
TRUTHS = [toy.sample(index, 0)[0] for index in range(COUNT)]
COMMAND = (
    "import sys; from beamscore.pipelines.commands import main; from tests import toy; "
    "toy.register(); sys.exit(main.main())"
)
MOMENTS = [
    *((signal.SIGKILL, at) for at in (1, 5, 6, 7, 10, 15)),
    *((signal.SIGINT, at) for at in (6, 10)),
]
"""The first document, the list of files (lost), the commit, the plain names, and what is removed after them."""


def given(store: Store, number: int) -> list[str]:
    """The evaluation of predictions that are `number` characters too long: their similarity is 1 / (1 + number)."""
    store.put("in/truth.jsonl", lines(TRUTHS))
    found = [{"sample_id": truth["sample_id"], "text": truth["text"] + "x" * number} for truth in TRUTHS]
    store.put(f"in/{number}.jsonl", lines(found))
    few = ("--set", "bootstrap.replicates=5", "--quiet")
    return evaluation(store, "in/truth.jsonl", f"in/{number}.jsonl", "out", *few)


def seen(store: Store) -> float:
    """Returns the similarity of the result that a reader opens, after a look whether its files belong together."""
    found = open_result(f"{store.base}/out")
    value = json.loads(found.read("summary.json"))["systems"]["predictions"]["values"]["similarity"]
    assert json.loads(found.read("run.json"))["run_id"] == found.run_id
    assert {name for name in found.files if "/" not in name} == {name for name in WHOLE if "/" not in name}
    files = store.files()
    rows: list[dict[str, Any]] = []
    for path in found.folder("samples"):
        rows += pq.read_table(io.BytesIO(files[path.removeprefix(f"{store.base}/")])).to_pylist()
    assert [row["similarity"] for row in rows] == pytest.approx([value] * COUNT)
    return float(value)


class Stop:
    """Sends a signal to a process at a request that publishes, and looks at the result before each such request."""

    def __init__(self, store: S3Store, at: int, number: signal.Signals, answered: bool) -> None:
        self._store, self._at, self._number, self._answered = store, at, number, answered
        self.pid = 0
        self.count = 0
        self.values: list[float] = []

    def publishes(self, method: str, path: str) -> bool:
        """Tells whether a request changes something of a result, from its first document on."""
        changes = method in ("PUT", "POST", "DELETE") and not any(name in path for name in (".probe", ".heartbeat"))
        return changes and (self.count > 0 or path.endswith("/sums.json"))

    def refuse(self, method: str, path: str) -> bool:
        if not self.publishes(method, path):
            return False
        self.values.append(seen(self._store))
        self.count += 1
        return not self._answered and self._stops()

    def served(self, method: str, path: str) -> None:
        if self._answered and self.publishes(method, path):
            self._stops()

    def _stops(self) -> bool:
        if self.count == self._at:
            os.kill(self.pid, self._number)
        return self.count == self._at and self._number == signal.SIGKILL


@pytest.fixture
def first(store: Store, requests: Requests) -> S3Store:
    """A store with a result whose similarity is 1."""
    assert isinstance(store, S3Store)
    assert command(*given(store, 0)) == (0, "", "")
    assert seen(store) == 1
    return store


@pytest.mark.parametrize(("number", "at"), MOMENTS)
def test_a_stop_while_publishing_leaves_one_whole_result(
    first: S3Store, requests: Requests, number: signal.Signals, at: int
) -> None:
    """At every other moment the request arrives; at the others it is lost with the process."""
    stop = Stop(first, at, number, answered=at % 2 == 0 or number == signal.SIGINT)
    arguments = given(first, 1)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    stop.pid = process.pid
    requests.refuse, requests.served = stop.refuse, stop.served
    try:
        _, stderr = process.communicate(timeout=120)
    finally:
        requests.refuse, requests.served = (lambda method, path: False), (lambda method, path: None)
    value = seen(first)
    assert stop.count >= at, "the moment came"
    assert set(stop.values) <= {1.0, 0.5}
    assert sorted([*stop.values, value], reverse=True) == [*stop.values, value], "never back to the earlier result"
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode in (0, 130)
        assert value == 0.5 or process.returncode == 130
        assert stderr == ("beamscore: interrupted\n" if process.returncode == 130 else "")
    assert command(*given(first, 2)) == (0, "", "")
    assert seen(first) == pytest.approx(1 / 3)
    assert len(below(first, "out")) == len(WHOLE)
