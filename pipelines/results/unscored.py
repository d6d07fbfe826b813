"""Says why a run gave nothing, where its inputs are not what the benchmark reads: such a run has no result.

Whether it is so is told by the counts of its document, on whatever runner it ran. The files are looked at again only
then, to say what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...transforms.records import GROUND_TRUTH
from ...transforms.scored_sample import WITHOUT_FIELDS
from ..config.mismatch import Inputs, no_record, other_ids, other_records
from ..config.systems import predictions_of
from .causes import QuarantineCause, most_frequent, most_often


def why_unscored(
    document: Mapping[str, Any],
    inputs: Inputs,
    causes: Sequence[QuarantineCause] = (),
    rejected: str = "quarantine/",
) -> dict[str, str]:
    """Returns the reason for each system of a summary of which nothing was scored or measured, in a line each.

    Where the ground truth is the reason, it is given once, under the empty name. causes: why records were quarantined.
    rejected: where what was rejected is listed.
    """
    systems = document["systems"]
    coverages = [system["coverage"] for system in systems.values()]
    reason = _wrong_side(coverages, "ground_truth", GROUND_TRUTH, inputs)
    if reason:
        return {"": reason}
    reasons = {}
    for number, name in enumerate(inputs.systems):
        reason = _wrong_side([systems[name]["coverage"]], "predictions", number, inputs)
        reason = reason or _no_score(systems[name], number, name, inputs, causes, rejected)
        if reason:
            reasons[name] = reason
    return reasons


def why_undescribed(document: Mapping[str, Any], inputs: Inputs) -> str | None:
    """Returns why a description is empty, in a line; None where a record has something to describe."""
    read = document["samples"] + document["rejected"] + document["duplicates"]
    if not read:
        return f"the {no_record(inputs, GROUND_TRUTH)}; nothing was described"
    if document["samples"] > document.get(WITHOUT_FIELDS["ground_truth"], 0):
        return None
    return _other_records(inputs, GROUND_TRUTH)


def _wrong_side(coverages: Sequence[Mapping[str, Any]], side: str, number: int, inputs: Inputs) -> str | None:
    """Returns what is wrong with a side of which no record was scored that has any field of the benchmark."""
    if not coverages[0][side]["read"]:
        return f"the {no_record(inputs, number)}; nothing was scored"
    for coverage in coverages:
        counts = coverage[side]
        if counts["scored"] + counts.get("missing_prediction", 0) > coverage.get(WITHOUT_FIELDS[side], 0):
            return None
    return _other_records(inputs, number)


def _other_records(inputs: Inputs, side: int) -> str | None:
    reason = other_records(inputs, side, inputs.first_records(side), certain=True)
    return None if reason is None else f"the {reason}"


def _no_score(
    system: Mapping[str, Any],
    number: int,
    name: str,
    inputs: Inputs,
    causes: Sequence[QuarantineCause],
    rejected: str,
) -> str | None:
    """Returns why no sample of a system was scored, or none gave a value."""
    truths, predictions = (system["coverage"][side] for side in ("ground_truth", "predictions"))
    if truths["scored"]:
        measured = any(value is not None for value in system["values"].values())
        return None if measured else f"the {predictions_of(name)}: no metric has a value; see the ground truth"
    if predictions["unmatched"] and not truths["rejected"] and not predictions["rejected"]:
        true, predicted = (inputs.first_records(side).sample_id for side in (GROUND_TRUTH, number))
        return f"the {predictions_of(name)}: nothing was scored: {other_ids(true, predicted)}"
    counts = [
        f"{counts[status]} {label} records {status.replace('_', ' ')}"
        for label, counts in (("ground-truth", truths), ("prediction", predictions))
        for status in ("rejected", "unmatched")
        if counts.get(status)
    ]
    reason = ", ".join(counts) or "no sample has a prediction"
    cause = most_frequent(causes, ("ground_truth", name)) or most_frequent(causes, (name,), without=("duplicate",))
    return f"the {predictions_of(name)}: nothing was scored: {reason}{most_often(cause)}; see {rejected}"
