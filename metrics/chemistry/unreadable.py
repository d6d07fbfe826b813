"""The error of both readers."""

from __future__ import annotations


class UnreadableMolecule(Exception):
    """A `\\chemfig` region that cannot be read: where in the region's text, and what was expected there."""

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(offset, expected)
        self.offset = offset
        self.expected = expected

    def __str__(self) -> str:
        return f"at character {self.offset}: expected {self.expected}"
