"""Slices measured together, which statistics a denominator adds up, and how many units it tells of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.derived import with_derived
from beamscore.metrics.statistics import measured as module
from beamscore.metrics.statistics.bootstrap import Bootstrap
from beamscore.metrics.statistics.measured import measure, measure_slices
from beamscore.metrics.statistics.sum_table import with_slices
from tests.metrics.statistics.samples import added, measured
from tests.plain_loop import make_benchmark

NAMES = ("all", "cell[a|a]", "cell[a|b]", "cell[b|a]", "cell[b*|a]", "cell[x + y|a]", "part[a]", "party[a]")
CHART = make_benchmark("chart")
FAMILY = "cell[CLASS|*] + part[CLASS]"

DERIVED = with_derived(type(CHART), {"kinds": "slice_mean(task1.macro_f1, kind)", "gap": "task1.macro_f1 - 0.5"})
CELLS = st.sampled_from([{f"task1.confusion[{a}|{b}]": 1.0} for a in "abc" for b in "ab"] + [{"task2.charts": 1.0}])
SLICES = st.lists(st.lists(CELLS, max_size=6), min_size=1, max_size=5)


@settings(max_examples=25)
@example([[{"task1.confusion[a|a]": 1.0}] * 3] * 3, "xxy", 4, False)
@given(SLICES, st.sampled_from(["", "x", "xxy"]), st.integers(0, 4), st.booleans())
def test_slices_measured_together_are_those_measured_alone_and_row_by_row(
    drawn: list[list[dict[str, float]]], kinds: str, replicates: int, clustered: bool
) -> None:
    """The plain call for each replicate is the oracle; kinds: of the slices in turn that are summed up within."""
    benchmark, bootstrap, tables = DERIVED(CHART.options), Bootstrap(replicates), []
    for part, kind in zip(drawn, itertools.cycle(kinds or " ")):
        within = [(("kind",), (kind,))] * bool(kinds)
        samples = [(n % 3, with_slices(each, within, ["kind"])) for n, each in enumerate(part)]
        tables.append(added(samples, bootstrap).table())
    corpus = tables[0].row(0)
    for table, found in zip(tables, measure_slices(benchmark, corpus, tables, clustered), strict=True):
        alone = measure(benchmark, corpus, table, clustered)
        assert (found.values, found.units, found.sizes) == (alone.values, alone.units, alone.sizes)
        assert found.values == benchmark.values_within(table.row(0), corpus)
        np.testing.assert_equal(found.denominators, alone.denominators)
        np.testing.assert_equal(found.replicates, alone.replicates)
        by_row = [benchmark.values_within(row, corpus) for row in table.below().rows()]
        for name, column in found.replicates.items():
            np.testing.assert_array_equal(column, np.array([row.get(name) for row in by_row], dtype=float))


def test_the_statistics_of_a_denominator() -> None:
    for denominator, member, expected in (
        ("all", None, ["all"]),
        ("all + all", None, ["all", "all"]),
        ("part*", None, ["part[a]", "party[a]"]),
        ("", None, []),
        # A member of a family takes the place of the placeholder.
        (FAMILY, "a", ["cell[a|a]", "cell[a|b]", "part[a]"]),
        (FAMILY, "b", ["cell[b|a]"]),
        (FAMILY, "b*", ["cell[b*|a]"]),  # what is special in a declaration is not so in a member
        (FAMILY, "x + y", ["cell[x + y|a]"]),
        (FAMILY, "CLASS", []),
    ):
        name, metric = ("metric", "metric") if member is None else ("recall[CLASS]", f"recall[{member}]")
        spec, places = MetricSpec(name, "", denominator=denominator), {each: place for place, each in enumerate(NAMES)}
        columns = module.denominator_columns(spec, metric, places)
        assert [NAMES[place] for place in columns] == expected, (denominator, member)


def test_counted_units_by_hand() -> None:
    for denominators, per_sample, clustered, expected in (
        ([40, 35, 50, 41], 1, False, 40),  # one for each sample is counted exactly
        ([40, 35, 50, 41], 2, False, 20),
        # D = 12, (8 - 12)^2 = (16 - 12)^2 = 16 on average: 144 / 16 = 9.
        *(([12, 8, 16], each, True, 9) for each in (None, 1)),
        ([12, 8, 16], None, False, 9),
        *((few, None, True, 12) for few in ([12, 12, 12], [12, 11, 13], [12])),  # at most the count
        ([0, 0, 0], None, True, 0),
        ([-4, -4, -5], None, True, 0),
    ):
        assert module.effective_sample_size(np.array(denominators, float), per_sample, clustered) == expected


def test_a_mean_over_classes_by_hand() -> None:
    counts = {"pie|pie": 20, "pie|bar": 10, "bar|bar": 6, "line|line": 2, "line|pie": 1}
    names = [name for name, count in counts.items() for _ in range(count)]
    samples = {str(number): {f"task1.confusion[{name}]": 1.0} for number, name in enumerate(names)}
    found = measured(CHART, samples)
    units = found.units
    # 30 pies, 6 bars and 3 lines: (1/30 + 1/6 + 1/3)^2 / (1/27000 + 1/216 + 1/27) = 6.83.
    assert units["task1.recall[line]"] == 3
    assert [units[f"task1.macro_{each}"] for each in ("f1", "precision", "recall")] == pytest.approx([6.8206] * 3, 1e-5)
    # Three classes of the same size would be as good: 9 / (1/30 + 1/6 + 1/3) = 16.875; a class without any is none.
    assert found.size("task1.macro_f1") == pytest.approx(16.875)
    assert module.satterthwaite_df([30, 0, 6, 3]) == module.satterthwaite_df([30, 6, 3])
    assert (module.satterthwaite_df([0]), found.size("unknown")) == ((0, 0), 0)
