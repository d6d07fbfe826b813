"""The targets of gates: which metric and slice a key names, and what the run lacks; for their values see settings."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate, GateTarget, check_targets, gate_target, label_columns
from beamscore.transforms.slice_labels import slices_of
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


SLICED, EXACT = {"exact_match @ kind=1": Gate(0.5)}, "gates.exact_match"
AGAINST_BASELINE = {"exact_match": Gate(not_worse_than="baseline")}


@pytest.mark.parametrize(
    ("gates", "systems", "slices", "message"),
    [
        (SLICED, ["a"], [("kind",)], None),
        ({"exact_match": Gate(0.5, system="a")}, ["a"], [], None),
        (AGAINST_BASELINE, ["a"], [], None),
        (SLICED, ["a"], [("page",)], f"{EXACT} @ kind=1: the run does not slice by kind; give --slice kind"),
        ({"exact_match": Gate(0.5, system="new")}, ["now"], [],
         f"{EXACT}.system: the run has no system new (did you mean now?); there are now"),
        ({"exact_match": Gate(not_worse_than="old")}, ["a", "b"], [],
         f"{EXACT}.not_worse_than: the run has no system old; there are a, b"),
        (AGAINST_BASELINE, ["baseline", "a"], [],
         f"{EXACT}.not_worse_than: `baseline` is both a system of the run and the run of --baseline; rename "
         "the system"),
    ],
)  # fmt: skip
def test_gates_are_checked_against_the_run(gates: Any, systems: list[str], slices: Any, message: str | None) -> None:
    with nullcontext() if message is None else pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        check_targets(gates, ToyBenchmark, systems, slices)


@settings(max_examples=50)
@given(st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), min_size=1, max_size=3))
def test_the_columns_of_any_label_are_found(cells: dict[str, str]) -> None:
    (one,) = slices_of(list(cells), [range(len(cells))], list(cells.values()))
    assert label_columns(one.label) == tuple(cells)
