"""Rules as they are compared: read from a record, checked, and cut down to what counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

import msgspec

from ..benchmark import RejectedRecord, Side
from ..common.budget import Budget
from ..common.text import normalized
from .canonical import CHARACTERS_PER_STEP, MAX_VALUES, NotComparable, canonical
from .records import GroundTruth, PredictedRule, Prediction, TrueRule

MAX_RULES = 500
MAX_PROPERTIES = 64
MAX_EDGES = 10_000

# Numbers up to here, and lists of so many different texts at most, are compared as they are.
MAX_SIMPLE = 1 << 53
MAX_SIMPLE_LIST = 8

_SHOWN = 60


class Rule(msgspec.Struct, frozen=True, gc=False):
    """One rule of either side.

    name: the id of a true rule; of a predicted rule, the id that it matches, or None.
    properties: the number of every property that counts, by its name; see `Sample`.
    distinct: the numbers alone; two rules are equal where these are.
    values: the same properties as the record has them, by name.
    centerlines: each once for a true rule; as often as it was given for a predicted one.
    """

    name: str | None
    properties: dict[str, int]
    distinct: frozenset[int]
    values: dict[str, Any]
    centerlines: list[str]


class _Values(dict[Hashable, int]):
    """The numbers of the values of one property; a new value takes the next number of all properties."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Iterator[int]) -> None:
        super().__init__()
        self._numbers = numbers

    def __missing__(self, value: Hashable) -> int:
        compared = _in_nfc(value)
        number = self[value] = next(self._numbers) if compared == value else self[compared]
        return number


def _in_nfc(value: Hashable) -> Hashable:
    """Returns a text, or a set of texts, in the form in which texts are compared; anything else as it is."""
    if isinstance(value, str):
        return normalized(value)
    if isinstance(value, frozenset):
        return frozenset(map(_in_nfc, value))
    return value


class Numbers(dict[str, _Values]):
    """The numbers of properties by name and value, shared by the samples of a batch: equal ones have one number."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    def __missing__(self, name: str) -> _Values:
        values = self[name] = _Values(self._numbers)
        return values


class Sample:
    """What the two sides of one sample share: the numbers of their properties, their names, and the budget.

    Long texts are compared once here, and never again for each pair of rules or each edge.
    """

    def __init__(self, budget: Budget, ignored: Collection[str] = (), numbers: Numbers | None = None) -> None:
        self.budget = budget
        self.ignored = frozenset(map(normalized, ignored))
        self.numbers = Numbers() if numbers is None else numbers
        self._names: dict[str, str] = {}

    def number(self, name: str, value: Any) -> int:
        """Returns the number of a property: the same one for equal properties of either side.

        Raises NotComparable where the value has no canonical form.
        """
        key = self._simple_key(value)
        if key is None:
            key = ("canonical", canonical(value, self.budget.spend))
        return self.numbers[name][key]

    def _simple_key(self, value: Any) -> Hashable:
        """Returns what equals that of another value where the values are equal; None where it takes a canonical text.

        Such are texts, numbers without a fraction that no others share a hash with, and lists of few different texts.
        """
        if isinstance(value, str):
            self.budget.spend(1 + len(value) // CHARACTERS_PER_STEP)
            return value
        if isinstance(value, list) and len(value) <= MAX_VALUES and all(isinstance(item, str) for item in value):
            distinct = frozenset(map(_in_nfc, value))
            if len(distinct) > MAX_SIMPLE_LIST:
                return None
            self.budget.spend(1 + sum([1 + len(item) // CHARACTERS_PER_STEP for item in value]))
            return distinct
        if isinstance(value, (int, float)) and not isinstance(value, bool) and -MAX_SIMPLE < value < MAX_SIMPLE:
            if value != int(value):
                return None
            self.budget.spend(1)
            return int(value)
        return None

    def name(self, name: str | int | None) -> str | None:
        """Returns the text of a rule's name, the same object for the same name, so that comparing two is cheap."""
        if name is None:
            return None
        text = normalized(str(name))
        return self._names.setdefault(text, text)


def true_rules(truth: GroundTruth, sample: Sample) -> list[Rule]:
    """Returns the rules of the ground truth, in order, without the ignored properties.

    Raises RejectedRecord where an id is duplicated, or where the record is beyond the limits.
    """
    rules = _read(truth.rules, [rule.id for rule in truth.rules], sample, "ground_truth")
    names = {rule.name for rule in rules}
    if len(names) < len(rules):
        name = next(name for name, number in Counter([rule.name for rule in rules]).items() if number > 1)
        raise RejectedRecord(
            "ground_truth", f"rules: the id {_shown(name)} is duplicated; give every rule an id of its own"
        )
    return rules


def predicted_rules(prediction: Prediction | None, sample: Sample) -> list[Rule]:
    """Returns the predicted rules, in order, without the ignored properties; none where nothing was predicted.

    Raises RejectedRecord where the record is beyond the limits.
    """
    rules = (prediction.rules if prediction else None) or []
    return _read(rules, [rule.matches for rule in rules], sample, "prediction")


def _read(
    rules: Sequence[TrueRule | PredictedRule], names: Sequence[str | int | None], sample: Sample, side: Side
) -> list[Rule]:
    """Returns the rules of one side; those of plain values are read at once, others one value after the other."""
    read = _plain_rules(rules, names, sample, side)
    if read is None:
        with sample.budget.reading(side):
            return _rules(rules, names, sample, side)
    return read


def _plain_rules(
    rules: Sequence[TrueRule | PredictedRule], names: Sequence[str | int | None], sample: Sample, side: Side
) -> list[Rule] | None:
    """Returns what `_rules` does; None where that would raise, or a value is neither text, integer nor a short list."""
    if len(rules) > MAX_RULES:
        return None
    steps = 0
    read: list[Rule] = []
    for rule, name in zip(rules, names, strict=True):
        values = rule.properties or {}
        if sample.ignored or None in values.values() or not "".join(values).isascii():
            values = _counted(values, sample)
        numbered = _plain_numbers(values, sample.numbers)
        if numbered is None or len(values) > MAX_PROPERTIES:
            return None
        numbers, steps_of_values = numbered
        lines = _lines(rule)
        steps += steps_of_values + len(lines)
        if side == "ground_truth" and len(lines) > 1:
            lines = list(dict.fromkeys(lines))
        read.append(Rule(sample.name(name), numbers, frozenset(numbers.values()), values, lines))
    if steps > sample.budget.left or sum([len(rule.centerlines or ()) for rule in rules]) > MAX_EDGES:
        return None
    sample.budget.spend_reading(side, steps)
    return read


def _lines(rule: TrueRule | PredictedRule) -> list[str]:
    lines = [line if type(line) is str else str(line) for line in rule.centerlines or ()]
    return lines if "".join(lines).isascii() else [normalized(line) for line in lines]


def _plain_numbers(values: Mapping[str, Any], numbers: Numbers) -> tuple[dict[str, int], int] | None:
    """Returns the number of each property by its name, and the steps; None where a value is not plain."""
    steps = 0
    found: dict[str, int] = {}
    for name, value in values.items():
        kind = type(value)
        if kind is str:
            steps += 1 + len(value) // CHARACTERS_PER_STEP
            found[name] = numbers[name][value]
        elif kind is list:
            if len(value) > MAX_SIMPLE_LIST or not _are_short_texts(value):
                return None
            steps += 1 + len(value)
            found[name] = numbers[name][frozenset(value)]
        elif kind is int and -MAX_SIMPLE < value < MAX_SIMPLE:
            steps += 1
            found[name] = numbers[name][value]
        else:
            return None
    return found, steps


def _are_short_texts(values: Sequence[Any]) -> bool:
    try:
        return len("".join(values)) < CHARACTERS_PER_STEP
    except TypeError:
        return False


def _counted(values: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
    """Returns the properties that count, in order of their names: those with a value that are not ignored, in NFC.

    Records that differ in the order of their keys are the same.
    """
    named = {normalized(name): value for name, value in sorted(values.items(), key=itemgetter(0))}
    return {name: value for name, value in named.items() if value is not None and name not in sample.ignored}


def _rules(
    rules: Sequence[TrueRule | PredictedRule], names: Sequence[str | int | None], sample: Sample, side: Side
) -> list[Rule]:
    if len(rules) > MAX_RULES:
        raise RejectedRecord(side, f"rules: there are {len(rules)}, and at most {MAX_RULES} are scored")
    edges = sum(len(rule.centerlines or ()) for rule in rules)
    if edges > MAX_EDGES:
        raise RejectedRecord(side, f"rules: they name {edges} centerlines, and at most {MAX_EDGES} are scored")
    sample.budget.spend(edges)
    return [
        _rule(rule, sample.name(name), sample, side, f"rules[{number}]")
        for number, (rule, name) in enumerate(zip(rules, names, strict=True))
    ]


def _rule(rule: TrueRule | PredictedRule, name: str | None, sample: Sample, side: Side, where: str) -> Rule:
    values = _counted(rule.properties or {}, sample)
    if len(values) > MAX_PROPERTIES:
        raise RejectedRecord(
            side, f"{where}.properties: there are {len(values)}, and at most {MAX_PROPERTIES} are scored"
        )
    properties: dict[str, int] = {}
    for key, value in values.items():
        try:
            properties[key] = sample.number(key, value)
        except NotComparable as error:
            raise RejectedRecord(side, f"{where}.properties: {_shown(key)} cannot be compared: {error}") from error
    lines = _lines(rule)
    if side == "ground_truth":
        lines = list(dict.fromkeys(lines))
    return Rule(name, properties, frozenset(properties.values()), values, lines)


def _shown(text: str | None) -> str:
    return repr(text if text is None or len(text) <= _SHOWN else text[:_SHOWN] + "...")
