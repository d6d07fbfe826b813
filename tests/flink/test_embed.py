"""`beamscore.Evaluate` in a pipeline of somebody else on Flink: the bits of the command in this process."""

from __future__ import annotations

import json
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

import beamscore
from tests.flink.cluster import FlinkCluster
from tests.flink.workers import PROJECT
from tests.runs import Run, evaluate

CORPUS = PROJECT / "tests" / "corpora" / "chart"


def test_an_embedded_evaluation_has_the_sums_of_the_command(cluster: FlinkCluster, tmp_path: Path) -> None:
    sides = {"ground_truth": "ground_truth.jsonl", "predictions": "predictions.jsonl"}
    truths, predictions = (CORPUS / name for name in sides.values())
    here = evaluate(tmp_path / "here", truths, predictions, "--slice", "source", config="chart")
    output = tmp_path / "there"
    with beam.Pipeline(options=PipelineOptions(cluster.options())) as pipeline:
        collections = {
            side: pipeline
            | f"Read {side}" >> beam.Create((CORPUS / name).read_text().splitlines())
            | f"Parse {side}" >> beam.Map(json.loads)
            for side, name in sides.items()
        }
        _ = collections | beamscore.Evaluate("chart", slices=["source"], output=str(output))
    there = Run(0, "", "", output)
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
