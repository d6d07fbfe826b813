"""The matcher: its rules, its laws on made-up molecules, and its limits."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from beamscore.metrics.chemistry import matcher
from beamscore.metrics.chemistry.isomorphism import isomorphism
from beamscore.metrics.chemistry.line import comparable
from beamscore.metrics.chemistry.matcher import Match, match_molecules
from beamscore.metrics.chemistry.molecule import MIRRORED_WEDGE, Molecule
from beamscore.metrics.chemistry.neighbors import (
    MoleculePair,
    Neighbor,
    angle_between,
    cheapest_shift,
    neighbors_by_angle,
)
from beamscore.metrics.chemistry.records import ChemistryOptions
from beamscore.metrics.chemistry.regions import read_line
from beamscore.metrics.chemistry.seeds import seed_pairs
from beamscore.metrics.common.budget import Budget
from tests.generate.chemistry import damaged, write_chemfig, write_ssml
from tests.generate.chemistry import molecule as drawing
from tests.metrics.chemistry.helpers import PROTOCOLS, STEPS, ProtocolName, compare, line, molecule

seeds = st.integers(min_value=0, max_value=10**9)
laws = settings(max_examples=60)


def drawn(text: str) -> Molecule | None:
    """The molecule of a line that is one region; None where it is straight text."""
    regions = line(text).regions
    assert all(region.problem is None for region in regions), regions
    return regions[0].molecule if regions else None


LIMIT = ChemistryOptions().max_angle_deviation


def equal(first: Molecule | None, second: Molecule | None) -> bool:
    """Whether molecules are equal as `published` compares them by default."""
    if first is None or second is None:
        return first is second
    return match_molecules(first, second, False, Budget(STEPS), LIMIT).equal


@laws
@given(seeds)
def test_a_molecule_equals_itself_rewritten_from_any_atom_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    graph = drawing(rng)
    truth = drawn(write_ssml(graph))
    assert equal(truth, truth)
    assert equal(truth, drawn(write_ssml(graph, rng.randrange(len(graph.texts)), rng)))
    assert equal(truth, drawn(write_chemfig(graph, rng.randrange(len(graph.texts)), rng)))


@laws
@given(seeds, st.sampled_from(("atom", "bond", "connection")))
def test_a_changed_atom_bond_or_connection_is_not_equal(seed: int, error: str) -> None:
    rng = random.Random(seed)
    graph = drawing(rng)
    truth, changed = drawn(write_ssml(graph)), drawn(write_ssml(damaged(graph, error, rng)))
    assert truth is None or not equal(truth, changed)
    assert truth is None or not equal(changed, truth)


# Two rings joined by a bond and two fused rings: ten corners in a chain, whose rings close over 4 - 0 and 9 - 5, or
# over 5 - 0 and 9 - 4. A hexagon and two triangles: every corner has two single bonds to corners.
FUSED = "?[a] -[:0] -[:40] -[:80] -[:120] ?[b] -[:160] ?[a,{-}] -[:100] -[:60] -[:20] -[:-20] ?[b,{-}]"
JOINED = "?[a] -[:0] -[:40] -[:80] -[:120] ?[a,{-}] -[:160] ?[b] -[:100] -[:60] -[:20] -[:-20] ?[b,{-}]"
WEDGES = tuple(f"A {kind}[:90] B" for kind in ("<", "<:", "<|", "-"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("alike", [(FUSED, JOINED), ("*6(------)", "*3(---)-[:90,5,,,draw=none]*3(---)"), WEDGES])
def test_what_looks_alike_is_told_apart(alike: tuple[str, ...], protocol: ProtocolName) -> None:
    for first, second in itertools.product(alike, repeat=2):
        assert compare(first, second, protocol=protocol).equal is (first == second)


@pytest.mark.parametrize(
    ("truth", "prediction", "difference"),
    [
        ("A -[:90] B", "A -[:90] C", "atom 2 'B': the prediction has 'C' there"),
        ("A -[:90] B", "A =[:90] B", "the bond from atom 1 'A' to atom 2 'B': '-' in the ground truth, '=' in the"),
        ("A -[:90] B -[:0] C", "A -[:90] B branch( -[:0] C branch) -[:90] D", "atom 2 'B': 2 bonds in the ground"),
        ("A -[:90] B", "A -[:50] B", "the bond from atom 1 'A' to atom 2 'B': turned by 40 degrees in the prediction"),
    ],
)
def test_the_first_difference_is_told_in_words(truth: str, prediction: str, difference: str) -> None:
    match = compare(truth, prediction, 39)
    assert not match.equal
    assert difference in str(match.difference)


@pytest.mark.parametrize(("wedge", "mirrored"), MIRRORED_WEDGE.items())
def test_a_wedge_is_known_by_its_narrow_end(wedge: str, mirrored: str) -> None:
    moved = compare(f"A {wedge}[:90] B", f"A {mirrored}[:90] B")
    assert moved.difference == (
        f"the bond from atom 1 'A' to atom 2 'B': {wedge!r} in the ground truth, {mirrored!r} in the prediction"
    )
    # Written from its other end, or as the bond that closes a ring, it is the same wedge.
    assert compare(f"A {wedge}[:90] B", f"B {mirrored}[:270] A", LIMIT).equal
    ring = f"A ?[a] {wedge}[:90] B -[:0] C -[:270] D ?[a,{{-}}]"
    assert compare(ring, f"B ?[a] -[:0] C -[:270] D -[:180] A ?[a,{{{mirrored}}}]", LIMIT).equal
    assert not compare(ring, f"B ?[a] -[:0] C -[:270] D -[:180] A ?[a,{{{wedge}}}]", LIMIT).equal
    # Chemfig draws the bond of a hook from the first atom with its name to the later one.
    assert compare(ring, f"A?[a]-[:0]D-[:90]C-[:180]B?[a,{wedge}]", LIMIT).equal
    assert not compare(ring, f"A?[a]-[:0]D-[:90]C-[:180]B?[a,{mirrored}]", LIMIT).equal


CANDIDATES = (15, 30, 45, 60)


def butene(first: int, second: int, third: int) -> str:
    return f"C H _ 3 -[:{first % 360}] =[:{second % 360}] -[:{third % 360}] C H _ 3"


def test_the_limit_of_angles_is_the_widest_that_tells_e_from_z_and_a_bond_turned_by_90_degrees() -> None:
    def tells(limit: float) -> bool:
        # Both butenes with angles of 120 degrees, each turned as a whole by any multiple of 15 degrees.
        e_from_z = all(
            not compare(butene(60, 0, 60), butene(60 * side + turn, turn, turn - 60 * side), limit).equal
            for turn in range(0, 360, 15)
            for side in (1, -1)
        )
        turned = all(
            not compare(f"A -[:{angle}] B -[:300] C", f"A -[:{angle + by}] B -[:300] C", limit).equal
            for angle in range(30, 180, 15)
            for by in (90, 119)
        )
        return e_from_z and turned

    assert max(limit for limit in CANDIDATES if tells(limit)) == LIMIT == 45


@laws
@given(seeds, st.sampled_from(CANDIDATES), st.booleans())
def test_bonds_may_be_turned_by_the_limit_wherever_the_drawing_begins(seed: int, limit: int, raw: bool) -> None:
    """Directions are sums of rounded places: the last bit of one decides nothing."""
    rng = random.Random(seed)
    graph = drawing(rng)
    radians = math.radians(limit)
    places = [
        (x * math.cos(radians) + y * math.sin(radians), y * math.cos(radians) - x * math.sin(radians))
        for x, y in graph.places
    ]
    turned = replace(graph, places=places)
    truth = drawn(write_ssml(graph, decimals=9))
    prediction = drawn(write_ssml(turned, rng.randrange(len(graph.texts)), rng, decimals=9))
    if truth is None or prediction is None:
        return
    for first, second in ((truth, prediction), (prediction, truth)):
        assert match_molecules(first, second, False, Budget(STEPS), limit).equal


def test_another_order_round_an_atom_is_another_drawing() -> None:
    star = "A branch( -[:0] {} branch) branch( -[:120] {} branch) -[:240] {}"
    written_otherwise = "A branch( -[:240] D branch) branch( -[:0] B branch) -[:120] C"
    assert compare(star.format("B", "C", "D"), written_otherwise).equal
    # B, C, D counter-clockwise against B, D, C: no shift brings them together.
    assert not compare(star.format("B", "C", "D"), star.format("B", "D", "C")).equal
    # A third of a turn: the cyclic order is the same. To the tool the shift by angle stands, so texts differ.
    assert compare(star.format("B", "C", "D"), star.format("C", "D", "B")).equal
    assert not compare(star.format("B", "C", "D"), star.format("C", "D", "B"), protocol="released").equal


def test_parts_that_no_drawn_bond_joins_are_matched_one_by_one() -> None:
    two = "A-[2]B-[,,,,draw=none]C-[2]D"
    assert compare(two, two).equal
    assert compare(two, "C-[2]D-[4,,,,draw=none]A-[2]B").equal
    assert not compare(two, "A-[2]B-[,,,,draw=none]C-[2]E").equal
    assert not compare("A-[2]B", two).equal


STAR = "A branch( -[:0] {} branch) branch( -[:120] {} branch) -[:240] {}"

neighbors = st.builds(
    Neighbor,
    angle=st.sampled_from((0.0, 45.0, 90.0, 200.0, 300.0)),
    bond=st.just(0),
    kind=st.sampled_from("-="),
    atom=st.just(0),
    degree=st.integers(min_value=1, max_value=3),
)


@given(st.lists(neighbors, max_size=5), st.lists(neighbors, max_size=5))
def test_the_first_cheapest_shift_of_the_longer_list_counts(first: list[Neighbor], second: list[Neighbor]) -> None:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    shifts = [[*longer[shift:], *longer[:shift]][: len(shorter)] for shift in range(max(1, len(longer)))]
    costs_of_shifts = [_running_cost(shifted, shorter) for shifted in shifts]
    least = min(costs_of_shifts)
    assert cheapest_shift(first, second) == (least, costs_of_shifts.index(least))


def test_the_cost_of_two_atoms() -> None:
    truth, prediction = molecule("A B -[:90] C"), molecule("A D -[:80] C branch( =[:0] E branch) -[:90] F")
    cost = costs(truth, prediction)
    # A B against A D: one text edit 10, the neighbor 10 degrees off, and of degree 3, not 1: 2 * 30.
    assert cost[0][0] == pytest.approx(10 + 10 + 60)
    # C, with A B at 270 degrees, against C, with A D at 260 (degree 1, too), E at 0 and F at 90: two degrees apart, and
    # the cheapest shift faces A B with A D, 10 degrees off.
    assert cost[1][1] == pytest.approx(60 + 10)


BIG = {
    "chain": "-[:30]-[:-30]" * 250,
    "drifting chain": "".join(f"-[:{30 + n % 7}]-[:{-30 - n % 5}]" for n in range(250)),
    "star": "C" + "".join(f"(-[:{n * 0.7:.1f}]H)" for n in range(499)),
    "random": "".join(f"-[:{n * 137 % 360}]{'CNOS'[n * 7 % 4]}(-[:{n * 71 % 360}]{'HF'[n % 2]})" for n in range(250)),
    "rings": "**6(------)-[:180,4]" * 70,
}
"""Molecules of about 500 atoms."""


@pytest.mark.parametrize("name", BIG)
def test_big_molecules_take_less_than_a_quarter_of_the_steps(name: str) -> None:
    budget = Budget(STEPS // 4)
    first, second = (
        comparable(read_line(f"\\chemfig{{{text}}}", False, budget), False, True, budget).regions[0].molecule
        for text in (BIG[name], "[:4]" + BIG[name])
    )
    assert first is not None
    assert second is not None
    assert len(first.texts) > 450
    match_molecules(first, second, False, budget)


def test_fused_rings_of_400_atoms_match_themselves_from_another_side() -> None:
    def fused(levels: int, first: str) -> str:
        return first if levels == 0 else f"*6(--{fused(levels - 1, first)}----)"

    assert compare(fused(95, "*6(-----)"), fused(95, "*6(-----)")).equal
    assert not compare(fused(95, "*6(-----)"), fused(95, "*6(--=--)")).equal


def test_four_starts_are_tried_and_no_more() -> None:
    """Three starts that look better lead nowhere, and the fourth or fifth is right."""
    # The tails are alike on both sides; only a start in the molecule itself goes round the order of the star.
    truth, prediction = molecule(STAR.format("B", "C", "D")), molecule(STAR.format("C", "D", "B"))
    drawings = MoleculePair(truth, prediction, Budget(STEPS))
    walks: list[tuple[int, int]] = []
    walk = matcher.walk

    def counted(pair: MoleculePair, atom: int, image: int, *arguments: Any) -> Match:
        walks.append((atom, image))
        return walk(pair, atom, image, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matcher, "walk", counted)
        match = match_molecules(truth, prediction, True, Budget(STEPS))
    assert not match.equal
    assert len(walks) == 4
    assert isomorphism(drawings) is not None


def test_a_part_of_the_prediction_stands_for_one_part_only() -> None:
    # Two equal parts of the truth and one in the prediction, beside another: the one is not taken twice.
    pair, other = "A-[2]B-[,3,,,draw=none]A-[2]B", "A-[2]B-[,3,,,draw=none]A-[2]C"
    assert compare(pair, pair).equal
    assert not compare(pair, other).equal
    assert not compare(pair, other, protocol="released").equal
    match = compare(pair, pair, protocol="released")
    assert sorted(match.pairs.values()) == [0, 1, 2, 3]


def test_perfect_pairs_that_are_unique_on_both_sides_come_first() -> None:
    # Corners 4 and 5 of the chain look the same, the other atoms are unique: their pairs come first, then the four.
    ends = "Q branch( -[:90] A branch) branch( -[:270] B branch) "
    twins, single = molecule(ends + "-[:0] " * 5 + "E"), molecule(ends + "-[:0] " * 4 + "E")
    pairs = list(seed_pairs(MoleculePair(twins, twins, Budget(STEPS))))
    assert pairs[:10] == [*((atom, atom) for atom in (0, 1, 2, 3, 6, 7)), (4, 4), (5, 4), (4, 5), (5, 5)]
    # Where only one side has two of a kind, their pairs come after the unique ones, too.
    for truth, prediction, fifth in ((twins, single, (6, 5)), (single, twins, (5, 6))):
        assert list(seed_pairs(MoleculePair(truth, prediction, Budget(STEPS))))[4] == fifth


@laws
@given(seeds, seeds)
def test_starts_come_in_the_order_of_all_costs(seed: int, other: int) -> None:
    """The costs of all pairs at once are the oracle: perfect and unique, perfect, then by cost."""
    rng = random.Random(seed)
    graph = drawing(rng)
    truth = drawn(write_ssml(graph))
    changes = random.Random(other)
    prediction = drawn(write_ssml(damaged(graph, changes.choice(("atom", "bond", "connection", "none")), changes)))
    if truth is None or prediction is None:
        return
    drawings = MoleculePair(truth, prediction, Budget(STEPS))
    cost = costs(truth, prediction)
    perfect = [[bool(cost[t][p] == 0) for p in range(len(prediction.texts))] for t in range(len(truth.texts))]

    def rank(pair: tuple[int, int]) -> float:
        atom, image = pair
        if not perfect[atom][image]:
            return float(cost[atom][image]) + 2000.0
        return 0.0 if sum(perfect[atom]) == 1 and sum(row[image] for row in perfect) == 1 else 1000.0

    pairs = [(t, p) for p in range(len(prediction.texts)) for t in range(len(truth.texts))]
    assert list(seed_pairs(drawings)) == sorted(pairs, key=rank)


def costs(truth: Molecule, prediction: Molecule) -> list[list[float]]:
    """The costs of all pairs of atoms, computed one by one."""
    return [
        [
            10.0 * Levenshtein.distance(text, other)
            + 30.0 * abs(len(first) - len(second))
            + _cheapest_shift(first, second)
            for other, second in zip(prediction.texts, neighbors_by_angle(prediction), strict=True)
        ]
        for text, first in zip(truth.texts, neighbors_by_angle(truth), strict=True)
    ]


def _cheapest_shift(first: Sequence[Neighbor], second: Sequence[Neighbor]) -> float:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return min(
        _running_cost([*longer[shift:], *longer[:shift]][: len(shorter)], shorter)
        for shift in range(max(1, len(longer)))
    )


def _running_cost(shifted: Sequence[Neighbor], facing: Sequence[Neighbor]) -> float:
    total = 0.0
    for one, other in zip(shifted, facing, strict=True):
        total += angle_between(one.angle, other.angle)
        total += 10.0 * (one.kind != other.kind)
        total += 30.0 * abs(one.degree - other.degree)
    return total
