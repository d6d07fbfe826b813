"""Which predicted rule is taken for which true rule when asking what was wrong about it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from metrics.traffic_rules.rules import Rule


def pair_rules(true: Sequence[Rule], predicted: Sequence[Rule]) -> list[tuple[int, int]]:
    """Returns one-to-one pairs (true, predicted) of positions, in order of the true rules.

    First every true rule takes an equal predicted rule, as long as there are any: these pairs are the multiset
    intersection. The rules left on both sides are then paired, as many as the smaller side has, so that the sum
    of agreeing properties is largest and, among such pairings, the sum of shared centerlines. `matches` plays no
    part. Equally good pairings are told apart by the order of the rules.
    """
    pairs, left, candidates = _equal_pairs(true, predicted)
    if left and candidates:
        weights = _weights([true[i] for i in left], [predicted[j] for j in candidates])
        rows, columns = linear_sum_assignment(weights, maximize=True)
        pairs += [(left[row], candidates[column]) for row, column in zip(rows, columns, strict=True)]
    return sorted(pairs)


def _equal_pairs(true: Sequence[Rule], predicted: Sequence[Rule]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    by_properties: dict[frozenset[tuple[str, Hashable]], deque[int]] = defaultdict(deque)
    for j, rule in enumerate(predicted):
        by_properties[rule.properties].append(j)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    for i, rule in enumerate(true):
        equal = by_properties.get(rule.properties)
        if equal:
            pairs.append((i, equal.popleft()))
        else:
            left.append(i)
    return pairs, left, sorted(j for rest in by_properties.values() for j in rest)


def _weights(true: Sequence[Rule], predicted: Sequence[Rule]) -> np.ndarray:
    """Returns [true, predicted] weights in which one agreeing property outweighs all shared centerlines."""
    lines = [frozenset(rule.centerlines) for rule in true]
    predicted_lines = [frozenset(rule.centerlines) for rule in predicted]
    scale = 1 + sum(map(len, lines))
    return np.array(
        [
            [
                len(rule.properties & other.properties) * scale + len(own & others)
                for other, others in zip(predicted, predicted_lines, strict=True)
            ]
            for rule, own in zip(true, lines, strict=True)
        ],
        dtype=np.float64,
    )
