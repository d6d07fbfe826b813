"""Deterministic splits of samples by group, such as figures by the article that they come from.

The draw is a hash of the seed and the group, so that no group is ever torn apart, and neither the order of the samples
nor the presence of others moves a sample. A sample without a group is its own: give its id for the group.

`published_split` is the recipe of the DeTEXT paper, which fills its subsets to a size and so must see the whole set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from fractions import Fraction

DRAW_BITS = 64

TRAINING, VALIDATION, TESTING, LEFT_OUT = "training", "validation", "testing", "left_out"


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


def published_split(
    samples: Iterable[tuple[str, str | None]], training: int = 100, validation: int = 100, seed: int = 0
) -> dict[str, str]:
    """Returns the subset of each sample by its id, as the DeTEXT paper made its own.

    samples: (sample_id, group) pairs, in any order; the ids are unique.

    Training gets one sample from each of `training` groups. Groups with the fewest samples go first, in drawn order,
    so that as few samples as can be are lost: the other samples of a training group are `left_out`, since they would
    carry its group into another subset. Validation gets whole groups of the rest, in drawn order, as far as they fit
    into `validation` samples. Testing gets what remains.

    Source: Yin et al. 2015, "Data Subsets for Evaluation" and Table 6.

    Raises ValueError where a sample id occurs twice or a size is negative.
    """
    if training < 0 or validation < 0:
        raise ValueError(f"sizes of subsets cannot be negative: {training} and {validation}")
    groups = _grouped(samples)
    by_size = sorted(groups, key=lambda key: (len(groups[key]), draw(key, seed, TRAINING), key))
    split: dict[str, str] = {}
    for key in by_size[:training]:
        first = min(groups[key], key=lambda sample_id: (draw(sample_id, seed, "sample"), sample_id))
        split.update(dict.fromkeys(groups[key], LEFT_OUT))
        split[first] = TRAINING
    room = validation
    for key in sorted(by_size[training:], key=lambda key: (draw(key, seed, VALIDATION), key)):
        fits = len(groups[key]) <= room
        room -= len(groups[key]) if fits else 0
        split.update(dict.fromkeys(groups[key], VALIDATION if fits else TESTING))
    return dict(sorted(split.items()))


def _grouped(samples: Iterable[tuple[str, str | None]]) -> dict[str, list[str]]:
    """Returns the sample ids by group; a sample without a group gets one that no given group can be."""
    groups: dict[str, list[str]] = {}
    seen: set[str] = set()
    for sample_id, group in samples:
        if sample_id in seen:
            raise ValueError(f"the sample {sample_id!r} occurs twice")
        seen.add(sample_id)
        groups.setdefault(f"sample:{sample_id}" if group is None else f"group:{group}", []).append(sample_id)
    return groups
