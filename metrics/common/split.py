"""Deterministic splits of samples by group, such as figures by the article that they come from.

The draw is a hash of the seed and the group, so that no group is ever torn apart, and neither the order of the samples
nor the presence of others moves a sample. A sample without a group is its own: give its id for the group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction

DRAW_BITS = 64


def draw(group: str, seed: int, purpose: str = "") -> int:
    """Returns the group's number, uniform over 0 .. 2**64 - 1; each seed and each purpose draws anew."""
    digest = hashlib.blake2b(
        group.encode("utf-8", "surrogatepass"), digest_size=DRAW_BITS // 8, key=_key(seed, purpose)
    )
    return int.from_bytes(digest.digest(), "big")


def _key(seed: int, purpose: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{purpose}".encode(), digest_size=32).digest()


def fold(group: str, folds: int, seed: int = 0) -> int:
    """Returns the fold of a group, 0 .. `folds` - 1, for k-fold cross validation.

    Raises ValueError for less than two folds.
    """
    if folds < 2:
        raise ValueError(f"cross validation needs at least 2 folds, not {folds}")
    return draw(group, seed, "fold") * folds >> DRAW_BITS


def part(group: str, fractions: Mapping[str, float | Fraction], seed: int = 0) -> str:
    """Returns the part of a group, each part being drawn with its fraction of the groups.

    `fractions`, such as {"training": 0.2, "validation": 0.2, "testing": 0.6}, must add up to 1 to within a billionth.
    Their order matters: the parts share the range of the draw from the left.

    Raises ValueError for fractions that are not so.
    """
    if not all(0 <= fraction <= 1 for fraction in fractions.values()):
        raise ValueError(f"fractions must be between 0 and 1: {dict(fractions)}")
    parts = [(name, Fraction(fraction)) for name, fraction in fractions.items() if fraction]
    if abs(sum((fraction for _, fraction in parts), Fraction(0)) - 1) > Fraction(1, 10**9):
        raise ValueError(f"fractions must add up to 1: {dict(fractions)}")
    drawn = Fraction(draw(group, seed, "part"), 1 << DRAW_BITS)
    reached = Fraction(0)
    for name, fraction in parts[:-1]:
        reached += fraction
        if drawn < reached:
            return name
    return parts[-1][0]
