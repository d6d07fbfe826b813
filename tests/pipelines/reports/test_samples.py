from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.reports.samples import (
    bin_edges,
    columns_of,
    distributions,
    matrix_cells,
    sample_table,
    sort_worst_first,
)
from beamscore.transforms.slice_labels import slices_of

SPECS = (MetricSpec("score", "", main=1), MetricSpec("errors", "", higher_is_better=False, bounds=(0.0, None)))


def rows(scores: list[float | None], errors: list[float | None]) -> Any:
    count = len(scores)
    return pa.table(
        {
            "sample_id": [f"s{number}" for number in range(count)],
            "system": ["a"] * count,
            "status": ["scored"] * count,
            "slice.source": ['"web"', None] * (count // 2),
            "score": pa.array(scores, pa.float64()),
            "errors": pa.array(errors, pa.float64()),
        }
    )


def test_the_worst_come_first_and_those_without_a_value_last() -> None:
    found = sort_worst_first(rows([0.5, None, -0.00001, 0.123456], [1.0, 2.0, 0.0, None]), SPECS)
    table = sample_table(found, ["a"], SPECS)
    assert table.ids == ["s2", "s3", "s0", "s1"]
    assert table.metrics["score"] == [0, 0.1235, 0.5, None]
    assert str(table.metrics["score"][0]) == "0"
    assert table.metrics["errors"] == [0, None, 1, 2]
    assert table.slices["source"] == ["web", "null", "web", "null"]
    assert table.total == 4


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.00004, "0"), (-0.00004, "0"), (2.00001, "2"), (0.12345, "0.1235"), (1e15, "1000000000000000.0"),
     (1e308, "1e+308"), (-1.7e308, "-1.7e+308"), (math.nan, "null"), (math.inf, "null")],
)  # fmt: skip
def test_a_number_has_four_decimals_and_a_whole_one_none(value: float, written: str) -> None:
    table = sample_table(rows([value, 0.5], [0.0, 0.0]), ["a"], SPECS)
    assert json.dumps(next(number for number in table.metrics["score"] if number != 0.5)) == written


VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(max_size=9), max_size=3)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5))
def test_a_slice_finds_its_own_samples_by_the_columns_of_its_label(samples: list[tuple[Any, Any]]) -> None:
    """A filter by all columns of a label passes the samples that are in a slice with it, and no others."""
    names = ("a,b=c", "kind")
    cells = [[json.dumps(each[place]) for each in samples] for place in range(2)]
    found = rows([0.0, 0.0] * len(samples), [0.0, 0.0] * len(samples)).slice(0, len(samples))
    for name, column in zip(names, cells, strict=True):
        found = found.append_column(f"slice.{name}", pa.array(column, pa.string()))
    table = sample_table(found, ["a"], SPECS)
    labels = [{each.label for each in slices_of(names, [(0,), (0, 1)], sample)} for sample in samples]
    for label in set().union(*labels):
        wanted = columns_of(label)
        assert wanted.keys() <= set(names)
        passing = []
        for row in range(len(samples)):
            of = {name: values[row] for name, values in table.slices.items()}
            texts = {name: value if isinstance(value, list) else [value] for name, value in of.items()}
            passing.append(all(value in texts[name] for name, value in wanted.items()))
        # Values that are shown alike, such as two that differ in blanks, are one filter.
        alike = [any(columns_of(each) == wanted for each in own) for own in labels]
        assert passing == alike


def test_the_cells_of_a_matrix_find_the_samples_that_they_count() -> None:
    """The rows of a cell have as many in it as the matrix of all samples."""
    kind = benchmark_class("chart")
    benchmark, title = kind(kind.options_type()), "Chart classes (task 1)"
    statistics = [{f"task1.confusion[{cell}]": 1.0} for cell in ("bar|bar", "bar|pie", "pie|pie", "bar|pie")]
    texts = [*map(json.dumps, statistics), None]
    found = matrix_cells(benchmark, texts, {title})
    assert found == {f"{title}: {cell}": rows for cell, rows in (
        ("bar → bar", [0]), ("bar → pie", [1, 3]), ("pie → pie", [2]))}  # fmt: skip


def test_distributions_count_every_value_once() -> None:
    table = sample_table(rows([0.0, 1.0, 0.5, 0.5], [0.0, 3.0, 1.0, 1.0]), ["a", "b"], SPECS)
    score, errors = distributions(table, SPECS, 2)
    assert [sum(counts) for counts in score.counts] == [4, 0]
    assert score.quartiles == ((0.0, 0.375, 0.5, 0.625, 1.0), ())
    # Whole numbers have a bin each, from half below the lowest to half above the highest.
    assert errors.edges == (-0.5, 0.5, 1.5, 2.5, 3.5)
    assert errors.counts == ((1, 2, 0, 1), (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("bounds", "values", "ends"),
    [((0.0, 1.0), [0.2], (0.0, 1.0)), ((None, 1.0), [-2.5, 0.5], (-2.5, 1.0)), ((None, None), [0.25], (0.25, 1.25))],
)
def test_edges_span_the_bounds_or_the_values(
    bounds: tuple[float | None, float | None], values: list[float], ends: tuple[float, float]
) -> None:
    edges = bin_edges(bounds, np.array(values))
    assert (edges[0], edges[-1]) == ends
