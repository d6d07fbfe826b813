"""The two ways to draw the words of SSML, which differ in the atom that text and hooks belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .sketch import Sketch
from .ssml_tokens import CLOSE, OPEN, Token, parsed_tokens

MAX_BRANCH_DEPTH = 1000
FIRST_CHARACTERS = frozenset("b-=~<>")
"""Pieces of text that begin otherwise never join into a branch or a bond."""

Word = Token | str
"""A token that is no text, or a text."""


class Malformed(Exception):
    """A token, by its number in the region, that cannot be drawn, and what was expected there."""

    def __init__(self, token: int, expected: str) -> None:
        super().__init__(token, expected)
        self.token = token
        self.expected = expected


def join_words(numbers: Sequence[int], items: Sequence[str], reads_signs: bool) -> tuple[list[Word], list[int]]:
    """Returns the words that the items make up, and for each the number of its first token.

    Pieces of text that follow each other are one text; they may also join into a bond or a branch.
    """
    words: list[Word] = []
    first_numbers: list[int] = []
    pieces: list[str] = []
    for token, number, item in zip(parsed_tokens(items, reads_signs), numbers, items, strict=True):
        if token is None:
            if not pieces:
                first_numbers.append(number)
            pieces.append(item)
            continue
        if pieces:
            words.append(_joined(pieces, reads_signs))
            pieces = []
        words.append(token)
        first_numbers.append(number)
    if pieces:
        words.append(_joined(pieces, reads_signs))
    return words, first_numbers


def _joined(pieces: Sequence[str], reads_signs: bool) -> Word:
    if len(pieces) > 1 and pieces[0][0] in FIRST_CHARACTERS:
        token = parsed_tokens(["".join(pieces)], reads_signs)[0]
        if token is not None:
            return token
    return " ".join(pieces)


def draw_on_current_atom(words: Sequence[Word], numbers: Sequence[int]) -> Sketch:
    """Returns the drawing of words in which text, hooks and bonds belong to the current atom.

    That is the last one drawn, until `branch)` restores the atom at which its branch began. A text on an atom that has
    one already is written beside it.

    Raises Malformed.
    """
    sketch = Sketch()
    if not words:
        return sketch
    texts, xs, ys = sketch.texts, sketch.xs, sketch.ys
    begins, ends, types, angles, lengths = sketch.begins, sketch.ends, sketch.types, sketch.angles, sketch.lengths
    marks: dict[str, int] = {}
    branches: list[int] = []
    atom = sketch.place(0.0, 0.0)
    for word, number in zip(words, numbers, strict=True):
        if isinstance(word, str):
            if texts[atom]:
                atom = sketch.write_beside(atom, word)
            else:
                texts[atom] = word
            continue
        name, _, problem, mark, bond_type, angle, length, across, down = word
        if problem is not None:
            raise Malformed(number, problem)
        if name == "bond":
            # The same as `Sketch.grow`, without a call for each of the most frequent words.
            begins.append(atom)
            types.append(bond_type)
            angles.append(angle)
            lengths.append(length)
            xs.append(xs[atom] + across)
            ys.append(ys[atom] + down)
            atom = len(texts)
            ends.append(atom)
            texts.append("")
        elif name == OPEN:
            branches.append(atom)
        elif name == CLOSE:
            if not branches:
                raise Malformed(number, f"a {OPEN!r} before this {CLOSE!r}")
            atom = branches.pop()
        elif name == "mark":
            marks[mark] = atom
        elif mark in marks:
            sketch.close(marks[mark], atom, bond_type)
        else:
            raise _without_mark(word, number)
    return sketch


def _without_mark(token: Token, number: int) -> Malformed:
    return Malformed(number, f"an atom with the mark ?[{token.mark[:40]}] before {token.written[:40]!r}")


class NewestAtomReader:
    """Text and hooks belong to the newest atom; only a bond starts where `branch)` came back to.

    Atom k is the k-th that a bond leads to, and atom 0 exists once there is text or a bond. Branches are remembered
    by their level, which a surplus `branch)` makes negative.
    """

    def __init__(self, atom_numbers: Iterator[int]) -> None:
        self.sketch = Sketch()
        self.atom_numbers = atom_numbers
        self.marks: dict[str, int] = {}
        self.begins: dict[int, int] = {}
        self.level = 0
        self.level_of_bond = 0
        self.came_back = False

    def draw(self, words: Sequence[Word], numbers: Sequence[int]) -> Sketch:
        """Returns the drawing of words, its atoms numbered from `atom_numbers` as they are made, also before an error.

        Raises Malformed.
        """
        for word, number in zip(words, numbers, strict=True):
            if isinstance(word, str):
                self.text(word)
            elif word.name == "bond":
                self.bond(word, number)
            elif word.name == OPEN:
                self.open(number)
            elif word.name == CLOSE:
                self.close()
            else:
                self.hook(word, number)
        return self.sketch

    def text(self, text: str) -> None:
        """Writes on the newest atom; where it has text already, the new text is dropped."""
        if not self.sketch.texts:
            self.begin(text)
        elif not self.sketch.texts[-1]:
            self.sketch.texts[-1] = text

    def begin(self, text: str) -> None:
        """Draws the first atom."""
        self.sketch.place(0.0, 0.0, text)
        self.sketch.numbers.append(next(self.atom_numbers))

    def hooked(self) -> int:
        """The newest atom."""
        return max(0, len(self.sketch.texts) - 1)

    def open(self, number: int) -> None:
        """Begins a branch; right after another one's end the two have one beginning."""
        if not -MAX_BRANCH_DEPTH <= self.level < MAX_BRANCH_DEPTH:
            raise Malformed(number, f"at most {MAX_BRANCH_DEPTH} branches within each other")
        if not self.came_back:
            # The tool keeps the beginnings in a list, in which a negative level counts from the end.
            self.begins[self.level % MAX_BRANCH_DEPTH] = self.hooked()
        self.level += 1

    def close(self) -> None:
        """Ends a branch."""
        self.level -= 1
        self.level_of_bond = self.level
        self.came_back = True

    def bond(self, token: Token, number: int) -> None:
        """Draws a bond from where the last branch began, or from the newest atom."""
        atom_number = next(self.atom_numbers)
        if token.problem is not None:
            raise Malformed(number, token.problem)
        if self.came_back:
            begin = self.begin_of_branch()
            if begin is None or begin >= len(self.sketch.texts):
                raise Malformed(number, f"an atom at which the branch before {token.written[:40]!r} began")
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

    def hook(self, token: Token, number: int) -> None:
        """Marks the newest atom, or closes a ring from a marked atom to it."""
        if token.problem is not None:
            raise Malformed(number, token.problem)
        if token.name == "mark":
            self.marks[token.mark] = self.hooked()
        elif token.mark not in self.marks or not self.sketch.texts:
            raise _without_mark(token, number)
        else:
            self.sketch.close(self.marks[token.mark], self.hooked(), token.type)
