"""The other commands on Flink, and a pipeline of somebody else: what they write has the bytes of a local run."""

import json
import re
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

import beamscore
from tests.flink.cluster import FlinkCluster
from tests.flink.conftest import evaluate_well, sides_of
from tests.runs import Run, command, evaluate, without_progress, write_lines

TRUTHS, ANSWERS = sides_of("figure_text")
FLAGS = ("--slice", "source", "--set", "bootstrap.replicates=50", "--quiet", "--no-html")
GATES = ("--set", "gates.detection.f1.not_worse_than=baseline", "--set", "gates.detection.f1.margin=0.5")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample corpus evaluated whole and in two halves, and again with every third prediction lost."""
    folder = tmp_path_factory.mktemp("runs")
    truths, answers = TRUTHS.read_bytes().splitlines(), ANSWERS.read_bytes().splitlines()
    half = len(truths) // 2
    kept = {"first": truths[:half], "second": truths[half:], "whole": truths, "worse": truths}
    for name, lines in kept.items():
        ids = {json.loads(line)["sample_id"] for line in lines}
        found = [line for line in answers if json.loads(line)["sample_id"] in ids]
        found = [line for number, line in enumerate(found) if number % 3 or name != "worse"]
        sides = write_lines(folder / f"{name}-t.jsonl", lines), write_lines(folder / f"{name}-p.jsonl", found)
        assert run(folder / name, *sides).code == 0
    return folder


def run(output: Path, truths: Path, answers: Path, *more: str) -> Run:
    return evaluate(output, truths, answers, *FLAGS, *more, config="figure_text")


def named(folder: Path, pattern: str) -> dict[str, bytes]:
    """Returns the files of a pattern by name, in which the id of a run is cut out."""
    return {re.sub("[0-9a-f]{12}", "ID", path.name): path.read_bytes() for path in folder.glob(pattern)}


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (f"split figure_text --ground-truth={TRUTHS} --output=split.jsonl", ["*"]),
        ("select RUNS/whole --below=0.5 --output=hard.parquet", ["*"]),
        (
            "compare RUNS/whole RUNS/worse --output=out",
            ["out/comparison.json", "out/comparison.md", "out/changes/*.jsonl"],
        ),
        (
            "merge RUNS/first RUNS/second --output=out --quiet",
            ["out/summary.json", "out/sums.json", "out/report.md"],
        ),
    ],
)
def test_a_command_writes_the_bytes_of_a_local_one(
    cluster: FlinkCluster, runs: Path, tmp_path: Path, words: str, files: list[str]
) -> None:
    written = []
    for name, options in (("here", []), ("there", cluster.options())):
        (tmp_path / name).mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path / name)
            code, _, stderr = command(*words.replace("RUNS", str(runs)).split(), *options)
        assert (code, without_progress(stderr)) == (0, "")
        written.append([named(tmp_path / name, pattern) for pattern in files])
    here, there = written
    assert there == here
    assert all(found and all(found.values()) for found in here)
    if words.startswith("compare"):
        assert json.loads(here[0]["comparison.json"])["verdict"]["judgement"] == "worse"
    if words.startswith("merge"):
        outputs = tmp_path / "here" / "out", tmp_path / "there" / "out", runs / "whole"
        found, other, whole = (Run(0, "", "", output) for output in outputs)
        assert found.samples == other.samples == whole.samples
        assert found.sums["systems"] == whole.sums["systems"]


def test_reusing_and_comparing_with_a_baseline(cluster: FlinkCluster, runs: Path, tmp_path: Path) -> None:
    inputs = runs / "worse-t.jsonl", runs / "worse-p.jsonl"
    flags = ("--baseline", str(runs / "whole"), *GATES)
    plain = run(tmp_path / "plain", *inputs, *flags)
    reuse = ("--reuse", str(runs / "worse"))
    found = run(tmp_path / "there", *inputs, *flags, *reuse, *cluster.options())
    assert (found.code, found.stderr) == (plain.code, plain.stderr)
    assert found.bytes() == plain.bytes()
    assert found.samples == plain.samples
    assert found.summary["gates"][0]["difference"] < 0
    assert json.loads((found.output / "run.json").read_bytes())["reused"]["path"] == str(runs / "worse")


def test_an_embedded_evaluation_has_the_sums_of_the_command(cluster: FlinkCluster, tmp_path: Path) -> None:
    sides = sides_of("chart")
    here = evaluate_well(tmp_path / "here", "chart", sides, "--slice", "source")
    output = tmp_path / "there"
    with beam.Pipeline(options=PipelineOptions(cluster.options())) as pipeline:
        lines = {path.stem: path.read_text().splitlines() for path in sides}
        texts = {name: pipeline | f"Read {name}" >> beam.Create(each) for name, each in lines.items()}
        collections = {name: each | f"Parse {name}" >> beam.Map(json.loads) for name, each in texts.items()}
        found = collections | beamscore.Evaluate("chart", slices=["source"], output=str(output))
        for name in ("metrics", "samples", "rejected"):
            _ = getattr(found, name) | f"Write {name}" >> beam.io.WriteToText(str(tmp_path / name))
    there = Run(0, "", "", output)
    assert there.sums["systems"] == here.sums["systems"]
    assert there.summary["systems"] == here.summary["systems"]
