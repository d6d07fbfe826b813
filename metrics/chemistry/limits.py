"""What scoring one line may cost: by its length here, and by a running count where molecules are searched."""

from __future__ import annotations

from ..benchmark import RejectedRecord, Side

STEPS_OF_READING = 8
"""What it costs to take a character of a line apart, draw it and bring it into one form, however it is written."""
EDITS_IN_A_STEP = 5_000
"""Pairs of characters or tokens that one step of the edit distance compares; it takes 64 of them at once."""


def check_length(side: Side, text: str, max_characters: int) -> None:
    """Raises RejectedRecord if a line is too long."""
    if len(text) > max_characters:
        raise RejectedRecord(side, f"text has {len(text)} characters, above max_characters={max_characters}")
