"""Metrics made of metrics: what a formula gives, by hand, in which bounds, and why one is refused."""

import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.derived import DefinitionError, formulas_behind, with_derived
from beamscore.metrics.statistics.intervals import interval, wilson
from beamscore.metrics.statistics.measured import measure, satterthwaite_df
from beamscore.metrics.statistics.ratios import ratio
from beamscore.metrics.statistics.slice_names import slices_of, with_slices
from beamscore.metrics.statistics.sum_table import SumTable, values_of_rows
from beamscore.metrics.statistics.sums import Sums
from tests.laws import tries
from tests.toy import Options, ToyBenchmark


class Shares(ToyBenchmark):
    """Shares `a` and `b`, where higher is better, a family of them, an error rate, and a number without bounds."""

    name = "shares"
    metrics = (
        MetricSpec("a.share", "", denominator="a.all", main=1, rank=1),
        MetricSpec("b", "", denominator="b.all", per_sample=1),
        MetricSpec("c[NAME]", "", denominator="c.all"),
        MetricSpec("b.best_of[K]", "", denominator="b.all"),
        MetricSpec("error", "", higher_is_better=False, denominator="b.all"),
        MetricSpec("size", "", bounds=(None, None), denominator="b.all"),
        MetricSpec("wrong", "", higher_is_better=False, bounds=(0.0, None), denominator="b.all"),
    )
    takes_columns = True

    def values(self, sums: Sums) -> dict[str, float | None]:
        of_b = {name: ratio(sums[name], sums["b.all"]) for name in ("b", "error", "size")}
        of_c = dict.fromkeys(("c[pie]", "c[area map]", "b.best_of[2]"), ratio(sums["c"], sums["c.all"]))
        return {"a.share": ratio(sums["a"], sums["a.all"]), **of_b, **of_c}


SUMS = {"a": 3, "a.all": 4, "b": 1, "b.all": 2, "c": 1, "c.all": 5, "error": 1, "size": 6}
"""a.share = 0.75, b = 0.5, c = 0.2, error = 0.5, size = 3."""


def benchmark_with(**formulas: str) -> Any:
    return with_derived(Shares, formulas)(Options())


def test_a_formula_has_a_value_bounds_and_a_direction() -> None:
    for formula, value, bounds, higher_is_better in (
        ("mean(a.share, b)", (0.75 + 0.5) / 2, (0, 1), True),
        ("weighted_mean(a.share, b, weights=[3, 1])", (3 * 0.75 + 0.5) / 4, (0, 1), True),
        ("harmonic_mean(a.share, b)", 2 * 0.75 * 0.5 / (0.75 + 0.5), (0, 1), True),
        ("a.share - b", 0.25, (-1, 1), True),
        ("error - b", 0.0, (-1, 1), False),
        ("mean(b, 1 - error)", 0.5, (0, 1), True),
        ("-error", -0.5, (-1, 0), True),
        ("b / (1 + error)", 0.5 / 1.5, (0, 1), True),
        ("b * a.share", 0.375, (0, 1), True),
        ("size - b", 2.5, (None, None), True),
        ("b / size", 0.5 / 3, (None, None), True),
        ("-1 / b", -2, (None, -1), True),
        ("b / (a.share - 1)", -2, (None, 0), False),
        ("b / (a.share - 2)", 0.5 / -1.25, (-1, 0), False),
        ("c[pie] / (b / (a.share - 1))", 0.2 / -2, (None, 0), False),
        ("mean(c[pie], c['area map'], 'c[pie]', b.best_of[2], 'b.best_of[2]')", 0.2, (0, 1), True),
        ("a.share / c[pie] - b", 3.75 - 0.5, (-1, None), True),
        # The divisor is from 0 to 1: a bound of -0.0 would be one of -infinity.
        ("b / -(b - 1)", 1, (0, None), True),
    ):
        benchmark = benchmark_with(derived=formula)
        assert benchmark.values(Sums.of(SUMS))["derived"] == pytest.approx(value, abs=1e-15)
        spec = benchmark.spec_of("derived")
        assert (spec.bounds, spec.higher_is_better, spec.meaning) == (bounds, higher_is_better, formula)


@pytest.mark.parametrize(
    ("formula", "loss"),
    [
        ("100 * wrong", 100), ("-wrong / 4", 0.25), ("1 - 2 * wrong - b", 3), ("mean(wrong, 1 - b)", 1),
        ("slice_mean(wrong, kind)", 1), ("wrong * (1 - b)", math.inf), ("wrong / (1 + b)", math.inf),
        ("b / wrong", math.inf),
    ],
)  # fmt: skip
def test_at_its_only_bound_a_metric_has_an_interval_in_its_own_unit(formula: str, loss: float) -> None:
    """That of 100 * wrong is 100 times that of wrong; if nothing says how much an error costs, there is none."""
    spec = benchmark_with(derived=formula).spec_of("derived")
    assert spec.loss == loss
    assert benchmark_with(derived="wrong").spec_of("derived").loss == 1
    low, high = spec.bounds
    found = interval(spec, high if low is None else low, 0.0, np.zeros(200), 20, 0.95)
    width = loss * wilson(0.0, 20, 0.95)[1]
    assert (None if found is None else found[1] - found[0]) == (None if loss == math.inf else pytest.approx(width))


def test_values_at_the_edge() -> None:
    for formula, changes, expected in (
        # An undefined part and a division by zero make it undefined.
        ("weighted_mean(b, c[pie], weights=[1, 1])", {"c.all": 0}, None),
        ("harmonic_mean(b, c[pie])", {"c.all": 0, "b": 0}, None),
        ("mean(b, c[unknown])", {}, None),
        ("a.share / b", {"b": 0}, None),
        ("harmonic_mean(a.share, b)", {"b": 0}, 0),
        # Rounding leaves no bound: 0.1 + 0.7 + 0.2 = 0.9999999999999999, and 49 / 49 = 1 while 49 * (1 / 49) < 1.
        ("weighted_mean(a.share, b, c[pie], weights=[0.1, 0.7, 0.2])", {"a": 4, "b": 2, "c": 5}, 1),
        (f"mean({', '.join(['b'] * 49)})", {"b": 2}, 1),
    ):
        assert benchmark_with(derived=formula).values(Sums.of({**SUMS, **changes}))["derived"] == expected, formula


def test_derived_metrics_are_main_ones_of_the_parts_of_the_benchmark_and_rank_nothing() -> None:
    """A formula may name another wherever that is defined; its parts are those metrics that have units of their own."""
    kind = with_derived(Shares, {"gap": "overall - b", "overall": "mean(a.share, b)"})
    # The class was made in this process; another one gets the same benchmark.
    benchmark = pickle.loads(pickle.dumps(kind(Options())))
    assert (type(benchmark), benchmark.options) == (kind, Options())
    assert benchmark.values(Sums.of(SUMS))["gap"] == 0.625 - 0.5
    gap = MetricSpec("gap", "overall - b", bounds=(-1, 1), main=2, parts=("a.share", "b"))
    assert kind.metrics == (*Shares.metrics, gap, benchmark.spec_of("overall"))
    assert kind.main_metrics() == ["a.share", "gap", "overall"]
    assert with_derived(Shares, {}) is Shares
    # b counts one unit for each of its 30 samples, fewer than a.share; both halves rest on as many.
    measured = measure(benchmark, Sums(), SumTable.of([Sums.of({**SUMS, "a.all": 400, "b.all": 30})] * 3))
    assert measured.units["b"] == measured.units["gap"] == measured.size("gap") == 30


rows = st.lists(st.fixed_dictionaries(dict.fromkeys(SUMS, st.integers(0, 5))), min_size=1, max_size=6)
FORMULAS = {"gap": "mean - b", "mean": "mean(a.share, b, c[pie])", "harmonic": "harmonic_mean(a.share, b, c[pie])",
            "ratio": "size / a.share", "weighted": "weighted_mean(a.share, b, weights=[0.7, 0.2])",
            "absent": "mean(b, c[unknown])"}  # fmt: skip


@tries(50)
@given(rows)
def test_columns_have_the_bits_of_a_call_for_each_replicate(drawn: list[dict[str, int]]) -> None:
    benchmark, sums = benchmark_with(**FORMULAS), [Sums.of(each) for each in drawn]
    columns = values_of_rows(benchmark, SumTable.of(sums), sums[0])
    by_row = [benchmark.values_within(each, sums[0]) for each in sums]
    for name, column in columns.items():
        np.testing.assert_array_equal(column, np.array([each[name] for each in by_row], dtype=float))


def sliced(**counts: tuple[int, int]) -> dict[str, float]:
    """Returns the sums of slices of `kind`, each with b of b.all."""
    found: dict[str, float] = dict.fromkeys(SUMS, 0)
    for value, (b, of) in counts.items():
        for name, number in with_slices({"b": b, "b.all": of}, [(("kind",), (value,))], ["kind"]).items():
            found[name] = found.get(name, 0) + number
    return found


def test_a_mean_over_slices_counts_each_alike() -> None:
    benchmark = benchmark_with(derived="slice_mean(b, kind)", gap="b - derived")
    assert benchmark.sliced_columns == ("kind",)
    # 9 of 10, 1 of 2 and 0 of 4: not 10 of 16.
    values = benchmark.values(Sums.of(sliced(x=(9, 10), y=(1, 2), z=(0, 4))))
    assert [values["derived"], values["gap"]] == pytest.approx([1.4 / 3, 10 / 16 - 1.4 / 3])
    assert benchmark.values(Sums.of(SUMS))["derived"] is None
    # A slice in which b has no value is left out, of the replicates as well, and has no units.
    rows = [Sums.of(sliced(**each)) for each in ({"x": (1, 2), "y": (0, 0)}, {"x": (2, 2), "y": (1, 1)})] * 2
    some = measure(benchmark, rows[0], SumTable.of(rows))
    assert (some.values["derived"], some.units["derived"], [*some.replicates["derived"]]) == (0.5, 2, [1, 0.5, 1])
    # A replicate without a slice has none; a benchmark that takes no columns is computed row by row.
    rows = [Sums.of(sliced(**each)) for each in ({"x": (1, 2), "y": (1, 1)}, {"x": (2, 2)}, {"y": (1, 4), "x": (0, 1)})]
    for kind in (Shares, type("ByRow", (Shares,), {"takes_columns": False})):
        derived = with_derived(kind, {"derived": "slice_mean(b, kind)"})(Options())
        found = values_of_rows(derived, SumTable.of(rows), rows[0])["derived"]
        np.testing.assert_array_equal(found, [0.75, np.nan, 0.125])
    # Its units are those of a mean over classes.
    measured = measure(benchmark, Sums(), SumTable.of([Sums.of(sliced(x=(15, 30), y=(3, 6), z=(1, 3)))] * 3))
    assert (measured.units["derived"], measured.size("derived")) == pytest.approx(satterthwaite_df([30, 6, 3]))


names = st.text('@[]",\\=:é ', max_size=4)
values_by_slice = st.dictionaries(names, st.dictionaries(names, st.integers(1, 9), min_size=1), max_size=3)


@given(names, names, values_by_slice)
def test_the_sums_of_slices_are_found_again_whatever_their_names(column: str, other: str, drawn: Any) -> None:
    found = [
        Sums.of(with_slices(statistics, [((column,), (value,)), ((column, other), (f"{value}+", value))], {column}))
        for value, statistics in drawn.items()
    ]
    expected = {value: Sums.of(statistics) for value, statistics in drawn.items()}
    assert slices_of(Sums.merged(found), column) == expected
    tables = slices_of(SumTable.of([Sums.merged(found)]), column)
    assert {value: table.row(0) for value, table in tables.items()} == expected


def test_only_metrics_of_a_formula_decide_it() -> None:
    """Neither the members of families, nor functions, columns, or parts of names that are called alike."""
    others = {"pie": "b", "mean": "b", "kind": "b", "task1": "b", "f1": "b", "c": "b"}
    for formula, behind in (
        ("mean(task1.f1[pie], c[pie], 'c[area map]')", []),
        ("slice_mean(b, kind) - weighted_mean(b, pie, weights=[2, 1])", ["pie"]),
        ("harmonic_mean(-mean, 1 / kind)", ["mean", "kind"]),
        ("mean(pie", []),
        ("mean(pie, pie ** 2)", []),
    ):
        for text in (formula, formula.replace("c[pie]", '( "c[pie]")')):
            found = formulas_behind("q", {**others, "q": text})
            assert found == {"q": formula, **dict.fromkeys(behind, "b")}, text
    assert formulas_behind("b", others) == {}


def test_a_formula_that_cannot_be_used_is_refused_in_one_line() -> None:
    for formula, reason in (
        ("mean(a.shar, b)", "shares has no metric a.shar (did you mean a.share?)"),
        ("mean(b, quite_other)", "shares has no metric quite_other; `beamscore benchmarks shares` lists them"),
        ("mene(a.share)", "there is no function mene (did you mean mean?); there are mean(a, b), weighted_mean("),
        ("weighted_mean(a.share, b, weights=[1, 0])", "weights=[1, 0])' is not allowed; allowed: numbers, metrics,"),
        ("weighted_mean(b, weights=['1'])", "\"weighted_mean(b, weights=['1'])\" is not allowed"),
        ("mean(b, error)", "b is better if higher and error if lower; use 1 - ... to turn one around"),
        ("harmonic_mean(b, size)", "harmonic_mean needs metrics that are never below 0"),
        ("mean(b", "'mean(b' is not a formula such as mean(first, second)"),
        ("\0", r"'\x00' is not a formula such as mean(first, second)"),
        ("\udc80", r"'\udc80' is not a formula such as mean(first, second)"),
        ("2 + 1", "'2 + 1' names no metric"),
        ("0 * b", "'0 * b' is always 0"),
        ("b / 0", "it divides by a number that is not above 0"),
        ("1e999 * b", "found inf; allowed: a finite number"),
        ("__import__('os').system('true')", "is not allowed"),
        ("derived + b", "the definition is circular: derived -> derived"),
        ("slice_mean(b, 2)", "'slice_mean(b, 2)' is not allowed"),
        ("slice_mean(derived, kind)", "slice_mean needs a metric of shares; derived is a derived one"),
        ("b" * 3000, "the formula is longer than 2000 characters"),
    ):
        with pytest.raises(DefinitionError, match=re.escape(reason)) as caught:
            with_derived(Shares, {"derived": formula})
        assert (caught.value.name, "\n" in str(caught.value), len(str(caught.value)) < 250) == ("derived", False, True)
    for name, why in (("b", "shares already has a metric of this name"), ("a b", "the name must be letters")):
        with pytest.raises(DefinitionError, match=why):
            with_derived(Shares, {name: "mean(b)"})
