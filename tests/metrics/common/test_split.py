"""Splits by group: whole groups, drawn from a hash, whatever the order and whoever else is there."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamscore.metrics.common.split import draw, fold, part

THIRDS = {"training": Fraction(1, 3), "validation": Fraction(1, 3), "testing": Fraction(1, 3)}
samples = st.dictionaries(st.text(max_size=4), st.one_of(st.none(), st.sampled_from("abcdef")), max_size=25)


class TestDraw:
    def test_it_is_written_down(self) -> None:
        """The numbers must stay: a data set that was split yesterday is split so tomorrow."""
        assert [fold(f"article {n}", 5) for n in range(10)] == [0, 0, 4, 3, 2, 2, 0, 1, 4, 2]
        assert draw("article 0", 0) == 7189596520410170696

    def test_seeds_and_purposes_draw_anew(self) -> None:
        assert len({draw("a", 0), draw("a", 1), draw("a", 0, "fold"), draw("b", 0)}) == 4

    @given(st.text(), st.integers())
    def test_any_text_has_a_number(self, group: str, seed: int) -> None:
        assert 0 <= draw(group, seed) < 2**64


class TestFold:
    def test_folds_are_about_equal(self) -> None:
        counts = Counter(fold(str(n), 5) for n in range(10_000))
        # 2000 expected, with a standard deviation of 40.
        assert set(counts) == set(range(5))
        assert all(1800 < count < 2200 for count in counts.values())

    @pytest.mark.parametrize("folds", [1, 0, -3])
    def test_too_few_folds(self, folds: int) -> None:
        with pytest.raises(ValueError, match="at least 2 folds"):
            fold("a", folds)


class TestPart:
    def test_parts_have_their_fractions(self) -> None:
        counts = Counter(part(str(n), {"training": 0.2, "validation": 0.2, "testing": 0.6}) for n in range(10_000))
        assert abs(counts["training"] - 2000) < 200
        assert abs(counts["testing"] - 6000) < 200

    def test_a_part_without_a_fraction_is_empty(self) -> None:
        assert {part(str(n), {"a": 0.5, "b": 0, "c": 0.5, "d": 0}) for n in range(100)} == {"a", "c"}

    def test_a_part_that_grows_keeps_its_groups(self) -> None:
        small = {n for n in range(500) if part(str(n), {"training": 0.3, "testing": 0.7}) == "training"}
        large = {n for n in range(500) if part(str(n), {"training": 0.5, "testing": 0.5}) == "training"}
        assert small < large

    @pytest.mark.parametrize("fractions", [{"a": 0.5}, {"a": -0.5, "b": 1.5}, {"a": math.nan}, {"a": math.inf}, {}])
    def test_impossible_fractions(self, fractions: dict[str, float]) -> None:
        with pytest.raises(ValueError, match="fractions must"):
            part("a", fractions)

    @given(st.text(), st.integers(0, 5))
    def test_every_group_has_one_of_the_parts(self, group: str, seed: int) -> None:
        assert part(group, THIRDS, seed) in THIRDS
