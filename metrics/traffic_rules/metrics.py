"""The metrics of the traffic_rules benchmark: the three tasks as counts that add up, and what was wrong by property.

What was wrong about a rule is asked of the predicted rule that is paired with it; the tasks need no pairs.
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

Edge = tuple[str, str]
"""(id of a true rule, centerline)"""

Counts = tuple[int, int, int]
"""How much was right, was predicted and is true."""

OTHER = "(other)"
"""The name under which extra properties are counted that no rule of the sample's ground truth has."""

MAX_NAME_LENGTH = 80
_COUNTS, _RATES = ("right", "predicted", "true"), ("precision", "recall", "f1")
_MAX_VALUE_LENGTH = 200


def rule_extraction(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the size of the multiset intersection of both sides' rules, and their numbers.

    Source: MapDR, evaluate/metric.md, "Rule Extraction": |R^ ∩ R| over |R^| and |R|.
    """
    return _common([rule.distinct for rule in true], [rule.distinct for rule in predicted])


def correspondence(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns how many true edges (rule, centerline) were predicted, how many were given and how many are true.

    A predicted rule stands for the true rule that it matches, whatever its properties. Every centerline that it
    gives is a predicted edge; it is wrong where the rule matches none, and where the edge was given before.

    Source: MapDR, evaluate/metric.md, "Correspondence Reasoning": |E^ ∩ E| over |E^| and |E|.
    """
    edges = distinct_edges(true)
    right = edges.keys() & distinct_edges(predicted).keys()
    return len(right), sum(len(rule.centerlines) for rule in predicted), len(edges)


def distinct_edges(rules: Sequence[Rule]) -> dict[Edge, None]:
    """Returns the distinct edges of the rules that have a name, in order."""
    return {(rule.name, line): None for rule in rules if rule.name is not None for line in rule.centerlines}


def overall(true: Sequence[Rule], predicted: Sequence[Rule]) -> Counts:
    """Returns the size of the multiset intersection of both sides' (properties, centerline), and their numbers.

    `matches` plays no part: a predicted rule stands for a true one where all properties are equal.

    Source: MapDR, evaluate/metric.md, "Overall": |G^s^ ∩ G^s| over |G^s^| and |G^s|.
    """
    sides = ([(rule.distinct, line) for rule in rules for line in rule.centerlines] for rules in (true, predicted))
    return _common(*sides)


def _common(true_items: Sequence[Hashable], predicted_items: Sequence[Hashable]) -> Counts:
    right = Counter(true_items) & Counter(predicted_items)
    return right.total(), len(predicted_items), len(true_items)


class Task(msgspec.Struct, frozen=True):
    """One task: its name, how it counts, and what it counts in words."""

    name: str
    count: Callable[[Sequence[Rule], Sequence[Rule]], Counts]
    counted: str

    def statistics(self, true: Sequence[Rule], predicted: Sequence[Rule]) -> dict[str, int]:
        """Returns the counts of a sample by the names of the statistics."""
        return {f"{self.name}.{kind}": count for kind, count in zip(_COUNTS, self.count(true, predicted), strict=True)}

    def values(self, statistics: Mapping[str, float] | Sums) -> dict[str, float | None]:
        """Returns precision, recall and F1 from counts that were added up."""
        values = precision_recall_f1(*(statistics[f"{self.name}.{kind}"] for kind in _COUNTS))
        return {f"{self.name}.{kind}": value for kind, value in zip(_RATES, values, strict=True)}

    def specs(self, main: Mapping[str, int], rank: Mapping[str, int]) -> list[MetricSpec]:
        """Returns the declarations of `values`; `main` and `rank` give those of some of them, by name."""
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
        "edges between a rule and a centerline, a rule standing for the one that it matches",
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
    """Returns one-to-one pairs (true, predicted) of positions, in order of the true rules.

    First every true rule takes an equal predicted rule, as long as there are any: these pairs are the multiset
    intersection. The rules left on both sides are then paired, as many as the smaller side has, so that the sum
    of agreeing properties is largest and, among such pairings, the sum of shared centerlines. `matches` plays no
    part. Equally good pairings are told apart by the order of the rules.

    Spends a step for each pair of rules that are left.
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

    fault: `different` where both sides have it with other values, `absent` where only the true rule has it,
    `extra` where only the predicted rule has it.
    """

    name: str
    fault: Literal["different", "absent", "extra"]
    true: str | None
    predicted: str | None


def wrong_properties(true: Rule, predicted: Rule) -> list[WrongProperty]:
    """Returns what sets the two rules apart: the true rule's properties by name, then the extra ones."""
    if true.distinct == predicted.distinct:
        return []
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
    """Returns the JSON text of a value, cut where it is long; None if there is none."""
    if name not in values:
        return None
    return truncated(msgspec.json.encode(values[name], order="sorted").decode(), _MAX_VALUE_LENGTH)


def property_statistics(true: Sequence[Rule], faults: Sequence[Sequence[WrongProperty] | None]) -> dict[str, int]:
    """Returns the statistics of a sample's properties, by kind and name.

    faults: for each true rule what its paired prediction got wrong, or None if it is paired with none.

    property_true[NAME] counts the true rules that have the property, property_right[NAME] those of them whose
    paired prediction has an equal value; the rest are property_different[NAME], property_absent[NAME] or, where
    the rule is paired with none, in neither. property_extra[NAME] counts predictions that have the property where
    their true rule does not; names that no true rule of the sample has are all one, "(other)".
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
