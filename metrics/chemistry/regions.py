"""Where the `\\chemfig` regions of a line are, each read as a drawing; and the text between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ..common.brackets import CLOSING, brace_ends, bracket_ends
from ..common.budget import Budget
from .chemfig import read_chemfig
from .chemfig_source import Submolecule
from .fields import read_number
from .protocol import Protocol
from .sketch import Sketch
from .ssml import has_own_words, is_ssml, read_ssml
from .unreadable import UnreadableMolecule

CHEMFIG = "\\chemfig"
COMMAND = re.compile(r"\\chemfig(?![A-Za-z])|\\(?:re)?definesubmol(?![A-Za-z])")
WITH_SQUARES = re.compile(r"\\chemfig\s*\[|\\(?:re)?definesubmol")
"""What may be followed by square brackets; elsewhere it does not matter where they end."""
ANGLE_INCREMENT = re.compile(r"angle\s+increment\s*=\s*([-+0-9.]{1,40})")
DEFAULT_ANGLE_INCREMENT = 45.0
BLANKS = re.compile(r"\s*")
DEFINITION = re.compile(r"\s*(\{[^{}]{0,200}\}|\\[A-Za-z]+|\\.)\s*([0-9])?\s*")
FLAT_GROUP = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
"""A pair of braces with at most one more level of braces within."""
PASSED_OVER = re.compile(r"[ \]}]*")
BRACES, SQUARES = re.compile(r"[{}]"), re.compile(r"[\[\]]")


class SourceRegion(msgspec.Struct, frozen=True):
    """One `\\chemfig` region: its content, the drawing or why it cannot be read, and whether it is raw Chemfig.

    The content is None where the region has no end; `is_in_text` is False where the text around it is lost.
    `first_number` is what the numbers of its atoms count on from; `atoms_made` are the numbers that it uses up.
    `is_command` is set for a command without an argument, which is text and no molecule.
    """

    content: str | None
    sketch: Sketch | None
    problem: str | None = None
    is_chemfig: bool = False
    is_in_text: bool = True
    first_number: int = 0
    atoms_made: int = 0
    is_command: bool = False


class _Drawn(msgspec.Struct, frozen=True):
    """What the content of a region means, wherever it is: a drawing (None: of nothing), or why there is none.

    `problem` is the offset and what was expected there. It is not the exception, whose traceback would hold the frames
    of all callers as long as the drawing is known.
    """

    sketch: Sketch | None
    problem: tuple[int, str] | None
    is_chemfig: bool
    atoms_made: int


class RegionReader:
    """Reads the regions of one line after the other, and numbers their atoms from 0."""

    def __init__(self, protocol: Protocol, budget: Budget) -> None:
        self.protocol = protocol
        self.budget = budget
        self.submolecules: dict[str, Submolecule] = {}
        self.atoms_made = 0

    def read(
        self, content: str, offset: int, increment: float = DEFAULT_ANGLE_INCREMENT, is_chemfig: bool | None = None
    ) -> SourceRegion:
        """Reads the content of a region, which starts at `offset` of the line.

        It is read as raw Chemfig or as SSML as `is_chemfig` says; None: as what it looks like.
        """
        drawn = _drawn(content, self.submolecules, increment, self.protocol, self.budget, is_chemfig)
        problem = None if drawn.problem is None else _at(drawn.problem, offset)
        first_number = self.atoms_made
        self.atoms_made += drawn.atoms_made
        return SourceRegion(content, drawn.sketch, problem, drawn.is_chemfig, True, first_number, drawn.atoms_made)


def _drawn(
    content: str,
    submolecules: dict[str, Submolecule],
    increment: float,
    protocol: Protocol,
    budget: Budget,
    is_chemfig: bool | None,
) -> _Drawn:
    budget.spend(2 * len(content))
    if is_chemfig is None:
        is_chemfig = not is_ssml(content, protocol.reads_spaced_chemfig)
    numbers = itertools.count()
    try:
        if is_chemfig:
            return _Drawn(read_chemfig(content, submolecules, increment, budget), None, True, 0)
        return _Drawn(read_ssml(content, protocol, numbers, budget), None, False, next(numbers))
    except UnreadableMolecule as unreadable:
        return _Drawn(None, (unreadable.offset, unreadable.expected), is_chemfig, next(numbers))


def cut_as_latex(text: str, reader: RegionReader) -> list[str | SourceRegion]:
    """Returns the pieces of a line; a region that is not closed takes the rest of the line, one without `{` nothing.

    Definitions of submolecules are no text.
    """
    reader.budget.spend(2 * len(text))
    ends = BracketEnds(text)
    pieces: list[str | SourceRegion] = []
    end = 0
    for match in COMMAND.finditer(text):
        if match.start() < end:
            continue
        pieces.append(text[end : match.start()])
        if match.group().endswith("submol"):
            end = _define(text, match.end(), ends, reader.submolecules)
            continue
        region, end = _region(text, match.end(), ends, reader)
        pieces.append(region)
    pieces.append(text[end:])
    return pieces


class BracketEnds:
    """Where the brackets of a line end, found as far as they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: Mapping[int, int] | None = None
        if WITH_SQUARES.search(text):
            self._ends = bracket_ends(text)
        elif "%" in text or "\\{" in text or "\\}" in text:
            self._ends = brace_ends(text)

    def of(self, start: int) -> int | None:
        """Returns the index after what closes the bracket at `start`; None where nothing does."""
        if self._ends is None:
            flat = FLAT_GROUP.match(self._text, start)
            if flat is not None:
                return flat.end()
            self._ends = brace_ends(self._text)
        return self._ends.get(start)


def _region(text: str, start: int, ends: BracketEnds, reader: RegionReader) -> tuple[SourceRegion, int]:
    """Reads the region whose command ends at `start`; returns it and where it ends in the line."""
    increment = DEFAULT_ANGLE_INCREMENT
    begin = _past_blanks(text, start)
    try:
        while text.startswith("[", begin):
            end = _enclosed(text, begin, ends)
            found = ANGLE_INCREMENT.search(text, begin, end)
            increment = read_number(found.group(1), 0, "an angle", 360) if found else increment
            begin = _past_blanks(text, end)
        if not text.startswith("{", begin):
            missing = _at((0, "a '{' after \\chemfig"), begin)
            return SourceRegion(None, None, missing, is_command=True), start
        end = _enclosed(text, begin, ends)
    except UnreadableMolecule as unreadable:
        return SourceRegion(None, None, _at((unreadable.offset, unreadable.expected), begin)), len(text)
    content = text[begin + 1 : end - 1]
    return reader.read(content, begin + 1, increment), end


def _enclosed(text: str, start: int, ends: BracketEnds) -> int:
    """Returns where the bracket at `start` ends; raises UnreadableMolecule where it does not."""
    end = ends.of(start)
    if end is None:
        raise UnreadableMolecule(0, f"a {CLOSING[text[start]]!r} that closes this {text[start]!r}")
    return end


def _past_blanks(text: str, position: int) -> int:
    if not text[position : position + 1].isspace():
        return position
    match = BLANKS.match(text, position)
    return match.end() if match else position


def _at(problem: tuple[int, str], start: int) -> str:
    offset, expected = problem
    return f"at character {start + offset} of the text: expected {expected}"


def _define(text: str, start: int, ends: BracketEnds, submolecules: dict[str, Submolecule]) -> int:
    """Reads the definition whose command ends at `start` into `submolecules`; returns where it ends.

    A malformed definition defines nothing; its submolecule is missing where it is used, and reported there.
    """
    match = DEFINITION.match(text, start)
    if not match:
        return start
    position = match.end()
    alternative = None
    if text.startswith("[", position):
        end = ends.of(position)
        if end is None:
            return start
        alternative = text[position + 1 : end - 1]
        position = _past_blanks(text, end)
    end = ends.of(position) if text.startswith("{", position) else None
    if end is None:
        return start
    name = match.group(1).strip("{}").strip()
    submolecules[name] = Submolecule(text[position + 1 : end - 1], alternative, int(match.group(2) or 0))
    return end


def cut_as_tool(text: str, reader: RegionReader) -> list[str | SourceRegion]:
    """Returns the pieces of a line as the competition's tool cuts them.

    From `\\chemfig` on it looks for a pair of braces, past one pair of square brackets, and counts brackets of the kind
    that is open, escaped or not. Where it finds another character before them, the text so far is lost, though not the
    molecules in it. Where no brace closes the region it stops, so the region has no content.
    """
    reader.budget.spend(len(text))
    text = text.strip()
    is_chemfig = False if has_own_words(text) else None
    pieces: list[str | SourceRegion] = []
    begin = 0
    while (position := text.find(CHEMFIG, begin)) >= 0:
        opened, end = _argument(text, position + len(CHEMFIG), reader.budget)
        if opened is None:
            if end > position + len(CHEMFIG):
                return [*pieces, SourceRegion(None, None, f"at character {position} of the text: one pair of []")]
            pieces = [replace(piece, is_in_text=False) for piece in pieces if not isinstance(piece, str)]
            begin = end
            continue
        begins, ends = text.find("{", opened, end), text.rfind("}", opened, end)
        if begins < 0 or ends < 0:
            return [*pieces, SourceRegion(None, None, f"at character {opened} of the text: expected a pair of braces")]
        pieces.append(text[begin:position])
        content = text[begins + 1 : ends]
        pieces.append(reader.read(content, begins + 1, is_chemfig=is_chemfig))
        begin = end
    return [*pieces, text[begin:]]


def _argument(text: str, start: int, budget: Budget) -> tuple[int | None, int]:
    """Where the argument of the command that ends at `start` opens and where it ends.

    Nowhere and `start` where there is none, nowhere and farther on where there are two pairs of square brackets.
    """
    end: int | None = start
    for _ in range(2):
        assert end is not None
        passed_over = PASSED_OVER.match(text, end)
        opened = passed_over.end() if passed_over else end
        if text[opened : opened + 1] not in ("{", "["):
            return None, start
        end = _counted(text, opened, budget)
        if end is None:
            return opened, len(text)
        if text[opened] == "{":
            return opened, end
    return None, len(text)


def _counted(text: str, start: int, budget: Budget) -> int | None:
    """Where the bracket at `start` is closed, counting its own kind alone."""
    depth = 0
    for found in BRACES.finditer(text, start) if text[start] == "{" else SQUARES.finditer(text, start):
        budget.spend(1)
        depth += 1 if found.group() == text[start] else -1
        if depth == 0:
            return found.end()
    return None
