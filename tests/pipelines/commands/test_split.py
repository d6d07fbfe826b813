"""The draw of a split: whole groups, from a hash, whatever the order and whoever else is there."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from beamscore.pipelines.commands.split import draw, fold, part

FIFTHS = {"training": Fraction(1, 5), "none": Fraction(0), "testing": Fraction(4, 5)}


def test_the_draw_is_written_down() -> None:
    """The numbers must stay: a data set that was split yesterday is split so tomorrow."""
    assert [fold(f"article {n}", 5, 0) for n in range(10)] == [0, 0, 4, 3, 2, 2, 0, 1, 4, 2]
    assert draw("article 0", 0, "") == Fraction(7189596520410170696, 2**64)
    assert len({draw("a", 0, ""), draw("a", 1, ""), draw("a", 0, "fold"), draw("b", 0, "")}) == 4


def test_parts_and_folds_have_their_fractions() -> None:
    parts = Counter(part(str(n), FIFTHS, 0) for n in range(10_000))
    folds = Counter(fold(str(n), 5, 0) for n in range(10_000))
    # 2,000 expected, with a standard deviation of 40.
    assert parts.keys() == {"training", "testing"}
    assert set(folds) == set(range(5))
    assert all(1800 < count < 2200 for count in [parts["training"], *folds.values()])


@given(st.text(), st.integers(0, 5), st.fractions(0, 1), st.fractions(0, 1))
def test_a_part_that_grows_keeps_its_groups(group: str, seed: int, one: Fraction, other: Fraction) -> None:
    small, large = ({"training": each, "testing": 1 - each} for each in sorted((one, other)))
    assert (part(group, small, seed), part(group, large, seed)) != ("training", "testing")
