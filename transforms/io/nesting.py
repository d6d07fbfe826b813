"""How deep a JSON text is nested, without parsing it."""

from __future__ import annotations

import numpy as np

_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def deeper_than(text: bytes, limit: int) -> bool:
    """Tells whether the JSON `text` nests arrays and objects more than `limit` deep.

    Text with few brackets is told at once; of the rest, the brackets outside of strings are counted up and down.
    Text that breaks off is not told deeper than it goes; other text that is not JSON may be told either way.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    without_escapes = text.replace(rb"\\", b"").replace(rb"\"", b"")
    # What stands between two quotes is within a string where an odd number of them stands before it: pairs may go.
    structure = without_escapes.translate(None, _NEITHER_BRACKET_NOR_QUOTE).replace(b'""', b"")
    steps = _STEPS[np.frombuffer(b"".join(structure.split(b'"')[::2]), np.uint8)]
    return bool(np.cumsum(steps, dtype=np.int32).max(initial=0) > limit)
