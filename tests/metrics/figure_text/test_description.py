"""The paper's tables of a small set of figures, counted by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from beamscore.metrics.description import sums_of
from beamscore.metrics.figure_text.description import FigureTextDescription
from beamscore.metrics.figure_text.records import FigureTruth
from beamscore.metrics.statistics.sums import Sums
from beamscore.metrics.table import Table

DESCRIPTION = FigureTextDescription()


def figure(*labels: Any, **columns: Any) -> FigureTruth:
    """A figure with a region for each choice of labels."""
    return msgspec.convert(
        {"regions": [{"id": n, "difficulty": label} for n, label in enumerate(labels)], **columns}, FigureTruth
    )


def table(sums: Sums, title: str) -> dict[str, list[Any]]:
    [found] = [table for table in DESCRIPTION.tables(sums) if table.title == title]
    return {str(row[0]): list(row[1:]) for row in found.rows}


def test_regions_and_figures_by_category() -> None:
    sums = sums_of(DESCRIPTION, [figure(["small"], ["small", "blurry"], []), figure(["short"]), figure()])
    rows = table(sums, "Regions and figures by category")
    assert list(rows)[:4] == ["normal", "small", "blurry", "color"]
    # 2 of 4 regions, in 1 of 3 figures.
    assert rows["small"] == [2, 2 / 4, 1, 1 / 3]
    assert rows["normal"] == [1, 1 / 4, 1, 1 / 3]
    assert rows["color"] == [0, 0, 0, 0]


def test_a_label_of_the_datas_own_comes_last() -> None:
    assert (
        list(table(sums_of(DESCRIPTION, [figure(["handwritten"])]), "Regions and figures by category"))[-1]
        == "handwritten"
    )


def test_a_combination_holds_the_larger_ones() -> None:
    sums = sums_of(
        DESCRIPTION, [figure(["short", "small", "blurry"], ["blurry", "small"]), figure(["small", "blurry"])]
    )
    rows = table(sums, "Regions and figures by combination of categories")
    assert rows == {
        "small, blurry": [3, 1, 2, 1],
        "blurry, short": [1, 1 / 3, 1, 1 / 2],
        "small, blurry, short": [1, 1 / 3, 1, 1 / 2],
        "small, short": [1, 1 / 3, 1, 1 / 2],
    }


def test_many_labels_are_combined_up_to_four() -> None:
    counts = DESCRIPTION.statistics(figure([f"label {n}" for n in range(16)]))
    # 16 over 2, 3 and 4.
    assert sum(name.startswith("regions[combination=") for name in counts) == 120 + 560 + 1820


def test_orientation_and_type() -> None:
    graph = {
        "regions": [{"id": 1, "orientation": "oriented"}, {"id": 2, "orientation": "horizontal"}],
        "figure_type": "Graph",
    }
    sums = sums_of(
        DESCRIPTION, [msgspec.convert(graph, FigureTruth), figure(figure_type="Mix"), figure(figure_type="Map")]
    )
    assert table(sums, "Regions and figures by orientation") == {
        "horizontal": [1, 1 / 2, 1, 1 / 3],
        "oriented": [1, 1 / 2, 1, 1 / 3],
    }
    types = table(sums, "Figures by type")
    assert list(types) == ["Gel-image", "Image-of-thing", "Graph", "Model", "Mix", "Map"]
    assert types["Graph"] == [1, 1 / 3]
    assert types["Model"] == [0, 0]


def test_dont_care_regions_are_counted_apart() -> None:
    truth = msgspec.convert({"regions": [{"id": 1, "difficulty": "small", "ignore": True}, {"id": 2}]}, FigureTruth)
    assert DESCRIPTION.statistics(truth) == {"figures": 1, "regions": 1, "dont_care_regions": 1}


def test_articles_are_counted_once() -> None:
    sums = sums_of(DESCRIPTION, [figure(article="a"), figure(article="a"), figure(article="b"), figure()])
    assert table(sums, "Size") == {"all": [4, 2, 0, 0]}
    assert set(DESCRIPTION.distinct_keys(figure(article=7))) <= set(DESCRIPTION.distinct)


def test_splits_side_by_side() -> None:
    slices = {
        "training": sums_of(DESCRIPTION, [figure(["small"], article="a")]),
        "testing": sums_of(DESCRIPTION, [figure(["small"], ["small"], article="b"), figure(["odd"], article="b")]),
    }
    sizes, categories = DESCRIPTION.side_by_side(slices)
    assert list(sizes.rows) == [["training", 1, 1, 1, 0], ["testing", 2, 1, 3, 0]]
    assert list(categories.header) == [
        "category", "regions in training", "regions in testing", "figures in training", "figures in testing",
    ]  # fmt: skip
    assert list(categories.rows)[1] == ["small", 1, 2, 1, 1]
    assert list(categories.rows)[-1] == ["odd", 0, 1, 0, 1]


def test_nothing_to_describe() -> None:
    assert all(isinstance(found, Table) for found in DESCRIPTION.tables(Sums()))
    sizes, _ = DESCRIPTION.side_by_side({})
    assert list(sizes.rows) == []
