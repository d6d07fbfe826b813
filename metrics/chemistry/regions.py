"""Splits a line of LaTeX into its `\\chemfig` regions, each read as a drawing, and the text between them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from ..common.budget import Budget
from ..common.text import without_comments
from .brackets import BracketEnds, match_end
from .chemfig import read_chemfig
from .chemfig_source import BLANKS, Submolecule, read_number
from .limits import STEPS_PER_CHARACTER
from .molecule import Molecule, MoleculeBuilder, UnreadableMolecule
from .ssml import has_own_words, is_ssml, read_ssml, without_blanks

CHEMFIG = "\\chemfig"
COMMAND = re.compile(r"\\chemfig(?![A-Za-z])|\\(?:re)?definesubmol(?![A-Za-z])")
ANGLE_INCREMENT = re.compile(r"angle\s+increment\s*=\s*([-+0-9.]{1,40})")
DEFAULT_ANGLE_INCREMENT = 45.0
DEFINITION = re.compile(r"\s*(\{[^{}]{0,200}\}|\\[A-Za-z]+|\\.)\s*([0-9])?\s*")
PASSED_OVER = re.compile(r"[ \]}]*")
BRACES, SQUARES = re.compile(r"[{}]"), re.compile(r"[\[\]]")


class Region(msgspec.Struct, frozen=True):
    """One `\\chemfig` region: its source, its drawing and the resulting molecule, or the problem with it.

    `written` is None if the region has no end. Drawing and problem are both None if it draws nothing. `is_in_text` is
    False if the text around it is lost. The molecule depends on the other side too: see `comparable_line`.
    """

    written: str | None
    drawing: MoleculeBuilder | None = None
    problem: str | None = None
    is_chemfig: bool = False
    is_in_text: bool = True
    molecule: Molecule | None = None

    @property
    def content(self) -> str | None:
        """The source without blanks and line breaks; None if it is unknown."""
        return None if self.written is None else without_blanks(self.written)


class Reading(msgspec.Struct, frozen=True):
    """A line as it was read: pieces of text and regions, in order, and how many atom numbers it uses up.

    is_chemfig: whether a molecule is written in raw Chemfig.
    problems: why regions could not be read, with their positions in the line.
    """

    pieces: list[str | Region]
    atoms_made: int
    is_chemfig: bool
    problems: list[str]


def read_line(text: str, released: bool, budget: Budget) -> Reading:
    """Splits the line `text` and reads its regions. A region that cannot be read has a problem; no error is raised.

    The atoms of its regions are numbered from 0. Under `released` the line is split as the tool splits it, unless it
    has raw Chemfig, which the tool does not read.

    Raises OutOfBudget if reading takes too many steps.
    """
    budget.spend(STEPS_PER_CHARACTER * len(text))
    reader = _RegionReader(released, budget)
    pieces: list[str | Region] = []
    is_chemfig = False
    for cut in (_cut_as_tool, _cut_as_latex) if released else (_cut_as_latex,):
        reader.problems = []
        pieces = cut(text, reader)
        is_chemfig = any(not isinstance(piece, str) and piece.is_chemfig for piece in pieces)
        if not is_chemfig:
            break
    return Reading(pieces, next(reader.numbers), is_chemfig, reader.problems)


class _RegionReader:
    """Reads the regions of one line in order, and numbers their atoms consecutively from 0."""

    def __init__(self, released: bool, budget: Budget) -> None:
        self.released = released
        self.budget = budget
        self.submolecules: dict[str, Submolecule] = {}
        self.numbers = itertools.count()
        self.problems: list[str] = []
        self.offsets: Sequence[int] = ()
        """The position in the original line of each character that is read, and of the end."""

    def unreadable(self, place: int, said: str, content: str | None = None, is_chemfig: bool = False) -> Region:
        """Records a problem at a position in the line; returns a region with that problem."""
        self.problems.append(f"at character {self.offsets[place]} of the text: {said}")
        return Region(content, None, self.problems[-1], is_chemfig)

    def read(
        self, content: str, offset: int, increment: float = DEFAULT_ANGLE_INCREMENT, is_chemfig: bool | None = None
    ) -> Region:
        """Reads the content of a region, which starts at `offset` of the line.

        `is_chemfig`: whether it is raw Chemfig rather than SSML; None: detected from the content.
        """
        if is_chemfig is None:
            # A comment was removed: only raw Chemfig has them, as from mol2chemfig. The tool has no raw Chemfig.
            length = self.offsets[offset + len(content)] - self.offsets[offset]
            is_commented = not self.released and length != len(content)
            is_chemfig = not (is_ssml(content, not self.released) and (not is_commented or has_own_words(content)))
        try:
            if is_chemfig:
                drawing: MoleculeBuilder | None = read_chemfig(content, self.submolecules, increment, self.budget)
            else:
                drawing = read_ssml(content, self.released, self.numbers)
        except UnreadableMolecule as unreadable:
            return self.unreadable(offset + unreadable.offset, f"expected {unreadable.expected}", content, is_chemfig)
        return Region(content, drawing, None, is_chemfig)

    def define(self, text: str, start: int, ends: BracketEnds) -> int:
        """Reads the definition of a submolecule whose command ends at `start`; returns the end of the definition.

        A malformed definition is skipped and returns `start`; uses of its submolecule are reported as undefined.
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


def _cut_as_latex(text: str, reader: _RegionReader) -> list[str | Region]:
    """Returns the pieces of a line; an unclosed region extends to its end, and a command without `{` is text.

    Definitions of submolecules and comments are dropped.
    """
    text, reader.offsets = without_comments(text)
    ends = BracketEnds(text, range(len(text)))
    pieces: list[str | Region] = []
    end = 0
    for match in COMMAND.finditer(text):
        if match.start() < end:
            continue
        pieces.append(text[end : match.start()])
        if match.group().endswith("submol"):
            end = reader.define(text, match.end(), ends)
        else:
            piece, end = _region(text, match.end(), ends, reader)
            pieces.append(piece)
    pieces.append(text[end:])
    return pieces


def _region(text: str, start: int, ends: BracketEnds, reader: _RegionReader) -> tuple[str | Region, int]:
    """Reads the region whose command ends at `start`; returns it and where it ends in the line.

    A command without an argument is returned as text, and recorded as a problem.
    """
    increment = DEFAULT_ANGLE_INCREMENT
    begin = match_end(BLANKS, text, start)
    try:
        while text.startswith("[", begin):
            end = ends.of(begin)
            option = ANGLE_INCREMENT.search(text, begin, end)
            increment = read_number(option[1], 0, "an angle", 360) if option else increment
            begin = match_end(BLANKS, text, end)
        if not text.startswith("{", begin):
            reader.unreadable(begin, "expected a '{' after \\chemfig")
            return CHEMFIG, start
        end = ends.of(begin)
    except UnreadableMolecule as unreadable:
        return reader.unreadable(begin, f"expected {unreadable.expected}"), len(text)
    return reader.read(text[begin + 1 : end - 1], begin + 1, increment), end


def _cut_as_tool(text: str, reader: _RegionReader) -> list[str | Region]:
    """Returns the pieces of a line as the competition's tool splits it.

    After `\\chemfig`, the tool looks for a pair of braces, skipping one pair of square brackets, and counts brackets of
    the open kind, escaped or not. If it finds a different character first, it loses the text so far, but not the
    molecules in it. If no brace closes the region, it stops, and the region has no content.
    """
    start = len(text) - len(text.lstrip())
    text = text.strip()
    reader.offsets = range(start, start + len(text) + 1)
    is_chemfig = False if has_own_words(text) else None
    pieces: list[str | Region] = []
    begin = 0
    while (position := text.find(CHEMFIG, begin)) >= 0:
        opened, end = _argument(text, position + len(CHEMFIG))
        if opened is None:
            if end > position + len(CHEMFIG):
                return [*pieces, reader.unreadable(position, "one pair of []")]
            pieces = [replace(piece, is_in_text=False) for piece in pieces if not isinstance(piece, str)]
            begin = end
            continue
        begins, ends = text.find("{", opened, end), text.rfind("}", opened, end)
        if begins < 0 or ends < 0:
            return [*pieces, reader.unreadable(opened, "expected a pair of braces")]
        pieces.append(text[begin:position])
        pieces.append(reader.read(text[begins + 1 : ends], begins + 1, is_chemfig=is_chemfig))
        begin = end
    return [*pieces, text[begin:]]


def _argument(text: str, start: int) -> tuple[int | None, int]:
    """Returns where the argument of the command that ends at `start` opens and where it ends.

    Returns (None, `start`) if there is no argument, and (None, end of `text`) after two pairs of square brackets.
    """
    end = start
    for _ in range(2):
        opened = match_end(PASSED_OVER, text, end)
        if not text.startswith(("{", "["), opened):
            return None, start
        closed = _counted(text, opened)
        if closed is None:
            return opened, len(text)
        if text[opened] == "{":
            return opened, closed
        end = closed
    return None, len(text)


def _counted(text: str, start: int) -> int | None:
    """Returns the index after the end of the bracket at `start`, counting only its kind; None if unclosed."""
    depth = 0
    for bracket in BRACES.finditer(text, start) if text[start] == "{" else SQUARES.finditer(text, start):
        depth += 1 if bracket.group() == text[start] else -1
        if depth == 0:
            return bracket.end()
    return None
