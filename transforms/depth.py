"""How deep a JSON text is nested, without parsing it."""

from __future__ import annotations

import re

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ESCAPE = re.compile(rb"\\.", re.DOTALL)


def deeper_than(text: bytes, limit: int) -> bool:
    """Tells whether the JSON `text` nests arrays and objects more than `limit` deep.

    Text with few brackets is told at once; of the rest, the brackets outside of strings are looked at, and the
    innermost ones taken away, a level at a time. Text that is not JSON may be told either way.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    if b"\\" in text:
        text = _ESCAPE.sub(b"", text)
    structure = text.translate(_BRACKETS, _NEITHER_BRACKET_NOR_QUOTE)
    # Before a bracket inside a string stands an odd number of quotes, so one is left there when pairs go.
    brackets = structure.replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(structure.split(b'"')[::2])
    for level in range(limit):
        # What is left cannot hold more levels than half its brackets.
        if len(brackets) <= 2 * (limit - level):
            return False
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)
