"""What docs/how-to/embed.md shows runs, and prints what is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.ml.inference.base import PredictionResult

import beamscore
from tests.pipelines.api.test_transform import COLLECTED, _collect
from tests.test_docs_examples import blocks

ROOT = Path(__file__).parents[3]
PROGRAM, PRINTED, BIGQUERY = blocks(ROOT / "docs" / "how-to" / "embed.md")
CORPUS = ROOT / "tests" / "corpora" / "chemistry"


def test_the_program_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(PROGRAM.replace("beam.Pipeline()", 'beam.Pipeline("FnApiRunner")'), {"__name__": "__main__"})
    assert capsys.readouterr() == (PRINTED, "")


def test_bigquery_is_a_source_that_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a warehouse, the rows are those that its client yields: mappings, with JSON as text."""
    asked: dict[str, Any] = {}

    def rows(**arguments: Any) -> beam.PTransform:
        asked.update(arguments)
        return beam.Create([{"sample_id": "a", "task1": '{"output": {"chart_type": "Line"}}', "source": None}])

    monkeypatch.setattr(beam.io, "ReadFromBigQuery", rows)
    COLLECTED.clear()
    with beam.Pipeline("FnApiRunner") as pipeline:
        predictions = pipeline | beam.Create([{"sample_id": "a", "task1": {"output": {"chart_type": "Line"}}}])
        scope: dict[str, Any] = {
            "beam": beam, "beamscore": beamscore, "pipeline": pipeline, "predictions": predictions,
        }  # fmt: skip
        exec(BIGQUERY, scope)
        _ = scope["result"].samples | beam.Map(_collect, "samples")
        _ = scope["result"].rejected | "R" >> beam.Map(_collect, "rejected")
    assert asked["use_standard_sql"]
    assert COLLECTED["rejected"] == []
    (row,) = COLLECTED["samples"]
    assert (row.status, row.slices) == ("scored", ["source=null"])


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (PredictionResult({"sample_id": "a", "x": 1}, {"text": "t"}), {"sample_id": "a", "text": "t"}),
        (("key", PredictionResult("image", {"text": "t"})), {"sample_id": "key", "text": "t"}),
        (PredictionResult("image", {"sample_id": "own", "text": "t"}), {"sample_id": "own", "text": "t"}),
        (("key", PredictionResult("image", {"sample_id": "own"})), {"sample_id": "own"}),
    ],
)
def test_a_prediction_result_is_unpacked(element: Any, expected: dict[str, Any]) -> None:
    assert beamscore.unpack_inference(element) == expected


def test_the_pipeline_of_beam_yaml_reads_parquet_evaluates_and_writes(tmp_path: Path) -> None:
    pytest.importorskip("quickjs", reason="needs apache-beam[yaml]")
    pytest.importorskip("docstring_parser", reason="needs apache-beam[yaml]")
    import pyarrow as pa
    import pyarrow.parquet as pq
    from apache_beam.yaml import main

    for name in ("ground_truth", "predictions"):
        records = [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_bytes().splitlines()]
        pq.write_table(pa.Table.from_pylist(records), tmp_path / f"{name}.parquet")
    output = tmp_path / "run"
    places = {"truths": tmp_path / "ground_truth.parquet", "predictions": tmp_path / "predictions.parquet"}
    variables = {"benchmark": "chemistry", **{name: str(path) for name, path in {**places, "output": output}.items()}}
    pipeline = ROOT / "configs" / "beam_yaml" / "evaluate_parquet.yaml"
    flags = [f"--yaml_pipeline_file={pipeline}", f"--jinja_variables={json.dumps(variables)}"]
    main.run([*flags, "--runner=FnApiRunner"])
    rows = [json.loads(line) for path in tmp_path.glob("run-metrics*") for line in path.read_bytes().splitlines()]
    values = json.loads((output / "summary.json").read_bytes())["systems"]["mine"]["values"]
    assert {row["metric"]: row["value"] for row in rows if not row["slice"]} == pytest.approx(values)
