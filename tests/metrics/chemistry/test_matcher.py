"""The matcher: its rules, its laws on made-up molecules, and the exact search against one through all permutations."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from beamscore.metrics.chemistry.isomorphism import isomorphism
from beamscore.metrics.chemistry.matcher import Match, match_molecules
from beamscore.metrics.chemistry.molecule import MIRRORED_WEDGE, SAME_PLACE, Molecule, MoleculeBuilder
from beamscore.metrics.chemistry.neighbors import MoleculePair, angle_between, cheapest_shift
from beamscore.metrics.chemistry.records import ChemistryOptions
from beamscore.metrics.chemistry.seeds import seed_pairs
from beamscore.metrics.common.budget import Budget, OutOfBudget
from tests.generate.chemistry import Drawing, damaged, molecule as drawing, write_chemfig, write_ssml
from tests.laws import tries
from tests.metrics.chemistry.helpers import PROTOCOLS, SEEDS, STEPS, ProtocolName, compare, drawn, molecule

laws = tries(40)
LIMIT = ChemistryOptions().max_angle_deviation


def equal(first: Molecule | None, second: Molecule | None, limit: float | None = LIMIT) -> bool:
    """Whether molecules are equal as `published` compares them; straight text, which is None, equals itself."""
    if first is None or second is None:
        return first is second
    return match_molecules(first, second, False, Budget(STEPS), limit).equal


@laws
@given(SEEDS, st.sampled_from(("atom", "bond", "connection")), st.sampled_from((15, 30, 45, 60)))
def test_a_molecule_equals_itself_however_it_is_written_and_no_changed_one(seed: int, error: str, limit: int) -> None:
    rng = random.Random(seed)
    graph = drawing(rng)
    truth, changed = drawn(write_ssml(graph)), drawn(write_ssml(damaged(graph, error, rng)))
    assert equal(truth, drawn(write_ssml(graph, rng.randrange(len(graph.texts)), rng)))
    assert equal(truth, drawn(write_chemfig(graph, rng.randrange(len(graph.texts)), rng)))
    assert truth is None or not (equal(truth, changed) or equal(changed, truth))
    # Directions are sums of rounded places: with bonds turned by the limit, the last bit of one decides nothing.
    cosine, sine = math.cos(math.radians(limit)), math.sin(math.radians(limit))
    turned = replace(graph, places=[(x * cosine + y * sine, y * cosine - x * sine) for x, y in graph.places])
    exact = drawn(write_ssml(graph, decimals=9))
    other = drawn(write_ssml(turned, rng.randrange(len(graph.texts)), rng, decimals=9))
    assert exact is None or other is None or (equal(exact, other, limit) and equal(other, exact, limit))


# Two rings joined by a bond and two fused rings: ten corners in a chain, whose rings close over 4 - 0 and 9 - 5, or
# over 5 - 0 and 9 - 4. A hexagon and two triangles: every corner has two single bonds to corners.
FUSED = "?[a] -[:0] -[:40] -[:80] -[:120] ?[b] -[:160] ?[a,{-}] -[:100] -[:60] -[:20] -[:-20] ?[b,{-}]"
JOINED = "?[a] -[:0] -[:40] -[:80] -[:120] ?[a,{-}] -[:160] ?[b] -[:100] -[:60] -[:20] -[:-20] ?[b,{-}]"
SIX = ("*6(------)", "*3(---)-[:90,5,,,draw=none]*3(---)")
WEDGES = tuple(f"A {kind}[:90] B" for kind in ("<", "<:", "<|", "-"))
# Parts that no drawn bond joins, two of them equal: no part of the prediction stands for two of the truth.
PARTS = ("A-[2]B-[,3,,,draw=none]A-[2]B", "A-[2]B-[,3,,,draw=none]A-[2]C", "A-[2]B")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_looks_alike_is_told_apart(protocol: ProtocolName) -> None:
    for alike in ((FUSED, JOINED), SIX, WEDGES, PARTS):
        for first, second in itertools.product(alike, repeat=2):
            assert compare(first, second, protocol=protocol).equal is (first == second)
    match = compare(PARTS[1], "A-[2]C-[4,3,,,draw=none]A-[2]B", protocol=protocol)
    assert match == Match({0: 2, 1: 3, 2: 0, 3: 1})


BOND = "the bond from atom"
DIFFERENCES = {
    "atom 2 'B': the prediction has 'C' there": ("A -[:90] B", "A -[:90] C", 1, 1),
    "atom 2 'A': the prediction has no text there": ("-[:90] A -[:0] -[:270]", "-[:90] -[:0] -[:270]", 1, 1),
    f"{BOND} 2 (a corner beside 'B') to atom 3 'B': '-' in the ground truth, '=' in the prediction": (
        *("-[:90] -[:0] B", "-[:90] =[:0] B", 1, 1),
    ),
    # A wedge as seen from the first atom, whichever end it was written from.
    f"{BOND} 1 'A' to atom 2 'B': '<' in the ground truth, '>' in the prediction": ("A <[:90] B", "A >[:90] B", 0, 0),
    f"{BOND} 2 'B' to atom 1 'A': '>:' in the ground truth, '<|' in the prediction": (
        *("A <:[:90] B", "B <|[:270] A", 1, 0),
    ),
    "atom 2 'B': 2 bonds in the ground truth, 3 in the prediction": (
        *("A -[:90] B -[:0] C", "A -[:90] B branch( -[:0] C branch) -[:90] D", 1, 1),
    ),
    f"{BOND} 1 'A' to atom 2 'B': turned by 40 degrees in the prediction": ("A -[:90] B", "A -[:50] B", 0, 0),
    f"{BOND} 1 'A' to atom 2 'B': turned by 39.4 degrees in the prediction": ("A -[:90] B", "A -[:50.6] B", 0, 0),
    "0 atoms of the ground truth and 2 of the prediction belong to no match": (PARTS[2], PARTS[0], None, None),
    f"{BOND} 6 (a corner) to atom 5 (a corner) leads on; in the prediction it closes a ring": (FUSED, JOINED, 4, 3),
    f"{BOND} 5 (a corner) to atom 4 (a corner) closes a ring; in the prediction it leads to another atom": (
        *(JOINED, FUSED, 3, 4),
    ),
}


def test_the_first_difference_is_told_in_words() -> None:
    for words, (truth, prediction, *atoms) in DIFFERENCES.items():
        match = compare(truth, prediction, 39 if "turned" in words else None)
        assert (match.difference, match.truth_atom, match.prediction_atom) == (words, *atoms)


@pytest.mark.parametrize(("wedge", "mirrored"), MIRRORED_WEDGE.items())
def test_a_wedge_is_known_by_its_narrow_end(wedge: str, mirrored: str) -> None:
    """Written from its other end, it is the same wedge."""
    assert compare(f"A {wedge}[:90] B", f"B {mirrored}[:270] A", LIMIT).equal
    assert not compare(f"A {wedge}[:90] B", f"A {mirrored}[:90] B", LIMIT).equal


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), min_size=1, max_size=9), st.sampled_from([0, 10]))
def test_atoms_in_one_place_are_seen_as_the_first_of_them(steps: list[tuple[int, int]], start: int) -> None:
    """Nearer than a hundredth of a bond, in steps of 0.4 hundredths; the oracle compares each with each."""
    places = [(start + 0.4 * SAME_PLACE * x, start + 0.4 * SAME_PLACE * y) for x, y in steps]
    builder = MoleculeBuilder()
    seen: list[tuple[float, float]] = []
    for place in places:
        builder.place(*place)
        if all(math.dist(place, other) >= SAME_PLACE for other in seen):
            seen.append(place)
    found = builder.finish(None, True, Budget(STEPS))
    assert list(zip(found.xs, found.ys, strict=True)) == seen


@laws
@given(SEEDS, st.sampled_from(("atom", "bond", "connection", "none")))
def test_neighbors_are_turned_by_the_first_of_the_cheapest_shifts(seed: int, error: str) -> None:
    """Costs are sums in one fixed order. The order of starts decides which difference is told: see the verdicts."""
    rng = random.Random(seed)
    graph = drawing(rng)
    truth, prediction = drawn(write_ssml(graph)), drawn(write_ssml(damaged(graph, error, rng)))
    if truth is None or prediction is None:
        return
    molecules = MoleculePair(truth, prediction, Budget(STEPS))
    starts = itertools.product(range(len(truth.texts)), range(len(prediction.texts)))
    assert sorted(seed_pairs(molecules)) == list(starts), "each once"
    for first, second in itertools.product([(), *molecules.truth_neighbors], molecules.prediction_neighbors):
        longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
        costs = []
        for shift in range(max(1, len(longer))):
            cost = 0.0
            for a, b in zip([*longer[shift:], *longer[:shift]], shorter, strict=False):
                cost += angle_between(a.angle, b.angle)
                cost += 10.0 * (a.kind != b.kind)
                cost += 30.0 * abs(a.degree - b.degree)
            costs.append(cost)
        assert cheapest_shift(first, second) == (min(costs), costs.index(min(costs)))


def sights(graph: Molecule, atom: int) -> dict[int, tuple[str, float]]:
    """What an atom sees, written from the definition: the type of the bond to each, as written from here, and where."""
    seen = {}
    for begin, end, written, _, _ in graph.bonds:
        for here, there, kind in ((begin, end, written), (end, begin, MIRRORED_WEDGE.get(written, written))):
            if here == atom:
                up, across = graph.ys[here] - graph.ys[there], graph.xs[there] - graph.xs[here]
                seen[there] = kind, round(math.degrees(math.atan2(up, across)), 6) % 360
    return seen


def is_one_turn(angles: Sequence[float]) -> bool:
    return sum((after - before) % 360 for before, after in itertools.pairwise((*angles, *angles[:1]))) < 361


def agree(first: dict[int, tuple[str, float]], second: dict[int, tuple[str, float]], limit: float) -> bool:
    """Whether two atoms see the same in some cyclic order, no bond turned by more than `limit` degrees."""
    if {atom: kind for atom, (kind, _) in first.items()} != {atom: kind for atom, (kind, _) in second.items()}:
        return False
    turns = [abs(angle - second[atom][1]) for atom, (_, angle) in first.items()]
    # Those in one direction come in any order.
    return all(min(turn, 360 - turn) <= limit + 1e-6 for turn in turns) and any(
        all(is_one_turn([seen[atom][1] for atom in order]) for seen in (first, second))
        for order in itertools.permutations(first)
    )


def brute_force(first: Molecule, second: Molecule, limit: float) -> bool:
    """Whether some permutation of the atoms preserves texts, bonds, directions and the cyclic order of neighbors."""
    if len(first.texts) != len(second.texts):
        return False
    atoms = range(len(first.texts))
    seen, others = ([sights(graph, atom) for atom in atoms] for graph in (first, second))
    return any(
        all(first.texts[atom] == second.texts[image] for atom, image in enumerate(images))
        and all(agree({images[to]: at for to, at in seen[n].items()}, others[images[n]], limit) for n in atoms)
        for images in itertools.permutations(atoms)
    )


ATOMS = st.tuples(
    st.integers(0, 4), st.sampled_from("---=<>"), st.sampled_from(range(0, 360, 60)), st.sampled_from(("", "", "O"))
)
KINDS = st.lists(st.sampled_from(("", "-", "=", "<")), min_size=10, max_size=10)
Recipe = tuple[list[tuple[int, str, int, str]], list[str], int]


def made(recipe: Recipe) -> Drawing:
    """Atoms that hang on earlier ones by bonds of length 1, bonds between others that are as near, and a turn."""
    atoms, kinds, turn = recipe
    drawing = Drawing([""], [(0.0, 0.0)])
    for begin, kind, angle, text in atoms:
        drawing.grow(begin % len(drawing.texts), kind, angle + turn, text)
    joined = [{begin, end} for begin, end, _ in drawing.bonds]
    for ends, kind in zip(itertools.combinations(range(len(drawing.texts)), 2), kinds, strict=False):
        if kind and {*ends} not in joined and math.isclose(math.dist(*(drawing.places[atom] for atom in ends)), 1):
            drawing.bonds.append((*ends, kind))
    return drawing


@tries(120)
@given(
    st.tuples(st.lists(ATOMS, min_size=2, max_size=4), KINDS, st.sampled_from((0, 7, 180))),
    st.dictionaries(st.integers(0, 3), ATOMS, max_size=2),
    st.sampled_from((0, 0, 30, 60)),
    st.randoms(use_true_random=False),
    st.sampled_from((0, 15, 30, 45, 60, 119, 120, 180)),
)
def test_equal_means_isomorphic_with_the_same_cyclic_order(
    recipe: Recipe, changes: dict[int, tuple[int, str, int, str]], turn: int, chance: random.Random, limit: float
) -> None:
    """Up to five atoms with few texts and directions look alike; the turns of the bonds meet some of the limits."""
    atoms, kinds, turned = recipe
    first, second = made(recipe), made(([changes.get(n, atom) for n, atom in enumerate(atoms)], kinds, turned + turn))
    truth = drawn(write_ssml(first, decimals=9))
    prediction = drawn(write_ssml(second, chance.randrange(len(second.texts)), chance, decimals=9))
    if truth is None or prediction is None:
        return
    isomorphic = brute_force(truth, prediction, 180)
    within = isomorphic and brute_force(truth, prediction, limit)
    assert isomorphic or changes
    for pair in ((truth, prediction), (prediction, truth)):
        for most, expected in ((None, isomorphic), (limit, within)):
            assert match_molecules(*pair, False, Budget(STEPS), most).equal is expected
            assert (isomorphism(MoleculePair(*pair, Budget(STEPS), most)) is not None) is expected


def test_the_search_goes_on_where_a_choice_leads_nowhere() -> None:
    """B and C in one direction from A come in any order, until what hangs on them is seen; else the order counts."""
    limb = "branch( -[:{}] -[:90] B -[:90] {} branch) "
    content = "A " + limb + limb + "branch( -[:120] F branch)"
    just = 360 - 1e-7
    for first, second, equal in ((0, 0, True), (just, 0, True), (just, just, True), (0, 10, True), (10, 10, False)):
        assert compare(content.format(first, "D", 0, "E"), content.format(second, "E", 0, "D")).equal is equal


def test_too_many_choices_run_out_of_budget() -> None:
    star = "A " + "branch( -[:0] -[:90] {} branch) " * 12
    truth, prediction = molecule(star.format(*"BCDEFGHIJKLM")), molecule(star.format(*"MLKJIHGFEDCB"))
    with pytest.raises(OutOfBudget):
        isomorphism(MoleculePair(truth, prediction, Budget(20_000)))
