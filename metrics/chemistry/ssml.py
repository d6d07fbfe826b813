"""The reader of SSML, the normalised way of writing: tokens with blanks between them, every angle absolute.

    C H _ { 3 } -[:30.0,1.0] ?[a] branch( =[:90.0] O branch) -[:330.0] O H

Pieces of text join; `TYPE[:angle,length]` is a bond to a new atom; `branch(` and `branch)` come back to the atom where
they began; `?[a]` marks an atom and `?[a,{-}]` closes a ring to it. Any other token is text: `N-[:90]` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from metrics.chemistry.protocol import Protocol
from metrics.chemistry.sketch import Sketch
from metrics.chemistry.unreadable import UnreadableMolecule
from metrics.common.budget import Budget

OPEN, CLOSE = "branch(", "branch)"
BOND_TYPES = (">:", "<:", ">|", "<|", "-:", "=_", "=^", "~/", "-", "=", "~", ">", "<")
BOND_TYPE = "|".join(re.escape(kind) for kind in BOND_TYPES)
BOND = re.compile(rf"(?:{BOND_TYPE})\[")
NUMBER = re.compile(r"[\d.]+")
SIGNED_NUMBER = re.compile(r"[-+]?[\d.]+")
MARK = re.compile(r"\?\[([a-zA-Z]+)\]")
CLOSING_HOOK = re.compile(r"\?\[([a-zA-Z]+),\{([^{}]+)\}\]")
MAX_NUMBER = 1e9
MAX_BRANCH_DEPTH = 1000

FULL_BOND = re.compile(rf"(?:{BOND_TYPE})\[:[\d.]+,[\d.]+\]\Z")
SHORT_BOND = re.compile(rf"(?:{BOND_TYPE})\[:[\d.]+\]\Z")
HOOK = re.compile(r"\?\[[a-zA-Z]+(?:,\{[^{}]+\})?\]\Z")
OWN_WORDS = re.compile(r"branch[()]|\\circle(?![a-zA-Z])")
RAW_RING = re.compile(r"\*(?:\[[^\[\]]*\])?\d+\(|\[::")
RAW_BRANCH = re.compile(rf"\(\s*(?:{BOND_TYPE}|[\[?(])|\*\s*\d")
PIECE = r"\\[A-Za-z]+|\\.|."
OWN_TOKEN = rf"(?:{BOND_TYPE})\[:[^\[\]]*\]|\?\[[^\[\]]*\]"
SPACED = re.compile(rf"(?:{OWN_TOKEN})?(?:{PIECE})?\Z|(?:{PIECE})(?:{OWN_TOKEN})\Z", re.DOTALL)
"""One bond or hook, one piece of text, or both, where a blank is missing."""


def is_ssml(text: str, reads_spaced_chemfig: bool) -> bool:
    """Whether the content of a region looks like SSML.

    SSML has words of its own, or whole bonds and hooks between blanks. Raw Chemfig shows in rings, relative angles,
    branches in parentheses and tokens of several characters. Where blanks stand between all characters it is SSML,
    unless bare bonds, rings or options are among them and `reads_spaced_chemfig` is set.
    """
    if OWN_WORDS.search(text):
        return True
    if RAW_RING.search(text):
        return False
    tokens = text.split()
    if any(FULL_BOND.match(token) for token in tokens):
        return True
    if all(SPACED.match(token) for token in tokens):
        return not reads_spaced_chemfig or not _has_outside_braces(tokens)
    if RAW_BRANCH.search(text):
        return False
    return any(SHORT_BOND.match(token) or HOOK.match(token) for token in tokens)


def has_own_words(line: str) -> bool:
    """Whether a line has words that only SSML has, so that all its regions are SSML, however damaged."""
    return OWN_WORDS.search(line) is not None


def _has_outside_braces(tokens: list[str]) -> bool:
    """Whether a bare bond, a ring, an option or a branch `( -` of raw Chemfig stands outside braces."""
    depth = 0
    for token, following in pairwise([*tokens, ""]):
        depth += (token == "{") - (token == "}")
        if depth <= 0 and (token in "-=~<>*[" or (token == "(" and following[:1] in {*"-=~<>*(["})):
            return True
    return False


def read_ssml(text: str, protocol: Protocol, numbers: Iterator[int], budget: Budget) -> Sketch | None:
    """Returns the drawing of a region's content, None where there is none; open branches are closed at the end.

    Atoms are numbered from `numbers` in the order in which they are made, also before an error.

    Raises UnreadableMolecule where a bond or a hook is malformed or there is no atom for it.
    """
    budget.spend(len(text))
    reader = (_NewestAtomReader if protocol.writes_on_newest_atom else _Reader)(numbers, protocol.reads_signs)
    pieces: list[str] = []
    offset = 0
    for match in re.finditer(r"\S+", text):
        for item in _without_line_breaks(match.group()):
            budget.spend(2)
            if _is_text(item):
                offset = offset if pieces else match.start()
                pieces.append(item)
                continue
            reader.write(pieces, offset)
            reader.take(item, match.start())
    reader.write(pieces, offset)
    return reader.sketch if reader.sketch.texts else None


def plain(text: str) -> str:
    """Returns a region's content without blanks and line breaks, as it is compared where it cannot be read."""
    return "".join(item for token in text.split() for item in _without_line_breaks(token))


def _without_line_breaks(token: str) -> list[str]:
    if "\\" not in token:
        return [token]
    return token.replace("\\\\", "").replace("\\enter", "").replace("\\space", " ").split()


def _is_text(item: str) -> bool:
    return "?" not in item and item not in (OPEN, CLOSE) and not BOND.match(item)


class _Reader:
    """Text, hooks and bonds belong to the current atom, which `branch)` gives back."""

    def __init__(self, numbers: Iterator[int], reads_signs: bool) -> None:
        self.sketch = Sketch()
        self.numbers = numbers
        self.number = SIGNED_NUMBER if reads_signs else NUMBER
        self.marks: dict[str, int] = {}
        self.branches: list[int] = []
        self.atom: int | None = None

    def write(self, pieces: list[str], offset: int) -> None:
        """Writes the pieces of text as one, and empties the list; pieces may also join into a bond or a branch."""
        joined = "".join(pieces)
        if not _is_text(joined):
            self.take(joined, offset)
        elif pieces:
            self.text(" ".join(pieces))
        pieces.clear()

    def take(self, item: str, offset: int) -> None:
        """Draws what one item says that is no text."""
        if item == OPEN:
            self.open(offset)
        elif item == CLOSE:
            self.close(offset)
        elif "?" in item:
            self.hook(item, offset)
        else:
            self.bond(item, offset)

    def text(self, text: str) -> None:
        """Writes on the current atom, or, where it has text already, beside it."""
        atom = self.current()
        if self.sketch.texts[atom]:
            self.atom = atom = self.sketch.write_beside(atom, "")
        self.sketch.texts[atom] = text

    def current(self) -> int:
        """The current atom; at the start, a new one."""
        if self.atom is None:
            self.atom = self.sketch.place(0.0, 0.0, "", next(self.numbers))
        return self.atom

    def open(self, offset: int) -> None:
        """Begins a branch."""
        self.branches.append(self.current())

    def close(self, offset: int) -> None:
        """Ends a branch."""
        if not self.branches:
            raise UnreadableMolecule(offset, f"a {OPEN!r} before this {CLOSE!r}")
        self.atom = self.branches.pop()

    def hooked(self) -> int:
        """The atom that a hook stands on."""
        return self.current()

    def bond(self, item: str, offset: int) -> None:
        """Draws a bond and goes to the new atom at its end."""
        kind, angle, length = self.bond_parts(item, offset)
        self.atom = self.sketch.grow(self.current(), kind, angle, length, next(self.numbers))

    def bond_parts(self, item: str, offset: int) -> tuple[str, float, float]:
        """The type, the angle in degrees and the length (1 where none is written) of a bond."""
        kind, _, _ = item.rpartition("[")
        try:
            values = [float(number) for number in self.number.findall(item[item.index("[") :])][:2]
        except ValueError:
            values = []
        if not values or any(abs(value) > MAX_NUMBER for value in values):
            raise UnreadableMolecule(offset, f"a bond such as -[:30.0,1.0] instead of {item[:40]!r}")
        return _bond_type(kind), values[0], abs(values[1]) if len(values) > 1 else 1.0

    def hook(self, item: str, offset: int) -> None:
        """Marks an atom, or closes a ring from a marked atom to the current one."""
        mark, closing = MARK.match(item), CLOSING_HOOK.match(item)
        if mark:
            self.marks[mark.group(1)] = self.hooked()
        elif MARK.search(item) or not closing:
            raise UnreadableMolecule(offset, f"a hook such as ?[a] or ?[a,{{-}}] instead of {item[:40]!r}")
        elif closing.group(1) not in self.marks or not self.sketch.texts:
            raise UnreadableMolecule(offset, f"an atom with the mark ?[{closing.group(1)[:40]}] before {item[:40]!r}")
        else:
            self.sketch.close(self.marks[closing.group(1)], self.hooked(), _bond_type(closing.group(2)))


class _NewestAtomReader(_Reader):
    """Text and hooks belong to the newest atom; only a bond starts where `branch)` came back to.

    Atom k is the k-th that a bond leads to, and atom 0 exists once there is text or a bond. Branches are remembered
    by their level, which a surplus `branch)` makes negative.
    """

    def __init__(self, numbers: Iterator[int], reads_signs: bool) -> None:
        super().__init__(numbers, reads_signs)
        self.begins: list[int | None] = [None] * MAX_BRANCH_DEPTH
        self.level = 0
        self.level_of_bond = 0
        self.came_back = False

    def text(self, text: str) -> None:
        """Writes on the newest atom; where it has text already, the new text is dropped."""
        if not self.sketch.texts:
            self.sketch.place(0.0, 0.0, text, next(self.numbers))
        elif not self.sketch.texts[-1]:
            self.sketch.texts[-1] = text

    def hooked(self) -> int:
        """The newest atom."""
        return max(0, len(self.sketch.texts) - 1)

    def open(self, offset: int) -> None:
        """Begins a branch; right after another one's end the two have one beginning."""
        if not -MAX_BRANCH_DEPTH <= self.level < MAX_BRANCH_DEPTH:
            raise UnreadableMolecule(offset, f"at most {MAX_BRANCH_DEPTH} branches within each other")
        if not self.came_back:
            self.begins[self.level] = self.hooked()
        self.level += 1

    def close(self, offset: int) -> None:
        """Ends a branch."""
        self.level -= 1
        self.level_of_bond = self.level
        self.came_back = True

    def bond(self, item: str, offset: int) -> None:
        """Draws a bond from where the last branch began, or from the newest atom."""
        number = next(self.numbers)
        kind, angle, length = self.bond_parts(item, offset)
        if self.came_back:
            begin = (
                self.begins[self.level_of_bond] if -MAX_BRANCH_DEPTH <= self.level_of_bond < MAX_BRANCH_DEPTH else None
            )
            if begin is None or begin >= len(self.sketch.texts):
                raise UnreadableMolecule(offset, f"an atom at which the branch before {item[:40]!r} began")
            self.came_back = False
        else:
            if not self.sketch.texts:
                self.sketch.place(0.0, 0.0, "", next(self.numbers))
            begin = self.hooked()
        self.sketch.grow(begin, kind, angle, length, number)


def _bond_type(written: str) -> str:
    """The type of a bond; on which side a double bond has its second line does not count."""
    return written.replace("_", "").replace("^", "")
