"""The metrics of the traffic_rules benchmark: additive counts of the three tasks, and wrong properties.

The properties of a rule are compared with those of the predicted rule paired with it; the tasks need no pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec

from ..benchmark import MetricSpec, Table
from ..common.assignment import best_pairs
from ..common.budget import Budget
from ..common.text import truncated
from ..statistics.ratios import precision_recall_f1, ratio
from ..statistics.sums import Sums
from .rules import Rule

Edge = tuple[str | None, str]
"""(id of a true rule, centerline); None if a predicted rule matches none"""

Counts = tuple[int, int, int]
"""(right items, predicted items, true items)"""

OTHER = "(other)"
"""The name under which extra properties are counted if no rule of the sample's ground truth has them."""

MAX_NAME_LENGTH = 80
_COUNTS, _RATES = ("right", "predicted", "true"), ("precision", "recall", "f1")
_MAX_VALUE_LENGTH = 200


def rule_extraction(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the size of the multiset intersection of predicted and true rules, and the number of each.

    Source: MapDR, evaluate/metric.md, "Rule Extraction": |R^ ∩ R| over |R^| and |R|.
    """
    return _common([rule.distinct for rule in true], [rule.distinct for rule in predicted])


def correspondence(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns how many true edges (rule, centerline) were predicted, and the numbers of predicted and true edges.

    A predicted rule represents the true rule that it matches, whatever its properties. Each of its centerlines is a
    predicted edge, which is wrong if it is not a true edge, if the rule matches none, or if it is a duplicate.

    Source: MapDR, evaluate/metric.md, "Correspondence Reasoning": |E^ ∩ E| over |E^| and |E|.
    """
    edges = distinct_edges(true)
    right = edges.keys() & distinct_edges(predicted).keys()
    return len(right), sum(len(rule.centerlines) for rule in predicted), len(edges)


def distinct_edges(rules: Sequence[Rule]) -> dict[Edge, None]:
    """Returns the distinct edges of the rules that have a name, in order."""
    return {(rule.name, line): None for rule in rules if rule.name is not None for line in rule.centerlines}


def overall(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the multiset intersection's size for predicted and true (properties, centerline), and their numbers.

    `matches` is ignored: a predicted rule represents a true one if all properties are equal.

    Source: MapDR, evaluate/metric.md, "Overall": |G^s^ ∩ G^s| over |G^s^| and |G^s|.
    """
    sides = ([(rule.distinct, line) for rule in rules for line in rule.centerlines] for rules in (true, predicted))
    return _common(*sides)


def _common(true_items: Sequence[Hashable], predicted_items: Sequence[Hashable]) -> Counts:
    right = Counter(true_items) & Counter(predicted_items)
    return right.total(), len(predicted_items), len(true_items)


class Task(msgspec.Struct, frozen=True):
    """One task: its name, its counting function, and what it counts, in words."""

    name: str
    count: Callable[[Sequence[Rule], Sequence[Rule]], Counts]
    counted: str

    def statistics(self, true: Sequence[Rule], predicted: Sequence[Rule]) -> dict[str, int]:
        """Returns the counts of a sample by the names of the statistics."""
        return {f"{self.name}.{kind}": count for kind, count in zip(_COUNTS, self.count(true, predicted), strict=True)}

    def values(self, statistics: Mapping[str, float] | Sums) -> dict[str, float | None]:
        """Returns precision, recall and F1 from summed counts; see `precision_recall_f1` for empty ones."""
        values = precision_recall_f1(*(statistics[f"{self.name}.{kind}"] for kind in _COUNTS))
        return {f"{self.name}.{kind}": value for kind, value in zip(_RATES, values, strict=True)}

    def specs(self, main: Mapping[str, int], rank: Mapping[str, int]) -> list[MetricSpec]:
        """Returns the specs of `values`; `main` and `rank` set these fields by metric name."""
        true, predicted = f"{self.name}.true", f"{self.name}.predicted"
        about = (
            (f"{self.name}.precision", f"right {self.counted} / predicted ones", predicted),
            (f"{self.name}.recall", f"right {self.counted} / true ones", true),
            (f"{self.name}.f1", f"harmonic mean of precision and recall of {self.counted}", f"{true} + {predicted}"),
        )
        return [
            MetricSpec(name, meaning, main=main.get(name), rank=rank.get(name), denominator=denominator)
            for name, meaning, denominator in about
        ]


TASKS = (
    Task("rule_extraction", rule_extraction, "rules with all properties right"),
    Task(
        "correspondence",
        correspondence,
        "(rule, centerline) edges, where a predicted rule stands for the one it matches",
    ),
    Task("overall", overall, "pairs of a rule with all properties right and a centerline"),
)

_MAIN = {"overall.f1": 1, "rule_extraction.f1": 2, "correspondence.f1": 3}

METRICS = (
    *(spec for task in TASKS for spec in task.specs(_MAIN, {"overall.f1": 1})),
    MetricSpec(
        "property_accuracy[NAME]",
        "true rules whose paired prediction has the property NAME right / true rules that have the property",
        denominator="property_true[NAME]",
    ),
)

_WRONG_PROPERTIES = "properties that are different, absent or extra in predictions paired with true rules"
_UNPAIRED_RULES = "true rules that are paired with no prediction, as there were too few"
SAMPLE_METRICS = (
    *(spec for task in TASKS for spec in task.specs({"overall.f1": 1}, {})),
    MetricSpec("wrong_properties", _WRONG_PROPERTIES, higher_is_better=False, bounds=(0.0, None)),
    MetricSpec("unpaired_rules", _UNPAIRED_RULES, higher_is_better=False, bounds=(0.0, None)),
)


def pair_rules(true: Sequence[Rule], predicted: Sequence[Rule], budget: Budget) -> list[tuple[int, int]]:
    """Returns one-to-one pairs (true, predicted) of indices, in order of the true rules.

    First, each true rule is paired with an equal predicted rule while there are any: these pairs are the multiset
    intersection. The remaining rules are then paired, as many as the smaller side has, to maximize the number of
    agreeing properties and, among such pairings, the number of shared centerlines. `matches` is ignored. Remaining
    ties are broken by the order of the rules.

    Spends one step for each pair of remaining rules.
    """
    by_properties: dict[frozenset[int], list[int]] = {}
    for j, rule in reversed([*enumerate(predicted)]):
        by_properties.setdefault(rule.distinct, []).append(j)
    pairs: list[tuple[int, int]] = []
    left: list[int] = []
    for i, rule in enumerate(true):
        if equal := by_properties.get(rule.distinct):
            pairs.append((i, equal.pop()))
        else:
            left.append(i)
    candidates = sorted(j for rest in by_properties.values() for j in rest)
    budget.spend(len(left) * len(candidates))
    weights = _weights([true[i] for i in left], [predicted[j] for j in candidates])
    return sorted([*pairs, *((left[row], candidates[column]) for row, column in best_pairs(weights))])


def _weights(true: Sequence[Rule], predicted: Sequence[Rule]) -> list[list[int]]:
    """Returns [true, predicted] weights in which one agreeing property outweighs all shared centerlines."""
    lines, predicted_lines = ([set(rule.centerlines) for rule in rules] for rules in (true, predicted))
    scale = 1 + sum(map(len, lines))
    others = [(rule.distinct, of_rule) for rule, of_rule in zip(predicted, predicted_lines, strict=True)]
    return [
        [len(rule.distinct & distinct) * scale + len(of_rule & of_other) for distinct, of_other in others]
        for rule, of_rule in zip(true, lines, strict=True)
    ]


class WrongProperty(msgspec.Struct, frozen=True, gc=False):
    """One property that a paired prediction got wrong.

    fault: `different` if both rules have it with different values, `absent` if only the true rule has it,
    `extra` if only the predicted rule has it.
    """

    name: str
    fault: Literal["different", "absent", "extra"]
    true: str | None
    predicted: str | None


def wrong_properties(true: Rule, predicted: Rule) -> list[WrongProperty]:
    """Returns the properties in which the rules differ: those of the true rule by name, then the extra ones."""
    return [
        WrongProperty(
            name,
            "extra" if name not in true.values else "different" if name in predicted.values else "absent",
            _text(true.values, name),
            _text(predicted.values, name),
        )
        for name in {**true.values, **predicted.values}
        if true.properties.get(name) != predicted.properties.get(name)
    ]


def _text(values: Mapping[str, Any], name: str) -> str | None:
    """Returns the JSON text of a value, truncated if it is long; None if the property is absent."""
    if name not in values:
        return None
    return truncated(msgspec.json.encode(values[name], order="sorted").decode(), _MAX_VALUE_LENGTH)


def property_statistics(true: Sequence[Rule], faults: Sequence[Sequence[WrongProperty] | None]) -> dict[str, int]:
    """Returns the statistics of a sample's properties, by kind and name.

    faults: what the paired prediction of each true rule got wrong, or None if the rule is unpaired.

    property_true[NAME] counts the true rules that have the property, property_right[NAME] those whose paired
    prediction has an equal value; the rest count as property_different[NAME], as property_absent[NAME] or, if the
    rule is unpaired, as neither. property_extra[NAME] counts paired predictions with a property that their true rule
    lacks; names that no true rule of the sample has are counted together as "(other)".
    """
    counts: Counter[str] = Counter()
    known = {name for rule in true for name in rule.values}
    for rule, wrong in zip(true, faults, strict=True):
        counts.update([_statistic("true", name) for name in rule.values])
        if wrong is not None:
            bad = [fault.name for fault in wrong]
            counts.update([_statistic("right", name) for name in rule.values if name not in bad])
            counts.update([_statistic(each.fault, each.name if each.name in known else OTHER) for each in wrong])
    return counts


@lru_cache(maxsize=1024)
def _statistic(kind: str, name: str) -> str:
    return f"property_{kind}[{truncated(name, MAX_NAME_LENGTH)}]"


def property_tables(sums: Sums) -> list[Table]:
    """Returns the table of the properties, the one most often wrong in a paired prediction first."""
    kinds = [sums.family(f"property_{kind}") for kind in ("true", "right", "different", "absent", "extra")]
    rows: list[tuple[float, str, list[str | float | None]]] = []
    for name in {*kinds[0], *kinds[-1]}:
        true, right, different, absent, extra = (int(counts.get(name, 0)) for counts in kinds)
        cells = [name, true, ratio(right, true), right, different, absent, true - right - different - absent, extra]
        rows.append((-(different + absent + extra), name, cells))
    if not rows:
        return []
    header = ["property", "true", "accuracy", "right", "other value", "absent", "rule not paired", "extra"]
    return [Table("Properties, most often wrong first", header, [cells for _, _, cells in sorted(rows)])]
