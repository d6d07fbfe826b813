"""The three tasks of the benchmark, each as counts that add up over samples."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import msgspec

from .rules import Rule

Edge = tuple[str, str]
"""(id of a true rule, centerline)"""


class Counts(msgspec.Struct, frozen=True, gc=False):
    """What was right, of what was predicted and of what is true."""

    right: int
    predicted: int
    true: int


def _common(true_items: Sequence[Hashable], predicted_items: Sequence[Hashable]) -> Counts:
    left: dict[Hashable, int] = {}
    for item in true_items:
        left[item] = left.get(item, 0) + 1
    right = 0
    for item in predicted_items:
        if left.get(item):
            left[item] -= 1
            right += 1
    return Counts(right, len(predicted_items), len(true_items))


def rule_extraction(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the size of the multiset intersection of both sides' rules, and their numbers.

    Source: MapDR, evaluate/metric.md, "Rule Extraction": |R^ ∩ R| over |R^| and |R|.
    """
    return _common([rule.distinct for rule in true], [rule.distinct for rule in predicted])


def correspondence(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns how many true edges (rule, centerline) were predicted, how many were given and how many are true.

    A predicted rule stands for the true rule that it matches, whatever its properties. Every centerline that it
    gives is a predicted edge; it is wrong where the rule matches none, and where the edge was given before.

    Source: MapDR, evaluate/metric.md, "Correspondence Reasoning": |E^ ∩ E| over |E^| and |E|.
    """
    edges = distinct_edges(true)
    right = edges.keys() & distinct_edges(predicted).keys()
    return Counts(len(right), sum(len(rule.centerlines) for rule in predicted), len(edges))


def distinct_edges(rules: Sequence[Rule]) -> dict[Edge, None]:
    """Returns the distinct edges of the rules that have a name, in order."""
    return {(rule.name, line): None for rule in rules if rule.name is not None for line in rule.centerlines}


def overall(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the size of the multiset intersection of both sides' (properties, centerline), and their numbers.

    `matches` plays no part: a predicted rule stands for a true one where all properties are equal.

    Source: MapDR, evaluate/metric.md, "Overall": |G^s^ ∩ G^s| over |G^s^| and |G^s|.
    """
    return _common(_subgraphs(true), _subgraphs(predicted))


def _subgraphs(rules: Sequence[Rule]) -> list[tuple[Hashable, str]]:
    return [(rule.distinct, line) for rule in rules for line in rule.centerlines]


TASKS: dict[str, Callable[[Sequence[Rule], Sequence[Rule]], Counts]] = {
    "rule_extraction": rule_extraction,
    "correspondence": correspondence,
    "overall": overall,
}
