"""Rules as they are compared: read from a record, checked, and cut down to what counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from ..common.text import normalized
from .limits import CHARACTERS_PER_STEP, MAX_DEPTH, MAX_PROPERTIES, MAX_VALUES, check_sizes
from .records import GroundTruth, PredictedRule, Prediction, TrueRule

_MAX_SHOWN = 60


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One rule of either side.

    name: the id of a true rule; of a predicted rule, the id that it matches, or None.
    properties: the number of every property that counts, by its name; see `Sample`.
    distinct: the numbers alone; two rules are equal where these are.
    values: the same properties as the record has them, in order of their names.
    centerlines: each once for a true rule; as often as it was given for a predicted one.
    """

    name: str | None
    properties: dict[str, int]
    distinct: frozenset[int]
    values: dict[str, Any]
    centerlines: list[str]


class Sample:
    """What the two sides of one sample share: the numbers of their properties, their names, and the budget.

    Equal properties have one number and equal names are one object, so that long texts are compared once here, and
    never again for each pair of rules or each edge.
    """

    def __init__(self, budget: Budget, ignored: Collection[str] = ()) -> None:
        self.budget = budget
        self.ignored = frozenset(map(normalized, ignored))
        self._numbers: dict[tuple[str, str], int] = {}
        self._names: dict[str, str] = {}

    def numbered(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Returns the number of each property: the same one for equal properties of either side.

        Raises NotComparable if there are more than 64, or a value has no canonical form.
        """
        if len(values) > MAX_PROPERTIES:
            raise NotComparable(f"there are {len(values)}, and at most {MAX_PROPERTIES} are scored")
        properties: dict[str, int] = {}
        for name, value in values.items():
            try:
                key = (name, canonical(value, self.budget.spend))
            except NotComparable as error:
                raise NotComparable(f"{_shown(name)} cannot be compared: {error}") from error
            properties[name] = self._numbers.setdefault(key, len(self._numbers))
        return properties

    def name(self, name: str | int) -> str:
        """Returns the text of the name of a rule or a centerline, the same object for the same name."""
        text = normalized(str(name))
        return self._names.setdefault(text, text)


def true_rules(truth: GroundTruth, sample: Sample) -> list[Rule]:
    """Returns the rules of the ground truth, in order, without the ignored properties.

    Raises RejectedRecord if an id is duplicated, or where the record is beyond the limits.
    """
    rules = _rules(truth.rules, sample, "ground_truth")
    duplicated = [name for name, number in Counter(rule.name for rule in rules).items() if number > 1]
    if duplicated:
        raise RejectedRecord(
            "ground_truth", f"rules: the id {_shown(duplicated[0])} is duplicated; give every rule an id of its own"
        )
    return [msgspec.structs.replace(rule, centerlines=list(dict.fromkeys(rule.centerlines))) for rule in rules]


def predicted_rules(prediction: Prediction | None, sample: Sample) -> list[Rule]:
    """Returns the predicted rules, in order, without the ignored properties; none if nothing was predicted.

    Raises RejectedRecord if the record is beyond the limits.
    """
    return _rules((prediction.rules if prediction else None) or [], sample, "prediction")


def _rules(rules: Sequence[TrueRule | PredictedRule], sample: Sample, side: Side) -> list[Rule]:
    read = []
    with sample.budget.reading(side):
        sample.budget.spend(check_sizes(rules, side))
        for number, rule in enumerate(rules):
            values = _counted(rule.properties or {}, sample.ignored)
            try:
                properties = sample.numbered(values)
            except NotComparable as error:
                raise RejectedRecord(side, f"rules[{number}].properties: {error}") from error
            lines = [sample.name(line) for line in rule.centerlines or ()]
            name = rule.id if isinstance(rule, TrueRule) else rule.matches
            named = None if name is None else sample.name(name)
            read.append(Rule(named, properties, frozenset(properties.values()), values, lines))
    return read


def _counted(values: Mapping[str, Any], ignored: Collection[str]) -> dict[str, Any]:
    """Returns the properties that count, in order of their names: those with a value that are not ignored, in NFC.

    Records that differ in the order of their keys are the same.
    """
    named = {normalized(name): values[name] for name in sorted(values)}
    return {name: value for name, value in named.items() if value is not None and name not in ignored}


def _shown(text: str | None) -> str:
    return repr(text if text is None or len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


class NotComparable(Exception):
    """Properties or a value that cannot be compared; the message says why."""


def canonical(value: Any, spend: Callable[[int], None]) -> str:
    """Returns the canonical text of a JSON value; two texts are equal exactly where the values are.

    Numbers are equal by magnitude (1 and 1.0 are one number), booleans are not numbers (true is not 1), text
    is compared in NFC, code point by code point. A list is a set: order and repetition do not count, also of lists
    within lists. An object is a set of named values, of which a null one is as good as absent, since Parquet writes the
    two alike. Not-a-number, which only binary formats can hold, equals itself.

    It is text since Python's hash of text cannot be foreseen: integers with one hash can be written down by the
    thousand, and make every set of them as slow as a list.

    spend: is told of the work in steps, one for each value and each 1,000 characters of text, before it is done.

    Raises NotComparable if the value nests more than 16 deep, holds more than 1,000 values, or is not JSON.
    """
    return _canonical(value, MAX_DEPTH, spend, [MAX_VALUES])


def _canonical(value: Any, depth: int, spend: Callable[[int], None], left: list[int]) -> str:
    """Returns a text that says where it ends, so that a sequence of them can be read in one way only.

    left: holds how many more values there may be.
    """
    if isinstance(value, str):
        spend(1 + len(value) // CHARACTERS_PER_STEP)
        value = normalized(value)
        return f"s{len(value)}:{value}"
    spend(1)
    if value is None:
        return "0"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, (int, float)):
        return _number(value)
    if not depth:
        raise NotComparable(f"it nests more than {MAX_DEPTH} deep")
    if not isinstance(value, (list, dict)):
        raise NotComparable(f"{type(value).__name__} is not a type of JSON")
    left[0] -= len(value)
    if left[0] < 0:
        raise NotComparable(f"it holds more than {MAX_VALUES} values")
    if isinstance(value, list):
        return f"[{''.join(sorted({_canonical(item, depth - 1, spend, left) for item in value}))}]"
    members = [
        _canonical(name, 0, spend, left) + _canonical(item, depth - 1, spend, left)
        for name, item in value.items()
        if item is not None
    ]
    return f"{{{''.join(sorted(members))}}}"


def _number(value: int | float) -> str:
    """Returns a number's text, hexadecimal: exact for a float, and of linear cost for a long integer."""
    if isinstance(value, float):
        if math.isnan(value):
            return "nan;"
        if not value.is_integer():
            return f"{value.hex()};"
    return f"i{int(value):x};"
