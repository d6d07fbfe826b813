"""The pairing behind the property figures: equal rules first, then the best of all assignments."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.common.budget import Budget
from beamscore.metrics.traffic_rules.limits import MAX_PROPERTIES, MAX_RULES
from beamscore.metrics.traffic_rules.metrics import pair_rules
from beamscore.metrics.traffic_rules.rules import Rule

NUMBERS: dict[tuple[str, int | str], int] = {}


def rule(lines: str = "", **properties: int | str) -> Rule:
    numbers = {name: NUMBERS.setdefault((name, value), len(NUMBERS)) for name, value in properties.items()}
    return Rule(None, numbers, frozenset(numbers.values()), dict(properties), list(lines))


def pair(true: list[Rule], predicted: list[Rule]) -> list[tuple[int, int]]:
    return pair_rules(true, predicted, Budget(10**6))


def test_equal_rules_pair_before_better_sums() -> None:
    # Crossing over would pair nothing equal; the equal pair comes first, and the rest takes what is left.
    true = [rule(a="1", b="1"), rule(a="1", b="2")]
    predicted = [rule(a="1", b="2"), rule(a="9", b="9")]
    assert pair(true, predicted) == [(0, 1), (1, 0)]


def test_agreeing_properties_outweigh_shared_centerlines() -> None:
    true = [rule("12345", a="1", b="1")]
    predicted = [rule("12345", a="9", b="9"), rule("", a="1", b="9")]
    assert pair(true, predicted) == [(0, 1)]


def test_shared_centerlines_tell_equally_good_pairs_apart() -> None:
    true = [rule("1", a="1", b="1"), rule("2", a="1", b="2")]
    predicted = [rule("2", a="1", b="7"), rule("1", a="1", b="8")]
    assert pair(true, predicted) == [(0, 1), (1, 0)]


def test_as_many_pairs_as_the_smaller_side_has() -> None:
    assert pair([], [rule(a="1")]) == []
    assert pair([rule(a="1")], []) == []
    assert len(pair([rule(a="1"), rule(a="2"), rule(a="3")], [rule(b="1"), rule(b="2")])) == 2


def test_equal_rules_pair_in_order() -> None:
    same = [rule(a="1"), rule(a="2"), rule(a="1"), rule(a="1")]
    assert pair(same, same) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert pair(same[:3], same) == [(0, 0), (1, 1), (2, 2)]
    assert pair(same[:1], same[2:]) == [(0, 0)]


def test_rules_that_are_left_are_paid_for() -> None:
    budget = Budget(100)
    pair_rules([rule(a="1"), rule(a="2"), rule(a="3")], [rule(a="3"), rule(a="4"), rule(b="1"), rule(a="5")], budget)
    assert budget.steps == 2 * 3  # all but the equal ones
    pair_rules([rule(a="1")], [rule(a="1")], budget)
    pair_rules([rule(a="1")], [], budget)
    assert budget.steps == 2 * 3


RULES = st.lists(
    st.builds(
        lambda a, b, lines: rule("".join(lines), a=a, b=b),
        st.sampled_from("12"),
        st.sampled_from("123"),
        st.sets(st.sampled_from("45")).map(sorted),
    ),
    max_size=4,
)


def _quality(true: list[Rule], predicted: list[Rule], pairs: list[tuple[int, int]]) -> tuple[int, int]:
    agreeing = sum(len(true[i].distinct & predicted[j].distinct) for i, j in pairs)
    return agreeing, sum(len({*true[i].centerlines} & {*predicted[j].centerlines}) for i, j in pairs)


@settings(deadline=None)
@given(RULES, RULES)
def test_the_rest_is_paired_as_well_as_can_be(true: list[Rule], predicted: list[Rule]) -> None:
    pairs = pair(true, predicted)
    equal = {(i, j) for i, j in pairs if true[i].distinct == predicted[j].distinct}
    rows = [i for i in range(len(true)) if i not in {i for i, _ in equal}]
    columns = [j for j in range(len(predicted)) if j not in {j for _, j in equal}]
    rest = [pair for pair in pairs if pair not in equal]
    if len(rows) <= len(columns):
        every = [list(zip(rows, order, strict=False)) for order in permutations(columns, len(rows))]
    else:
        every = [list(zip(order, columns, strict=False)) for order in permutations(rows, len(columns))]
    assert len(rest) == min(len(rows), len(columns))
    assert _quality(true, predicted, rest) == max(_quality(true, predicted, other) for other in every)
    left = {true[i].distinct for i in rows}
    assert not left & {predicted[j].distinct for j in columns}, "equal rules were left unpaired"


def test_the_largest_samples_are_paired() -> None:
    def side(offset: int) -> list[Rule]:
        return [
            rule(**{f"p{k}": str((number * k + offset) % 7) for k in range(MAX_PROPERTIES)})
            for number in range(MAX_RULES)
        ]

    assert len(pair(side(0), side(1))) == MAX_RULES
