"""A line of LaTeX taken apart: its molecules as drawings, and the text around them; then both made comparable.

What is compared depends on both sides: where neither is raw Chemfig, everything counts as it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from ..common.budget import Budget
from ..common.text import normalized
from .flat import flat_text
from .latex_text import normalize, tokenize
from .molecule import Molecule
from .protocol import Protocol
from .regions import CHEMFIG, RegionReader, SourceRegion, cut_as_latex, cut_as_tool
from .sketch import tied
from .ssml import plain

LITERAL = re.compile(r"\\[A-Za-z]+|\\[^ \t\r\n\f\v]|[^ \t\r\n\f\v]")
"""The tokens of text that counts as it is written; an ideographic blank is a character."""
MAX_CACHED_LENGTH = 64


class Reading(msgspec.Struct, frozen=True):
    """A line as it was read: pieces of text and regions, in order, and how many numbers its atoms use up.

    is_chemfig: whether a molecule is written in raw Chemfig.
    problems: why regions could not be read, with their places in the line.
    """

    pieces: tuple[str | SourceRegion, ...]
    atoms_made: int
    is_chemfig: bool
    problems: tuple[str, ...]


class Region(msgspec.Struct, frozen=True):
    """One `\\chemfig` region: what is written in it, and the molecule, or why there is none.

    `written` is None where the region has no end; molecule and problem are None where it draws nothing.
    """

    written: str | None
    molecule: Molecule | None
    problem: str | None = None

    @property
    def content(self) -> str | None:
        """What is written without blanks; None where the region has no end."""
        return None if self.written is None else plain(self.written)


class Line(msgspec.Struct, frozen=True):
    """A line: its regions in order, and the text around them as comparable tokens.

    In `tokens` the region number k (from 1) is the token `\\chemfigk`. Molecules that are straight text are among the
    tokens, not among the regions.
    """

    regions: tuple[Region, ...]
    tokens: tuple[str, ...]


def read_line(text: str, protocol: Protocol, budget: Budget) -> Reading:
    """Returns the line `text` taken apart. What cannot be read is a region with a problem; nothing is raised for it.

    The atoms of its regions are numbered from 0.

    Raises OutOfBudget where reading takes too much work.
    """
    reader = RegionReader(protocol, budget)
    if protocol.cuts_as_tool:
        reading = _reading(cut_as_tool(text, reader), reader.atoms_made)
        if not reading.is_chemfig:
            return reading
    return _reading(cut_as_latex(text, reader), reader.atoms_made)


def _reading(pieces: list[str | SourceRegion], atoms_made: int) -> Reading:
    regions = [piece for piece in pieces if not isinstance(piece, str)]
    problems = tuple([region.problem for region in regions if region.problem is not None])
    return Reading(tuple(pieces), atoms_made, any(region.is_chemfig for region in regions), problems)


def comparable(
    reading: Reading,
    protocol: Protocol,
    beside_chemfig: bool,
    budget: Budget,
    first_number: int = 0,
) -> Line:
    """Returns the line as it is compared: `beside_chemfig` says that this side or the other is raw Chemfig.

    Then texts are brought into one form; else blanks alone do not count. The numbers of the atoms count on from
    `first_number`.
    """
    regions: list[Region] = []
    tokens: list[str] = []
    for piece in reading.pieces:
        if isinstance(piece, str):
            text = piece
        elif piece.is_command:
            text = CHEMFIG
        else:
            seen = _seen(piece, protocol, beside_chemfig, budget, first_number + piece.first_number)
            if not isinstance(seen, str):
                regions.append(Region(piece.content, seen, piece.problem))
                if piece.is_in_text:
                    tokens.append(f"\\chemfig{len(regions)}")
                continue
            text = seen if piece.is_in_text else ""
        if text:
            budget.spend(len(text))
            tokens += (_short_tokens if len(text) <= MAX_CACHED_LENGTH else _tokens)(text, beside_chemfig)
    if beside_chemfig:
        budget.spend(4 * len(tokens))
        return Line(tuple(regions), normalize(tuple(tokens)))
    return Line(tuple(regions), tuple(tokens))


def _tokens(text: str, beside_chemfig: bool) -> list[str]:
    return tokenize(text) if beside_chemfig else LITERAL.findall(text)


_short_tokens = lru_cache(maxsize=10_000)(_tokens)
"""Most text between molecules is one of a few signs and arrows."""


def _seen(
    region: SourceRegion, protocol: Protocol, beside_chemfig: bool, budget: Budget, first_number: int
) -> Molecule | str | None:
    """Returns the molecule of a region, its text where it is straight, or None where it cannot be read."""
    if region.sketch is None:
        return None
    order = region.sketch.order(0 if region.is_chemfig else first_number) if protocol.orders_by_name else None
    molecule = region.sketch.finish(order, beside_chemfig, budget)
    if protocol.normalizes_unicode and not all(map(str.isascii, molecule.texts)):
        molecule = msgspec.structs.replace(molecule, texts=tuple(map(normalized, molecule.texts)))
    text = flat_text(molecule)
    return tied(molecule, protocol, budget) if text is None else text
