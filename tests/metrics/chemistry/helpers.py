"""Short ways to read and compare molecules in tests."""

from __future__ import annotations

from metrics.budget import Budget
from metrics.chemistry.line import Line, read_line
from metrics.chemistry.matcher import Match, match_molecules
from metrics.chemistry.molecule import Molecule

STEPS = 4_000_000


def line(text: str) -> Line:
    return read_line(text, Budget(STEPS))


def molecule(content: str, definitions: str = "") -> Molecule:
    """The one molecule of a region with this content."""
    (region,) = line(f"{definitions}\\chemfig{{{content}}}").regions
    assert region.molecule is not None, region.problem
    return region.molecule


def compare(first: str, second: str, max_angle_deviation: float | None = None) -> Match:
    return match_molecules(molecule(first), molecule(second), Budget(STEPS), max_angle_deviation)


def problem(content: str) -> str:
    """Why the region with this content cannot be read."""
    (found,) = line(f"\\chemfig{{{content}}}").problems
    return found
