"""Short ways to read and compare molecules in tests."""

from __future__ import annotations

from typing import Literal

from beamscore.metrics.chemistry.line import Line, comparable
from beamscore.metrics.chemistry.matcher import Match, match_molecules
from beamscore.metrics.chemistry.molecule import Molecule
from beamscore.metrics.chemistry.regions import Reading, read_line
from beamscore.metrics.common.budget import Budget

STEPS = 4_000_000
ProtocolName = Literal["published", "released"]
PROTOCOLS: tuple[ProtocolName, ...] = ("published", "released")


def reading(text: str, protocol: ProtocolName = "published") -> Reading:
    return read_line(text, protocol == "released", Budget(STEPS))


def line(text: str, protocol: ProtocolName = "published", normalizes: bool | None = None) -> Line:
    """The line as it is compared; beside raw Chemfig where it is raw itself, unless told."""
    read = reading(text, protocol)
    beside = read.is_chemfig if normalizes is None else normalizes
    return comparable(read, protocol == "released", beside, Budget(STEPS))


def molecule(
    content: str, definitions: str = "", protocol: ProtocolName = "published", normalizes: bool | None = None
) -> Molecule:
    """The one molecule of a region with this content."""
    (region,) = line(f"{definitions}\\chemfig{{{content}}}", protocol, normalizes).regions
    assert region.molecule is not None, region.problem
    return region.molecule


def compare(
    first: str,
    second: str,
    max_angle_deviation: float | None = None,
    protocol: ProtocolName = "published",
    normalizes: bool | None = None,
) -> Match:
    """How two contents compare, as in a sample: beside raw Chemfig where one of them is."""
    if normalizes is None:
        normalizes = any(reading(f"\\chemfig{{{content}}}", protocol).is_chemfig for content in (first, second))
    truth, prediction = (molecule(content, "", protocol, normalizes) for content in (first, second))
    return match_molecules(truth, prediction, protocol == "released", Budget(STEPS), max_angle_deviation)


def problem(content: str) -> str:
    """Why the region with this content cannot be read."""
    (found,) = reading(f"\\chemfig{{{content}}}").problems
    return found
