"""`beamscore benchmarks NAME` fits a screen, and what it leaves out is said."""

from __future__ import annotations

import pytest

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.commands.benchmarks import SCREEN, WIDTH
from tests.runs import command


@pytest.mark.parametrize("name", benchmark_names())
def test_a_benchmark_that_is_named_fits_a_screen_with_every_metric(name: str) -> None:
    code, stdout, stderr = command("benchmarks", name)
    assert (code, stderr) == (0, "")
    lines = stdout.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= WIDTH
    words = " ".join(stdout.split())
    kind = benchmark_class(name)
    for spec in (*kind.metrics, *kind.sample_metrics):
        assert spec.name in words
    for metric in kind.main_metrics():
        found = kind.spec_of(metric)
        assert found is not None
        assert f"{metric} {' '.join(found.meaning.split())}" in words
    is_whole = all(" ".join(spec.meaning.split()) in words for spec in (*kind.metrics, *kind.sample_metrics))
    assert is_whole or lines[-1] == "`beamscore benchmarks`, without a name, explains all of them"
