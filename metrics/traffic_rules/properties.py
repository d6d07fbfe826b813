"""What was wrong about the properties of each rule, by the name of the property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from metrics.common.text import truncated
from metrics.traffic_rules.rules import Rule

Fault = Literal["different", "absent", "extra"]
OTHER = "(other)"
"""The name under which extra properties are counted that no rule of the sample's ground truth has."""

MAX_NAME_LENGTH = 80
_MAX_VALUE_LENGTH = 200


@dataclass(frozen=True, slots=True)
class WrongProperty:
    """One property that a paired prediction got wrong.

    fault: `different` where both sides have it with other values, `absent` where only the true rule has it,
    `extra` where only the predicted rule has it.
    """

    name: str
    fault: Fault
    true: str | None
    predicted: str | None


def wrong_properties(true: Rule, predicted: Rule) -> list[WrongProperty]:
    """Returns what sets the two rules apart: the true rule's properties in its order, then the extra ones."""
    if true.distinct == predicted.distinct:
        return []
    wrong = [
        WrongProperty(
            name,
            "different" if name in predicted.values else "absent",
            _text(true.values[name]),
            _text(predicted.values[name]) if name in predicted.values else None,
        )
        for name, number in true.properties.items()
        if predicted.properties.get(name) != number
    ]
    extra = [name for name in predicted.values if name not in true.values]
    return wrong + [WrongProperty(name, "extra", None, _text(predicted.values[name])) for name in extra]


def property_statistics(true: Sequence[Rule], faults: Sequence[Sequence[WrongProperty] | None]) -> dict[str, int]:
    """Returns the statistics of a sample's properties, by kind and name.

    faults: for each true rule what its paired prediction got wrong, or None where it is paired with none.

    property_true[NAME] counts the true rules that have the property, property_right[NAME] those of them whose
    paired prediction has an equal value; the rest are property_different[NAME], property_absent[NAME] or, where
    the rule is paired with none, in neither. property_extra[NAME] counts predictions that have the property where
    their true rule does not; names that no true rule of the sample has are all one, "(other)".
    """
    counts: Counter[str] = Counter()
    known = {name for rule in true for name in rule.values}
    for rule, wrong in zip(true, faults, strict=True):
        counts.update(_statistic("true", name) for name in rule.values)
        if wrong is None:
            continue
        bad = {fault.name for fault in wrong}
        counts.update(_statistic("right", name) for name in rule.values if name not in bad)
        counts.update(_statistic(fault.fault, fault.name if fault.name in known else OTHER) for fault in wrong)
    return dict(counts)


def _statistic(kind: str, name: str) -> str:
    return f"property_{kind}[{truncated(name, MAX_NAME_LENGTH)}]"


def _text(value: Any) -> str:
    """Returns the JSON text of a value, cut where it is long."""
    text = msgspec.json.encode(value).decode()
    return truncated(text, _MAX_VALUE_LENGTH)
