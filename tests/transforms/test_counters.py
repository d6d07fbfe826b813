"""The metrics that a run reports have the names that are documented, and count what the coverage counts."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest
from apache_beam.metrics import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions

from beamscore.metrics.registry import BUILT_IN, benchmark_class
from beamscore.pipelines.config import settings
from beamscore.pipelines.evaluate import build_evaluation, plan_evaluation
from beamscore.pipelines.runners import launch
from beamscore.transforms.counters import METRICS, NAMESPACE
from beamscore.transforms.process import PROGRESS
from tests.runs import write_lines
from tests.toy import ToyBenchmark


def metric_names(timed: Sequence[str]) -> set[str]:
    """The names of all metrics of an evaluation by a benchmark with these `timed`."""
    return {*METRICS, *(f"{each}_microseconds" for each in timed)}


class TimedBenchmark(ToyBenchmark):
    """Takes 7 microseconds of a tool for each batch."""

    timed: ClassVar = ("tool",)

    def take_timings(self) -> dict[str, int]:
        return {"tool": 7}


def metrics_of(config: str, truths: Path, predictions: Path, output: Path, *flags: str) -> dict[str, Any]:
    """Evaluates where the flags say, here by default, and returns the value of each metric by name."""
    given = {"ground_truth": [str(truths)], "predictions": {"ours": [str(predictions)]}, "output": str(output)}
    plan = plan_evaluation(settings.load(config, [], given), "run")
    result = launch.run(PipelineOptions(list(flags)), lambda pipeline: build_evaluation(pipeline, plan))
    found = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))
    values: dict[str, Any] = {}
    for each in [*found["counters"], *found["distributions"]]:
        name = each.key.metric.name
        values[name] = values[name] + each.result if name in values else each.result
    return values


def test_a_run_reports_each_metric_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "timed", f"{__name__}:TimedBenchmark")
    texts = [("a", "x"), ("b", "x"), ("b", "x"), ("c", "x"), ("d", 4)]
    truths = write_lines(tmp_path / "t.jsonl", [*({"sample_id": name, "text": text} for name, text in texts), b"bad"])
    texts = [("a", "x"), ("d", "x"), ("z", "x"), ("b", "prediction is bad")]
    predictions = write_lines(tmp_path / "p.jsonl", [{"sample_id": name, "text": text} for name, text in texts])
    readings = itertools.count(0, 1_000_000)
    monkeypatch.setattr("beamscore.transforms.evaluate.time", Mock(perf_counter_ns=lambda: next(readings)))
    before = PROGRESS.records_read, PROGRESS.truths_read, PROGRESS.samples_scored
    values = metrics_of("timed", truths, predictions, tmp_path / "out")
    after = PROGRESS.records_read, PROGRESS.truths_read, PROGRESS.samples_scored
    assert [now - then for now, then in zip(after, before, strict=True)] == [6 + 4, 6, 1 + 2]
    assert set(values) == metric_names(["tool"])
    assert {name: value for name, value in values.items() if isinstance(value, int)} == {
        "records_read": 6 + 4,
        "records_rejected": 2 + 1,  # the text of d and the line that is not JSON; the prediction of b
        "records_duplicate": 1,
        "records_unmatched": 2,  # z has no ground truth, that of d is bad
        "samples_scored": 1,
        "samples_missing_prediction": 2,  # c, and b without its prediction
        "samples_rejected": 1,
    }
    # Two batches: a, b, c together, then b again.
    assert (values["batch_size"].count, values["batch_size"].sum) == (2, 3 + 1)
    assert (values["tool_microseconds"].count, values["tool_microseconds"].sum) == (2, 14)
    # Each takes a millisecond, 333 microseconds of a sample and 1000.
    assert (values["sample_microseconds"].count, values["sample_microseconds"].sum) == (2, 1333)


def test_the_documented_names_are_those_of_all_benchmarks() -> None:
    timed = [name for benchmark in BUILT_IN for name in benchmark_class(benchmark).timed]
    page = Path(__file__).resolve().parents[2] / "docs" / "reference" / "outputs.md"
    section = page.read_text(encoding="utf-8").partition("\n## Counters\n")[2].partition("\n## ")[0]
    documented = re.findall(r"`(\w+)`", "".join(re.findall(r"^- .*$", section, re.MULTILINE)))
    assert sorted(documented) == sorted(metric_names(timed))
