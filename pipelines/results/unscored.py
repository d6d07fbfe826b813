"""Says why a run scored nothing, where its inputs are not what the benchmark reads: such a run has no result.

Whether it is so is told by the counts of the summary, on whatever runner it ran. The files are looked at again only
then, to say what they hold.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from metrics.common.text import truncated
from metrics.record_fields import record_fields
from metrics.registry import benchmark_class, benchmark_names
from pipelines.config.first_records import RECORDS_LOOKED_AT, FirstRecords
from pipelines.config.inputs import Inputs
from pipelines.config.systems import predictions_of
from transforms.records import GROUND_TRUTH
from transforms.scored_sample import WITHOUT_FIELDS

NAMES_SHOWN = 8
MAX_NAME_LENGTH = 40
ALIKE = 0.8
"""How alike names are, by difflib, of which one is taken for a slip of the other."""


def why_unscored(document: Mapping[str, Any], inputs: Inputs) -> dict[str, str]:
    """Returns the reason for each system of a summary of which nothing was scored or measured, in a line each.

    Where the ground truth is the reason, it is given once, under the empty name.
    """
    benchmark = inputs.configuration.benchmark
    systems = document["systems"]
    coverages = [system["coverage"] for system in systems.values()]
    reason = _wrong_side(coverages, "ground_truth", GROUND_TRUTH, benchmark.truth_type, "the ground truth", inputs)
    if reason:
        return {"": reason}
    reasons = {}
    for number, name in enumerate(inputs.systems):
        coverage, label = systems[name]["coverage"], f"the {predictions_of(name)}"
        reason = _wrong_side([coverage], "predictions", number, benchmark.prediction_type, label, inputs)
        reason = reason or _no_score(systems[name], number, name, inputs)
        if reason:
            reasons[name] = reason
    return reasons


def _wrong_side(
    coverages: Sequence[Mapping[str, Any]],
    side: str,
    number: int,
    kind: type[msgspec.Struct],
    label: str,
    inputs: Inputs,
) -> str | None:
    """Returns what is wrong with a side of which no record was scored that has any field of the benchmark."""
    settings, name = inputs.configuration.settings, inputs.configuration.benchmark.name
    if not coverages[0][side]["read"]:
        globs = settings.ground_truth if number == GROUND_TRUTH else settings.predictions[inputs.systems[number]]
        return f"{label}: there is no record in {', '.join(globs)}; nothing was scored"
    for coverage in coverages:
        counts = coverage[side]
        if counts["scored"] + counts.get("missing_prediction", 0) > coverage.get(WITHOUT_FIELDS[side], 0):
            return None
    found = _look(inputs, number)
    fields = record_fields(kind)
    if not found.records or found.fields.keys() & fields.keys():
        return None
    has = f"they have {_listed(found.fields)}" if found.fields else "they have a sample_id alone"
    return f"{label}: no record has a field that {name} reads, {_listed(fields)}; {has}{_hint(found, fields, name)}"


def _hint(found: FirstRecords, fields: Iterable[str], name: str) -> str:
    """Returns the field that was meant, or the benchmarks whose fields these are."""
    for each in itertools.islice((each for each in found.fields if len(each) <= MAX_NAME_LENGTH), RECORDS_LOOKED_AT):
        for meant in difflib.get_close_matches(each, list(fields), n=1, cutoff=ALIKE):
            return f" (did you mean {meant}?)"
    kinds = {each: benchmark_class(each) for each in benchmark_names() if each != name}
    others = [
        each
        for each, kind in kinds.items()
        if found.fields.keys() & {*record_fields(kind.truth_type), *record_fields(kind.prediction_type)}
    ]
    return f" (did you mean the benchmark {' or '.join(others)}?)" if others else ""


def _no_score(system: Mapping[str, Any], number: int, name: str, inputs: Inputs) -> str | None:
    """Returns why no sample of a system was scored, or none gave a value."""
    truths, predictions = (system["coverage"][side] for side in ("ground_truth", "predictions"))
    if truths["scored"]:
        measured = any(value is not None for value in system["values"].values())
        return None if measured else f"the {predictions_of(name)}: no metric has a value; see the ground truth"
    if predictions["unmatched"] and not truths["rejected"] and not predictions["rejected"]:
        true, predicted = (_look(inputs, side).sample_id for side in (GROUND_TRUTH, number))
        example = f", which has {_name(true)}, not {_name(predicted)}, for example" if predicted and true else ""
        return f"the {predictions_of(name)}: nothing was scored: no sample_id is in the ground truth{example}"
    counts = [
        f"{counts[status]} {label} records {status.replace('_', ' ')}"
        for label, counts in (("ground-truth", truths), ("prediction", predictions))
        for status in ("rejected", "unmatched")
        if counts.get(status)
    ]
    reason = ", ".join(counts) or "no sample has a prediction"
    return f"the {predictions_of(name)}: nothing was scored: {reason}; see quarantine/"


def _look(inputs: Inputs, side: int) -> FirstRecords:
    """Returns what the first records of a side hold, their sample_id aside."""
    found = inputs.first_records(side)
    found.fields.pop("sample_id", None)
    return found


def _listed(names: Iterable[str]) -> str:
    shown = [_name(name) for name in itertools.islice(names, NAMES_SHOWN + 1)]
    return ", ".join([*shown[:NAMES_SHOWN], *(["..."] if len(shown) > NAMES_SHOWN else [])])


def _name(name: str) -> str:
    """Returns a name of unknown origin on one line, quoted where it is unusual, and truncated where it is long."""
    shown = name if name.isprintable() and name.strip() == name != "" else ascii(name)
    return truncated(shown, MAX_NAME_LENGTH)
