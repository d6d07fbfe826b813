"""The rows of samples of a page, and how their metrics are spread."""

import json
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.benchmark import MetricSpec
from beamscore.metrics.registry import benchmark_class
from beamscore.pipelines.reports import samples
from beamscore.pipelines.reports.cells import histogram
from beamscore.pipelines.reports.document import Distribution, Document, Verdict
from beamscore.transforms.slice_labels import sample_slices

SPECS = (MetricSpec("score", "", main=1), MetricSpec("errors", "", higher_is_better=False, bounds=(0.0, None)))


def rows(scores: list[float | None], errors: list[float | None], **slices: list[str]) -> Any:
    columns = {f"slice.{name}": pa.array(values, pa.string()) for name, values in slices.items()}
    count = len(scores)
    named = {"sample_id": [f"s{n}" for n in range(count)], "system": ["a"] * count, "status": ["scored"] * count}
    metrics = {"score": pa.array(scores, pa.float64()), "errors": pa.array(errors, pa.float64())}
    return pa.table(named | columns | metrics)


def test_the_worst_come_first_and_those_without_a_value_last() -> None:
    found = rows([0.5, None, -0.00001, 0.123456], [1.0, 2.0, 0.0, None], source=['"web"', "null", "[]", '["a", 1]'])
    table = samples.page_rows(samples.sort_worst_first(found, SPECS), ["a"], SPECS, 4)
    assert (table.ids, table.total) == (["s2", "s3", "s0", "s1"], 4)
    assert table.metrics == {"score": [-0.00001, 0.1235, 0.5, None], "errors": [0, None, 1, 2]}
    assert table.slices == {"source": [[], ["a", "1"], "web", "null"]}


@pytest.mark.parametrize(
    ("value", "written"),
    [(-0.00004, "-4e-05"), (2.00001, "2.00001"), (2 + 1e-10, "2"), (0.12345, "0.1235"),
     (1e15, "1000000000000000.0"), (-1.7e308, "-1.7e+308"), (math.nan, "null"), (math.inf, "null"), (None, "null")],
)  # fmt: skip
def test_a_number_has_four_decimals_or_as_in_text_and_a_whole_one_none(value: float | None, written: str) -> None:
    assert json.dumps(samples.rounded(value)) == written


TEXTS = st.text() | st.text("a \t\\,=") | st.sampled_from(["x" * 300 + end for end in "ab"])
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=3)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=5))
def test_a_slice_finds_its_own_samples_by_the_columns_of_its_label(values: list[tuple[Any, Any]]) -> None:
    """A filter by all columns of a label passes the samples that are in a slice with it, and no others."""
    names, zeros = ("a,b=c", "kind"), [0.0] * len(values)
    cells = {name: [json.dumps(each[place]) for each in values] for place, name in enumerate(names)}
    known = [dict(zip(names, each, strict=True)) for each in values]
    table = samples.page_rows(rows([*zeros], [*zeros], **cells), ["a"], SPECS, len(values))
    labels = [{each.label for each in sample_slices([names[:1], names], sample)} for sample in known]
    for label in set().union(*labels):
        wanted = samples.columns_of(label)
        # A page collapses blanks, and an empty value asks it for nothing.
        assert wanted.keys() <= set(names)
        assert all(value == " ".join(value.split()) != "" for value in wanted.values())
        texts = {name: [each if isinstance(each, list) else [each] for each in table.slices[name]] for name in wanted}
        passing = [all(text in texts[name][row] for name, text in wanted.items()) for row in range(len(values))]
        assert passing == [label in own for own in labels]


def test_the_cells_of_a_matrix_find_the_samples_that_they_count() -> None:
    kind = benchmark_class("chart")
    title, cells = "Chart classes (task 1)", ("bar|bar", "bar|pie", "pie|pie", "bar|pie")
    texts = [*(json.dumps({f"task1.confusion[{cell}]": 1.0}) for cell in cells), None]
    found = samples.matrix_cells(kind(kind.options_type()), texts, {title})
    assert found == {f"{title}: bar → bar": [0], f"{title}: bar → pie": [1, 3], f"{title}: pie → pie": [2]}


def test_distributions_count_every_value_once() -> None:
    table = samples.page_rows(rows([0.0, 1.0, 0.5, 0.5], [0.0, 3.0, 1.0, 1.0]), ["a", "b"], SPECS, 4)
    score, errors = samples.distributions(table, SPECS, 2)
    assert [sum(counts) for counts in score.counts] == [4, 0]
    assert score.quartiles == ((0.375, 0.5, 0.625), ())
    # Whole numbers have a bin each, from half below the lowest to half above the highest.
    assert (errors.edges, errors.counts) == ((-0.5, 0.5, 1.5, 2.5, 3.5), ((1, 2, 0, 1), (0, 0, 0, 0)))
    document = Document(
        kind="evaluation", title="", benchmark="toy", verdict=Verdict("pass", ""), systems=("a",), samples_page="a.html"
    )
    titles = []
    for bounds, values, ends in (
        ((0.0, 1.0), [0.2], (0.0, 1.0)), ((None, 1.0), [-2.5, 0.5], (-2.5, 1.0)), ((None, None), [0.25], (0.25, 1.25)),
        ((0.0, 20.0), [0.2, 0.99996], (0.0, 20.0)), ((0.0, 20.0), [2.0], (1.5, 2.5)),
        ((0.0, None), [2345678.25, 1e4, 1e4 + 0.5, 234567.825, 234567.8249], (0.0, 2345678.25)),
        ((0.0, None), [0.0003, 0.0001, 0.0002], (0.0, 0.0003)),
        # To ten decimals, NumPy rounds these to numbers between them.
        ((None, None), [1000000000.5051, 1000000007.8301], (1000000000.5051, 1000000007.8301)),
        ((None, None), [32354717395943.297, 32354717395943.3], (32354717395943.297, 32354717395943.3)),
    ):  # fmt: skip
        edges = samples.bin_edges(bounds, np.array(values))
        assert (edges[0], edges[-1]) == ends
        counts = np.histogram(values, edges)[0].tolist()
        bins = histogram(document, Distribution("toy", "score", tuple(edges.tolist()), (tuple(counts),), ((),)), 0)
        titles += [re.findall('title="([^"]*):', bins)[0]]
        # The link of a bin leads to the samples that it counts.
        links = re.findall('from=([^&]*)&amp;to=([^"]*)"', bins)
        found = [sum(float(low) <= each <= float(high) for each in values) for low, high in links]
        assert found == [*filter(None, counts)]
    large = ["1000000000.5051 to 1000000000.8714", "32354717395943.2969 to 32354717395943.2969"]
    assert [titles.pop(-2), titles.pop()] == large
    assert titles == ["0 to 0.05", "-2.5 to -2.325", "0.25 to 0.3", "0 to 1", "2", "0 to 117283.9125", "0 to 0.00002"]
