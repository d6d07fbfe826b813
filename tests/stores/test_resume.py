"""A run that was interrupted on an object store goes on where it stopped."""

from __future__ import annotations

import json
import signal

import pytest

from tests import resumption, toy
from tests.stores.servers import Store
from tests.stores.test_commands import command, evaluation, lines

pytestmark = pytest.mark.stores

CORPUS = [toy.sample(index, 0) for index in range(120)]


def given(store: Store, output: str, *more: str) -> list[str]:
    store.put("in/truth.jsonl", lines([truth for truth, _ in CORPUS]))
    store.put("in/ours.jsonl", lines([prediction for _, prediction in CORPUS if prediction]))
    few = ("--slice", "kind", "--set", "bootstrap.replicates=5", "--quiet")
    return evaluation(store, "in/truth.jsonl", "in/ours.jsonl", output, *few, *more)


def staged(store: Store) -> list[str]:
    """What runs that are not committed have below their folders."""
    keys = [key for key in store.files() if key.startswith("out/.runs/")]
    committed = tuple(key.removesuffix("run.json") for key in keys if key.endswith("/run.json"))
    return [key for key in keys if not key.startswith(committed)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_goes_on_where_it_was_interrupted(
    store: Store, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were cut off are scored again."""
    assert command(*given(store, "out", "--set", "missing=exclude")) == (0, "", "")
    first = store.files()["out/summary.json"]
    code, stderr = resumption.interrupted(number, given(store, "out", "--resume"))
    assert code == (130 if number == signal.SIGTERM else -signal.SIGKILL)
    assert stderr.count("\n") == (code == 130)
    assert store.files()["out/summary.json"] == first
    assert bool([key for key in staged(store) if key.endswith(".claim")]) == (code != 130)
    is_cut = number == signal.SIGTERM
    if is_cut:
        rows = [key for key in staged(store) if key.endswith(".parquet")]
        store.put(rows[0], store.files()[rows[0]][:-10])
    scored = toy.scored_pairs(monkeypatch)
    assert command(*given(store, "out", "--resume")) == (0, "", "")
    assert len(scored) == len(CORPUS) - resumption.WRITTEN_BEFORE + is_cut * resumption.BATCH
    assert staged(store) == []
    assert command(*given(store, "whole")) == (0, "", "")
    found, whole = (json.loads(store.files()[f"{name}/sums.json"]) for name in ("out", "whole"))
    assert found["systems"] == whole["systems"]


def test_another_run_leaves_the_rows_for_the_one_that_resumes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the option, nothing stays of an interrupted run.
    assert resumption.interrupted(signal.SIGTERM, given(store, "out"))[0] == 130
    assert [key for key in store.files() if key.startswith("out/")] == []
    assert resumption.interrupted(signal.SIGTERM, given(store, "out", "--resume"))[0] == 130
    before = staged(store)
    assert command(*given(store, "out")) == (0, "", "")
    assert staged(store) == before
    scored = toy.scored_pairs(monkeypatch)
    assert command(*given(store, "out", "--resume")) == (0, "", "")
    assert len(scored) == len(CORPUS) - resumption.WRITTEN_BEFORE
