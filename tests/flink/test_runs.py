"""The other commands on Flink, and a pipeline of somebody else: what they write has the bytes of a local run."""

from __future__ import annotations

import json
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

import beamscore
from tests.flink.cluster import FlinkCluster
from tests.flink.install import PROJECT
from tests.runs import Run, command, evaluate, without_progress, write_lines

CORPUS = PROJECT / "tests" / "corpora" / "figure_text"
FLAGS = ("--slice", "source", "--set", "bootstrap.replicates=50", "--quiet", "--no-html")
GATES = ("--set", "gates.detection.f1.not_worse_than=baseline", "--set", "gates.detection.f1.margin=0.5")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample corpus evaluated whole and in two halves, and again with every third prediction lost."""
    folder = tmp_path_factory.mktemp("runs")
    truths = (CORPUS / "ground_truth.jsonl").read_bytes().splitlines()
    answers = (CORPUS / "predictions.jsonl").read_bytes().splitlines()
    half = {json.loads(line)["sample_id"] for line in truths[: len(truths) // 2]}
    for name, keep in (("first", True), ("second", False)):
        for side, lines in (("t", truths), ("p", answers)):
            write_lines(
                folder / f"{name}-{side}.jsonl", [e for e in lines if (json.loads(e)["sample_id"] in half) == keep]
            )
    write_lines(folder / "worse-p.jsonl", [each for number, each in enumerate(answers) if number % 3])
    for name in ("first", "second"):
        assert run(folder / name, folder / f"{name}-t.jsonl", folder / f"{name}-p.jsonl").code == 0
    assert run(folder / "whole", CORPUS / "ground_truth.jsonl", CORPUS / "predictions.jsonl").code == 0
    assert run(folder / "worse", CORPUS / "ground_truth.jsonl", folder / "worse-p.jsonl").code == 0
    return folder


def run(output: Path, truths: Path, answers: Path, *more: str) -> Run:
    return evaluate(output, truths, answers, *FLAGS, *more, config="figure_text")


def both(cluster: FlinkCluster, folder: Path, *words: str | Path) -> tuple[Path, Path]:
    """Runs a command locally and on the cluster, each in a folder of its own; returns the two folders."""
    for name, options in (("here", []), ("there", cluster.options())):
        (folder / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder / name)
            code, _, stderr = command(*words, *options)
        assert (code, without_progress(stderr)) == (0, "")
    return folder / "here", folder / "there"


def test_a_comparison_has_the_bytes_of_a_local_one(cluster: FlinkCluster, runs: Path, tmp_path: Path) -> None:
    words = ("compare", runs / "whole", runs / "worse", "--output=out")
    here, there = (each / "out" for each in both(cluster, tmp_path, *words))
    for name in ("comparison.json", "comparison.md"):
        assert (there / name).read_bytes() == (here / name).read_bytes()
    changes = [[path.read_bytes() for path in (each / "changes").glob("*.jsonl")] for each in (here, there)]
    assert changes[0] == changes[1] != [b""]
    tables = [[path.read_bytes() for path in (each / "changes").glob("*.parquet")] for each in (here, there)]
    assert tables[0] == tables[1]
    assert "worse" in json.loads((here / "comparison.json").read_bytes())["verdicts"]


def test_a_merged_run_has_the_bytes_of_a_local_one(cluster: FlinkCluster, runs: Path, tmp_path: Path) -> None:
    words = ("merge", runs / "first", runs / "second", "--output=out", "--quiet")
    here, there = (each / "out" for each in both(cluster, tmp_path, *words))
    for name in ("summary.json", "sums.json", "report.md"):
        assert (there / name).read_bytes() == (here / name).read_bytes()
    found, other, whole = (Run(0, "", "", each) for each in (here, there, runs / "whole"))
    assert found.samples == other.samples == whole.samples
    assert found.sums["systems"] == other.sums["systems"] == whole.sums["systems"]


def test_reusing_and_comparing_with_a_baseline(cluster: FlinkCluster, runs: Path, tmp_path: Path) -> None:
    inputs = CORPUS / "ground_truth.jsonl", runs / "worse-p.jsonl"
    flags = ("--baseline", str(runs / "whole"), *GATES)
    plain = run(tmp_path / "plain", *inputs, *flags)
    reuse = ("--reuse", str(runs / "worse"))
    found = run(tmp_path / "there", *inputs, *flags, *reuse, *cluster.options())
    assert (found.code, found.stderr) == (plain.code, plain.stderr)
    assert found.bytes() == plain.bytes()
    assert found.samples == plain.samples
    assert found.summary["gates"][0]["difference"] < 0
    assert json.loads((found.output / "run.json").read_bytes())["reused"]["path"] == str(runs / "worse")


def test_split_and_select_write_the_same_files(cluster: FlinkCluster, runs: Path, tmp_path: Path) -> None:
    split = ("figure_text", "--ground-truth", CORPUS / "ground_truth.jsonl", "--shards=3", "--output=split.jsonl")
    select = (runs / "whole", "--below=0.5", "--output=hard.parquet")
    for name, words in (("split", split), ("select", select)):
        (tmp_path / name).mkdir()
        written = [
            {path.name: path.read_bytes() for path in folder.iterdir()}
            for folder in both(cluster, tmp_path / name, name, *words)
        ]
        assert written[0] == written[1] != {}


def test_an_embedded_evaluation_has_the_sums_of_the_command(cluster: FlinkCluster, tmp_path: Path) -> None:
    corpus = PROJECT / "tests" / "corpora" / "chart"
    paths = {side: corpus / f"{side}.jsonl" for side in ("ground_truth", "predictions")}
    here = evaluate(tmp_path / "here", paths["ground_truth"], paths["predictions"], "--slice", "source", config="chart")
    output = tmp_path / "there"
    with beam.Pipeline(options=PipelineOptions(cluster.options())) as pipeline:
        collections = {
            side: pipeline
            | f"Read {side}" >> beam.Create(path.read_text().splitlines())
            | f"Parse {side}" >> beam.Map(json.loads)
            for side, path in paths.items()
        }
        _ = collections | beamscore.Evaluate("chart", slices=["source"], output=str(output))
    there = Run(0, "", "", output)
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
