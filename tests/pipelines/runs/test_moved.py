"""The samples that moved a metric most: their order and their effects by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from beamscore.metrics.statistics.sums import Sums
from beamscore.pipelines.runs import moved
from beamscore.pipelines.runs.moved import SlicePart, moved_most
from beamscore.pipelines.runs.run import Run
from tests import toy
from tests.finished_runs import SYSTEM, row, write_run


def test_only_what_the_metric_depends_on_chooses_the_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """a becomes wrong by 0.01, b is worse by 0.7, c, of another slice, is better by 0.2; of d nothing changes."""
    toy.register()
    values = {"a": (1.0, 0.99), "b": (0.9, 0.2), "c": (0.5, 0.7), "d": (0.5, 0.5)}
    kinds = dict(zip("abcd", "xxyy", strict=True))
    before, after = (
        Run.read(str(write_run(tmp_path / f"{side}", [row(n, each[side], kinds[n]) for n, each in values.items()])))
        for side in (0, 1)
    )
    sides = (after, SYSTEM), (before, SYSTEM)
    benchmark, corpus = after.configuration.benchmark, after.corpus(SYSTEM)
    monkeypatch.setattr(moved, "CANDIDATES", 1)
    for count, expected in ((1, {"b": -0.7 / 4}), (3, {"b": -0.7 / 4, "c": 0.2 / 4, "a": -0.01 / 4})):
        samples = moved_most(benchmark, "similarity", corpus, corpus, *sides, count=count)
        assert {each.sample_id: each.effect for each in samples} == pytest.approx(expected)
        assert [each.sample_id for each in samples] == list(expected)
    slice_sums = after.slice_sums(SYSTEM, "kind=y")
    assert slice_sums is not None
    part = SlicePart(("kind",), ((0,),), "kind=y")
    (sample,) = moved_most(benchmark, "similarity", corpus, Sums(slice_sums.sums), *sides, part)
    assert (sample.sample_id, sample.effect, sample.before, sample.after) == ("c", pytest.approx(0.1), *["scored"] * 2)
