"""Text of unknown origin, made safe to look at: nothing in it can turn, hide or join what stands around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

MAX_COMMAND_LENGTH = 4_000

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufdd0-\ufdef"
    "\ufffe\uffff\U000e0000-\U000e007f]"
)
"""Controls, marks that steer the direction of text, invisible characters, and code points that are no characters."""


def visible(text: str) -> str:
    """Returns `text` with each character that cannot be seen, or that steers others, as its number: `<U+202E>`.

    Line ends and tabs stay; a carriage return does not.
    """
    return _CONTROL.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def clipped(text: str, limit: int) -> str:
    """Returns at most `limit` characters of `text`, made visible; what was left out is told as a number."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… ({len(text) - limit:,} more characters)"


def one_line(text: str, limit: int) -> str:
    """Returns `clipped` text without line ends or tabs."""
    return " ".join(clipped(text, limit).split())


def command_line(words: Sequence[str]) -> str:
    """Returns a command as a shell takes it, `clipped`; no words give an empty text."""
    return clipped(shlex.join(words), MAX_COMMAND_LENGTH)
