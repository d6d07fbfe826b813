"""What was wrong about the properties of each rule, by the name of the property."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

from ..common.text import truncated
from .rules import Rule

Fault = Literal["different", "absent", "extra"]
OTHER = "(other)"
"""The name under which extra properties are counted that no rule of the sample's ground truth has."""

MAX_NAME_LENGTH = 80
_MAX_VALUE_LENGTH = 200


class WrongProperty(msgspec.Struct, frozen=True, gc=False):
    """One property that a paired prediction got wrong.

    fault: `different` where both sides have it with other values, `absent` where only the true rule has it,
    `extra` where only the predicted rule has it.
    """

    name: str
    fault: Fault
    true: str | None
    predicted: str | None


def wrong_properties(true: Rule, predicted: Rule) -> list[WrongProperty]:
    """Returns what sets the two rules apart: the true rule's properties by name, then the extra ones."""
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
    if predicted.values.keys() <= true.values.keys():
        return wrong
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
    counts: dict[str, int] = {}
    known: set[str] = set()
    for rule in true:
        known.update(rule.values)
    for rule, wrong in zip(true, faults, strict=True):
        _count(counts, _TRUE, rule.values)
        if wrong is None:
            continue
        if not wrong:
            _count(counts, _RIGHT, rule.values)
            continue
        bad = {fault.name for fault in wrong}
        _count(counts, _RIGHT, [name for name in rule.values if name not in bad])
        for fault in wrong:
            _count(counts, _FAULTS[fault.fault], [fault.name if fault.name in known else OTHER])
    return counts


class _Statistics:
    """The names of the statistics of one kind, made once for each property."""

    def __init__(self, kind: str) -> None:
        self.of = lru_cache(maxsize=1024)(self._of)
        self._kind = kind

    def _of(self, name: str) -> str:
        return f"property_{self._kind}[{truncated(name, MAX_NAME_LENGTH)}]"


_TRUE, _RIGHT = _Statistics("true"), _Statistics("right")
_FAULTS: dict[Fault, _Statistics] = {fault: _Statistics(fault) for fault in get_args(Fault)}


def _count(counts: dict[str, int], statistics: _Statistics, names: Iterable[str]) -> None:
    for statistic in map(statistics.of, names):
        counts[statistic] = counts.get(statistic, 0) + 1


def _text(value: Any) -> str:
    """Returns the JSON text of a value, cut where it is long."""
    text = msgspec.json.encode(value, order="sorted").decode()
    return truncated(text, _MAX_VALUE_LENGTH)
