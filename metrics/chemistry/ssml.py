"""Reads SSML, the normalized notation: tokens separated by blanks, with absolute angles.

    C H _ { 3 } -[:30.0,1.0] ?[a] branch( =[:90.0] O branch) -[:330.0] O H

Pieces of text join. `TYPE[:angle,length]` is a bond to a new atom. `branch)` returns to the atom at which `branch(`
began. `?[a]` marks an atom, and `?[a,{-}]` closes a ring to it. Any other token is text, such as `N-[:90]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from typing import NamedTuple

from ..common.text import cached_if_short
from .molecule import MoleculeBuilder, UnreadableMolecule

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
FIRST_CHARACTERS = frozenset("b-=~<>")
"""Pieces of text that begin with any other character never join into a branch or a bond."""

FULL_BOND = re.compile(rf"(?<!\S)(?:{BOND_TYPE})\[:[\d.]+,[\d.]+\](?!\S)")
SHORT_BOND = re.compile(rf"(?:{BOND_TYPE})\[:[\d.]+\]\Z")
HOOK = re.compile(r"\?\[[a-zA-Z]+(?:,\{[^{}]+\})?\]\Z")
OWN_CIRCLE = re.compile(r"\\circle(?![a-zA-Z])")
RAW_RING = re.compile(r"\*(?:\[[^\[\]]*\])?\d+\(|\[::")
RAW_BRANCH = re.compile(rf"\(\s*(?:{BOND_TYPE}|[\[?(])|\*\s*\d")
PIECE = r"\\[A-Za-z]+|\\.|."
OWN_TOKEN = rf"(?:{BOND_TYPE})\[:[^\[\]]*\]|\?\[[^\[\]]*\]"
DAMAGED_BOND = rf"(?:{BOND_TYPE})\[:?\d[\d.,]*\]?"
SPACED, SPACED_OR_DAMAGED = (
    re.compile(rf"({own})?({PIECE})?\Z|({PIECE})({own})\Z", re.DOTALL)
    for own in (OWN_TOKEN, f"{OWN_TOKEN}|{DAMAGED_BOND}")
)
"""One bond or hook, one piece of text, or both if the blank between them is missing; a bond may lack `:` or `]`."""
JOINED_BRANCH = re.compile(rf"\((?:{BOND_TYPE})")
RAW_ANGLE = re.compile(rf"(?:{BOND_TYPE})\[\s*(?:[-+]?\d\s*)?[,\]]")
BOND_OR_HOOK = re.compile(rf"(?:{BOND_TYPE})\[[^\[\]]*\]|\?(?:\[[^\[\]]*\])?")
JOINED_BOND = re.compile(rf"(?:{BOND_TYPE})\[:\d+\.\d+,\d+\.\d+\]")
"""A bond as the labels of the competition write it, with or without blanks around it."""


def is_ssml(text: str, reads_spaced_chemfig: bool) -> bool:
    """Returns whether the content of a region looks like SSML.

    SSML has words of its own, or bonds and hooks between blanks. Raw Chemfig has rings, relative angles, branches in
    parentheses or tokens of several characters. With a blank between all characters, the content is SSML.

    If `reads_spaced_chemfig`, angles in steps as in `-[7]`, bare bonds, options, and bonds joined to others or to text
    as in `-[:90]O` are raw Chemfig as well, and without them a bond as the labels write it is SSML. If not, any whole
    bond or hook between blanks is SSML, and a bond as the labels write it also without blanks.
    """
    if has_own_words(text):
        return True
    if ("*" in text or "[::" in text) and RAW_RING.search(text):
        return False
    tokens = text.split()
    pattern = SPACED_OR_DAMAGED if reads_spaced_chemfig else SPACED
    spaced = [pattern.match(token) for token in tokens]
    if reads_spaced_chemfig:
        if RAW_ANGLE.search(text) or JOINED_BRANCH.search(text) or _is_joined(tokens, spaced):
            return False
        return bool(JOINED_BOND.search(text)) or (all(spaced) and not _has_outside_braces(tokens))
    if FULL_BOND.search(text) or all(spaced) or (len(tokens) > 1 and JOINED_BOND.search(text)):
        return True
    if RAW_BRANCH.search(text):
        return False
    return any(SHORT_BOND.match(token) or HOOK.match(token) for token in tokens)


def has_own_words(line: str) -> bool:
    """Returns whether a line has words that only SSML has. All its regions are then SSML, however damaged."""
    return OPEN in line or CLOSE in line or ("\\circle" in line and OWN_CIRCLE.search(line) is not None)


def _is_joined(tokens: list[str], spaced: list[re.Match[str] | None]) -> bool:
    """Returns whether bonds are joined to others or to text, or are bare, as in raw Chemfig, where blanks draw nothing.

    Where single characters are text with blanks between them, it is SSML that lacks a blank, as `N-[:90] O`.
    """
    joined = any(BOND_OR_HOOK.search(token) and not BOND_OR_HOOK.fullmatch(token) for token in tokens)
    if all(spaced):
        return joined and not any(match and match[2] and not match[1] for match in spaced)
    return joined or _has_outside_braces(tokens)


def _has_outside_braces(tokens: list[str]) -> bool:
    """Returns whether a bare bond, a ring, an option or a branch `( -` of raw Chemfig is outside braces."""
    depth = 0
    for token, following in pairwise([*tokens, ""]):
        depth += (token == "{") - (token == "}")
        if depth <= 0 and (token in "-=~<>*[" or (token == "(" and following[:1] in {*"-=~<>*(["})):
            return True
    return False


class Token(NamedTuple):
    """The meaning of a token that is not text.

    name: `branch(`, `branch)`, `bond`, `mark` or `closing`.
    problem: why a bond or a hook cannot be read.
    mark: of a mark and a closing hook, its letter.
    type: of a bond and of the bond of a closing hook; angle, length: of a bond.
    """

    name: str
    written: str
    problem: str | None = None
    mark: str = ""
    type: str = ""
    angle: float = 0.0
    length: float = 1.0


END = Token("end", "")
Words = Sequence[tuple[Token | str, int]]
"""The words of a region, tokens or texts, each with the number of its first item in the region."""


def read_ssml(text: str, released: bool, numbers: Iterator[int]) -> MoleculeBuilder | None:
    """Returns the drawing of a region's content, or None if it draws nothing. Open branches are closed at the end.

    If `released`, `-[:-90]` is an angle of 90 degrees, text and hooks belong to the newest atom, and atoms take their
    numbers from `numbers` in the order in which they are made, also before an error.

    Raises UnreadableMolecule if a bond or a hook is malformed or there is no atom for it.
    """
    words = _words(text, reads_signs=not released)
    try:
        drawing = _draw_on_newest_atom(words, numbers) if released else _draw(words)
    except UnreadableMolecule as unreadable:
        # Its offset is that of the item among the items.
        starts = [match.start() for match in re.finditer(r"\S+", text) for _ in _items(match[0])]
        raise UnreadableMolecule(starts[unreadable.offset], unreadable.expected) from None
    return drawing if drawing.texts else None


def without_blanks(text: str) -> str:
    """Returns a region's content without blanks and line breaks: what is compared if it cannot be read."""
    return "".join(_items(text))


def _items(text: str) -> list[str]:
    """Returns the items between blanks, without line breaks."""
    if "\\" in text:
        text = text.replace("\\\\", "").replace("\\enter", "").replace("\\space", " ")
    return text.split()


def _words(text: str, reads_signs: bool) -> Words:
    """Returns the words of a region.

    Adjacent pieces of text are one text; they may also join into a bond or a branch.
    """
    items = _items(text)
    words: list[tuple[Token | str, int]] = []
    text_start = 0
    for number, token in enumerate((*map(_token, items, repeat(reads_signs)), END)):
        if token is not None:
            if text_start < number:
                words.append((_joined(items[text_start:number], reads_signs), text_start))
            words.append((token, number))
            text_start = number + 1
    return words[:-1]


def _joined(pieces: Sequence[str], reads_signs: bool) -> Token | str:
    token = _token("".join(pieces), reads_signs) if len(pieces) > 1 and pieces[0][0] in FIRST_CHARACTERS else None
    return token or " ".join(pieces)


@cached_if_short  # bonds have few lengths and mostly round angles
def _token(item: str, reads_signs: bool) -> Token | None:
    """Returns the meaning of a token, or None if it is text. The default length of a bond is 1."""
    if item in (OPEN, CLOSE):
        return Token(item, item)
    if "?" in item:
        mark, closing = MARK.match(item), CLOSING_HOOK.match(item)
        if mark:
            return Token("mark", item, mark=mark[1])
        if MARK.search(item) or not closing:
            return Token("closing", item, f"a hook such as ?[a] or ?[a,{{-}}] instead of {item[:40]!r}")
        return Token("closing", item, mark=closing[1], type=_bond_type(closing[2]))
    if not BOND.match(item):
        return None
    number = SIGNED_NUMBER if reads_signs else NUMBER
    try:
        values = [float(written) for written in number.findall(item[item.index("[") :])[:2]]
    except ValueError:
        values = []
    if not values or any(abs(value) > MAX_NUMBER for value in values):
        return Token("bond", item, f"a bond such as -[:30.0,1.0] instead of {item[:40]!r}")
    kind, length = _bond_type(item.rpartition("[")[0]), abs(values[1]) if len(values) > 1 else 1.0
    return Token("bond", item, type=kind, angle=values[0], length=length)


def _bond_type(written: str) -> str:
    """Returns the type of a bond; the side of the second line of a double bond is ignored."""
    return written.replace("_", "").replace("^", "")


def _draw(words: Words) -> MoleculeBuilder:
    """Returns the drawing of words if text, hooks and bonds belong to the current atom.

    The current atom is the last one drawn, or after `branch)` the atom at which the branch began. A second text on an
    atom is written next to the first.

    Raises UnreadableMolecule with the place of the word.
    """
    drawing = MoleculeBuilder()
    if not words:
        return drawing
    marks: dict[str, int] = {}
    branches: list[int] = []
    atom = drawing.place(0.0, 0.0)
    for word, number in words:
        if isinstance(word, str):
            if drawing.texts[atom]:
                atom = drawing.write_beside(atom, word)
            else:
                drawing.texts[atom] = word
        elif word.problem is not None:
            raise UnreadableMolecule(number, word.problem)
        elif word.name == "bond":
            atom = drawing.grow(atom, word.type, word.angle, word.length)
        elif word.name == OPEN:
            branches.append(atom)
        elif word.name == CLOSE:
            if not branches:
                raise UnreadableMolecule(number, f"a {OPEN!r} before this {CLOSE!r}")
            atom = branches.pop()
        elif word.name == "mark":
            marks[word.mark] = atom
        else:
            drawing.close(_marked(marks, word, number), atom, word.type)
    return drawing


def _draw_on_newest_atom(words: Words, atom_numbers: Iterator[int]) -> MoleculeBuilder:
    """Returns the drawing of words if text and hooks belong to the newest atom.

    Only a bond starts at the atom to which `branch)` returned. Atom k is the k-th that a bond leads to; atom 0 exists
    once there is text or a bond. A second text on an atom is dropped. Branches are kept by their level, which surplus
    `branch)` make negative. A branch right after the end of a branch begins at the same atom.

    Raises UnreadableMolecule with the place of the word.
    """
    drawing = MoleculeBuilder()
    texts, numbers = drawing.texts, drawing.numbers
    marks: dict[str, int] = {}
    begins: dict[int, int] = {}
    level = level_of_bond = 0
    came_back = False
    for word, number in words:
        newest = max(0, len(texts) - 1)
        if isinstance(word, str):
            if not texts:
                drawing.place(0.0, 0.0, word)
                numbers.append(next(atom_numbers))
            elif not texts[newest]:
                texts[newest] = word
        elif word.name == OPEN:
            if not -MAX_BRANCH_DEPTH <= level < MAX_BRANCH_DEPTH:
                raise UnreadableMolecule(number, f"at most {MAX_BRANCH_DEPTH} branches within each other")
            if not came_back:
                # The tool keeps the beginnings in a list, in which a negative level counts from the end.
                begins[level % MAX_BRANCH_DEPTH] = newest
            level += 1
        elif word.name == CLOSE:
            level -= 1
            level_of_bond = level
            came_back = True
        elif word.name == "bond":
            atom_number = next(atom_numbers)
            if word.problem is not None:
                raise UnreadableMolecule(number, word.problem)
            begin: int | None = newest
            if came_back:
                is_known = -MAX_BRANCH_DEPTH <= level_of_bond < MAX_BRANCH_DEPTH
                begin = begins.get(level_of_bond % MAX_BRANCH_DEPTH) if is_known else None
                came_back = False
            elif not texts:
                drawing.place(0.0, 0.0)
                numbers.append(next(atom_numbers))
            if begin is None or begin >= len(texts):
                expected = f"an atom at which the branch before {word.written[:40]!r} began"
                raise UnreadableMolecule(number, expected)
            drawing.grow(begin, word.type, word.angle, word.length)
            numbers.append(atom_number)
        elif word.problem is not None:
            raise UnreadableMolecule(number, word.problem)
        elif word.name == "mark":
            marks[word.mark] = newest
        else:
            drawing.close(_marked(marks if texts else {}, word, number), newest, word.type)
    return drawing


def _marked(marks: Mapping[str, int], hook: Token, number: int) -> int:
    """Returns the atom to which a hook closes a ring."""
    if hook.mark not in marks:
        expected = f"an atom with the mark ?[{hook.mark[:40]}] before {hook.written[:40]!r}"
        raise UnreadableMolecule(number, expected)
    return marks[hook.mark]
