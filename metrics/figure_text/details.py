"""What matched what in one figure, for a person who looks into a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metrics.figure_text.deteval import Matching
from metrics.figure_text.figure import Figure
from metrics.figure_text.overlaps import Overlaps
from metrics.figure_text.spotting import PairList

Partners = dict[int, tuple[str, list[int]]]


def describe_matches(
    figure: Figure, overlaps: Overlaps, matching: Matching, spotted: PairList, right: set[int]
) -> dict[str, Any]:
    """Returns how each region of both sides was matched, by its position in the record.

    `match` is one_to_one, one_to_many, many_to_one, dont_care, dropped (with the reason), unlocated, missed (ground
    truth) or false, reading, unknown_reading, unconfident (prediction); `with` are the positions of the partners.
    """
    truths, detections = overlaps.truths.positions.tolist(), overlaps.detections.positions.tolist()
    found, finders = _partners(overlaps, matching, truths, detections)
    read = {truths[row]: detections[column] for row, column in spotted}
    covered = {detections[column] for column in matching.covered.nonzero()[0].tolist()}
    return {
        "ground_truth": [
            _truth(figure, position, overlaps.truths.dropped, found, read, right)
            for position in range(len(figure.truths))
        ],
        "prediction": _predictions(figure, overlaps.detections.dropped, covered, finders, set(read.values())),
    }


def _partners(
    overlaps: Overlaps, matching: Matching, truths: list[int], detections: list[int]
) -> tuple[Partners, Partners]:
    """Returns how and with which partners the matched regions of both sides were matched, by position."""
    found: Partners = {}
    finders: Partners = {}
    pairs = [
        ((row,), (column,))
        for row, column in zip(
            overlaps.rows[matching.pairs].tolist(), overlaps.columns[matching.pairs].tolist(), strict=True
        )
    ]
    for rows, columns in (*pairs, *((group.truths, group.detections) for group in matching.groups)):
        kind = _kind(len(rows), len(columns))
        for row in rows:
            found[truths[row]] = (kind, [detections[column] for column in columns])
        for column in columns:
            finders[detections[column]] = (kind, [truths[row] for row in rows])
    return found, finders


def _kind(truths: int, detections: int) -> str:
    if truths == detections:
        return "one_to_one"
    return "one_to_many" if truths == 1 else "many_to_one"


def _truth(
    figure: Figure, position: int, dropped: Mapping[int, str], found: Partners, read: Mapping[int, int], right: set[int]
) -> dict[str, Any]:
    region = figure.truths[position]
    entry: dict[str, Any] = {}
    if region.id is not None:
        entry["id"] = region.id
    if region.points is None and region.box is None:
        entry["match"] = "unlocated"
    elif position in dropped:
        entry.update(match="dropped", reason=dropped[position])
    elif region.ignore:
        entry["match"] = "dont_care"
    elif position in found:
        entry["match"], entry["with"] = found[position]
    else:
        entry["match"] = "missed"
    if position in read:
        entry["end_to_end"] = read[position]
    if position in figure.readings:
        entry.update(reading=figure.readings[position], read_right=position in right)
    return entry


def _predictions(
    figure: Figure, dropped: Mapping[int, str], covered: set[int], finders: Partners, right: set[int]
) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = [{"match": "false"} for _ in figure.predictions]
    for kind, positions in (
        ("reading", figure.readings.values()),
        ("unknown_reading", figure.unknown_readings),
        ("unconfident", figure.unconfident),
        ("dont_care", covered),
        ("dropped", dropped),
    ):
        for position in positions:
            entries[position] = {"match": kind}
    for position, reason in dropped.items():
        entries[position]["reason"] = reason
    for position, (kind, others) in finders.items():
        entries[position] = {"match": kind, "with": others}
    for position in right:
        entries[position]["end_to_end"] = True
    return entries
