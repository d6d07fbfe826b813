"""What one token of SSML means: a branch, a bond, a mark or a closing hook; anything else is text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .sketch import MAX_CACHED_LENGTH, displacement

OPEN, CLOSE = "branch(", "branch)"
BOND_TYPES = (">:", "<:", ">|", "<|", "-:", "=_", "=^", "~/", "-", "=", "~", ">", "<")
BOND_TYPE = "|".join(re.escape(kind) for kind in BOND_TYPES)
BOND = re.compile(rf"(?:{BOND_TYPE})\[")
NUMBER = re.compile(r"[\d.]+")
SIGNED_NUMBER = re.compile(r"[-+]?[\d.]+")
MARK = re.compile(r"\?\[([a-zA-Z]+)\]")
CLOSING_HOOK = re.compile(r"\?\[([a-zA-Z]+),\{([^{}]+)\}\]")
MAX_NUMBER = 1e9


class Token(NamedTuple):
    """What one token that is no text means.

    name: `branch(`, `branch)`, `bond`, `mark` or `closing`.
    problem: why a bond or a hook cannot be read.
    mark: of a mark and a closing hook, its letter.
    type: of a bond and of the bond of a closing hook; angle, length: of a bond; across, down: from its beginning to its
        end.
    """

    name: str
    written: str
    problem: str | None = None
    mark: str = ""
    type: str = ""
    angle: float = 0.0
    length: float = 1.0
    across: float = 0.0
    down: float = 0.0


def _parsed(item: str, reads_signs: bool) -> Token | None:
    """Returns what a token means; None where it is text."""
    if item in (OPEN, CLOSE):
        return Token(item, item)
    if "?" in item:
        mark, closing = MARK.match(item), CLOSING_HOOK.match(item)
        if mark:
            return Token("mark", item, mark=mark.group(1))
        if MARK.search(item) or not closing:
            expected = f"a hook such as ?[a] or ?[a,{{-}}] instead of {item[:40]!r}"
            return Token("closing", item, expected)
        return Token("closing", item, mark=closing.group(1), type=_bond_type(closing.group(2)))
    return _bond(item, reads_signs) if BOND.match(item) else None


def _bond(item: str, reads_signs: bool) -> Token:
    """Returns the bond that a token means, with the length 1 where none is written."""
    kind, _, _ = item.rpartition("[")
    number = SIGNED_NUMBER if reads_signs else NUMBER
    try:
        values = [float(written) for written in number.findall(item[item.index("[") :])[:2]]
    except ValueError:
        values = []
    if not values or any(abs(value) > MAX_NUMBER for value in values):
        return Token("bond", item, f"a bond such as -[:30.0,1.0] instead of {item[:40]!r}")
    angle, length = values[0], abs(values[1]) if len(values) > 1 else 1.0
    return Token("bond", item, None, "", _bond_type(kind), angle, length, *displacement(angle, length))


def parsed_tokens(items: Sequence[str], reads_signs: bool) -> list[Token | None]:
    """Returns what each token means."""
    return list(map(_KNOWN[reads_signs].__getitem__, items))


class _Known(dict[str, "Token | None"]):
    """What short tokens mean: the same come again and again, as bonds have few lengths and mostly round angles."""

    MAX_TOKENS = 20_000

    def __init__(self, reads_signs: bool) -> None:
        super().__init__()
        self.reads_signs = reads_signs

    def __missing__(self, item: str) -> Token | None:
        token = _parsed(item, self.reads_signs)
        if len(item) <= MAX_CACHED_LENGTH:
            if len(self) >= self.MAX_TOKENS:
                self.clear()
            self[item] = token
        return token


_KNOWN = {reads_signs: _Known(reads_signs) for reads_signs in (False, True)}


def _bond_type(written: str) -> str:
    """The type of a bond; on which side a double bond has its second line does not count."""
    return written.replace("_", "").replace("^", "")
