"""A line of LaTeX taken apart: its molecules as drawings, and the text around them; then both made comparable.

What is compared depends on both sides: where neither is raw Chemfig, everything counts as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from metrics.chemistry.flat import flat_text
from metrics.chemistry.latex_text import normalize, tokenize
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.protocol import Protocol
from metrics.chemistry.regions import SourceRegion, cut_as_latex, cut_as_tool
from metrics.chemistry.sketch import tied
from metrics.chemistry.ssml import plain
from metrics.common.budget import Budget

LITERAL = re.compile(r"\\[A-Za-z]+|\\[^ \t\r\n\f\v]|[^ \t\r\n\f\v]")
"""The tokens of text that counts as it is written; an ideographic blank is a character."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A line as it was read: pieces of text and regions, in order."""

    pieces: tuple[str | SourceRegion, ...]

    @property
    def regions(self) -> Iterator[SourceRegion]:
        """The regions in order."""
        return (piece for piece in self.pieces if not isinstance(piece, str))

    @property
    def is_chemfig(self) -> bool:
        """Whether a molecule is written in raw Chemfig."""
        return any(region.is_chemfig for region in self.regions)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why regions could not be read, with their places in the line."""
        return tuple(region.problem for region in self.regions if region.problem is not None)


@dataclass(frozen=True, slots=True)
class Region:
    """One `\\chemfig` region: its content without blanks, and the molecule, or why there is none.

    The content is None where the region has no end; molecule and problem are None where it draws nothing.
    """

    content: str | None
    molecule: Molecule | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its regions in order, and the text around them as comparable tokens.

    In `tokens` the region number k (from 1) is the token `\\chemfigk`. Molecules that are straight text are among the
    tokens, not among the regions.
    """

    regions: tuple[Region, ...]
    tokens: tuple[str, ...]


def read_line(text: str, protocol: Protocol, numbers: Iterator[int], budget: Budget) -> Reading:
    """Returns the line `text` taken apart. What cannot be read is a region with a problem; nothing is raised for it.

    `numbers` count the atoms of both sides of a sample, those of the prediction first.

    Raises OutOfBudget where reading takes too much work.
    """
    if protocol.cuts_as_tool:
        reading = Reading(tuple(cut_as_tool(text, protocol, numbers, budget)))
        if not reading.is_chemfig:
            return reading
    return Reading(tuple(cut_as_latex(text, protocol, numbers, budget)))


def comparable(reading: Reading, protocol: Protocol, beside_chemfig: bool, budget: Budget) -> Line:
    """Returns the line as it is compared: `beside_chemfig` says that this side or the other is raw Chemfig.

    Then texts are brought into one form; else blanks alone do not count.
    """
    regions: list[Region] = []
    tokens: list[str] = []

    def take(text: str) -> None:
        budget.spend(len(text))
        tokens.extend(tokenize(text) if beside_chemfig else LITERAL.findall(text))

    for piece in reading.pieces:
        if isinstance(piece, str):
            take(piece)
            continue
        molecule = None if piece.sketch is None else piece.sketch.finish(protocol, beside_chemfig, budget)
        text = flat_text(molecule) if molecule is not None else None
        if text is not None:
            take(text if piece.is_in_text else "")
        else:
            molecule = tied(molecule, protocol, budget) if molecule is not None else None
            content = None if piece.content is None else plain(piece.content)
            regions.append(Region(content, molecule, piece.problem))
            tokens += [f"\\chemfig{len(regions)}"] * piece.is_in_text
    if beside_chemfig:
        budget.spend(4 * len(tokens))
        tokens = list(normalize(tokens))
    return Line(tuple(regions), tuple(tokens))
