"""The reader of SSML, the normalised way of writing: tokens with blanks between them, every angle absolute.

    C H _ { 3 } -[:30.0,1.0] ?[a] branch( =[:90.0] O branch) -[:330.0] O H

Pieces of text join; `TYPE[:angle,length]` is a bond to a new atom; `branch(` and `branch)` come back to the atom where
they began; `?[a]` marks an atom and `?[a,{-}]` closes a ring to it. Any other token is text: `N-[:90]` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from ..common.budget import Budget
from .protocol import Protocol
from .sketch import Sketch
from .ssml_readers import Malformed, NewestAtomReader, draw_on_current_atom, join_words
from .ssml_tokens import BOND_TYPE, CLOSE, OPEN
from .unreadable import UnreadableMolecule

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
    words = join_words(*_numbered_items(text, budget), protocol.reads_signs)
    try:
        sketch = (
            NewestAtomReader(numbers).draw(*words) if protocol.writes_on_newest_atom else draw_on_current_atom(*words)
        )
    except Malformed as malformed:
        raise UnreadableMolecule(_offset(text, malformed.token), malformed.expected) from None
    return sketch if sketch.texts else None


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
