"""Limits the cost of scoring one line: a maximum length, and the factors by which a Budget counts steps."""

from __future__ import annotations

from ..benchmark import RejectedRecord, Side

STEPS_PER_CHARACTER = 8
"""The steps per character to split, draw and normalize a line, in either notation."""
EDITS_PER_STEP = 5_000
"""Pairs of characters or tokens that the edit distance compares in one step; it processes 64 of them at once."""


def check_length(side: Side, text: str, max_characters: int) -> None:
    """Raises RejectedRecord if `text` has more than `max_characters` characters."""
    if len(text) > max_characters:
        raise RejectedRecord(side, f"text has {len(text)} characters, above max_characters={max_characters}")
