"""The reader of SSML, the normalised way of writing: tokens with blanks between them, every angle absolute.

    C H _ { 3 } -[:30.0,1.0] ?[a] branch( =[:90.0] O branch) -[:330.0] O H

Pieces of text join; `TYPE[:angle,length]` is a bond to a new atom; `branch(` and `branch)` come back to the atom where
they began; `?[a]` marks an atom and `?[a,{-}]` closes a ring to it. Any other token is text: `N-[:90]` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from metrics.chemistry.protocol import Protocol
from metrics.chemistry.sketch import Sketch
from metrics.chemistry.ssml_tokens import BOND_TYPE, CLOSE, OPEN, Token, parsed_tokens
from metrics.chemistry.unreadable import UnreadableMolecule
from metrics.common.budget import Budget

MAX_BRANCH_DEPTH = 1000
FIRST_CHARACTERS = frozenset("b-=~<>")
"""Pieces of text that begin otherwise never join into a branch or a bond."""

FULL_BOND = re.compile(rf"(?<!\S)(?:{BOND_TYPE})\[:[\d.]+,[\d.]+\](?!\S)")
SHORT_BOND = re.compile(rf"(?:{BOND_TYPE})\[:[\d.]+\]\Z")
HOOK = re.compile(r"\?\[[a-zA-Z]+(?:,\{[^{}]+\})?\]\Z")
OWN_CIRCLE = re.compile(r"\\circle(?![a-zA-Z])")
RAW_RING = re.compile(r"\*(?:\[[^\[\]]*\])?\d+\(|\[::")
RAW_BRANCH = re.compile(rf"\(\s*(?:{BOND_TYPE}|[\[?(])|\*\s*\d")
PIECE = r"\\[A-Za-z]+|\\.|."
OWN_TOKEN = rf"(?:{BOND_TYPE})\[:[^\[\]]*\]|\?\[[^\[\]]*\]"
SPACED = re.compile(rf"(?:{OWN_TOKEN})?(?:{PIECE})?\Z|(?:{PIECE})(?:{OWN_TOKEN})\Z", re.DOTALL)
"""One bond or hook, one piece of text, or both, where a blank is missing."""
JOINED = re.compile(rf"(?:{OWN_TOKEN})(?:{PIECE})\Z|(?:{PIECE})(?:{OWN_TOKEN})\Z", re.DOTALL)
JOINED_BOND = re.compile(rf"(?:{BOND_TYPE})\[:\d+\.\d+,\d+\.\d+\]")
"""A bond as the competition's labels write it, whatever stands beside it."""


def is_ssml(text: str, reads_spaced_chemfig: bool) -> bool:
    """Whether the content of a region looks like SSML.

    SSML has words of its own, or whole bonds and hooks between blanks. Raw Chemfig shows in rings, relative angles,
    branches in parentheses and tokens of several characters. Where there are blanks between all characters it is SSML,
    unless bare bonds, rings or options are among them and `reads_spaced_chemfig` is set. Bonds that all have text
    beside them are raw then, as `-[:90]O`; else a bond as the labels write it is SSML also without blanks beside it.
    """
    if has_own_words(text):
        return True
    if ("*" in text or "[::" in text) and RAW_RING.search(text):
        return False
    if FULL_BOND.search(text):
        return True
    tokens = text.split()
    if all(SPACED.match(token) for token in tokens):
        if not reads_spaced_chemfig:
            return True
        is_joined = bool(tokens) and all(map(JOINED.match, tokens))
        return not is_joined and not _has_outside_braces(tokens)
    if not reads_spaced_chemfig and len(tokens) > 1 and JOINED_BOND.search(text):
        return True
    if RAW_BRANCH.search(text):
        return False
    return any(SHORT_BOND.match(token) or HOOK.match(token) for token in tokens)


def has_own_words(line: str) -> bool:
    """Whether a line has words that only SSML has, so that all its regions are SSML, however damaged."""
    return OPEN in line or CLOSE in line or ("\\circle" in line and OWN_CIRCLE.search(line) is not None)


def _has_outside_braces(tokens: list[str]) -> bool:
    """Whether a bare bond, a ring, an option or a branch `( -` of raw Chemfig is outside braces."""
    depth = 0
    for token, following in pairwise([*tokens, ""]):
        depth += (token == "{") - (token == "}")
        if depth <= 0 and (token in "-=~<>*[" or (token == "(" and following[:1] in {*"-=~<>*(["})):
            return True
    return False


def read_ssml(text: str, protocol: Protocol, numbers: Iterator[int], budget: Budget) -> Sketch | None:
    """Returns the drawing of a region's content, None where there is none; open branches are closed at the end.

    Where text goes to the newest atom, atoms are numbered from `numbers` in the order in which they are made, also
    before an error.

    Raises UnreadableMolecule where a bond or a hook is malformed or there is no atom for it.
    """
    budget.spend(len(text))
    reader: _Reader
    if protocol.writes_on_newest_atom:
        reader = _NewestAtomReader(numbers, protocol.reads_signs)
    else:
        reader = _Reader(protocol.reads_signs)
    try:
        reader.read(*_numbered_items(text, budget))
    except _Malformed as malformed:
        raise UnreadableMolecule(_offset(text, malformed.token), malformed.expected) from None
    return reader.sketch if reader.sketch.texts else None


def _numbered_items(text: str, budget: Budget) -> tuple[Sequence[int], list[str]]:
    """Returns the tokens of a content and their numbers; a token with line breaks in it may be none or several."""
    tokens = text.split()
    budget.spend(2 * len(tokens))
    if "\\\\" not in text and "\\enter" not in text and "\\space" not in text:
        return range(len(tokens)), tokens
    items = [(number, item) for number, token in enumerate(tokens) for item in _without_line_breaks(token)]
    budget.spend(max(0, 2 * (len(items) - len(tokens))))
    return [number for number, _ in items], [item for _, item in items]


def _offset(text: str, number: int) -> int:
    """Returns where the token with a number, from 0, begins."""
    return next(islice(re.finditer(r"\S+", text), number, None)).start()


def plain(text: str) -> str:
    """Returns a region's content without blanks and line breaks, as it is compared where it cannot be read."""
    return "".join(item for token in text.split() for item in _without_line_breaks(token))


def _without_line_breaks(token: str) -> list[str]:
    if "\\" not in token:
        return [token]
    return token.replace("\\\\", "").replace("\\enter", "").replace("\\space", " ").split()


class _Malformed(Exception):
    """A token, by its number in the region, that cannot be drawn, and what was expected there."""

    def __init__(self, token: int, expected: str) -> None:
        super().__init__(token, expected)
        self.token = token
        self.expected = expected


class _Reader:
    """Text, hooks and bonds belong to the current atom, which `branch)` restores."""

    def __init__(self, reads_signs: bool) -> None:
        self.sketch = Sketch()
        self.reads_signs = reads_signs
        self.marks: dict[str, int] = {}
        self.branches: list[int] = []
        self.atom: int | None = None

    def read(self, numbers: Sequence[int], items: Sequence[str]) -> None:
        """Draws what the items say, each with the number of its token."""
        pieces: list[str] = []
        begin = 0
        bond, take = self.bond, self.take
        for token, number, item in zip(parsed_tokens(items, self.reads_signs), numbers, items, strict=True):
            if token is None:
                if not pieces:
                    begin = number
                pieces.append(item)
                continue
            if pieces:
                self.write(pieces, begin)
                pieces = []
            if token[0] == "bond":
                bond(token, number)
            else:
                take(token, number)
        if pieces:
            self.write(pieces, begin)

    def write(self, pieces: Sequence[str], begin: int) -> None:
        """Writes the pieces of text as one; pieces may also join into a bond or a branch."""
        if len(pieces) > 1 and pieces[0][0] in FIRST_CHARACTERS:
            token = parsed_tokens(["".join(pieces)], self.reads_signs)[0]
            if token is not None:
                self.take(token, begin)
                return
        self.text(" ".join(pieces))

    def take(self, token: Token, number: int) -> None:
        """Draws a token that is no text."""
        if token.name == "bond":
            self.bond(token, number)
        elif token.name == OPEN:
            self.open(number)
        elif token.name == CLOSE:
            self.close(number)
        else:
            self.hook(token, number)

    def text(self, text: str) -> None:
        """Writes on the current atom, or, where it has text already, beside it."""
        atom = self.current() if self.atom is None else self.atom
        texts = self.sketch.texts
        if texts[atom]:
            self.atom = atom = self.sketch.write_beside(atom, "")
        texts[atom] = text

    def current(self) -> int:
        """The current atom; at the start, a new one."""
        if self.atom is None:
            self.atom = self.sketch.place(0.0, 0.0)
        return self.atom

    def open(self, number: int) -> None:
        """Begins a branch."""
        self.branches.append(self.current())

    def close(self, number: int) -> None:
        """Ends a branch."""
        if not self.branches:
            raise _Malformed(number, f"a {OPEN!r} before this {CLOSE!r}")
        self.atom = self.branches.pop()

    def hooked(self) -> int:
        """The atom that a hook is on."""
        return self.current()

    def bond(self, token: Token, number: int) -> None:
        """Draws a bond and goes to the new atom at its end."""
        _, _, problem, _, bond_type, angle, length, across, down = token
        if problem is not None:
            raise _Malformed(number, problem)
        begin = self.current() if self.atom is None else self.atom
        self.atom = self.sketch.grow_by(begin, across, down, bond_type, angle, length)

    def hook(self, token: Token, number: int) -> None:
        """Marks an atom, or closes a ring from a marked atom to the current one."""
        if token.problem is not None:
            raise _Malformed(number, token.problem)
        if token.name == "mark":
            self.marks[token.mark] = self.hooked()
        elif token.mark not in self.marks or not self.sketch.texts:
            raise _Malformed(number, f"an atom with the mark ?[{token.mark[:40]}] before {token.written[:40]!r}")
        else:
            self.sketch.close(self.marks[token.mark], self.hooked(), token.type)


class _NewestAtomReader(_Reader):
    """Text and hooks belong to the newest atom; only a bond starts where `branch)` came back to.

    Atom k is the k-th that a bond leads to, and atom 0 exists once there is text or a bond. Branches are remembered
    by their level, which a surplus `branch)` makes negative.
    """

    def __init__(self, numbers: Iterator[int], reads_signs: bool) -> None:
        super().__init__(reads_signs)
        self.numbers = numbers
        self.begins: dict[int, int] = {}
        self.level = 0
        self.level_of_bond = 0
        self.came_back = False

    def text(self, text: str) -> None:
        """Writes on the newest atom; where it has text already, the new text is dropped."""
        if not self.sketch.texts:
            self.begin(text)
        elif not self.sketch.texts[-1]:
            self.sketch.texts[-1] = text

    def begin(self, text: str) -> None:
        """Draws the first atom."""
        self.sketch.place(0.0, 0.0, text)
        self.sketch.numbers.append(next(self.numbers))

    def hooked(self) -> int:
        """The newest atom."""
        return max(0, len(self.sketch.texts) - 1)

    def open(self, number: int) -> None:
        """Begins a branch; right after another one's end the two have one beginning."""
        if not -MAX_BRANCH_DEPTH <= self.level < MAX_BRANCH_DEPTH:
            raise _Malformed(number, f"at most {MAX_BRANCH_DEPTH} branches within each other")
        if not self.came_back:
            # The tool keeps the beginnings in a list, in which a negative level counts from the end.
            self.begins[self.level % MAX_BRANCH_DEPTH] = self.hooked()
        self.level += 1

    def close(self, number: int) -> None:
        """Ends a branch."""
        self.level -= 1
        self.level_of_bond = self.level
        self.came_back = True

    def bond(self, token: Token, number: int) -> None:
        """Draws a bond from where the last branch began, or from the newest atom."""
        atom_number = next(self.numbers)
        if token.problem is not None:
            raise _Malformed(number, token.problem)
        if self.came_back:
            begin = self.begin_of_branch()
            if begin is None or begin >= len(self.sketch.texts):
                raise _Malformed(number, f"an atom at which the branch before {token.written[:40]!r} began")
            self.came_back = False
        else:
            if not self.sketch.texts:
                self.begin("")
            begin = self.hooked()
        self.sketch.grow_by(begin, token.across, token.down, token.type, token.angle, token.length)
        self.sketch.numbers.append(atom_number)

    def begin_of_branch(self) -> int | None:
        """The atom at which the branch began that ended last; None where there is none."""
        if not -MAX_BRANCH_DEPTH <= self.level_of_bond < MAX_BRANCH_DEPTH:
            return None
        return self.begins.get(self.level_of_bond % MAX_BRANCH_DEPTH)
