"""Short ways to read, draw, compare and score lines in tests."""

from typing import Any, Literal

from hypothesis import strategies as st

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.chemistry.line import Line, comparable_line
from beamscore.metrics.chemistry.matcher import Match, match_molecules
from beamscore.metrics.chemistry.molecule import Molecule
from beamscore.metrics.chemistry.regions import Reading, read_line
from beamscore.metrics.common.budget import Budget
from tests.metrics import samples

STEPS = 4_000_000
ProtocolName = Literal["published", "released"]
PROTOCOLS: tuple[ProtocolName, ...] = ("published", "released")
SEEDS = st.integers(min_value=0, max_value=10**9)
"""Of the generator, which writes a molecule in many ways."""


def score(truth: str, prediction: str | None, **options: Any) -> SampleScore:
    return samples.score("chemistry", {"text": truth}, None if prediction is None else {"text": prediction}, **options)


def reading(text: str, protocol: ProtocolName = "published") -> Reading:
    return read_line(text, protocol == "released", Budget(STEPS))


def line(text: str, protocol: ProtocolName = "published", normalizes: bool | None = None) -> Line:
    """The line as it is compared; with raw Chemfig on the other side where it is raw itself, unless told."""
    read = reading(text, protocol)
    normalizes = read.is_chemfig if normalizes is None else normalizes
    return comparable_line(read, protocol == "released", normalizes, Budget(STEPS))


def molecule(
    content: str, definitions: str = "", protocol: ProtocolName = "published", normalizes: bool | None = None
) -> Molecule:
    """The one molecule of a region with this content."""
    (region,) = line(f"{definitions}\\chemfig{{{content}}}", protocol, normalizes).regions
    assert region.molecule is not None, region.problem
    return region.molecule


def drawn(text: str) -> Molecule | None:
    """The molecule of a line that is one region; None where it is straight text."""
    regions = line(text).regions
    assert all(region.problem is None for region in regions), regions
    return regions[0].molecule if regions else None


def compare(
    first: str, second: str, max_angle_deviation: float | None = None, protocol: ProtocolName = "published"
) -> Match:
    """How two contents compare, as in a sample: normalized where one of them is raw Chemfig."""
    normalizes = any(reading(f"\\chemfig{{{content}}}", protocol).is_chemfig for content in (first, second))
    truth, prediction = (molecule(content, "", protocol, normalizes) for content in (first, second))
    return match_molecules(truth, prediction, protocol == "released", Budget(STEPS), max_angle_deviation)
