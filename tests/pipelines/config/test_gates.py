"""The targets of gates: which metric and slice a key names, and what the run lacks; for their values see settings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate, GateTarget, check_targets, gate_target, label_columns
from beamscore.transforms.slice_labels import slice_labels
from tests.toy import ToyBenchmark


@pytest.mark.parametrize(
    ("key", "kind", "target"),
    [
        ("exact_match", "toy", GateTarget("exact_match", "")),
        ("exact_match @ kind=1", "toy", GateTarget("exact_match", "kind=1")),
        ("exact_match@mail=a@b", "toy", GateTarget("exact_match", "mail=a@b")),
        ("nothing @ kind=1", "toy", None),
        ("exact_match @", "toy", None),
        # A family of metrics is matched whole.
        ("task1.f1[pie]", "chart", GateTarget("task1.f1[pie]", "")),
        *((key, "chart", None) for key in ("task1.f1[]", "task1.f1[pie", "task1.f1", "task1.f1[CLASS]x")),
    ],
)
def test_a_key_names_a_metric_and_a_slice(key: str, kind: str, target: GateTarget | None) -> None:
    assert gate_target(key, benchmark_class(kind)) == target


def test_gates_are_checked_against_the_run() -> None:
    sliced, exact = {"exact_match @ kind=1": Gate(0.5)}, "gates.exact_match"
    baseline = {"exact_match": Gate(not_worse_than="baseline")}
    check_targets(sliced, ToyBenchmark, ["a"], [("kind",)])
    check_targets({"exact_match": Gate(0.5, system="a")}, ToyBenchmark, ["a"], [])
    check_targets(baseline, ToyBenchmark, ["a"], [])
    for gates, systems, message in (
        (sliced, ["a"], f"{exact} @ kind=1: the run does not slice by kind; give --slice kind"),
        ({"exact_match": Gate(0.5, system="new")}, ["now"], f"{exact}.system: the run has no system new"),
        ({"exact_match": Gate(not_worse_than="old")}, ["a"], f"{exact}.not_worse_than: the run has no system old"),
        (baseline, ["baseline", "a"], f"{exact}.not_worse_than: `baseline` is a system of the run and the name of"),
    ):
        with pytest.raises(UsageError, match="^" + re.escape(message)):
            check_targets(gates, ToyBenchmark, systems, [])


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), min_size=1, max_size=3))
def test_the_columns_of_any_label_are_found(cells: dict[str, str]) -> None:
    (label,) = slice_labels(list(cells), [range(len(cells))], list(cells.values()))
    assert label_columns(label) == tuple(cells)
