"""Text of unknown origin: clipped if it would fill a page, and safe to display when it is rendered."""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_ID_LENGTH, MAX_LABEL_LENGTH, MAX_TEXT_LENGTH = 200, 300, 2_000

_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufdd0-\ufdef"
    "\ufffe\uffff\U000e0000-\U000e007f"
)
"""Control characters, bidirectional marks, invisible characters, and code points that are not characters."""
_CONTROL = re.compile(f"[{_UNSEEN}]")
_IN_JSON = re.compile(rf"\\(?:u00([01][0-9a-f])|([bfr])|.)|([{_UNSEEN}])")
_BLANKS = re.compile(r"[ \t\r\n]+")
_ESCAPES = {"b": 8, "f": 12, "r": 13}


def visible(text: str) -> str:
    """Returns `text` with each invisible or bidirectional control character as its code point: `<U+202E>`.

    Line feeds and tabs are unchanged; carriage returns are not.
    """
    return _CONTROL.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def visible_json(text: str) -> str:
    """Returns JSON with all of its strings `visible`, whether a character is written literally or escaped."""

    def number(match: re.Match[str]) -> str:
        code, short, plain = match.groups()
        if code is None and short is None and plain is None:
            return match[0]
        return f"<U+{int(code, 16) if code else _ESCAPES[short] if short else ord(plain):04X}>"

    return _IN_JSON.sub(number, text)


def drawable(drawing: str) -> str:
    """Returns an SVG document with U+FFFD for each character that `visible` would write as its code point."""
    return _CONTROL.sub("\ufffd", drawing)


def clipped(text: str, limit: int = MAX_TEXT_LENGTH) -> str:
    """Returns at most `limit` characters of `text`, followed by how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def one_line(text: str, limit: int = MAX_LABEL_LENGTH) -> str:
    """Returns `clipped` text without line ends, tabs or repeated blanks."""
    return _BLANKS.sub(" ", clipped(text, limit)).strip(" ")


def some_of(names: Sequence[str], most: int) -> str:
    """Returns the first names, and how many more there are: `a, b and 17 more`."""
    remaining = len(names) - most
    return ", ".join(names[:most]) + (f" and {remaining:,} more" if remaining > 0 else "")
