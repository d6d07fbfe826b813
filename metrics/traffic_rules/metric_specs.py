"""The metrics of the traffic_rules benchmark."""

from __future__ import annotations

from collections.abc import Mapping

from ..benchmark import MetricSpec

_COUNTED = {
    "rule_extraction": "rules with all properties right",
    "correspondence": "edges between a rule and a centerline, a rule standing for the one that it matches",
    "overall": "pairs of a rule with all properties right and a centerline",
}
_MEANINGS = {
    "precision": "right {} / predicted ones",
    "recall": "right {} / true ones",
    "f1": "harmonic mean of precision and recall of {}",
}
_DENOMINATORS = {"precision": "{0}.predicted", "recall": "{0}.true", "f1": "{0}.true + {0}.predicted"}


def _task_metrics(main: Mapping[str, int], rank: Mapping[str, int]) -> list[MetricSpec]:
    """Returns precision, recall and F1 of each task; `main` and `rank` give those of some of them, by name."""
    return [
        MetricSpec(
            name,
            meaning.format(counted),
            main=main.get(name),
            rank=rank.get(name),
            denominator=_DENOMINATORS[kind].format(task),
        )
        for task, counted in _COUNTED.items()
        for kind, meaning in _MEANINGS.items()
        for name in [f"{task}.{kind}"]
    ]


METRICS = (
    *_task_metrics({"overall.f1": 1, "rule_extraction.f1": 2, "correspondence.f1": 3}, {"overall.f1": 1}),
    MetricSpec(
        "property_accuracy[NAME]",
        "true rules whose paired prediction has the property NAME right / true rules that have the property",
        denominator="property_true[NAME]",
    ),
)

SAMPLE_METRICS = (
    *_task_metrics({"overall.f1": 1}, {}),
    MetricSpec(
        "wrong_properties",
        "properties that are different, absent or extra in the predictions paired with true rules",
        higher_is_better=False,
        bounds=(0.0, None),
    ),
    MetricSpec(
        "unpaired_rules",
        "true rules that are paired with no prediction, as there were too few",
        higher_is_better=False,
        bounds=(0.0, None),
    ),
)
