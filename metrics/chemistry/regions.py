"""Where the `\\chemfig` regions of a line are, each read as a drawing; and the text between them."""

from __future__ import annotations

import itertools
import re

import msgspec
from msgspec.structs import replace

from ..common.budget import Budget
from .brackets import BracketEnds, match_end
from .builder import MoleculeBuilder
from .chemfig import read_chemfig
from .chemfig_source import BLANKS, Submolecule, read_number
from .molecule import UnreadableMolecule
from .protocol import Protocol
from .ssml import has_own_words, is_ssml, read_ssml

CHEMFIG = "\\chemfig"
COMMAND = re.compile(r"\\chemfig(?![A-Za-z])|\\(?:re)?definesubmol(?![A-Za-z])")
ANGLE_INCREMENT = re.compile(r"angle\s+increment\s*=\s*([-+0-9.]{1,40})")
DEFAULT_ANGLE_INCREMENT = 45.0
DEFINITION = re.compile(r"\s*(\{[^{}]{0,200}\}|\\[A-Za-z]+|\\.)\s*([0-9])?\s*")
PASSED_OVER = re.compile(r"[ \]}]*")
BRACES, SQUARES = re.compile(r"[{}]"), re.compile(r"[\[\]]")


class SourceRegion(msgspec.Struct, frozen=True):
    """One `\\chemfig` region: its content, the drawing or why it cannot be read, and whether it is raw Chemfig.

    The content is None where the region has no end; `is_in_text` is False where the text around it is lost.
    `is_command` is set for a command without an argument, which is text and no molecule.
    """

    content: str | None
    drawing: MoleculeBuilder | None
    problem: str | None = None
    is_chemfig: bool = False
    is_in_text: bool = True
    is_command: bool = False


class RegionReader:
    """Reads the regions of one line after the other, and numbers the atoms of all of them from 0."""

    def __init__(self, protocol: Protocol, budget: Budget) -> None:
        self.protocol = protocol
        self.budget = budget
        self.submolecules: dict[str, Submolecule] = {}
        self.numbers = itertools.count()

    def read(
        self, content: str, offset: int, increment: float = DEFAULT_ANGLE_INCREMENT, is_chemfig: bool | None = None
    ) -> SourceRegion:
        """Reads the content of a region, which starts at `offset` of the line.

        It is read as raw Chemfig or as SSML as `is_chemfig` says; None: as what it looks like.
        """
        if is_chemfig is None:
            is_chemfig = not is_ssml(content, self.protocol.reads_spaced_chemfig)
        try:
            if is_chemfig:
                drawing: MoleculeBuilder | None = read_chemfig(content, self.submolecules, increment, self.budget)
            else:
                drawing = read_ssml(content, self.protocol, self.numbers)
        except UnreadableMolecule as unreadable:
            return SourceRegion(content, None, _problem(unreadable, offset), is_chemfig)
        return SourceRegion(content, drawing, None, is_chemfig)

    def define(self, text: str, start: int, ends: BracketEnds) -> int:
        """Reads the definition of a submolecule whose command ends at `start`; returns where it ends.

        A malformed definition defines nothing; its submolecule is missing where it is used, and reported there.
        """
        match = DEFINITION.match(text, start)
        if not match:
            return start
        position = match.end()
        alternative = None
        try:
            if text.startswith("[", position):
                end = ends.of(position)
                alternative = text[position + 1 : end - 1]
                position = match_end(BLANKS, text, end)
            if not text.startswith("{", position):
                return start
            end = ends.of(position)
        except UnreadableMolecule:
            return start
        name = match[1].strip("{}").strip()
        self.submolecules[name] = Submolecule(text[position + 1 : end - 1], alternative, int(match[2] or 0))
        return end


def cut_as_latex(text: str, reader: RegionReader) -> list[str | SourceRegion]:
    """Returns the pieces of a line; a region that is not closed takes the rest of the line, one without `{` nothing.

    Definitions of submolecules are no text.
    """
    ends = BracketEnds(text)
    pieces: list[str | SourceRegion] = []
    end = 0
    for match in COMMAND.finditer(text):
        if match.start() < end:
            continue
        pieces.append(text[end : match.start()])
        if match.group().endswith("submol"):
            end = reader.define(text, match.end(), ends)
        else:
            region, end = _region(text, match.end(), ends, reader)
            pieces.append(region)
    pieces.append(text[end:])
    return pieces


def _region(text: str, start: int, ends: BracketEnds, reader: RegionReader) -> tuple[SourceRegion, int]:
    """Reads the region whose command ends at `start`; returns it and where it ends in the line."""
    increment = DEFAULT_ANGLE_INCREMENT
    begin = match_end(BLANKS, text, start)
    try:
        while text.startswith("[", begin):
            end = ends.of(begin)
            option = ANGLE_INCREMENT.search(text, begin, end)
            increment = read_number(option[1], 0, "an angle", 360) if option else increment
            begin = match_end(BLANKS, text, end)
        if not text.startswith("{", begin):
            missing = UnreadableMolecule(0, "a '{' after \\chemfig")
            return SourceRegion(None, None, _problem(missing, begin), is_command=True), start
        end = ends.of(begin)
    except UnreadableMolecule as unreadable:
        return SourceRegion(None, None, _problem(unreadable, begin)), len(text)
    return reader.read(text[begin + 1 : end - 1], begin + 1, increment), end


def _problem(unreadable: UnreadableMolecule, start: int) -> str:
    return f"at character {start + unreadable.offset} of the text: expected {unreadable.expected}"


def cut_as_tool(text: str, reader: RegionReader) -> list[str | SourceRegion]:
    """Returns the pieces of a line as the competition's tool cuts them.

    From `\\chemfig` on it looks for a pair of braces, past one pair of square brackets, and counts brackets of the kind
    that is open, escaped or not. Where it finds another character before them, the text so far is lost, though not the
    molecules in it. Where no brace closes the region it stops, so the region has no content.
    """
    text = text.strip()
    is_chemfig = False if has_own_words(text) else None
    pieces: list[str | SourceRegion] = []
    begin = 0
    while (position := text.find(CHEMFIG, begin)) >= 0:
        opened, end = _argument(text, position + len(CHEMFIG))
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
        pieces.append(reader.read(text[begins + 1 : ends], begins + 1, is_chemfig=is_chemfig))
        begin = end
    return [*pieces, text[begin:]]


def _argument(text: str, start: int) -> tuple[int | None, int]:
    """Where the argument of the command that ends at `start` opens and where it ends.

    Nowhere and `start` where there is none, nowhere and farther on where there are two pairs of square brackets.
    """
    end: int | None = start
    for _ in range(2):
        assert end is not None
        opened = match_end(PASSED_OVER, text, end)
        if text[opened : opened + 1] not in ("{", "["):
            return None, start
        end = _counted(text, opened)
        if end is None:
            return opened, len(text)
        if text[opened] == "{":
            return opened, end
    return None, len(text)


def _counted(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, counting its own kind alone."""
    depth = 0
    for bracket in BRACES.finditer(text, start) if text[start] == "{" else SQUARES.finditer(text, start):
        depth += 1 if bracket.group() == text[start] else -1
        if depth == 0:
            return bracket.end()
    return None
