"""The traffic_rules benchmark: MapDR's rule extraction, correspondence reasoning and the whole task.

Source: "Driving by the Rules: A Benchmark for Integrating Traffic Sign Regulations into Vectorized HD Map"
(CVPR 2025), and evaluate/metric.md of its repository.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..benchmark import Benchmark, SampleScore, Table
from ..common.budget import Budget
from ..common.text import truncated
from ..statistics.ratios import ratio
from ..statistics.sums import Sums
from .converter import TrafficRulesConverter
from .draw import draw_rules
from .metrics import (
    METRICS,
    SAMPLE_METRICS,
    TASKS,
    Edge,
    WrongProperty,
    distinct_edges,
    pair_rules,
    property_statistics,
    property_tables,
    wrong_properties,
)
from .records import TrafficRulesOptions, TrafficRulesPrediction, TrafficRulesTruth
from .rules import PropertyNumbers, Rule, predicted_rules, true_rules

_EDGES_IN_DETAILS = 200
_MAX_EDGE_NAME_LENGTH = 200


class TrafficRulesBenchmark(Benchmark[TrafficRulesTruth, TrafficRulesPrediction, TrafficRulesOptions]):
    """Scores the rules read from a traffic sign, and their assignment to the centerlines of lanes."""

    name = "traffic_rules"
    summary = "rules that traffic signs set for lanes: extraction, correspondence, overall (MapDR)"
    truth_type = TrafficRulesTruth
    prediction_type = TrafficRulesPrediction
    options_type = TrafficRulesOptions
    metrics = METRICS
    sample_metrics = SAMPLE_METRICS
    takes_columns = True
    batch_size = 256
    converter = TrafficRulesConverter()

    def score_sample(self, truth: TrafficRulesTruth, prediction: TrafficRulesPrediction | None) -> SampleScore:
        """Counts the right items of each task, and the wrong properties by name; metrics.py has the definitions.

        Raises RejectedRecord if the ids of the true rules are not unique, or a record exceeds the limits.
        """
        numbers = PropertyNumbers(Budget(self.options.max_steps), self.options.ignore_properties)
        true, predicted = true_rules(truth, numbers), predicted_rules(prediction, numbers)
        statistics: dict[str, float] = {}
        metrics: dict[str, float | None] = {}
        for task in TASKS:
            counts = task.statistics(true, predicted)
            statistics |= counts
            metrics |= task.values(counts)
        pairs = dict(pair_rules(true, predicted, numbers.budget))
        faults = [
            wrong_properties(rule, predicted[pairs[number]]) if number in pairs else None
            for number, rule in enumerate(true)
        ]
        metrics["wrong_properties"] = float(sum(len(wrong) for wrong in faults if wrong))
        metrics["unpaired_rules"] = float(len(true) - len(pairs))
        statistics |= property_statistics(true, faults)
        names = {rule.name for rule in true} | {None}
        unknown = sum([rule.name not in names for rule in predicted])
        return SampleScore(
            {name: value for name, value in statistics.items() if value},
            metrics,
            _details(true, predicted, pairs, faults),
            {"matches_unknown_rule": unknown} if unknown else {},
        )

    def values(self, sums: Sums) -> dict[str, float | None]:
        """Returns precision, recall and F1 of each task, and the accuracy of each property that a true rule has.

        Precision is 0 if nothing was predicted but there are true items; recall is 0 if there are predictions but no
        true items. If there are neither, all three are None.
        """
        tasks = {name: value for task in TASKS for name, value in task.values(sums).items()}
        right, true = sums.family("property_right"), sums.family("property_true")
        return tasks | {f"property_accuracy[{name}]": ratio(right.get(name, 0.0), true[name]) for name in true}

    def explain(self, details: Any) -> list[str]:
        """Returns lines that say how many rules and edges are right, and what is wrong with each rule."""
        rules, edges, left_out = details["rules"], details["edges"], details.get("edges_left_out", {})
        lines = [f"{sum(rule['right'] for rule in rules)} of {len(rules)} rules have all properties right"]
        counts = {kind: len(edges[kind]) + left_out.get(kind, 0) for kind in ("right", "missed", "wrong")}
        lines.append(", ".join(f"{count} edges {kind}" for kind, count in counts.items()))
        for rule in rules:
            if rule["wrong"] is None:
                lines.append(f"rule {rule['id']} is paired with no predicted rule")
            elif rule["wrong"]:
                faults = ", ".join(f"{fault['name']} ({fault['fault']})" for fault in rule["wrong"])
                lines.append(f"rule {rule['id']}: {faults}")
        return lines

    def draw(
        self,
        truth: TrafficRulesTruth,
        prediction: TrafficRulesPrediction | None,
        details: Any = None,
        image: tuple[int, int] | None = None,
    ) -> str:
        """Returns the rules, the lanes and the edges between them as an SVG document.

        Raises RejectedRecord as `score_sample` does if `details` is None.
        """
        if details is None:
            details = msgspec.to_builtins(self.score_sample(truth, prediction).details)
        return draw_rules(truth, prediction, details, image)

    def tables(self, sums: Sums) -> list[Table]:
        """Returns the table of the properties, the one most often wrong in a paired prediction first."""
        return property_tables(sums)


def _details(
    true: Sequence[Rule],
    predicted: Sequence[Rule],
    pairs: Mapping[int, int],
    faults: Sequence[Sequence[WrongProperty] | None],
) -> dict[str, Any]:
    """Returns the pairs of rules with their faults, unpaired predictions, and right, missed and wrong edges.

    Of each true rule, there are the index of the predicted rule paired with it, and what is wrong there; both are None
    if it is unpaired. Of more than 200 edges of a kind, the number of the others is in `edges_left_out`. Long ids are
    truncated.
    """
    edges = distinct_edges(true)
    right: dict[Edge, None] = {}
    wrong: list[Edge] = []
    for edge in [(rule.name, line) for rule in predicted for line in rule.centerlines]:
        if edge in edges and edge not in right:
            right[edge] = None
        else:
            wrong.append(edge)
    paired = set(pairs.values())
    kinds: dict[str, Sequence[Edge]] = {
        "right": list(right),
        "missed": [edge for edge in edges if edge not in right],
        "wrong": wrong,
    }
    left_out = {kind: more for kind, some in kinds.items() if (more := len(some) - _EDGES_IN_DETAILS) > 0}
    return {
        "rules": [
            {"id": _cut(rule.name), "prediction": pairs.get(number), "right": of_rule == [], "wrong": of_rule}
            for number, (rule, of_rule) in enumerate(zip(true, faults, strict=True))
        ],
        "unpaired_predictions": [number for number in range(len(predicted)) if number not in paired],
        "edges": {kind: _shown(some) for kind, some in kinds.items()},
        **({"edges_left_out": left_out} if left_out else {}),
    }


def _shown(edges: Sequence[Edge]) -> Sequence[Edge]:
    """Returns the first 200 edges, with long names truncated: each edge repeats the name of its rule."""
    return [(_cut(name), truncated(line, _MAX_EDGE_NAME_LENGTH)) for name, line in edges[:_EDGES_IN_DETAILS]]


def _cut(name: str | None) -> str | None:
    return None if name is None else truncated(name, _MAX_EDGE_NAME_LENGTH)
