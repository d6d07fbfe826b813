"""An evaluation that is stopped at moments of its publishing, counted in requests: a reader sees one whole run."""

import io
import json
import os
import signal
import subprocess
import sys
from subprocess import PIPE
from typing import Any

import pyarrow.parquet as pq
import pytest

from beamscore.pipelines.runs.run import open_result
from tests.resumption import ROOT
from tests.stores.conftest import Requests, Store, never
from tests.stores.test_commands import TRUTHS, WHOLE, below, command, evaluation, lines

pytestmark = pytest.mark.stores

COMMAND = "import sys; from beamscore.pipelines.commands import main; from tests import toy; toy.register(); "
COMMAND += "sys.exit(main.main())"
MOMENTS = [*((signal.SIGKILL, at) for at in (1, 4, 5, 6, 10, 14)), *((signal.SIGINT, at) for at in (6, 10))]
"""After the first document, without and with the list of files, the commit, the plain names, and what is removed."""


def given(store: Store, number: int) -> list[str]:
    """The evaluation of predictions that are `number` characters too long: their similarity is 1 / (1 + number)."""
    store.put("in/truth.jsonl", lines(TRUTHS))
    store.put(f"in/{number}.jsonl", lines({**truth, "text": truth["text"] + "x" * number} for truth in TRUTHS))
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
    assert [row["similarity"] for row in rows] == pytest.approx([value] * len(TRUTHS))
    return float(value)


class Stop:
    """Looks at the result after each request that publishes, and sends a signal to a process before its answer."""

    def __init__(self, store: Store, at: int, number: signal.Signals) -> None:
        self._store, self._at, self._number = store, at, number
        self.pid = 0
        self.values: list[float] = []

    def served(self, method: str, path: str) -> None:
        """Notes a request that changes something of a result, from its first document on."""
        changes = method in ("PUT", "POST", "DELETE") and not any(name in path for name in (".probe", ".heartbeat"))
        if changes and (self.values or path.endswith("/sums.json")):
            self.values.append(seen(self._store))
            if len(self.values) == self._at:
                os.kill(self.pid, self._number)


@pytest.mark.parametrize(("number", "at"), MOMENTS)
def test_a_stop_leaves_one_whole_result(store: Store, requests: Requests, number: signal.Signals, at: int) -> None:
    assert command(*given(store, 0)) == (0, "", "")
    assert seen(store) == 1
    stop = Stop(store, at, number)
    command_line = [sys.executable, "-c", COMMAND, *given(store, 1)]
    process = subprocess.Popen(command_line, cwd=ROOT, stderr=PIPE, start_new_session=True, text=True)
    stop.pid = process.pid
    requests.served = stop.served
    try:
        _, stderr = process.communicate(timeout=120)
    finally:
        requests.served = never
    value = seen(store)
    assert len(stop.values) >= at, "the moment came"
    assert set(stop.values) <= {1.0, 0.5}
    assert sorted([*stop.values, value], reverse=True) == [*stop.values, value], "never back to the earlier result"
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode in (0, 130)
        assert value == 0.5 or process.returncode == 130
        assert stderr == ("beamscore: interrupted\n" if process.returncode == 130 else "")
    assert command(*given(store, 2)) == (0, "", "")
    assert seen(store) == pytest.approx(1 / 3)
    assert len(below(store, "out")) == len(WHOLE)
