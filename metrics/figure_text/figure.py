"""Classifies the regions of one figure: which predicted regions are readings of a word and which are detections."""

from __future__ import annotations

import math

import msgspec

from ..benchmark import RejectedRecord
from ..common.text import truncated
from .records import FigurePrediction, FigureTruth, PredictedRegion, TruthRegion

MAX_SUBSETS = 50


class Figure(msgspec.Struct, frozen=True):
    """The regions of both sides, by their positions in the records.

    located: the ground-truth regions that have a location.
    detections: the predicted regions that are compared by location.
    readings: by ground-truth region, the predicted region that reads it.
    unknown_readings: predicted regions without a location whose id names no ground-truth region.
    unconfident: detections left out because their confidence is below `min_confidence`.
    """

    truths: list[TruthRegion]
    predictions: list[PredictedRegion]
    located: list[int]
    detections: list[int]
    readings: dict[int, int]
    unknown_readings: list[int]
    unconfident: list[int]


def classify_regions(truth: FigureTruth, prediction: FigurePrediction | None, min_confidence: float | None) -> Figure:
    """Returns the figure that two records describe.

    Raises RejectedRecord if a region has neither a location nor an id, two ground-truth regions have the same id, a
    word has two readings, or a confidence is not a finite number.
    """
    truths = truth.regions or []
    predictions = (prediction.regions if prediction else None) or []
    by_id = _by_id(truths)
    figure = Figure(truths, predictions, _located(truths), [], {}, [], [])
    for position, region in enumerate(predictions):
        if region.confidence is not None and not math.isfinite(region.confidence):
            raise RejectedRecord("prediction", f"regions[{position}].confidence is not a finite number")
        read = None if region.id is None else by_id.get(str(region.id))
        if read is not None:
            if read in figure.readings:
                raise RejectedRecord(
                    "prediction",
                    f"regions[{figure.readings[read]}] and regions[{position}] both have the id {_shown(region.id)}: "
                    "a word has one reading",
                )
            figure.readings[read] = position
        elif region.points is None and region.box is None:
            if region.id is None:
                raise RejectedRecord(
                    "prediction",
                    f"regions[{position}] needs `points` or a `box`, or the `id` of the word that it reads",
                )
            figure.unknown_readings.append(position)
        elif min_confidence is not None and region.confidence is not None and region.confidence < min_confidence:
            figure.unconfident.append(position)
        else:
            figure.detections.append(position)
    return figure


def _located(truths: list[TruthRegion]) -> list[int]:
    located = []
    for position, region in enumerate(truths):
        if region.points is not None or region.box is not None:
            located.append(position)
        elif region.id is None:
            raise RejectedRecord(
                "ground_truth", f"regions[{position}] needs `points` or a `box`, or an `id` by which its text is read"
            )
    return located


def _by_id(truths: list[TruthRegion]) -> dict[str, int]:
    by_id: dict[str, int] = {}
    for position, region in enumerate(truths):
        if region.id is not None and by_id.setdefault(str(region.id), position) != position:
            raise RejectedRecord(
                "ground_truth",
                f"regions[{by_id[str(region.id)]}] and regions[{position}] both have the id {_shown(region.id)}",
            )
    return by_id


def _shown(identifier: str | int | None) -> str:
    return truncated(repr(str(identifier)), 40)


def subsets(truths: list[TruthRegion]) -> dict[str, list[int]]:
    """Returns the positions of the regions of each subset, such as `difficulty=small`, `orientation=oriented`,
    `important=true`, sorted by name. Don't-care regions are in no subset; an empty `difficulty` means "normal".

    Raises RejectedRecord above 50 subsets.
    """
    members: dict[str, list[int]] = {}
    for position, region in enumerate(truths):
        if region.ignore:
            continue
        labels = (region.difficulty,) if isinstance(region.difficulty, str) else region.difficulty
        for label in () if labels is None else set(labels) or ("normal",):
            members.setdefault(f"difficulty={label}", []).append(position)
        if region.orientation is not None:
            members.setdefault(f"orientation={region.orientation}", []).append(position)
        if region.important is not None:
            members.setdefault("important=true" if region.important else "important=false", []).append(position)
        if len(members) > MAX_SUBSETS:
            raise RejectedRecord("ground_truth", f"the regions have more than {MAX_SUBSETS} different labels")
    return dict(sorted(members.items()))
