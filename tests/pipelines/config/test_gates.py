"""The gates of a configuration: what they may say, and the slips that are refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.config.gates import Gate, GateTarget, check_targets, gate_target, label_columns
from beamscore.pipelines.config.settings import load
from beamscore.transforms.slice_labels import slice_labels
from tests.toy import ToyBenchmark


def read(folder: Path, gates: str, *overrides: str, more: str = "") -> dict[str, Gate]:
    path = folder / "c.yaml"
    path.write_text(f"benchmark: toy\ngates: {gates}\n{more}\n")
    return load(str(path), list(overrides), {}).settings.gates


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("{exact_match: {}}", "gates.exact_match: the gate judges nothing; give minimum, maximum or not_worse_than"),
        ("{exact_mach: {minimum: 1}}", "gates.exact_mach: toy has no such metric (did you mean exact_match?)"),
        ("{xyz: {minimum: 1}}", "gates.xyz: toy has no such metric; `beamscore benchmarks toy` lists them"),
        ("{exact_match: {minimum: .nan}}", "gates.exact_match.minimum: found nan; allowed: a finite number or null"),
        (
            "{exact_match: {minimum: 0.5, maximum: 0.4}}",
            "gates.exact_match: the minimum 0.5 is above the maximum 0.4",
        ),
        ("{exact_match: {margin: 0.1, minimum: 0}}", "gates.exact_match.margin: needs not_worse_than"),
        ("{exact_match: {minimum: 0.1, judge: point, looks: 2}}", "gates.exact_match.looks: a value alone has no"),
        ("{exact_match: {margin: .nan, not_worse_than: b}}", "gates.exact_match.margin: found nan; expected `float`"),
        (
            "{exact_match: {margin: 1, not_worse_than: b}}",
            "gates.exact_match.margin: found 1; the metric is always ",
        ),
        ("{exact_match: {minimum: 92}}", "gates.exact_match.minimum: found 92; the metric is always at least 0 and at"),
        ("{'exact_match @ ': {minimum: 0.5}}", "gates.exact_match @ : there is no label behind the @"),
        ("{exact_match: {not_worse_than: a, system: a}}", "gates.exact_match: the system a would be compared with it"),
        (
            "{exact_match: {minimum: 0.5, name: a}, similarity: {minimum: 0.5, name: a}}",
            "gates.similarity.name: 'a' is the name of gates.exact_match too",
        ),
    ],
)
def test_a_gate_that_cannot_judge_is_refused(tmp_path: Path, gates: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(tmp_path, gates)
    assert str(error.value).partition(": ")[2].startswith(message)


def test_without_replicates_a_gate_must_be_judged_by_its_value(tmp_path: Path) -> None:
    none = "bootstrap: {replicates: 0}"
    with pytest.raises(UsageError, match=r"gates\.exact_match\.judge: found interval, but bootstrap\.replicates is 0"):
        read(tmp_path, "{exact_match: {minimum: 0.5}}", more=none)
    assert read(tmp_path, "{exact_match: {minimum: 0.5, judge: point}}", more=none)


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


TARGETS = {"exact_match @ kind=1": Gate(0.5)}


@pytest.mark.parametrize(
    ("gates", "systems", "slices", "message"),
    [
        (TARGETS, ["a"], [("kind",)], None),
        (TARGETS, ["a"], [], "gates.exact_match @ kind=1: the run does not slice by kind; give --slice kind"),
        ({"exact_match": Gate(0.5, system="a")}, ["a"], [], None),
        ({"exact_match": Gate(0.5, system="new")}, ["now"], [], "gates.exact_match.system: the run has no system new"),
        ({"exact_match": Gate(not_worse_than="old")}, ["a"], [], "gates.exact_match.not_worse_than: the run has no sy"),
        ({"exact_match": Gate(not_worse_than="baseline")}, ["a"], [], None),
        (
            {"exact_match": Gate(not_worse_than="baseline")},
            ["baseline", "a"],
            [],
            "gates.exact_match.not_worse_than: `baseline` is a system of the run and the name of what --baseline gives",
        ),
    ],
)
def test_gates_are_checked_against_the_run(
    gates: dict[str, Gate], systems: list[str], slices: list[tuple[str, ...]], message: str | None
) -> None:
    if message is None:
        check_targets(gates, ToyBenchmark, systems, slices)
    else:
        with pytest.raises(UsageError) as error:
            check_targets(gates, ToyBenchmark, systems, slices)
        assert str(error.value).startswith(message)


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), min_size=1, max_size=3))
def test_the_columns_of_any_label_are_found(cells: dict[str, str]) -> None:
    (label,) = slice_labels(list(cells), [range(len(cells))], list(cells.values()))
    assert label_columns(label) == tuple(cells)
