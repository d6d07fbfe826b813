"""A molecule holds its atoms and bonds as columns."""

from __future__ import annotations

from beamscore.metrics.chemistry.molecule import Atom, Bond, Molecule
from tests.metrics.chemistry.helpers import molecule


def test_rows_and_columns_are_the_same_molecule() -> None:
    for drawn in (molecule("A -[:90,2] B <[:30] C ?[a] -[:150] ?[a,{=}]"), molecule("*6(-=-=-=)"), Molecule.of([], [])):
        assert Molecule.of(drawn.atoms, drawn.bonds) == drawn
    rows = Molecule.of([Atom("C", 0, 0), Atom("", 0, -2)], [Bond(0, 1, "<", 90, 2)])
    assert (rows.texts, rows.xs, rows.ys) == (("C", ""), (0, 0), (0, -2))
    assert (rows.begins, rows.ends, rows.types, rows.angles, rows.lengths) == ((0,), (1,), ("<",), (90,), (2,))
