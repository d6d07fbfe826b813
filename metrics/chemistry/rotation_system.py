"""Whether two drawings are one graph with one cyclic order of the bonds round each atom: a quick search.

Such a graph is a rotation system. Once two bonds face each other, all that hangs together with them is fixed, so one
walk decides; and only atoms of three bonds or more have an order to measure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import atan2, pi
from operator import add, eq

from .molecule import MIRRORED_WEDGE, Molecule
from .surroundings import SAME_DIRECTION

VISITS_OF_AN_ATOM = 8
"""After so many visits for each atom the search gives up."""


def quick_isomorphism(
    truth: Molecule, prediction: Molecule, max_angle_deviation: float | None = None
) -> dict[int, int] | None:
    """Returns an isomorphism as `isomorphism.isomorphism` defines it, or None where this finds none in linear time.

    Wedges are compared by their narrow ends. `max_angle_deviation` (degrees) is how far bonds may be turned; None: any.
    None decides nothing: neighbours in one direction are taken in one order here, and the search is not exhaustive.
    """
    if len(truth.texts) != len(prediction.texts) or len(truth.types) != len(prediction.types):
        return None
    if sorted(truth.texts) != sorted(prediction.texts):
        return None
    ours, theirs = _RotationSystem(truth), _RotationSystem(prediction)
    if ours.has_loops or theirs.has_loops:
        return None
    return _Search(ours, theirs, max_angle_deviation).images()


class _RotationSystem:
    """The bonds round each atom by number; those of three or more are put in order when they are asked for.

    looks: the text and the number of bonds of each atom, which no isomorphism changes.
    rounds: what `round` returned, or would return, for each atom; None: not put in order yet.
    kinds, kinds_back: the type of each bond as it would be written from where it begins, and from where it ends.
    begins, sums: where each bond begins, and the sum of the atoms at its ends, by which one end leads to the other.
    """

    def __init__(self, molecule: Molecule) -> None:
        self._molecule = molecule
        begins, ends = molecule.begins, molecule.ends
        around: list[list[int]] = [[] for _ in molecule.texts]
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            around[begin].append(number)
            around[end].append(number)
        self._bonds = around
        self.rounds: list[list[int] | None] = [bonds if len(bonds) < 3 else None for bonds in around]
        self.has_loops = any(map(eq, begins, ends))
        self.kinds = molecule.types
        self.kinds_back = list(map(MIRRORED_WEDGE.get, molecule.types, molecule.types))
        self.begins = begins
        self.sums = list(map(add, begins, ends))
        self.looks = list(zip(molecule.texts, map(len, around), strict=True))

    def directions(self) -> list[float]:
        """The direction of each bond in degrees, from where it begins."""
        molecule, degrees = self._molecule, 180.0 / pi
        xs, ys = molecule.xs, molecule.ys
        return [
            atan2(ys[begin] - ys[end], xs[end] - xs[begin]) * degrees
            for begin, end in zip(molecule.begins, molecule.ends, strict=True)
        ]

    def round(self, atom: int) -> list[int]:
        """The bonds of an atom counter-clockwise."""
        known = self.rounds[atom]
        if known is not None:
            return known
        xs, ys, sums = self._molecule.xs, self._molecule.ys, self.sums
        x, y = xs[atom], ys[atom]
        directions = []
        for bond in self._bonds[atom]:
            other = sums[bond] - atom
            directions.append((atan2(y - ys[other], xs[other] - x), bond))
        directions.sort()
        bonds = self.rounds[atom] = [bond for _, bond in directions]
        return bonds


_Visit = tuple[int, int, list[int], list[int]]
"""An atom, its image, and the bonds of both as they face each other."""


class _Search:
    """Maps part after part, each from an atom with a rare look on."""

    def __init__(self, truth: _RotationSystem, prediction: _RotationSystem, max_angle_deviation: float | None) -> None:
        self._truth = truth
        self._prediction = prediction
        self._images: dict[int, int] = {}
        self._taken: set[int] = set()
        self._most_turned = 360.0 if max_angle_deviation is None else max_angle_deviation + SAME_DIRECTION
        self._directions = [0.0] * len(truth.kinds) if max_angle_deviation is None else truth.directions()
        self._other_directions = self._directions if max_angle_deviation is None else prediction.directions()
        self._visits_left = VISITS_OF_AN_ATOM * len(truth.looks)

    def images(self) -> dict[int, int] | None:
        """The atoms of the prediction by those of the truth; None where no map is found."""
        atoms_of, images_of = _by_look(self._truth), _by_look(self._prediction)
        if any(len(images_of.get(look, ())) != len(atoms) for look, atoms in atoms_of.items()):
            return None
        candidates = [images_of[look] for look in self._truth.looks]
        # Most drawings hang together, and the first atom maps all.
        counts = list(map(len, candidates))
        first = counts.index(min(counts))
        if not self._map_part(first, candidates[first]):
            return None
        if len(self._images) < len(candidates):
            for atom in sorted(range(len(counts)), key=counts.__getitem__):
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
        begins, other_begins = truth.begins, prediction.begins
        kinds, other_kinds, other_kinds_back = truth.kinds, prediction.kinds, prediction.kinds_back
        directions, other_directions, most_turned = self._directions, self._other_directions, self._most_turned
        looks, other_looks = truth.looks, prediction.looks
        rounds, other_rounds = truth.rounds, prediction.rounds
        taken_before = self._taken
        while to_visit:
            self._visits_left -= 1
            visit = to_visit.pop()
            if visit is None:
                continue
            atom, image, bonds, facing = visit
            for bond, other_bond in zip(bonds, facing, strict=True):
                following, other = sums[bond] - atom, other_sums[other_bond] - image
                # A bond and its image are written from the same end or from opposite ends.
                turned = directions[bond] - other_directions[other_bond]
                if (begins[bond] == atom) is (other_begins[other_bond] == image):
                    kind, turned = other_kinds[other_bond], turned + 180
                else:
                    kind = other_kinds_back[other_bond]
                if kinds[bond] != kind or not -most_turned <= turned % 360 - 180 <= most_turned:
                    return None
                if following in part:
                    if part[following] != other:
                        return None
                    continue
                look = looks[following]
                if other in taken or other in taken_before or look != other_looks[other]:
                    return None
                part[following] = other
                taken.add(other)
                if look[1] == 1:
                    to_visit.append(None)  # There is nowhere to go, so the visit is only counted.
                    continue
                next_bonds = rounds[following] or truth.round(following)
                next_facing = other_rounds[other] or prediction.round(other)
                turn = next_facing.index(other_bond) - next_bonds.index(bond)
                to_visit.append((following, other, next_bonds, _turned(next_facing, turn) if turn else next_facing))
        return part


def _by_look(system: _RotationSystem) -> dict[tuple[str, int], list[int]]:
    atoms: dict[tuple[str, int], list[int]] = defaultdict(list)
    for atom, look in enumerate(system.looks):
        atoms[look].append(atom)
    return atoms


def _turned(bonds: list[int], shift: int) -> list[int]:
    """The cyclic list in which place `shift` comes first."""
    shift %= len(bonds)
    return [*bonds[shift:], *bonds[:shift]]
