"""What scoring one line may cost: by its length here, and by a running count where molecules are searched."""

from __future__ import annotations

from collections.abc import Sized

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget

STEPS_OF_READING = 8
"""What reading a character and bringing it into one form costs, however the line is written."""
EDITS_IN_A_STEP = 5_000
"""Pairs of characters or tokens that one step of the edit distance compares; it takes 64 of them at once."""


def check_length(side: Side, text: str, max_characters: int) -> None:
    """Raises RejectedRecord where a line is too long."""
    if len(text) > max_characters:
        raise RejectedRecord(side, f"text has {len(text)} characters, above max_characters={max_characters}")


def charge_reading(text: str, budget: Budget) -> None:
    """Charges all that is linear in the length of a line: to take it apart, draw it and make it comparable."""
    budget.spend(STEPS_OF_READING * len(text))


def charge_edits(label: Sized, predicted: Sized, budget: Budget) -> None:
    """Charges the edit distance of two sequences of tokens."""
    budget.spend(2 * (len(label) + len(predicted)) + len(label) * len(predicted) // EDITS_IN_A_STEP)
