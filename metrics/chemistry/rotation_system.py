"""Whether two drawings are one graph with one cyclic order of the bonds round each atom: a quick search.

Such a graph is a rotation system. Once two bonds face each other, all that hangs together with them is fixed, so one
walk decides; and only atoms of three bonds or more have an order to measure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from metrics.chemistry.molecule import MIRRORED_WEDGE, Molecule

VISITS_OF_AN_ATOM = 8
"""After so many visits for each atom the search gives up."""


def quick_isomorphism(truth: Molecule, prediction: Molecule) -> dict[int, int] | None:
    """Returns an isomorphism as `isomorphism.isomorphism` defines it, or None where this finds none in linear time.

    None decides nothing: neighbours in one direction are taken in one order here, and the search is not exhaustive.
    """
    if len(truth.atoms) != len(prediction.atoms) or len(truth.bonds) != len(prediction.bonds):
        return None
    if sorted([atom[0] for atom in truth.atoms]) != sorted([atom[0] for atom in prediction.atoms]):
        return None
    ours, theirs = _RotationSystem(truth), _RotationSystem(prediction)
    if ours.has_loops or theirs.has_loops or sorted(ours.looks) != sorted(theirs.looks):
        return None
    return _Search(ours, theirs).images()


class _RotationSystem:
    """The bonds round each atom by number; those of three or more are put in order when they are asked for.

    looks: the text and the number of bonds of each atom, which no isomorphism changes.
    kinds, sums: the kind of each bond and the sum of the atoms at its ends, by which one end leads to the other.
    """

    def __init__(self, molecule: Molecule) -> None:
        self._molecule = molecule
        self._ordered = [False] * len(molecule.atoms)
        around: list[list[int]] = [[] for _ in molecule.atoms]
        self.has_loops = False
        self.kinds: list[str] = []
        self.sums: list[int] = []
        for number, (begin, end, bond_type, _, _) in enumerate(molecule.bonds):
            around[begin].append(number)
            around[end].append(number)
            if begin == end:
                self.has_loops = True
            self.kinds.append(MIRRORED_WEDGE.get(bond_type, bond_type))
            self.sums.append(begin + end)
        self._bonds = around
        self.looks = [(atom[0], len(bonds)) for atom, bonds in zip(molecule.atoms, around, strict=True)]

    def round(self, atom: int) -> list[int]:
        """The bonds of an atom counter-clockwise."""
        bonds = self._bonds[atom]
        if len(bonds) > 2 and not self._ordered[atom]:
            self._ordered[atom] = True
            atoms = self._molecule.atoms
            _, x, y = atoms[atom]
            directions = []
            for bond in bonds:
                _, other_x, other_y = atoms[self.sums[bond] - atom]
                directions.append((math.atan2(y - other_y, other_x - x), bond))
            bonds[:] = [bond for _, bond in sorted(directions)]
        return bonds


_Visit = tuple[int, int, list[int], list[int]]
"""An atom, its image, and the bonds of both as they face each other."""


class _Search:
    """Maps part after part, each from an atom with a rare look on."""

    def __init__(self, truth: _RotationSystem, prediction: _RotationSystem) -> None:
        self._truth = truth
        self._prediction = prediction
        self._images: dict[int, int] = {}
        self._taken: set[int] = set()
        self._visits_left = VISITS_OF_AN_ATOM * len(truth.looks)

    def images(self) -> dict[int, int] | None:
        """The atoms of the prediction by those of the truth; None where no map is found."""
        images_of: dict[tuple[str, int], list[int]] = defaultdict(list)
        for image, look in enumerate(self._prediction.looks):
            images_of[look].append(image)
        candidates = [images_of[look] for look in self._truth.looks]
        # Most drawings hang together, and the first atom maps all.
        first = min(range(len(candidates)), key=lambda atom: len(candidates[atom]))
        if not self._map_part(first, candidates[first]):
            return None
        if len(self._images) < len(candidates):
            for atom in sorted(range(len(candidates)), key=lambda atom: len(candidates[atom])):
                if atom not in self._images and not self._map_part(atom, candidates[atom]):
                    return None
        return self._images

    def _map_part(self, atom: int, candidates: Sequence[int]) -> bool:
        """Maps all that hangs together with `atom`."""
        for image in candidates:
            if image in self._taken:
                continue
            bonds = self._prediction.round(image)
            for shift in range(len(bonds) or 1):
                if self._visits_left < 0:
                    return False
                part = self._part(atom, image, [*bonds[shift:], *bonds[:shift]])
                if part is not None:
                    self._images.update(part)
                    self._taken.update(part.values())
                    return True
        return False

    def _part(self, start: int, start_image: int, start_facing: list[int]) -> dict[int, int] | None:
        """Walks both drawings from a pair of atoms whose bonds face each other; None where something differs."""
        truth, prediction = self._truth, self._prediction
        part = {start: start_image}
        taken = {start_image}
        to_visit: list[_Visit | None] = [(start, start_image, truth.round(start), start_facing)]
        sums, other_sums = truth.sums, prediction.sums
        kinds, other_kinds = truth.kinds, prediction.kinds
        looks, other_looks = truth.looks, prediction.looks
        while to_visit:
            self._visits_left -= 1
            visit = to_visit.pop()
            if visit is None:
                continue
            atom, image, bonds, facing = visit
            for bond, other_bond in zip(bonds, facing, strict=True):
                following, other = sums[bond] - atom, other_sums[other_bond] - image
                if kinds[bond] != other_kinds[other_bond]:
                    return None
                if following in part:
                    if part[following] != other:
                        return None
                    continue
                look = looks[following]
                if other in taken or other in self._taken or look != other_looks[other]:
                    return None
                part[following] = other
                taken.add(other)
                if look[1] == 1:
                    to_visit.append(None)  # There is nowhere to go, so the visit is only counted.
                    continue
                next_bonds, next_facing = truth.round(following), prediction.round(other)
                turn = next_facing.index(other_bond) - next_bonds.index(bond)
                to_visit.append((following, other, next_bonds, _turned(next_facing, turn) if turn else next_facing))
        return part


def _turned(bonds: list[int], shift: int) -> list[int]:
    """The cyclic list in which place `shift` comes first."""
    shift %= len(bonds)
    return [*bonds[shift:], *bonds[:shift]]
