"""Rules in comparable form: read from a record, validated, and reduced to the properties that count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from ..common.text import normalized, truncated
from .limits import CHARACTERS_PER_STEP, MAX_DEPTH, MAX_PROPERTIES, MAX_VALUES, reading_steps
from .records import PredictedRule, TrafficRulesPrediction, TrafficRulesTruth, TrueRule

_MAX_SHOWN = 60


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One rule of either side.

    name: the id of a true rule; of a predicted rule, the id that it matches, or None.
    properties: the number of every property that counts, by its name; see `PropertyNumbers`.
    distinct: only the numbers; two rules are equal if these sets are.
    values: the values of the same properties in the record, in order of their names.
    centerlines: without duplicates for a true rule; as in the record for a predicted one.
    """

    name: str | None
    properties: dict[str, int]
    distinct: frozenset[int]
    values: dict[str, Any]
    centerlines: list[str]


class PropertyNumbers:
    """What the two sides of one sample share: the numbers of their properties, their names, and the budget.

    Equal properties have the same number and equal names are the same object, so that long texts are compared once
    here, and not again for each pair of rules or each edge.
    """

    def __init__(self, budget: Budget, ignored: Collection[str]) -> None:
        self.budget = budget
        self.ignored = frozenset(map(normalized, ignored))
        self._numbers: dict[tuple[str, str], int] = {}
        self._names: dict[str, str] = {}

    def numbered(self, values: Mapping[str, Any]) -> dict[str, int]:
        """Returns the number of each property by name; equal properties of either side have the same number.

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
        """Returns the name of a rule or a centerline as text in NFC; equal names are the same object."""
        text = normalized(str(name))
        return self._names.setdefault(text, text)


def true_rules(truth: TrafficRulesTruth, numbers: PropertyNumbers) -> list[Rule]:
    """Returns the rules of the ground truth, in order, without the ignored properties.

    Raises RejectedRecord if an id is duplicated, a rule has no properties, though they may be empty, or the record
    exceeds the limits.
    """
    for number, rule in enumerate(truth.rules):
        # Rules without properties are equal, so that an unknown name of this field would make predictions right.
        if rule.properties is None:
            raise RejectedRecord("ground_truth", f"rules[{number}] has no `properties`")
    rules = _rules(truth.rules, numbers, "ground_truth")
    duplicated = [name for name, number in Counter(numbers.name(rule.id) for rule in truth.rules).items() if number > 1]
    if duplicated:
        raise RejectedRecord(
            "ground_truth", f"rules: the id {_shown(duplicated[0])} is duplicated; give every rule an id of its own"
        )
    return [msgspec.structs.replace(rule, centerlines=list(dict.fromkeys(rule.centerlines))) for rule in rules]


def predicted_rules(prediction: TrafficRulesPrediction | None, numbers: PropertyNumbers) -> list[Rule]:
    """Returns the predicted rules, in order, without the ignored properties; [] if nothing was predicted.

    Raises RejectedRecord if the record exceeds the limits.
    """
    return _rules((prediction.rules if prediction else None) or [], numbers, "prediction")


def _rules(rules: Sequence[TrueRule | PredictedRule], numbers: PropertyNumbers, side: Side) -> list[Rule]:
    read = []
    with numbers.budget.reading(side):
        numbers.budget.spend(reading_steps(rules, side))
        for number, rule in enumerate(rules):
            try:
                values = _counted(rule.properties or {}, numbers.ignored)
                properties = numbers.numbered(values)
            except NotComparable as error:
                raise RejectedRecord(side, f"rules[{number}].properties: {error}") from error
            lines = [numbers.name(line) for line in rule.centerlines or ()]
            name = rule.id if isinstance(rule, TrueRule) else rule.matches
            named = None if name is None else numbers.name(name)
            read.append(Rule(named, properties, frozenset(properties.values()), values, lines))
    return read


def _counted(values: Mapping[str, Any], ignored: Collection[str]) -> dict[str, Any]:
    """Returns the properties that count, in order of their names: those with a value that are not ignored, in NFC.

    The order of the keys in the record does not matter.

    Raises NotComparable if two names are equal.
    """
    counted: dict[str, Any] = {}
    for key in sorted(values):
        name = normalized(key)
        if name in ignored:
            continue
        if name in counted:
            raise NotComparable(f"{_shown(name)} occurs twice, in two forms of Unicode")
        counted[name] = values[key]
    return counted


def _shown(text: str) -> str:
    return repr(truncated(text, _MAX_SHOWN))


class NotComparable(Exception):
    """Raised if properties or a value cannot be compared; the message says why."""


def canonical(value: Any, spend: Callable[[int], None]) -> str:
    """Returns the canonical text of a JSON value; two texts are equal if and only if the values are.

    Numbers are compared by value (1 equals 1.0), booleans are not numbers (true is not 1), text is compared in NFC,
    code point by code point. Lists are compared as sets: order and duplicates are ignored, in nested lists, too.
    Objects are compared by name; a null member equals an absent one, since Parquet writes the two alike.
    NaN, which only binary formats can hold, equals itself.

    The form is text because Python randomizes the hashes of text: thousands of integers with the same hash are easy
    to construct, and make any set of them as slow as a list.

    spend: called before the work with its steps, one for each value and for each 1,000 characters of text.

    Raises NotComparable if the value nests more than 16 deep, holds more than 1,000 values, or is not JSON.
    """
    return _canonical(value, MAX_DEPTH, spend, [MAX_VALUES])


def _canonical(value: Any, depth: int, spend: Callable[[int], None], left: list[int]) -> str:
    """Returns a self-delimiting text, so that the concatenation of several is unambiguous.

    left: a list of one item, the number of values that are still allowed.
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
    """Returns the text of a number in hexadecimal: exact for a float, and linear in time for a long integer."""
    if isinstance(value, float):
        if math.isnan(value):
            return "nan;"
        if not value.is_integer():
            return f"{value.hex()};"
    return f"i{int(value):x};"
