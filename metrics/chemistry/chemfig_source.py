"""The characters of a raw Chemfig molecule, each with its place in the text, while they are being read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..common.brackets import CLOSING, end_of_enclosed
from .unreadable import UnreadableMolecule

COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n")
COMMAND = re.compile(r"\\(?:[A-Za-z]+|.|\Z)", re.DOTALL)
SIMPLY_ENCLOSED = re.compile(r"\[[^\[\]{}\\%]*\]|\{[^{}\\%]*\}")
"""A pair of brackets with nothing in it that could hide or be another of their kind."""
MAX_EXPANSION_LENGTH = 100_000
MAX_EXPANSIONS = 1_000


@dataclass(frozen=True, slots=True)
class Submolecule:
    """What `\\definesubmol{name}N[alternative]{code}` defines.

    `alternative` is drawn where the bond before it runs to the left; None: always `code`.
    """

    code: str
    alternative: str | None = None
    arguments: int = 0


class ChemfigSource:
    """A cursor over the content of a region; comments are gone, `offset` still counts them."""

    def __init__(self, text: str, submolecules: Mapping[str, Submolecule]) -> None:
        self.submolecules = submolecules
        self.length = len(text)
        self.expansions = 0
        self.position = 0
        self.text = text
        self.offsets: Sequence[int] = range(len(text))
        if "%" in text:
            self.text, self.offsets = _without_comments(text)

    @property
    def offset(self) -> int:
        """The place of the cursor in the text as it was given."""
        return self.offsets[self.position] if self.position < len(self.offsets) else self.length

    def skip_blanks(self) -> None:
        """Goes to the next character that is no blank."""
        text, position = self.text, self.position
        while position < len(text) and text[position].isspace():
            position += 1
        self.position = position

    def peek(self) -> str:
        """The next character that is no blank; the empty string at the end."""
        text, position = self.text, self.position
        character = text[position : position + 1]
        if not character.isspace():
            return character
        self.skip_blanks()
        return text[self.position : self.position + 1]

    def take(self) -> str:
        """Takes one character unchanged."""
        self.position += 1
        return self.text[self.position - 1]

    def take_if(self, character: str) -> bool:
        """Takes `character` where it is next."""
        if self.peek() != character:
            return False
        self.position += 1
        return True

    def take_command(self) -> str:
        """Takes the command that is next, backslash included."""
        match = COMMAND.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return match.group()

    def take_number(self) -> str:
        """Takes digits, with or without braces around them; the empty string where there are none."""
        if self.peek() == "{":
            return self.take_enclosed().strip()
        start = self.position
        while self.position < len(self.text) and self.text[self.position] in "0123456789":
            self.position += 1
        return self.text[start : self.position]

    def take_enclosed(self) -> str:
        """Takes what the bracket that is next encloses and returns the inside.

        Raises UnreadableMolecule where it is not closed.
        """
        start = self.position
        simple = SIMPLY_ENCLOSED.match(self.text, start)
        if simple is not None:
            self.position = simple.end()
            return self.text[start + 1 : self.position - 1]
        offset = self.offset
        end = end_of_enclosed(self.text, start)
        if end is None:
            opening = self.text[start]
            raise UnreadableMolecule(offset, f"a {CLOSING[opening]!r} that closes this {opening!r}")
        self.position = end
        return self.text[start + 1 : end - 1]

    def splice(self, start: int, inserted: str) -> None:
        """Puts `inserted` in the place of the text from `start` to the cursor, and goes to its beginning."""
        offset = self.offsets[start] if start < len(self.offsets) else self.length
        inserted, _ = _without_comments(inserted)
        if len(self.text) + len(inserted) > self.length + MAX_EXPANSION_LENGTH:
            raise UnreadableMolecule(offset, f"submolecules that write at most {MAX_EXPANSION_LENGTH} characters")
        self.text = self.text[:start] + inserted + self.text[self.position :]
        self.offsets = [*self.offsets[:start], *[offset] * len(inserted), *self.offsets[self.position :]]
        self.position = start

    def expand_submolecule(self, runs_left: bool) -> None:
        """Puts the code of the submolecule `!{name}`, `!\\name` or `!n` that is next in its place.

        Raises UnreadableMolecule where no such submolecule is defined.
        """
        start, offset = self.position, self.offset
        self.expansions += 1
        if self.expansions > MAX_EXPANSIONS:
            raise UnreadableMolecule(offset, f"at most {MAX_EXPANSIONS} submolecules")
        self.position += 1
        following = self.peek()
        if following == "{":
            name = self.take_enclosed().strip()
        else:
            name = self.take_command() if following == "\\" else following
            self.position += following not in ("", "\\")
        if name not in self.submolecules:
            raise UnreadableMolecule(offset, f"a submolecule that \\definesubmol defines instead of {name[:40]!r}")
        submolecule = self.submolecules[name]
        code = submolecule.alternative if runs_left and submolecule.alternative is not None else submolecule.code
        for number in range(1, submolecule.arguments + 1):
            argument = self.take_enclosed() if self.peek() == "{" else self.take() if self.peek() else ""
            if len(code) + code.count(f"#{number}") * len(argument) > MAX_EXPANSION_LENGTH:
                raise UnreadableMolecule(offset, f"submolecules that write at most {MAX_EXPANSION_LENGTH} characters")
            code = code.replace(f"#{number}", argument)
        self.splice(start, code)


def _without_comments(text: str) -> tuple[str, list[int]]:
    kept: list[str] = []
    offsets: list[int] = []
    position = 0
    # Beyond the last line end there is no comment: looking for one at each `%` would be quadratic.
    for match in COMMENT.finditer(text, 0, text.rfind("\n") + 1):
        end = match.end(1)
        kept.append(text[position:end])
        offsets += range(position, end)
        position = match.end()
    kept.append(text[position:])
    offsets += range(position, len(text))
    return "".join(kept), offsets
