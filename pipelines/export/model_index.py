"""The main metrics of a run as the `model-index` of a model card (https://huggingface.co/docs/hub/model-cards)."""

from __future__ import annotations

from typing import Any

from ..runs.run import Run

DEFAULT_TASK = "image-to-text"


def model_index(
    run: Run, model: str | None = None, dataset: str | None = None, task: str = DEFAULT_TASK
) -> dict[str, Any]:
    """Returns the metadata of a model card: an entry for each system, with the main metrics that have a value.

    model: its id; None: the name of each system. dataset: its id; None: the name of the benchmark. task: the id of the
    task on the Hub.
    """
    benchmark = run.configuration.benchmark
    where = dataset or benchmark.name
    confidence = run.configuration.settings.bootstrap.confidence
    models = []
    for name, system in run.systems.items():
        metrics = []
        for metric in benchmark.main_metrics():
            value, interval = system.values.get(metric), system.intervals.get(metric)
            if value is not None:
                found: dict[str, Any] = {"type": metric, "name": metric, "value": value}
                if interval is not None:
                    found["args"] = {"confidence": confidence, "low": interval[0], "high": interval[1]}
                metrics.append(found)
        result = {
            "task": {"type": task},
            "dataset": {"type": where, "name": where},
            "metrics": metrics,
        }
        models.append({"name": model or name, "results": [result]})
    return {"model-index": models}
