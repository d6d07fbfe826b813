"""What a set of annotated figures holds: Tables 2 to 7 of the DeTEXT paper."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..description import Description
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from ..table import Table
from .records import DIFFICULTIES, FigureTruth, TruthRegion

FIGURE_TYPES = ("Gel-image", "Image-of-thing", "Graph", "Model", "Mix")
ORIENTATIONS = ("horizontal", "oriented")

MAX_LABELS_COMBINED = 4
"""Larger combinations are not counted; the paper's largest is of four."""

Row = list[str | float | None]


class FigureTextDescription(Description[FigureTruth]):
    """Counts regions and figures by category, combination of categories, orientation and type.

    A figure counts for a category where any of its regions has it. A combination counts the regions that have at
    least its categories, as in the paper's Table 3, where "small, blurry" includes "small, blurry, short". Don't-care
    regions are counted apart and belong to nothing else.
    """

    name = "figure_text"
    truth_type = FigureTruth
    distinct: ClassVar[Mapping[str, str]] = {"articles": "different articles that the figures come from"}

    def statistics(self, truth: FigureTruth) -> Mapping[str, int]:
        """Returns the counts of one figure."""
        regions = [region for region in truth.regions or [] if not region.ignore]
        counts = Counter({"figures": 1, "regions": len(regions)})
        counts["dont_care_regions"] = len(truth.regions or []) - len(regions)
        if truth.figure_type is not None:
            counts[f"figures[figure_type={truth.figure_type}]"] = 1
        groups = Counter(group for region in regions for group in _groups(region))
        for group, count in groups.items():
            counts[f"regions[{group}]"] = count
            counts[f"figures[{group}]"] = 1
        return {name: count for name, count in counts.items() if count}

    def distinct_keys(self, truth: FigureTruth) -> Mapping[str, str]:
        """Returns the figure's article."""
        return {} if truth.article is None else {"articles": str(truth.article)}

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the size of the set and the paper's Tables 2, 3, 4 and 5."""
        combinations = sorted(
            _members(sums, "combination", ()), key=lambda name: (-sums[f"regions[combination={name}]"], name)
        )
        return [
            _sizes({"all": sums}),
            _shares("Regions and figures by category", "difficulty", _members(sums, "difficulty", DIFFICULTIES), sums),
            _shares("Regions and figures by combination of categories", "combination", combinations, sums),
            _shares(
                "Regions and figures by orientation", "orientation", _members(sums, "orientation", ORIENTATIONS), sums
            ),
            Table(
                "Figures by type",
                ("type", "figures", "share of figures"),
                [
                    [kind, count := int(sums[f"figures[figure_type={kind}]"]), ratio(count, sums["figures"])]
                    for kind in _members(sums, "figure_type", FIGURE_TYPES, "figures")
                ],
            ),
        ]

    def side_by_side(self, slices: Mapping[str, Sums]) -> list[Table]:
        """Returns the paper's Tables 6 and 7: sizes and categories, split by split."""
        together = Sums.merged(slices.values())
        header = ["category", *(f"{what} in {label}" for what in ("regions", "figures") for label in slices)]
        rows: list[Row] = [
            [
                category,
                *(
                    int(sums[f"{what}[difficulty={category}]"])
                    for what in ("regions", "figures")
                    for sums in slices.values()
                ),
            ]
            for category in _members(together, "difficulty", DIFFICULTIES)
        ]
        return [_sizes(slices), Table("Regions and figures by category and subset", header, rows)]


def _groups(region: TruthRegion) -> list[str]:
    labels = region.difficulties()
    groups = [f"difficulty={label}" for label in labels]
    for size in range(2, min(len(labels), MAX_LABELS_COMBINED) + 1):
        groups.extend(f"combination={', '.join(some)}" for some in itertools.combinations(labels, size))
    if region.orientation is not None:
        groups.append(f"orientation={region.orientation}")
    if region.important is not None:
        groups.append(f"important={'true' if region.important else 'false'}")
    return groups


def _members(sums: Sums, kind: str, known: Sequence[str], counted: str = "regions") -> list[str]:
    """Returns the groups of one kind: the known ones in their order, then those of the data alone."""
    prefix = f"{counted}[{kind}="
    seen = [name[len(prefix) : -1] for name in sums if name.startswith(prefix)]
    return [*known, *(group for group in seen if group not in known)]


def _sizes(slices: Mapping[str, Sums]) -> Table:
    counts = ("figures", "articles", "regions", "dont_care_regions")
    rows: list[Row] = [[label, *(int(sums[name]) for name in counts)] for label, sums in slices.items()]
    return Table("Size", ("subset", "figures", "articles", "regions", "don't-care regions"), rows)


def _shares(title: str, kind: str, groups: Sequence[str], sums: Sums) -> Table:
    rows: list[Row] = []
    for group in groups:
        regions, figures = (int(sums[f"{what}[{kind}={group}]"]) for what in ("regions", "figures"))
        rows.append([group, regions, ratio(regions, sums["regions"]), figures, ratio(figures, sums["figures"])])
    return Table(title, (kind, "regions", "share of regions", "figures", "share of figures"), rows)
