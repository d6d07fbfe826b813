"""Limits on the size of a record, which no real sign reaches; they are checked before any expensive work."""

from __future__ import annotations

from collections.abc import Sequence

from ..benchmark import RejectedRecord, Side
from .records import PredictedRule, TrueRule

MAX_RULES = 500
MAX_PROPERTIES = 64
MAX_EDGES = 10_000
MAX_DEPTH = 16
MAX_VALUES = 1000
CHARACTERS_PER_STEP = 1000


def reading_steps(rules: Sequence[TrueRule | PredictedRule], side: Side) -> int:
    """Returns the steps of reading the rules of one side, one for each centerline that they name.

    Raises RejectedRecord if there are more than 500 rules or more than 10,000 centerlines.
    """
    if len(rules) > MAX_RULES:
        raise RejectedRecord(side, f"rules: there are {len(rules)}, and at most {MAX_RULES} are scored")
    edges = sum(len(rule.centerlines or ()) for rule in rules)
    if edges > MAX_EDGES:
        raise RejectedRecord(side, f"rules: they name {edges} centerlines, and at most {MAX_EDGES} are scored")
    return edges
