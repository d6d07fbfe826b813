"""Which predicted rule is taken for which true rule when asking what was wrong about it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from ..common.assignment import best_pairs
from ..common.budget import Budget
from .rules import Rule


def pair_rules(true: Sequence[Rule], predicted: Sequence[Rule], budget: Budget) -> list[tuple[int, int]]:
    """Returns one-to-one pairs (true, predicted) of positions, in order of the true rules.

    First every true rule takes an equal predicted rule, as long as there are any: these pairs are the multiset
    intersection. The rules left on both sides are then paired, as many as the smaller side has, so that the sum
    of agreeing properties is largest and, among such pairings, the sum of shared centerlines. `matches` plays no
    part. Equally good pairings are told apart by the order of the rules.

    Spends a step for each pair of rules that are left.
    """
    by_properties: dict[frozenset[int], deque[int]] = defaultdict(deque)
    for j, rule in enumerate(predicted):
        by_properties[rule.distinct].append(j)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    for i, rule in enumerate(true):
        equal = by_properties.get(rule.distinct)
        if equal:
            pairs.append((i, equal.popleft()))
        else:
            left.append(i)
    candidates = sorted(j for rest in by_properties.values() for j in rest)
    budget.spend(len(left) * len(candidates))
    weights = _weights([true[i] for i in left], [predicted[j] for j in candidates])
    return sorted([*pairs, *((left[row], candidates[column]) for row, column in best_pairs(weights))])


def _weights(true: Sequence[Rule], predicted: Sequence[Rule]) -> list[list[int]]:
    """Returns [true, predicted] weights in which one agreeing property outweighs all shared centerlines."""
    lines, predicted_lines = ([set(rule.centerlines) for rule in rules] for rules in (true, predicted))
    scale = 1 + sum(map(len, lines))
    others = [(other.distinct, of_other) for other, of_other in zip(predicted, predicted_lines, strict=True)]
    return [
        [len(rule.distinct & distinct) * scale + len(of_rule & of_other) for distinct, of_other in others]
        for rule, of_rule in zip(true, lines, strict=True)
    ]
