"""Splits by group: whole groups, drawn from a hash, whatever the order and whoever else is there."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.split import LEFT_OUT, TESTING, TRAINING, VALIDATION, draw, fold, part, published_split

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


class TestPublishedSplit:
    def test_the_papers_sizes(self) -> None:
        """Table 6: 100 figures of 100 articles, then 100 and 300 figures of the other 188 articles."""
        single = [(f"s{n}", f"single {n}") for n in range(160)]
        double = [(f"d{n}-{figure}", f"double {n}") for n in range(70) for figure in range(2)]
        many = [(f"m{n}-{figure}", f"many {n}") for n in range(40) for figure in range(5)]
        split = published_split(single + double + many)
        assert Counter(split.values()) == {TRAINING: 100, VALIDATION: 100, TESTING: 300}

    def test_other_figures_of_a_training_article_are_left_out(self) -> None:
        split = published_split([("1", "a"), ("2", "a"), ("3", "b"), ("4", "b"), ("5", "b")], training=1, validation=0)
        # The article with the fewest figures trains, and loses one.
        assert Counter(split.values()) == {TRAINING: 1, LEFT_OUT: 1, TESTING: 3}
        assert {split["1"], split["2"]} == {TRAINING, LEFT_OUT}

    def test_an_article_that_does_not_fit_is_passed_over(self) -> None:
        split = published_split([("1", "a"), ("2", "a"), ("3", "b")], training=0, validation=1)
        assert split == {"1": TESTING, "2": TESTING, "3": VALIDATION}

    def test_a_sample_without_a_group_is_its_own(self) -> None:
        assert published_split([("1", None), ("2", None), ("x", "1")], training=3) == dict.fromkeys("12x", TRAINING)

    def test_bad_arguments(self) -> None:
        with pytest.raises(ValueError, match="'1' occurs twice"):
            published_split([("1", "a"), ("1", "b")])
        with pytest.raises(ValueError, match="negative"):
            published_split([], training=-1)
        assert published_split([]) == {}

    @settings(max_examples=150, deadline=None)
    @given(samples, st.integers(0, 6), st.integers(0, 12), st.integers(0, 3), st.randoms(use_true_random=False))
    def test_laws(
        self, groups: dict[str, str | None], training: int, validation: int, seed: int, order: object
    ) -> None:
        pairs = list(groups.items())
        split = published_split(pairs, training, validation, seed)
        order.shuffle(pairs)  # type: ignore[attr-defined]
        assert published_split(pairs, training, validation, seed) == split

        assert set(split) == set(groups)
        article = {sample_id: group or f"alone {sample_id}" for sample_id, group in groups.items()}
        counts = Counter(split.values())
        assert counts[TRAINING] == min(training, len(set(article.values())))
        assert counts[VALIDATION] <= validation
        subsets: dict[str, set[str]] = {}
        for sample_id, subset in split.items():
            subsets.setdefault(article[sample_id], set()).add(subset)
        # No article is in two subsets; in training it has one figure and the others are left out.
        assert all(found <= {TRAINING, LEFT_OUT} or len(found) == 1 for found in subsets.values())
        assert len({article[s] for s, subset in split.items() if subset == TRAINING}) == counts[TRAINING]
        assert all(TRAINING in found for found in subsets.values() if LEFT_OUT in found)
