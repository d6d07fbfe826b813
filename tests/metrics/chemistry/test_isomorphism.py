"""The exact search, against a search through all permutations."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.chemistry.isomorphism import isomorphism
from beamscore.metrics.chemistry.matcher import match_molecules
from beamscore.metrics.chemistry.molecule import MIRRORED_WEDGE, Molecule
from beamscore.metrics.chemistry.neighbors import MoleculePair
from beamscore.metrics.common.budget import Budget, OutOfBudget
from tests.generate.chemistry import Drawing, write_ssml
from tests.metrics.chemistry.helpers import STEPS, line, molecule

seeds = st.integers(min_value=0, max_value=10**9)
Sight = tuple[float, str, int]
"""Angle, type of the bond as written from here, and the atom that is seen."""


def sights(graph: Molecule, atom: int) -> list[Sight]:
    """What an atom sees, by growing angle, written from the definition."""
    seen = []
    for bond in graph.bonds:
        for here, there in ((bond.begin, bond.end), (bond.end, bond.begin)):
            if here == atom:
                across = graph.xs[there] - graph.xs[here]
                up = graph.ys[here] - graph.ys[there]
                angle = round(math.degrees(math.atan2(up, across)), 6) % 360
                kind = bond.type if here == bond.begin else MIRRORED_WEDGE.get(bond.type, bond.type)
                seen.append((angle, kind, there))
    return sorted(seen)


def orders(seen: Sequence[Sight]) -> Iterator[list[tuple[str, int]]]:
    """All orders that the angles allow: those in one direction in any order."""
    groups = [list(group) for _, group in itertools.groupby(seen, key=lambda sight: sight[0])]
    for choice in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [(kind, other) for group in choice for _, kind, other in group]


def same_cyclic_order(first: Sequence[Sight], second: Sequence[Sight], images: Sequence[int]) -> bool:
    if len(first) != len(second):
        return False
    wanted = [[(kind, images[other]) for kind, other in order] for order in orders(first)]
    return any(order[shift:] + order[:shift] in wanted for order in orders(second) for shift in range(len(order) or 1))


def few_turned(first: Sequence[Sight], second: Sequence[Sight], images: Sequence[int], limit: float) -> bool:
    """Whether no bond is turned by more than `limit` degrees."""
    angles = {other: angle for angle, _, other in second}
    turns = [abs(angle - angles.get(images[other], math.inf)) for angle, _, other in first]
    return all(min(turn, 360 - turn) <= limit + 1e-6 for turn in turns)


def brute_force(first: Molecule, second: Molecule, limit: float = 180) -> bool:
    """Whether some permutation of the atoms preserves texts, bonds, directions and the cyclic order of neighbors."""
    count = len(first.texts)
    if count != len(second.texts) or len(first.bonds) != len(second.bonds):
        return False
    first_sights = [sights(first, atom) for atom in range(count)]
    second_sights = [sights(second, atom) for atom in range(count)]
    for images in itertools.permutations(range(count)):
        texts_agree = all(first.texts[a] == second.texts[images[a]] for a in range(count))
        if texts_agree and all(
            same_cyclic_order(first_sights[a], second_sights[images[a]], images)
            and few_turned(first_sights[a], second_sights[images[a]], images, limit)
            for a in range(count)
        ):
            return True
    return False


def small_drawing(rng: random.Random) -> Drawing:
    """Up to six atoms with few texts and directions, so that many look alike, and up to two bonds that close rings."""
    drawing = Drawing()
    drawing.atom(rng.choice(("", "O")), 0, 0)
    turned = rng.choice((0, 7, 180))
    for _ in range(rng.randint(2, 5)):
        begin = rng.randrange(len(drawing.texts))
        drawing.grow(
            begin, rng.choice("---=<>"), turned + rng.choice((0, 60, 120, 180, 240, 300)), rng.choice(("", "", "O"))
        )
    for _ in range(rng.choice((0, 2, 4, 8))):
        begin, end = rng.sample(range(len(drawing.texts)), 2)
        drawing.bonds.append((begin, end, rng.choice("-=")))
        if not can_be_written(drawing):
            drawing.bonds.pop()
    return drawing


def changed(drawing: Drawing, rng: random.Random) -> Drawing:
    """The drawing with one text, bond or place changed, or with two places or texts exchanged."""
    texts, places, bonds = [*drawing.texts], [*drawing.places], [*drawing.bonds]
    first, second = rng.sample(range(len(texts)), 2)
    kind = rng.choice(("text", "bond", "texts", "places", "end", "mirror", "turn", "wedge"))
    if kind == "text":
        texts[first] = "O" if not texts[first] else ""
    elif kind == "texts":
        texts[first], texts[second] = texts[second], texts[first]
    elif kind == "places":
        places[first], places[second] = places[second], places[first]
    elif kind == "mirror":
        places = [(-x, y) for x, y in places]
    elif kind == "turn":
        cosine, sine = (math.cos(math.pi / 6), math.sin(math.pi / 6))
        places = [(cosine * x - sine * y, sine * x + cosine * y) for x, y in places]
    elif kind == "wedge":
        bonds = [(begin, end, MIRRORED_WEDGE.get(bond_type, bond_type)) for begin, end, bond_type in bonds]
    else:
        number = rng.randrange(len(bonds))
        begin, end, bond_type = bonds[number]
        bonds[number] = (begin, end, rng.choice("-=")) if kind == "bond" else (begin, second, bond_type)
    return Drawing(texts, places, bonds)


def can_be_written(drawing: Drawing) -> bool:
    """Whether all atoms hang together by bonds of length 1, one between two atoms, as `write_ssml` writes them."""
    if len({frozenset(bond[:2]) for bond in drawing.bonds}) < len(drawing.bonds):
        return False
    reached = {0}
    for _ in drawing.texts:
        reached |= {end for bond in drawing.bonds for end in bond[:2] if {*bond[:2]} & reached}
    return len(reached) == len(drawing.texts) and all(
        math.isclose(math.dist(drawing.places[begin], drawing.places[end]), 1) for begin, end, _ in drawing.bonds
    )


def drawn(text: str) -> Molecule | None:
    regions = line(text).regions
    return regions[0].molecule if regions else None


def equal(first: Molecule, second: Molecule, limit: float | None = None) -> bool:
    return match_molecules(first, second, False, Budget(STEPS), limit).equal


LIMITS = (0, 15, 30, 45, 60, 119, 120, 180)
"""Small drawings turn by multiples of 30 degrees, and some of these limits are such."""


@settings(max_examples=300)
@given(seeds, st.integers(min_value=0, max_value=3), st.sampled_from(LIMITS))
def test_equal_means_isomorphic_with_the_same_cyclic_order(seed: int, changes: int, limit: float) -> None:
    rng = random.Random(seed)
    drawing = small_drawing(rng)
    other = drawing
    for _ in range(changes):
        other = changed(other, rng)
    if not can_be_written(drawing) or not can_be_written(other):
        return
    truth = drawn(write_ssml(drawing, decimals=9))
    prediction = drawn(write_ssml(other, rng.randrange(len(other.texts)), rng, decimals=9))
    if truth is None or prediction is None:
        return
    expected = brute_force(truth, prediction)
    assert expected or changes
    assert equal(truth, prediction) is expected
    assert equal(prediction, truth) is expected
    found = isomorphism(MoleculePair(truth, prediction, Budget(STEPS)))
    assert (found is not None) is expected
    within = expected and brute_force(truth, prediction, limit)
    assert within or changes
    assert equal(truth, prediction, limit) is within
    assert equal(prediction, truth, limit) is within
    assert (isomorphism(MoleculePair(truth, prediction, Budget(STEPS), limit)) is not None) is within


def test_the_search_goes_on_where_a_choice_leads_nowhere() -> None:
    # B and C lie in one direction from A; which comes first is open, until what hangs on them is seen.
    first = (
        "A branch( -[:0] -[:90] B -[:90] D branch) branch( -[:0] -[:90] B -[:90] E branch) branch( -[:120] F branch)"
    )
    second = (
        "A branch( -[:0] -[:90] B -[:90] E branch) branch( -[:0] -[:90] B -[:90] D branch) branch( -[:120] F branch)"
    )
    assert equal(molecule(first), molecule(second))
    # A direction just below 360 degrees is that of 0 degrees.
    below = [content.replace("-[:0]", "-[:359.9999999]", 1) for content in (first, second)]
    assert equal(molecule(below[0]), molecule(below[1]))
    # With directions of their own the order counts: F, D, E is not F, E, D.
    parted = second.replace("-[:0]", "-[:10]", 1)
    assert equal(molecule(first), molecule(parted))
    assert not equal(molecule(first.replace("-[:0]", "-[:10]", 1)), molecule(parted))


def test_a_limit_of_angles_holds_in_the_search() -> None:
    star = "A branch( -[:{}] B branch) branch( -[:{}] C branch) -[:{}] D"
    truth, prediction = molecule(star.format(0, 120, 240)), molecule(star.format(120, 240, 0))
    for limit, found in ((None, True), (121, True), (119, False)):
        drawings = MoleculePair(truth, prediction, Budget(STEPS), limit)
        assert (isomorphism(drawings) is not None) is found


def test_too_many_choices_run_out_of_budget() -> None:
    star = "A " + "branch( -[:0] -[:90] {} branch) " * 12
    truth, prediction = molecule(star.format(*"BCDEFGHIJKLM")), molecule(star.format(*"MLKJIHGFEDCB"))
    with pytest.raises(OutOfBudget):
        isomorphism(MoleculePair(truth, prediction, Budget(20_000)))
