"""A line of LaTeX taken apart: its molecules as graphs, and the text around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from metrics.budget import Budget
from metrics.chemistry.chemfig import read_chemfig
from metrics.chemistry.chemfig_source import CLOSING, Submolecule, end_of_enclosed
from metrics.chemistry.fields import read_number
from metrics.chemistry.flat import flat_text
from metrics.chemistry.latex_text import normalize, tokenize
from metrics.chemistry.molecule import Molecule
from metrics.chemistry.ssml import is_ssml, read_ssml
from metrics.chemistry.unreadable import UnreadableMolecule

COMMAND = re.compile(r"\\chemfig(?![A-Za-z])|\\(?:re)?definesubmol(?![A-Za-z])")
ANGLE_INCREMENT = re.compile(r"angle\s+increment\s*=\s*([-+0-9.]+)")
DEFAULT_ANGLE_INCREMENT = 45.0
BLANKS = re.compile(r"\s*")
DEFINITION = re.compile(r"\s*(\{[^{}]*\}|\\[A-Za-z]+|\\.)\s*([0-9])?\s*")


@dataclass(frozen=True, slots=True)
class Region:
    """One `\\chemfig` region: its content, where that starts in the line, and the molecule or why there is none."""

    content: str
    offset: int
    molecule: Molecule | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its regions in order, and the text around them as comparable tokens.

    In `tokens` the region number k (from 1) is the token `\\chemfigk`. Molecules that are straight text are among the
    tokens, not among the regions; empty regions are nowhere.
    """

    regions: tuple[Region, ...]
    tokens: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Why regions could not be read, with their places in the line."""
        return tuple(region.problem for region in self.regions if region.problem is not None)


def read_line(text: str, budget: Budget) -> Line:
    """Returns the line `text` taken apart. What cannot be read is a region with a problem; nothing is raised for it.

    Raises OutOfBudget where reading takes too much work.
    """
    budget.spend(len(text))
    submolecules: dict[str, Submolecule] = {}
    regions: list[Region] = []
    tokens: list[str] = []
    end = 0
    for match in COMMAND.finditer(text):
        if match.start() < end:
            continue
        tokens += tokenize(text[end : match.start()])
        if match.group().endswith("submol"):
            end = _define(text, match.end(), submolecules)
            continue
        region, end = _region(text, match.end(), submolecules, budget)
        flat = flat_text(region.molecule) if region.molecule is not None else None
        if flat is not None:
            tokens += flat
        elif region.problem is not None or region.content.strip():
            regions.append(region)
            tokens.append(f"\\chemfig{len(regions)}")
    return Line(tuple(regions), normalize([*tokens, *tokenize(text[end:])]))


def _enclosed(text: str, start: int, offset: int) -> int:
    """Returns where the bracket at `start` ends; raises UnreadableMolecule (at `offset`) where it does not."""
    end = end_of_enclosed(text, start)
    if end is None:
        raise UnreadableMolecule(offset, f"a {CLOSING[text[start]]!r} that closes this {text[start]!r}")
    return end


def _past_blanks(text: str, position: int) -> int:
    match = BLANKS.match(text, position)
    return match.end() if match else position


def _region(text: str, start: int, submolecules: dict[str, Submolecule], budget: Budget) -> tuple[Region, int]:
    """Reads the region whose command ends at `start`; returns it and where it ends in the line.

    A region that is not closed takes the rest of the line.
    """
    increment = DEFAULT_ANGLE_INCREMENT
    begin = _past_blanks(text, start)
    try:
        while text.startswith("[", begin):
            end = _enclosed(text, begin, 0)
            found = ANGLE_INCREMENT.search(text, begin, end)
            increment = read_number(found.group(1), 0, "an angle", 360) if found else increment
            begin = _past_blanks(text, end)
        if not text.startswith("{", begin):
            raise UnreadableMolecule(0, "a '{' after \\chemfig")
        end = _enclosed(text, begin, 0)
    except UnreadableMolecule as unreadable:
        return Region(text[begin:], begin, None, _at(unreadable, begin)), len(text)
    content = text[begin + 1 : end - 1]
    try:
        if is_ssml(content):
            molecule = read_ssml(content, budget)
        else:
            molecule = read_chemfig(content, submolecules, increment, budget)
    except UnreadableMolecule as unreadable:
        return Region(content, begin + 1, None, _at(unreadable, begin + 1)), end
    return Region(content, begin + 1, molecule), end


def _at(unreadable: UnreadableMolecule, start: int) -> str:
    return f"at character {start + unreadable.offset} of the text: expected {unreadable.expected}"


def _define(text: str, start: int, submolecules: dict[str, Submolecule]) -> int:
    """Reads the definition whose command ends at `start` into `submolecules`; returns where it ends.

    A malformed definition defines nothing; its submolecule is missing where it is used, and reported there.
    """
    match = DEFINITION.match(text, start)
    if not match:
        return start
    position = match.end()
    alternative = None
    if text.startswith("[", position):
        end = end_of_enclosed(text, position)
        if end is None:
            return start
        alternative = text[position + 1 : end - 1]
        position = _past_blanks(text, end)
    end = end_of_enclosed(text, position) if text.startswith("{", position) else None
    if end is None:
        return start
    name = match.group(1).strip("{}").strip()
    submolecules[name] = Submolecule(text[position + 1 : end - 1], alternative, int(match.group(2) or 0))
    return end
