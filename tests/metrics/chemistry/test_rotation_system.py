"""The quick search: what it finds is an isomorphism, and it finds what is drawn once more from another atom."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamscore.metrics.chemistry.benchmark import ChemistryOptions
from beamscore.metrics.chemistry.isomorphism import isomorphism
from beamscore.metrics.chemistry.line import Line
from beamscore.metrics.chemistry.molecule import MIRRORED_WEDGE, Atom, Bond, Molecule
from beamscore.metrics.chemistry.rotation_system import quick_isomorphism
from beamscore.metrics.chemistry.walk import Drawings
from beamscore.metrics.common.budget import Budget
from tests.generate.chemistry import damaged, write_ssml
from tests.generate.chemistry import molecule as drawing
from tests.metrics.chemistry.helpers import STEPS, line, molecule

seeds = st.integers(min_value=0, max_value=10**9)
laws = settings(max_examples=150, deadline=None)


def drawn(text: str) -> Molecule | None:
    read: Line = line(text)
    return read.regions[0].molecule if read.regions else None


LIMIT = ChemistryOptions().max_angle_deviation


def bonds_of(drawn_molecule: Molecule, images: dict[int, int]) -> list[tuple[int, int, str]]:
    """The ends of the bonds by their images, and their types, in one order, each as written from both ends."""
    seen = [(images[bond.begin], images[bond.end], bond.type) for bond in drawn_molecule.bonds]
    return sorted([*seen, *((end, begin, MIRRORED_WEDGE.get(kind, kind)) for begin, end, kind in seen)])


@laws
@given(seeds, st.sampled_from(("none", "atom", "bond", "connection")), st.sampled_from((None, 0, LIMIT)))
def test_what_is_found_keeps_texts_and_bonds_and_so_does_the_exact_search(
    seed: int, error: str, limit: float | None
) -> None:
    rng = random.Random(seed)
    graph = drawing(rng)
    truth = drawn(write_ssml(graph))
    prediction = drawn(write_ssml(damaged(graph, error, rng), rng.randrange(len(graph.texts)), rng))
    if truth is None or prediction is None:
        return
    images = quick_isomorphism(truth, prediction, limit)
    if images is None:
        return
    assert sorted(images) == sorted(images.values()) == list(range(len(truth.atoms)))
    assert all(truth.atoms[atom].text == prediction.atoms[image].text for atom, image in images.items())
    same = {atom: atom for atom in images}
    assert bonds_of(truth, images) == bonds_of(prediction, same)
    assert isomorphism(Drawings(truth, prediction, Budget(STEPS), limit)) is not None


@laws
@given(seeds)
def test_a_drawing_written_from_another_atom_is_found(seed: int) -> None:
    rng = random.Random(seed)
    graph = drawing(rng)
    truth = drawn(write_ssml(graph, decimals=6))
    prediction = drawn(write_ssml(graph, rng.randrange(len(graph.texts)), rng, decimals=6))
    if truth is not None and prediction is not None:
        assert quick_isomorphism(truth, prediction) is not None
        assert quick_isomorphism(truth, prediction, 1) is not None


@pytest.mark.parametrize(
    ("truth", "prediction", "found"),
    [
        ("O -[:0] branch( -[:120] N branch) -[:240] F", "O -[:10] branch( -[:100] N branch) -[:250] F", True),
        # Mirrored: N and F have changed sides.
        ("O -[:180] branch( -[:60] N branch) -[:300] F", "O -[:180] branch( -[:300] N branch) -[:60] F", False),
        ("O -[:30] N", "O =[:30] N", False),
        ("O -[:30] N", "O -[:30] F", False),
        # An atom bonded to itself is left to the exact search.
        ("O ?[a] ?[a,{-}] -[:30] N", "O ?[a] ?[a,{-}] -[:90] N", False),
    ],
)
def test_cyclic_order_texts_and_kinds_decide(truth: str, prediction: str, found: bool) -> None:
    assert (quick_isomorphism(molecule(truth), molecule(prediction)) is not None) is found


def test_parts_that_no_bond_joins_are_mapped_one_by_one() -> None:
    truth = Molecule.of(
        (Atom("O", 0, 0), Atom("H", 0, 1), Atom("N", 5, 0), Atom("C", 5, 1)),
        (Bond(0, 1, "-", 270, 1), Bond(2, 3, "=", 270, 1)),
    )
    prediction = Molecule.of(
        (Atom("N", 0, 0), Atom("C", 1, 0), Atom("H", 5, 0), Atom("O", 6, 0)),
        (Bond(0, 1, "=", 0, 1), Bond(2, 3, "-", 0, 1)),
    )
    assert quick_isomorphism(truth, prediction) == {0: 3, 1: 2, 2: 0, 3: 1}
