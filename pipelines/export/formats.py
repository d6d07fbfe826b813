"""Finished runs in the formats of other tools.

Every Eval Ever (https://github.com/evaleval/every_eval_ever), the scores of Inspect (https://inspect.aisi.org.uk), and
the metadata of a model card (https://huggingface.co/docs/hub/model-cards).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow.compute as pc

from ...metrics.benchmark import MetricSpec
from ...metrics.scoring import explained
from ...metrics.statistics.intervals import METHODS, ROUNDING
from ...metrics.statistics.measured import spec_or_undeclared
from ...transforms.rows import read_rows
from ..runs.documents import SystemSummary
from ..runs.run import Run

SCHEMA_VERSION = "0.3.0"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
"""Of the evaluator to the maker of the model."""
DEFAULT_TASK = "image-to-text"


def every_eval_ever(
    run: Run,
    system: str,
    now: float,
    model: str | None = None,
    dataset: str | None = None,
    organization: str = "unknown",
    relationship: str = "other",
) -> dict[str, Any]:
    """Returns the record of a system in Every Eval Ever: a result for each metric of all samples that has a value.

    now: seconds since 1970. model: its id, such as ORGANIZATION/NAME; None: the name of the system. dataset: its name;
    None: the name of the benchmark. organization: who evaluated. relationship: one of RELATIONSHIPS.
    """
    summary, model = run.summary, model or system
    data = {
        "dataset_name": dataset or summary.benchmark,
        "source_type": "other",
        **({} if summary.fingerprint is None else {"additional_details": {"fingerprint": summary.fingerprint.hash}}),
    }
    evaluated = {"evaluation_timestamp": str(run.provenance["ended"])} if "ended" in run.provenance else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{summary.benchmark}/{model}/{now:.0f}",
        **evaluated,
        "retrieved_timestamp": f"{now:.0f}",
        "source_metadata": {
            "source_name": "beamscore",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        },
        "eval_library": {
            "name": "beamscore",
            "version": summary.version or "unknown",
            "additional_details": {"signature": summary.signature, "run_id": run.run_id},
        },
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": _results(run, run.systems[system], data),
    }


def _results(run: Run, summary: SystemSummary, data: dict[str, Any]) -> list[dict[str, Any]]:
    benchmark = type(run.configuration.benchmark)
    return [
        {
            "evaluation_result_id": f"{benchmark.name}.{name}",
            "evaluation_name": benchmark.name,
            "source_data": data,
            "metric_config": _metric(benchmark.name, name, spec_or_undeclared(benchmark, name)),
            "score_details": {"score": value, "uncertainty": _uncertainty(run, summary, name)},
        }
        for name, value in summary.values.items()
        if value is not None
    ]


def _metric(benchmark: str, name: str, spec: MetricSpec) -> dict[str, Any]:
    low, high = spec.bounds
    return {
        "evaluation_description": spec.meaning,
        "metric_id": f"beamscore.{benchmark}.{name}",
        "metric_name": name,
        "lower_is_better": not spec.higher_is_better,
        "score_type": "continuous",
        "min_score": "-Infinity" if low is None else low,
        "max_score": "Infinity" if high is None else high,
    }


def _uncertainty(run: Run, summary: SystemSummary, name: str) -> dict[str, Any]:
    """Returns the number of samples, and the interval and the standard error of a metric if they are known.

    At a bound both are called Wilson's; those of a metric made of metrics may be wider.
    """
    settings = run.configuration.settings
    interval, error = summary.intervals.get(name), summary.errors.get(name)
    known: dict[str, Any] = {"num_samples": summary.units.get(name) or summary.measured_samples(settings.missing)}
    bounds, value = spec_or_undeclared(type(run.configuration.benchmark), name).bounds, summary.values[name] or 0.0
    at_bound = any(bound is not None and abs(value - bound) <= ROUNDING for bound in bounds)
    method = METHODS["at_bound"] if at_bound else "bootstrap"
    if interval is not None:
        known |= {} if at_bound else {"num_bootstrap_samples": settings.bootstrap.replicates}
        known["confidence_interval"] = {
            "lower": interval[0],
            "upper": interval[1],
            "confidence_level": settings.bootstrap.confidence,
            "method": method,
        }
    if error is not None:
        known["standard_error"] = {"value": error, "method": method}
    return known


def sample_scores(run: Run, system: str) -> Iterator[bytes]:
    """Yields a line of JSON for each sample with a value: `id`, and the fields of a `Score` of Inspect.

    value: the main per-sample metric; Inspect refuses null. explanation: what matched what. metadata: the status of the
    sample, and all its metrics.

    Raises InputProblem if a file of the rows is damaged.
    """
    benchmark = run.configuration.benchmark
    main, names = benchmark.main_sample_metric().name, benchmark.sample_metric_names()
    columns = ["sample_id", "status", "details", *names]
    where = (pc.field("system") == system) & pc.field(main).is_valid()
    for path in run.rows:
        for batch in read_rows(path, columns, where):
            for row in batch.to_pylist():
                details = msgspec.json.decode(row["details"])
                lines = [] if details is None else explained(benchmark, details)
                yield msgspec.json.encode({
                    "id": row["sample_id"],
                    "value": row[main],
                    "explanation": "\n".join(lines),
                    "metadata": {name: row[name] for name in ("status", *names)},
                })  # fmt: skip


def model_index(run: Run, model: str | None, dataset: str | None, task: str) -> dict[str, Any]:
    """Returns the metadata of a model card: an entry for each system with a main metric that has a value.

    model: the id of the only system; None: the name of each system. dataset: its id; None: the name of the benchmark.
    task: the id of the task on the Hub.
    """
    benchmark, confidence = run.configuration.benchmark, run.configuration.settings.bootstrap.confidence
    dataset_name = dataset or benchmark.name
    models = []
    for name, system in run.systems.items():
        metrics = []
        for metric in benchmark.main_metrics():
            if (value := system.values.get(metric)) is not None:
                low, high = system.intervals.get(metric) or (None, None)
                args = {} if low is None else {"args": {"confidence": confidence, "low": low, "high": high}}
                metrics.append({"type": metric, "name": metric, "value": value, **args})
        if not metrics:
            continue
        result = {"task": {"type": task}, "dataset": {"type": dataset_name, "name": dataset_name}, "metrics": metrics}
        models.append({"name": model or name, "results": [result]})
    return {"model-index": models}
