"""Rules as they are compared: read from a record, checked, and cut down to what counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.benchmark import RejectedRecord, Side
from metrics.traffic_rules.canonical import NotComparable, canonical
from metrics.traffic_rules.records import GroundTruth, PredictedRule, Prediction, TrueRule

MOST_RULES = 500
MOST_PROPERTIES = 64
MOST_EDGES = 10_000

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of either side.

    name: the id of a true rule; of a predicted rule, the id that it matches, or None.
    properties: the (name, canonical value) of every property that counts; two rules are equal where these are.
    values: the same properties as the record has them, by name.
    centerlines: each once for a true rule; as often as it was given for a predicted one.
    """

    name: str | None
    properties: frozenset[tuple[str, Hashable]]
    values: dict[str, Any]
    centerlines: tuple[str, ...]


def true_rules(truth: GroundTruth, ignored: Collection[str]) -> list[Rule]:
    """Returns the rules of the ground truth, in order, without the `ignored` properties.

    Raises RejectedRecord where an id stands there twice, or where the record is beyond the limits.
    """
    rules = _rules(truth.rules, [str(rule.id) for rule in truth.rules], ignored, "ground_truth")
    twice = [name for name, count in Counter(rule.name for rule in rules).items() if count > 1]
    if twice:
        raise RejectedRecord(
            "ground_truth", f"rules: the id {_shown(twice[0])} stands there twice; give every rule an id of its own"
        )
    return [Rule(r.name, r.properties, r.values, tuple(dict.fromkeys(r.centerlines))) for r in rules]


def predicted_rules(prediction: Prediction | None, ignored: Collection[str]) -> list[Rule]:
    """Returns the predicted rules, in order, without the `ignored` properties; none where nothing was predicted.

    Raises RejectedRecord where the record is beyond the limits.
    """
    rules = (prediction.rules if prediction else None) or []
    return _rules(rules, [None if rule.matches is None else str(rule.matches) for rule in rules], ignored, "prediction")


def _rules(
    rules: Sequence[TrueRule | PredictedRule], names: Sequence[str | None], ignored: Collection[str], side: Side
) -> list[Rule]:
    if len(rules) > MOST_RULES:
        raise RejectedRecord(side, f"rules: there are {len(rules)}, and at most {MOST_RULES} are scored")
    edges = sum(len(rule.centerlines or ()) for rule in rules)
    if edges > MOST_EDGES:
        raise RejectedRecord(side, f"rules: they name {edges} centerlines, and at most {MOST_EDGES} are scored")
    return [
        _rule(rule, name, ignored, side, f"rules[{number}]")
        for number, (rule, name) in enumerate(zip(rules, names, strict=True))
    ]


def _rule(rule: TrueRule | PredictedRule, name: str | None, ignored: Collection[str], side: Side, where: str) -> Rule:
    values = {key: value for key, value in (rule.properties or {}).items() if value is not None and key not in ignored}
    if len(values) > MOST_PROPERTIES:
        raise RejectedRecord(
            side, f"{where}.properties: there are {len(values)}, and at most {MOST_PROPERTIES} are scored"
        )
    properties = frozenset((key, _value(value, side, f"{where}.properties", key)) for key, value in values.items())
    return Rule(name, properties, values, tuple(str(line) for line in rule.centerlines or ()))


def _value(value: Any, side: Side, where: str, key: str) -> Hashable:
    try:
        return canonical(value)
    except NotComparable as error:
        raise RejectedRecord(side, f"{where}: {_shown(key)} cannot be compared: {error}") from error


def _shown(text: str | None) -> str:
    return repr(text if text is None or len(text) <= _SHOWN else text[:_SHOWN] + "...")
