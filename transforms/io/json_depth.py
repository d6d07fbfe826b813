"""How deep a JSON text is nested, and how many arrays and objects it has, without parsing it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np

_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NEITHER_BRACKET_NOR_QUOTE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_CASE = np.uint8(ord("[") ^ ord("{"))
"""The bit by which the opening brackets differ; no other characters become one of them without it."""
_BETWEEN_OPEN_AND_CLOSED = (ord("[") + ord("]")) // 2


def deeper_than(text: bytes, limit: int) -> bool:
    """Tells whether the JSON `text` nests arrays and objects more than `limit` deep.

    Text with few brackets is told at once; of the rest, the brackets outside of strings are counted up and down.
    Text that breaks off is not told deeper than it goes; other text that is not JSON may be told either way.
    """
    if not _may_have_more(text, limit):
        return False
    brackets = _outside_strings(text)
    if len(brackets) <= 2 * limit:
        return False
    steps = _BETWEEN_OPEN_AND_CLOSED - np.frombuffer(brackets, dtype=np.int8)
    return bool(np.cumsum(steps, dtype=np.int32).max() > limit)


def any_deeper_than(texts: Sequence[bytes], limit: int) -> bool:
    """Tells whether `deeper_than` tells it of one of the texts; those with few brackets are told together."""
    if not all(texts):
        return any(deeper_than(text, limit) for text in texts)
    starts = list(itertools.accumulate(map(len, texts), initial=0))[:-1]
    characters = np.frombuffer(b"".join(texts), np.uint8)
    opening = np.add.reduceat((characters & ~_CASE) == ord("["), starts, dtype=np.int64) if starts else np.zeros(0)
    return any(deeper_than(texts[number], limit) for number in np.flatnonzero(opening > limit).tolist())


def more_containers_than(text: bytes, limit: int) -> bool:
    """Tells whether the JSON `text` has more than `limit` arrays and objects; of text that is not JSON either way."""
    return len(text) > limit and _may_have_more(text, limit) and _outside_strings(text).count(b"[") > limit


def _may_have_more(text: bytes, limit: int) -> bool:
    return text.count(b"[") + text.count(b"{") > limit


def _outside_strings(text: bytes) -> bytes:
    """Returns the brackets outside of strings, those of objects as those of arrays."""
    if b"\\" in text:
        text = _ESCAPE.sub(b"", text)
    structure = text.translate(_BRACKETS, _NEITHER_BRACKET_NOR_QUOTE)
    # Before a bracket inside a string stands an odd number of quotes, so one is left there when pairs go.
    brackets = structure.replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(structure.split(b'"')[::2])
    return brackets
