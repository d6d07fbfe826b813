"""What matched what in one figure, for a person who looks into a score."""

from __future__ import annotations

from typing import Any

from .figure import Figure
from .group import Outcome


def describe_matches(figure: Figure, outcome: Outcome, right: set[int]) -> dict[str, Any]:
    """Returns how each region of both sides was matched, by its position in the record.

    `match` is one_to_one, one_to_many, many_to_one, dont_care, dropped (with the reason), unlocated, missed (ground
    truth) or false, reading, unknown_reading, unconfident (prediction); `with` are the positions of the partners.
    """
    return {
        "ground_truth": [_truth(figure, position, outcome, right) for position in range(len(figure.truths))],
        "prediction": _predictions(figure, outcome),
    }


def _truth(figure: Figure, position: int, outcome: Outcome, right: set[int]) -> dict[str, Any]:
    region = figure.truths[position]
    entry: dict[str, Any] = {} if region.id is None else {"id": region.id}
    if region.points is None and region.box is None:
        entry["match"] = "unlocated"
    elif position in outcome.dropped[0]:
        entry.update(match="dropped", reason=outcome.dropped[0][position])
    elif region.ignore:
        entry["match"] = "dont_care"
    elif position in outcome.matched:
        entry["match"], entry["with"] = outcome.matched[position]
    else:
        entry["match"] = "missed"
    if position in outcome.read:
        entry["end_to_end"] = outcome.read[position]
    if position in figure.readings:
        entry.update(reading=figure.readings[position], read_right=position in right)
    return entry


def _predictions(figure: Figure, outcome: Outcome) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"match": "false"} for _ in figure.predictions]
    for kind, positions in (
        ("reading", figure.readings.values()),
        ("unknown_reading", figure.unknown_readings),
        ("unconfident", figure.unconfident),
        ("dont_care", outcome.dont_care),
    ):
        for position in positions:
            entries[position] = {"match": kind}
    for position, reason in outcome.dropped[1].items():
        entries[position] = {"match": "dropped", "reason": reason}
    for position, (kind, others) in outcome.matchers.items():
        entries[position] = {"match": kind, "with": others}
    for position in outcome.read.values():
        entries[position]["end_to_end"] = True
    return entries
