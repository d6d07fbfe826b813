"""The commands that read finished runs, with the runs and all that is written on an object store."""

from __future__ import annotations

import io
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import toy
from tests.stores.conftest import Store
from tests.stores.test_commands import FEW, TRUTHS, command, document, evaluation, lines

pytestmark = pytest.mark.stores

CONFIG = b"""\
benchmark: toy
slices: [kind]
bootstrap: {replicates: 50}
gates:
  exact_match: {not_worse_than: baseline, margin: 0.05}
"""


def answers(wrong: int) -> list[dict[str, Any]]:
    """All right but the first `wrong`."""
    return [{**truth, "text": "?" * 9} if place < wrong else truth for place, truth in enumerate(TRUTHS)]


def night(store: Store, name: str, wrong: int, *more: str) -> tuple[int, str]:
    """Evaluates a night whose files and configuration lie on the store; returns the exit code and standard error."""
    store.put(f"in/{name}.jsonl", lines(answers(wrong)))
    store.put("in/truth.jsonl", lines(TRUTHS))
    store.put("config/nightly.yaml", CONFIG)
    config, answered = f"{store.base}/config/nightly.yaml", {"tonight": f"in/{name}.jsonl"}
    given = evaluation(store, "in/truth.jsonl", answered, f"runs/{name}", "--quiet", *more, config=config)
    return command(*given)[::2]


def blessed(store: Store) -> str:
    """Makes a first night, right but for 3 samples, the baseline; returns the options that name it."""
    assert night(store, "first", 3, "--set", "gates={}") == (0, "")
    store.put("runs/blessed.txt", b"first  # by Ada\n")
    return f"{store.base}/runs/blessed.txt"


def test_a_night_is_judged_against_the_baseline_of_the_store(store: Store) -> None:
    baseline = blessed(store)
    files = ("--junit", f"{store.base}/ci/junit.xml", "--markdown", f"{store.base}/ci/short.md")
    assert night(store, "same", 3, "--baseline", baseline, *files) == (0, "")
    assert b'failures="0"' in store.files()["ci/junit.xml"]
    code, stderr = night(store, "bad", 30, "--baseline", baseline, *files)
    assert code == 1
    assert stderr.startswith("beamscore: tonight: gate exact_match: -0.675 (")
    assert document(store, "runs/bad/run.json")["baseline"]["path"] == f"{store.base}/runs/first"
    before = {key: content for key, content in store.files().items() if key.startswith("ci/")}
    assert b'failures="1"' in before["ci/junit.xml"]
    judged = command("gate", f"{store.base}/runs/bad", "--baseline", baseline, "--quiet", *files, *store.flags)
    assert judged == (1, "", stderr)
    assert {key: content for key, content in store.files().items() if key.startswith("ci/")} == before
    assert command("gate", f"{store.base}/runs/same", "--baseline", baseline, *store.flags)[0] == 0


def test_a_night_reuses_another_is_compared_with_it_and_stands_in_the_history(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    blessed(store)
    scored = toy.scored_pairs(monkeypatch)
    assert night(store, "second", 13, "--set", "gates={}", "--reuse", f"{store.base}/runs/first") == (0, "")
    assert len(scored) == 10, "those whose answers differ"
    assert document(store, "runs/second/summary.json")["systems"]["tonight"]["values"]["exact_match"] == 27 / 40
    assert document(store, "runs/second/run.json")["reused"]

    given = ("compare", f"{store.base}/runs/first", f"{store.base}/runs/second", *store.flags)
    code, stdout, stderr = command(*given, "--output", f"{store.base}/comparison")
    assert (code, stderr) == (0, "")
    assert f"report: {store.base}/comparison/comparison.html" in stdout
    metric = document(store, "comparison/comparison.json")["metrics"]["exact_match"]
    assert metric["difference"] == pytest.approx(-10 / 40)
    found = {key.removeprefix("comparison/"): text for key, text in store.files().items() if "comparison/" in key}
    assert {"comparison.html", "comparison.md"} < found.keys()
    assert len({key.split("/")[1] for key in found if key.startswith(".runs/")}) == 1
    lists = [text for key, text in found.items() if key.startswith("changes/") and key.endswith(".jsonl")]
    assert sum(text.count(b"\n") for text in lists) == 10
    assert command(*given, "--quiet") == (0, "", ""), "without an output, the working files lie on this machine"

    flags = ("history", f"{store.base}/runs", *store.flags)
    code, stdout, stderr = command(*flags)
    assert (code, stdout.startswith("2 runs\n"), stderr) == (0, True, "")
    found = dict(store.files())
    assert pq.read_table(io.BytesIO(found["runs/history.parquet"])).num_rows > 0
    assert {"runs/history.md", "runs/history.html"} <= set(found)
    # What the first history wrote is no run.
    code, stdout, _ = command(*flags, "--output", f"{store.base}/elsewhere", "--no-html")
    assert (code, stdout.startswith("2 runs\n")) == (0, True)
    written = [key for key in store.files() if key.startswith("elsewhere/")]
    assert written == ["elsewhere/history.md", "elsewhere/history.parquet"]


def test_runs_over_parts_merge_to_the_run_over_all(store: Store) -> None:
    for number, part in enumerate((slice(15), slice(15, None))):
        store.put(f"in/truth-{number}.jsonl", lines(TRUTHS[part]))
        store.put(f"in/part-{number}.jsonl", lines(answers(11)[part]))
    for which, output in (("0", "a"), ("1", "b"), ("*", "all")):
        given = evaluation(store, f"in/truth-{which}.jsonl", f"in/part-{which}.jsonl", output, *FEW, "--quiet")
        assert command(*given) == (0, "", "")
    parts = (f"{store.base}/a", f"{store.base}/b", "--output", f"{store.base}/merged")
    assert command("merge", *parts, "--quiet", *store.flags) == (0, "", "")
    assert document(store, "merged/sums.json")["systems"] == document(store, "all/sums.json")["systems"]
    found, whole = (document(store, f"{name}/summary.json") for name in ("merged", "all"))
    assert (found["systems"], found["fingerprint"]) == (whole["systems"], whole["fingerprint"])
    assert len({key.split("/")[2] for key in store.files() if key.startswith("merged/.runs/")}) == 1
