"""Rewritten text that still knows where in its source it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TracedText:
    """A text made of pieces of a source.

    starts: where each piece begins in `text`, rising, the first at 0.
    origins: where the first character of each piece is in the source.
    """

    text: str
    starts: Sequence[int]
    origins: Sequence[int]

    def origin(self, offset: int) -> int:
        """Returns where in the source the character at `offset` of the text came from; 0 for an empty text."""
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece] if piece >= 0 else 0


class Tracer:
    """Builds a traced text, piece after piece."""

    __slots__ = ("_expected", "_origins", "_parts", "_starts", "length")

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._expected = -1

    def append(self, text: str, origin: int) -> None:
        """Adds `text`, whose first character is at `origin` in the source."""
        if not text:
            return
        if origin != self._expected:
            self._starts.append(self.length)
            self._origins.append(origin)
        self._parts.append(text)
        self.length += len(text)
        self._expected = origin + len(text)

    def finished(self) -> TracedText:
        """Returns all that was added."""
        return TracedText("".join(self._parts), self._starts, self._origins)
