"""Why records were quarantined, by cause, and why a run scored nothing, with a remedy for each.

The counts in the document of a run show whether nothing was scored, on any runner. Only then are the files read again,
to report what they hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ...metrics.common.text import truncated
from ...transforms.records import GROUND_TRUTH, Cause, CauseCount, Quarantined, printable
from ...transforms.scored import WITHOUT_FIELDS
from ..config.settings import predictions_of
from ..inputs.mismatch import RecordSides, no_record, other_ids, other_records
from .numbers import count_of

if TYPE_CHECKING:
    # The Python API on records in memory must work without Beam.
    from .documents import Summary

MAX_ERROR_LENGTH = 300
MAX_PLACE_LENGTH = 200
MAX_ID_LENGTH = 80

DAMAGED_COVERAGE = "the coverage in summary.json is not that of a run"
SCORE_ALL = "to score several predictions of a sample, give each a repeat, and set repeats: true"

REMEDIES: dict[Cause, str] = {
    "unreadable": "fix the record, or leave it out",
    "no_sample_id": "give each record a sample_id, or name its field under fields",
    "no_repeat": "give each prediction a repeat, or name its field under fields",
    "too_large": "write smaller records, or raise the limit under limits",
    "too_deep": "write records of fewer arrays and levels; limits.depth sets the levels",
    "duplicate": "give each record a sample_id of its own",
    "unmatched": "give both sides the same ids, or name their field under fields",
    "invalid": "fix the field, or name the right one under fields; see the page of the benchmark",
    "failed": "look at the sample, or leave it out",
}


class QuarantinedRecord(msgspec.Struct, frozen=True):
    """The place of a quarantined record, and the reason."""

    place: str
    error: str


class QuarantineCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many records were quarantined for the same cause, and the first of them. system: see Quarantined."""

    side: str
    stage: str
    cause: Cause
    records: int
    examples: Annotated[list[QuarantinedRecord], msgspec.Meta(min_length=1)]
    system: str = ""

    def __str__(self) -> str:
        """Returns the cause and its remedy, such as `this is not JSON (p.jsonl:3); fix the record, or ...`."""
        return f"{self.examples[0].error} ({self.examples[0].place}); {REMEDIES[self.cause]}"


def quarantine_causes(causes: Iterable[CauseCount]) -> list[QuarantineCause]:
    """Returns the causes in the form of run.json, in order."""
    return [
        QuarantineCause(
            first.side, first.stage, first.cause, each.count, [_record(entry) for entry in each.examples], first.system
        )
        for each in sorted(causes, key=lambda each: each.order)
        for first in each.examples[:1]
    ]


def _record(entry: Quarantined) -> QuarantinedRecord:
    place = entry.place
    if entry.sample_id is not None:
        place = f"{truncated(entry.sample_id, MAX_ID_LENGTH)} at {place}"
    return QuarantinedRecord(
        truncated(printable(place), MAX_PLACE_LENGTH), truncated(printable(entry.error), MAX_ERROR_LENGTH)
    )


def stored_causes(run: Mapping[str, Any]) -> list[QuarantineCause]:
    """Returns the causes in a run.json; empty for a run of a version that did not write them."""
    try:
        return msgspec.convert(run.get("quarantine", []), list[QuarantineCause])
    except msgspec.ValidationError:
        return []


def most_frequent(
    causes: Sequence[QuarantineCause],
    system: str,
    sides: Collection[str],
    without: Collection[str] = ("duplicate", "unmatched"),
) -> QuarantineCause | None:
    """Returns the cause with the most rejected records of these sides, for a system; the first on ties."""
    of_system = (each for each in causes if each.side in sides and each.system in ("", system))
    candidates = (each for each in of_system if each.cause not in without)
    return max(candidates, key=lambda each: each.records, default=None)


def most_often(cause: QuarantineCause | None) -> str:
    """Returns the end of a line that names the most frequent cause; empty if it is not known."""
    return "" if cause is None else f"; most often: {cause}"


def causes_of(entries: Iterable[Quarantined]) -> list[CauseCount]:
    """Returns the number of quarantined records of each group."""
    by_cause: defaultdict[tuple[str, str, str, str], list[Quarantined]] = defaultdict(list)
    for entry in entries:
        by_cause[entry.group].append(entry)
    return [CauseCount().merge(CauseCount(len(each), tuple(each))) for each in by_cause.values()]


def duplicate_warnings(causes: Iterable[QuarantineCause], repeats: bool, rejected: str = "quarantine/") -> list[str]:
    """Returns a warning for each side of a run with duplicate sample_ids.

    repeats: whether it scores repeats. rejected: what lists all rejected records.
    """
    return [
        f"the {'ground truth' if each.side == 'ground_truth' else predictions_of(each.side)}: "
        f"{count_of(each.records, 'record')} with a duplicate sample_id: "
        f"{', '.join(dict.fromkeys(f'{one.place} ({one.error})' for one in each.examples))}; {rejected} lists all"
        f"{'' if repeats or each.side == 'ground_truth' else f'; {SCORE_ALL}'}"
        for each in causes
        if each.cause == "duplicate"
    ]


def unscored_systems(systems: Mapping[str, Any]) -> dict[str, str]:
    """Returns the systems of a summary of which nothing was scored, each with the reason."""
    reasons = {name: _unscored(system["coverage"], system["values"]) for name, system in systems.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def unscored_of(summary: Summary) -> dict[str, str]:
    """Returns the `unscored_systems` of a stored run; raises KeyError or TypeError if its coverage is damaged."""
    return unscored_systems(
        {name: {"coverage": each.coverage, "values": each.values} for name, each in summary.systems.items()}
    )


def _unscored(coverage: Mapping[str, Any], values: Mapping[str, float | None]) -> str | None:
    if not coverage["ground_truth"]["scored"]:
        return "no readable prediction has a readable ground truth"
    for side, label in (("ground_truth", "ground-truth record"), ("predictions", "prediction")):
        if not _has_fields(coverage, side):
            return f"no {label} has a field of the benchmark"
    if all(value is None for value in values.values()):
        return "no metric has a value; see the ground truth and the predictions"
    return None


def _has_fields(coverage: Mapping[str, Any], side: str) -> bool:
    """Returns whether a side has samples of which a record may have a field of the benchmark."""
    samples = coverage[side]["scored"] + coverage[side].get("missing_prediction", 0)
    return bool(samples > coverage.get(WITHOUT_FIELDS[side], 0))


def why_unscored(
    document: Mapping[str, Any],
    inputs: RecordSides,
    causes: Sequence[QuarantineCause],
    rejected: str = "quarantine/",
) -> dict[str, str]:
    """Returns the reason for each of the `unscored_systems` of a summary, one line each, with what the inputs hold.

    If the ground truth is the reason, it is returned once, under the empty name. causes: why records were quarantined.
    rejected: where rejected records are listed.
    """
    systems = document["systems"]
    unscored = unscored_systems(systems)
    coverages = [system["coverage"] for system in systems.values()]
    if len(unscored) == len(systems) and (reason := _wrong_side(coverages, "ground_truth", GROUND_TRUTH, inputs)):
        return {"": reason}
    return {
        name: _wrong_side([systems[name]["coverage"]], "predictions", number, inputs)
        or _no_score(systems[name], unscored[name], number, name, inputs, causes, rejected)
        for number, name in enumerate(inputs.systems)
        if name in unscored
    }


def _wrong_side(coverages: Sequence[Mapping[str, Any]], side: str, number: int, inputs: RecordSides) -> str | None:
    """Returns what is wrong with a side if none of its scored records has a field of the benchmark, else None."""
    if not coverages[0][side]["read"]:
        return f"the {no_record(inputs, number)}; nothing was scored"
    if any(_has_fields(each, side) for each in coverages):
        return None
    reason = other_records(inputs, number, inputs.first_records(number), certain=True)
    return None if reason is None else f"the {reason}"


def _no_score(
    system: Mapping[str, Any],
    reason: str,
    number: int,
    name: str,
    inputs: RecordSides,
    causes: Sequence[QuarantineCause],
    rejected: str,
) -> str:
    """Returns why nothing of a system was scored; reason: as in `unscored_systems`."""
    truths, predictions = (system["coverage"][side] for side in ("ground_truth", "predictions"))
    if truths["scored"]:
        return f"the {predictions_of(name)}: {reason}"
    if predictions["unmatched"] and not truths["rejected"] and not predictions["rejected"]:
        true, predicted = (inputs.first_records(side).sample_id for side in (GROUND_TRUTH, number))
        return f"the {predictions_of(name)}: nothing was scored: {other_ids(true, predicted)}"
    counts = [
        f"{count_of(counts[status], f'{label} record')} {status}"
        for label, counts in (("ground-truth", truths), ("prediction", predictions))
        for status in ("rejected", "unmatched")
        if counts.get(status)
    ]
    listed = ", ".join(counts) or "no sample has a prediction"
    cause = most_frequent(causes, name, ("ground_truth", name)) or most_frequent(causes, name, (name,), ("duplicate",))
    sides = ((None, GROUND_TRUTH), (name, number))
    hints = (inputs.configuration.fields_of(each).dotted(inputs.first_records(side).fields) for each, side in sides)
    told = f"{listed}{most_often(cause)}{next(filter(None, hints), '')}"
    return f"the {predictions_of(name)}: nothing was scored: {told}; see {rejected}"
