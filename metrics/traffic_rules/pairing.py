"""Which predicted rule is taken for which true rule when asking what was wrong about it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..common.assignment import best_assignment, best_pairs
from ..common.budget import Budget
from .rules import Rule

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Up to so many pairs of rules are compared one by one, without matrices.
MAX_FEW = 64


def pair_rules(true: Sequence[Rule], predicted: Sequence[Rule], budget: Budget) -> list[tuple[int, int]]:
    """Returns one-to-one pairs (true, predicted) of positions, in order of the true rules.

    First every true rule takes an equal predicted rule, as long as there are any: these pairs are the multiset
    intersection. The rules left on both sides are then paired, as many as the smaller side has, so that the sum
    of agreeing properties is largest and, among such pairings, the sum of shared centerlines. `matches` plays no
    part. Equally good pairings are told apart by the order of the rules.

    Spends a step for each pair of rules that are left.
    """
    pairs, left, candidates = _equal_pairs(true, predicted)
    if left and candidates:
        budget.spend(len(left) * len(candidates))
        if len(left) == len(candidates) == 1:
            return sorted([*pairs, (left[0], candidates[0])])
        rules, others = [true[i] for i in left], [predicted[j] for j in candidates]
        if len(left) * len(candidates) <= MAX_FEW:
            best = best_pairs(_few_weights(rules, others))
        else:
            rows, columns = best_assignment(_weights(rules, others))
            best = list(zip(rows.tolist(), columns.tolist(), strict=True))
        pairs += [(left[row], candidates[column]) for row, column in best]
    return sorted(pairs)


def _equal_pairs(true: Sequence[Rule], predicted: Sequence[Rule]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
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
    return pairs, left, sorted(j for rest in by_properties.values() for j in rest)


def _few_weights(true: Sequence[Rule], predicted: Sequence[Rule]) -> list[list[int]]:
    """Returns what `_weights` does, in less time for a few rules."""
    lines, predicted_lines = ([set(rule.centerlines) for rule in rules] for rules in (true, predicted))
    scale = 1 + sum(map(len, lines))
    others = [(other.distinct, of_other) for other, of_other in zip(predicted, predicted_lines, strict=True)]
    return [
        [len(rule.distinct & distinct) * scale + len(of_rule & of_other) for distinct, of_other in others]
        for rule, of_rule in zip(true, lines, strict=True)
    ]


def _weights(true: Sequence[Rule], predicted: Sequence[Rule]) -> np.ndarray:
    """Returns [true, predicted] weights in which one agreeing property outweighs all shared centerlines."""
    numbers: dict[str, int] = {}
    lines, predicted_lines = (
        [{numbers.setdefault(line, len(numbers)) for line in rule.centerlines} for rule in rules]
        for rules in (true, predicted)
    )
    scale = 1 + sum(map(len, lines))
    agreeing = _in_common([rule.distinct for rule in true], [rule.distinct for rule in predicted])
    return np.asarray(agreeing * scale + _in_common(lines, predicted_lines), dtype=np.float64)


def _in_common(some: Sequence[Collection[int]], others: Sequence[Collection[int]]) -> np.ndarray:
    """Returns how many numbers each of N sets shares with each of M others, int [N, M]."""
    width = 1 + max((max(numbers, default=0) for numbers in (*some, *others)), default=0)
    counted: np.ndarray = (_incidence(some, width) @ _incidence(others, width).T).toarray()
    return counted


def _incidence(sets: Sequence[Collection[int]], width: int) -> csr_array:
    """Returns a 1 in each row of [N, width] for each number of its set."""
    from scipy.sparse import csr_array

    starts = np.cumsum([0, *map(len, sets)])
    members = np.fromiter((number for numbers in sets for number in numbers), dtype=np.intp, count=starts[-1])
    return csr_array((np.ones(len(members), dtype=np.int64), members, starts), shape=(len(sets), width))
