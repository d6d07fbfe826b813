"""`beamscore.Evaluate` against the command over files: equal sums, values and coverage; and docs/how-to/embed.md."""

import dataclasses
import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import apache_beam as beam
import fastavro
import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.ml.inference.base import PredictionResult
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing import test_stream
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, Repeatedly
from apache_beam.transforms.window import FixedWindows, GlobalWindows

import beamscore
from beamscore.pipelines.runs.run import LAYOUT
from beamscore.transforms.io import publication
from beamscore.transforms.io.publication import Claim, Process, own_output
from beamscore.transforms.records import InputProblem
from tests.runs import Run, evaluate, write_lines
from tests.test_docs_examples import blocks
from tests.transforms.test_read import content_hash

ROOT = Path(__file__).parents[3]
CORPORA = ROOT / "tests" / "corpora"
PROGRAM, PRINTED, JSON_LINES, BIGQUERY, AVRO = blocks(ROOT / "docs" / "how-to" / "embed.md")
COLLECTED: defaultdict[str, list[Any]] = defaultdict(list)
REPLICATES = 5
PATHS = ("ground_truth", "predictions")


def _collect(element: Any, name: str) -> None:
    COLLECTED[name].append(element)


def collect(result: Any) -> None:
    """Keeps the rows of each collection of a result in COLLECTED, once its pipeline has run."""
    COLLECTED.clear()
    for name, rows in result._asdict().items():
        _ = rows | f"Collect {name}" >> beam.Map(_collect, name)


def evaluated(
    sides: Mapping[str, Iterable[Any]], benchmark: str = "toy", as_pair: bool = False, **arguments: Any
) -> dict[str, list[Any]]:
    """Runs Evaluate over records in memory; returns the rows of each collection of the result."""
    checks = PipelineOptions([], runtime_type_check=as_pair, performance_runtime_type_check=not as_pair)
    with beam.Pipeline("FnApiRunner", checks) as pipeline:
        inputs: Any = {name: pipeline | f"Create {name}" >> beam.Create(list(each)) for name, each in sides.items()}
        given = tuple(inputs.values()) if as_pair else inputs
        collect(given | beamscore.Evaluate(benchmark, **{"replicates": REPLICATES, **arguments}))
    return {name: COLLECTED[name] for name in ("metrics", "samples", "rejected", "coverage", "sums")}


def on_files(folder: Path, sides: Mapping[str, Iterable[Any]], *flags: str, config: str = "toy") -> Run:
    """Runs the command over files of the records."""
    files = {name: write_lines(folder / f"{name}.jsonl", records) for name, records in sides.items()}
    quiet = ("--quiet", "--no-html", "--set", f"bootstrap.replicates={REPLICATES}", "--runtime_type_check")
    return evaluate(folder / "run", files.pop("ground_truth"), files, *quiet, *flags, config=config)


def check_same(found: Mapping[str, list[Any]], run: Run) -> None:
    """Checks that a result is that of the run of the command."""
    (sums,) = map(json.loads, found["sums"])
    paths = {side: sums["config"][side] for side in PATHS}
    assert json.dumps(sums) == json.dumps({**run.sums, "config": {**run.sums["config"], **paths}})
    systems = run.summary["systems"]
    values = {
        (name, label, metric, value, *(part["intervals"].get(metric) or (None, None)), part["units"][metric])
        for name, system in systems.items()
        for label, part in {"": system, **system["slices"]}.items()
        for metric, value in part["values"].items()
    }
    assert {(r.system, r.slice, r.metric, r.value, r.low, r.high, r.units) for r in found["metrics"]} == values
    assert len(found["metrics"]) == len(values)
    rows = sorted(found["samples"], key=lambda row: (row.system, row.sample_id))
    for row, expected in zip(rows, run.samples, strict=True):
        shown = row.as_dict()
        metrics, _ = shown.pop("metrics"), shown.pop("slices")
        assert shown == {name: expected.pop(name) for name in shown}
        apart = ("coverage", "row_hash")
        columns = {name: each for name, each in expected.items() if name not in apart and not name.startswith("slice.")}
        assert {name: metrics.get(name) for name in columns} == columns
    for name, system in systems.items():
        counts = {side: each for side, each in system["coverage"].items() if isinstance(each, dict)}
        # The benchmark's own have no side.
        counts[""] = {what: each for what, each in system["coverage"].items() if type(each) is int}
        coverage = {(side, status): count for side, each in counts.items() for status, count in each.items()}
        assert {(r.side, r.status): r.count for r in found["coverage"] if r.system == name} == coverage
        scored = Counter(label for row in rows if (row.system, row.status) == (name, "scored") for label in row.slices)
        slices = {label: each["coverage"]["ground_truth"].get("scored", 0) for label, each in system["slices"].items()}
        assert scored == Counter(slices)
    # The first of several records has a place in a file, a hash in a collection.
    kept, rejected = (
        sorted(str((e["side"], e["sample_id"], e["cause"], e["error"].partition("first at")[0])) for e in entries)
        for entries in (run.quarantine, [row.as_dict() for row in found["rejected"]])
    )
    assert kept == rejected


def test_a_benchmark_scores_collections_as_files(tmp_path: Path) -> None:
    lines = {side: (CORPORA / "chart" / f"{side}.jsonl").read_bytes().splitlines()[:6] for side in PATHS}
    sides, output = {side: list(map(json.loads, each)) for side, each in lines.items()}, tmp_path / "embedded"
    # The benchmark counts it on its own.
    sides["ground_truth"][0]["task1"]["output"]["chart_type"] = "a class that is not listed"
    run = on_files(tmp_path, sides, "--slice", "source", config="chart")
    assert run.summary["systems"]["predictions"]["coverage"]["ground_truth_classes_not_listed"] == 1
    assert "warning: the ground truth has chart classes that are not listed: check edition" in run.stderr
    check_same(evaluated(sides, "chart", slices=["source"], output=str(output)), run)
    published = Run(0, "", "", output)
    assert published.sums["systems"] == run.sums["systems"]
    assert published.summary["systems"] == run.summary["systems"]
    assert (output / "report.html").stat().st_size > 10_000
    assert published.report.splitlines()[0] == run.report.splitlines()[0]


FIELDS = [("sample_id", str), ("text", str), ("words", list[str]), ("kind", int), ("page", str)]
TruthTuple: Any = NamedTuple("TruthTuple", FIELDS)  # type: ignore[misc]
TruthClass: Any = dataclasses.make_dataclass("TruthClass", FIELDS)
TruthClass.__module__ = __name__  # to be pickled
TruthStruct: Any = msgspec.defstruct("TruthStruct", FIELDS, module=__name__)
TRUTHS = [
    {"sample_id": f"s{n}", "text": "x" * (n % 7), "words": ["a", "b"][: n % 3], "kind": n % 2, "page": f"p{n // 3}"}
    for n in range(40)
]
PREDICTIONS = [{"sample_id": f"s{n}", "text": "x" * ((n + n % 3) % 7)} for n in range(40) if n % 11 != 5]
BROKEN: list[Any] = [{"sample_id": "s1", "text": text} for text in ("another", "a third")]
BROKEN += [{"sample_id": "nobody", "text": "x"}, {"text": "x"}, {"sample_id": "s2x", "text": 3}]
BROKEN += [{"sample_id": "s5", "text": "prediction is bad"}, {"sample_id": "s16", "text": "score fails"}]
BAD_TRUTHS: list[Any] = [{"sample_id": "s2", "text": "other", "kind": 5}, {"sample_id": "untyped", "text": 5}]
BAD_TRUTHS += [{"sample_id": "bad", "text": "truth is bad", "kind": 1, "page": None}]
SHAPES: dict[str, Any] = {
    "mappings": lambda record: record,
    "rows": lambda record: beam.Row(**record),
    "tuples": lambda record: TruthTuple(**record),
    "dataclasses": lambda record: TruthClass(**record),
    "structs": lambda record: TruthStruct(**record),
    "numpy": lambda record: {**record, "kind": np.int8(record["kind"]), "words": np.array(record["words"], object)},
    "texts": lambda record: {**record, "words": json.dumps(record["words"]), "empty": None},
}
SETTINGS = ("--slice", "kind", "--slice", "kind,words", "--set", "cluster=page", "--set", "bootstrap.seed=3")
ARGUMENTS: dict[str, Any] = {"slices": ["kind", "kind,words"], "cluster": "page", "seed": 3}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return on_files(tmp_path_factory.mktemp("clean"), {"ground_truth": TRUTHS, "mine": PREDICTIONS}, *SETTINGS)


@pytest.mark.parametrize("shapes", [["rows"], list(SHAPES)], ids=str)
def test_records_of_any_form_score_the_same(clean: Run, shapes: list[str]) -> None:
    """Rows alone travel by their schema, records of mixed forms by pickle."""
    truths = [SHAPES[shapes[number % len(shapes)]](record) for number, record in enumerate(TRUTHS)]
    check_same(evaluated({"ground_truth": truths, "mine": PREDICTIONS}, **ARGUMENTS), clean)


def test_order_buckets_and_duplicates_do_not_change_a_bit(tmp_path: Path) -> None:
    """A file has a first record: here it is the one with the smallest hash, which counts in a collection."""
    sides = {"ground_truth": [*TRUTHS, *BAD_TRUTHS], "mine": [*PREDICTIONS, *BROKEN], "theirs": PREDICTIONS[:9]}
    run = on_files(tmp_path, {name: sorted(each, key=content_hash) for name, each in sides.items()}, *SETTINGS)
    assert run.summary["systems"]["mine"]["coverage"]["predictions"]["duplicate"] == 2
    for each in sides.values():
        random.Random(1).shuffle(each)
    check_same(evaluated(sides, buckets=1, **ARGUMENTS), run)


def test_options_reach_the_benchmark_and_a_pair_is_one_system() -> None:
    sides: dict[str, list[Any]] = {"truths": TRUTHS, "predictions": PREDICTIONS}
    found = evaluated(sides, as_pair=True, options={"batch": 5}, missing="exclude", replicates=0)
    (row,) = [row for row in found["metrics"] if row.metric == "exact_match"]
    equal = sum(p in [{k: t[k] for k in ("sample_id", "text")} for t in TRUTHS] for p in PREDICTIONS)
    assert (row.value, row.system, row.low) == (equal / len(PREDICTIONS), "predictions", None)
    assert json.loads(found["sums"][0])["config"]["batch"] == 5


def test_fields_and_unpack_find_the_records(clean: Run) -> None:
    fields = {"ground_truth": {"text": "label.text"}, "mine": {"text": "answer"}}
    truths = [{**each, "text": None, "label": json.dumps({"text": each["text"]})} for each in TRUTHS]
    predictions = [(each["sample_id"], each["text"]) for each in PREDICTIONS]
    unpack = {"mine": lambda pair: {"sample_id": pair[0], "answer": pair[1]}}
    found = evaluated({"ground_truth": truths, "mine": predictions}, fields=fields, unpack=unpack, **ARGUMENTS)
    assert json.loads(found["sums"][0])["systems"] == clean.sums["systems"]


def test_the_log_says_what_was_not_scored_and_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING")
    none = evaluated({"ground_truth": [], "mine": []})
    assert ({row.value for row in none["metrics"]}, {row.count for row in none["coverage"]}) == ({None}, {0})
    assert (len(none["sums"]), caplog.messages) == (1, ["the ground truth: there is no record; nothing was scored"])
    caplog.clear()
    untyped = [{**each, "text": 5} for each in PREDICTIONS]
    results = [PredictionResult(None, each) for each in PREDICTIONS]
    systems: dict[str, list[Any]] = {
        "half": [*PREDICTIONS[:9], *untyped[9:12]],
        "twice": [*PREDICTIONS, {**PREDICTIONS[0], "text": "again"}],
        "none": [],
        "untyped": untyped,
        "others": [{**each, "sample_id": f"other {each['sample_id']}"} for each in PREDICTIONS],
        "results": results,
        "keyed": list(enumerate(results)),
        "unkeyed": [PredictionResult("a.png", {**each, "sample_id": None}) for each in PREDICTIONS],
    }
    evaluated({"ground_truth": TRUTHS, **systems}, unpack={"unkeyed": beamscore.unpack_inference})
    nothing, unpack = "nothing was scored: ", "; give unpack=beamscore.unpack_inference"
    expected = (
        f"the predictions of none: there is no record; {nothing[:-2]}",
        f"the predictions of untyped: {nothing}36 prediction records rejected; most often: Expected `str`, got `int`",
        f"the predictions of others: {nothing}no predicted sample_id is in the ground truth; give both",
        f"the predictions of results: {nothing}36 prediction records rejected; most often: sample_id must *{unpack}",
        f"the predictions of keyed: {nothing}36 prediction records rejected; most often: * mapping, not tuple{unpack}",
        f"the predictions of unkeyed: {nothing}36 prediction records rejected; most often: *; use KeyedModelHandler",
        "the predictions of twice: 1 record with a duplicate sample_id: s0 at *; the output `rejected` lists all; to",
        "half: 3 of 12 predictions were rejected; most often: Expected `str`, got `int` - at `$.text` (s",
    )
    for message, pattern in zip(caplog.messages, expected, strict=True):
        beginning, _, rest = pattern.partition("*")
        assert message.startswith(beginning)
        assert rest.strip() in message


DISCARDING = {"accumulation_mode": AccumulationMode.DISCARDING}
TRIGGERED = beam.WindowInto(GlobalWindows(), trigger=Repeatedly(AfterCount(1)), **DISCARDING)


def of_mine(change: Any) -> Any:
    return lambda both: {**both, "mine": change(both["mine"])}


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (of_mine(lambda mine: mine.pipeline | test_stream.TestStream()), {}, "mine: the collection is unb"),
        (of_mine(lambda mine: mine | beam.WindowInto(FixedWindows(60))), {}, "mine: the collection is windowed, or"),
        (of_mine(lambda mine: mine | TRIGGERED), {}, "mine: the collection is windowed, or has a trigger"),
        (lambda both: {"ground_truth": both["mine"]}, {}, "needs ground_truth and predictions; there is ground_truth"),
        (dict, {"fields": {"mien": {"text": "a"}}}, r"fields\.mien: there is no such side"),
        (dict, {"unpack": {"mien": dict}}, r"unpack\.mien: there is no such side"),
        (lambda both: both["mine"], {}, "Evaluate takes"),
        (lambda both: (both["mine"],), {}, "Evaluate takes"),
        (of_mine(lambda mine: mine | beam.ParDo(_collect, "").with_outputs()), {}, "mine: these are several coll"),
        (of_mine(lambda mine: [mine, mine]), {}, "mine: these are several collections"),
        (dict, {"output": __file__}, "^output .*; fix that, or give another output$"),
        (dict, {"output": ""}, "output: the path is empty"),
        (dict, {"output": "azfs://account/container/out"}, "azfs:// need a package that is not installed"),
        (dict, {"benchmark": dict}, r"the benchmark must be a name or FILE\.py:CLASS, not <class 'dict'>"),
        # The checks of the arguments are those of the command.
        (dict, {"fields": {"mine": {"txt": "a"}}}, r"fields\.mine\.txt: the run reads no such field \(did you mean te"),
        (dict, {"limits": {"depth": 0}}, r"^toy: limits\.depth: [^\n]+$"),
        (dict, {"buckets": 0}, "buckets: must be a whole number from 1 to 10000, not 0"),
        (dict, {"buckets": 10_001}, "buckets: must be a whole number from 1 to 10000, not 10001"),
        (dict, {"processes": 2}, "there is no argument processes"),
        (dict, {"buckets": True}, "buckets: must be a whole number"),
        (dict, {"unpack": {"mine": "text"}}, r"unpack\.mine: must be a function"),
        (dict, {"unpack": "text"}, "unpack: must be a function or a mapping of sides to functions, not str"),
    ],
)
def test_wrong_sides_and_arguments_are_refused_before_the_run(change: Any, arguments: Any, message: str) -> None:
    pipeline = beam.Pipeline()
    both = {"ground_truth": pipeline | "T" >> beam.Create(TRUTHS), "mine": pipeline | "P" >> beam.Create(PREDICTIONS)}
    with pytest.raises((ValueError, TypeError), match=message):
        _ = change(both) | beamscore.Evaluate(**{"benchmark": "toy", **arguments})


def test_a_run_replaces_the_one_before_it_and_one_that_fails_leaves_it(tmp_path: Path) -> None:
    def publish(predictions: Any, *more_truths: Any, name: str = "out") -> None:
        evaluated({"ground_truth": [*TRUTHS, *more_truths], "mine": predictions}, output=str(tmp_path / name))

    publish(PREDICTIONS)
    first = Run(0, "", "", tmp_path / "out")
    assert first.summary["systems"]["mine"]["coverage"]["ground_truth"]["scored"] == len(PREDICTIONS)
    before = first.bytes()
    with pytest.raises(InputProblem, match="scoring failed because of this machine"):
        publish(PREDICTIONS, {"sample_id": "disk", "text": "disk is full"})
    assert first.bytes() == before
    publish(TRUTHS)
    assert first.summary["systems"]["mine"]["values"]["exact_match"] == 1
    assert {row["status"] for row in first.samples} == {"scored"}
    # A publication that fails leaves the output to others, as would its process if it were killed.
    claims: list[Any] = []

    def no_space(output: str, _: Any, run_id: str = "") -> None:
        if run_id:
            claims.append(publication.held_claim(output, run_id))
            raise OSError("the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publication, "refresh_plain_names", no_space)
        with pytest.raises(InputProblem, match="cannot be written: the disk is full"):
            publish(PREDICTIONS)
    assert [claim.work for claim in claims] == ["local"]
    publish(TRUTHS)
    # Where another run is writing, none publishes.
    own_output(str(tmp_path / "other"), Claim("0", Process.of(os.getpid())), LAYOUT)
    with pytest.raises(InputProblem, match=r"run 0, process .* is writing there"):
        publish(PREDICTIONS, name="other")
    assert not (tmp_path / "other" / "summary.json").exists()
    # A file of others is refused before the pipeline runs.
    (tmp_path / "report.md").write_text("notes")
    with pytest.raises(ValueError, match=r"holds no result, but a report\.md that it would replace"):
        publish(PREDICTIONS, name=".")
    # So is a folder that this pipeline publishes to already.
    pipeline, publishing = beam.Pipeline(), beamscore.Evaluate("toy", output=str(tmp_path / "out"))
    sides = tuple(pipeline | name >> beam.Create(TRUTHS) for name in PATHS)
    _ = sides | publishing
    with pytest.raises(ValueError, match="another Evaluate of this pipeline publishes there; give another output"):
        _ = sides | "Again" >> publishing


def test_a_runner_as_an_argument_publishes_where_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The options of the pipeline do not name it, and its workers may have another current folder."""
    monkeypatch.chdir(tmp_path)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        _ = tuple(pipeline | name >> beam.Create(TRUTHS) for name in PATHS) | beamscore.Evaluate("toy", output="out")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
    assert json.loads((tmp_path / "out" / "run.json").read_bytes())["runner"] == "FnApiRunner"


def test_the_shown_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    exec(PROGRAM.replace("beam.Pipeline()", 'beam.Pipeline("FnApiRunner")'), {"__name__": "__main__"})
    assert capsys.readouterr() == (PRINTED, "")


def test_of_json_lines_as_a_source_the_broken_ones_are_rejected() -> None:
    line = '{"sample_id": "a", "text": "C"}'
    with beam.Pipeline("FnApiRunner") as pipeline:
        truths = pipeline | "Truths" >> beam.Create([line])
        predictions = pipeline | beam.Create([line, line[:9], r'{"sample_id": "b", "text": "\ud83d"}'])
        scope = {**globals(), "truths": truths, "predictions": predictions}
        exec(JSON_LINES, scope)
        collect(scope["result"])
    assert [row.cause for row in COLLECTED["rejected"]] == ["unreadable", "unreadable"]
    assert [row.status for row in COLLECTED["samples"]] == ["scored"]


def test_bigquery_and_avro_are_sources_that_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a warehouse, the rows are those that its client yields: mappings, with JSON as text."""
    monkeypatch.chdir(tmp_path)
    rows = [{"sample_id": "a", "task1": '{"output": {"chart_type": "Line"}}', "source": None}]
    read = Mock(return_value=beam.Create(rows))
    monkeypatch.setattr(beam.io, "ReadFromBigQuery", read)
    with beam.Pipeline("FnApiRunner") as pipeline:
        predictions = pipeline | beam.Create([{"sample_id": "a", "task1": {"output": {"chart_type": "Line"}}}])
        scope: dict[str, Any] = {"beam": beam, "beamscore": beamscore, "pipeline": pipeline, "predictions": predictions}
        exec(BIGQUERY, scope)
        collect(scope["result"])
    assert read.call_args.kwargs["use_standard_sql"]
    assert COLLECTED["rejected"] == []
    (row,) = COLLECTED["samples"]
    assert (row.status, row.slices) == ("scored", ["source=null"])
    os.mkdir("avro")
    fields = [{"name": "sample_id", "type": "string"}, {"name": "task1", "type": "string"}]
    for side in ("truths", "predictions"):
        with open(f"avro/{side}-1.avro", "wb") as file:
            fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)
    with beam.Pipeline("FnApiRunner") as pipeline:
        scope["pipeline"] = pipeline
        exec(AVRO, scope)
        collect(scope["result"])
    assert [row.metrics["score"] for row in COLLECTED["samples"]] == [1]


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (PredictionResult({"sample_id": "a", "repeat": 0, "x": 1}, {}), {"sample_id": "a", "repeat": 0}),
        (("key", PredictionResult(np.zeros(2), {"text": "t", "sample_id": None})), {"sample_id": "key", "text": "t"}),
        (PredictionResult("image", {"sample_id": "own", "text": "t"}), {"sample_id": "own", "text": "t"}),
        (("key", PredictionResult(beam.Row(repeat="r"), {"repeat": None})), {"sample_id": "key", "repeat": "r"}),
        (PredictionResult({"x": 1}, {"id": "a"}), {"sample_id": None, "id": "a"}),
        ((None, PredictionResult(np.zeros(2), {"id": "a"})), {"sample_id": None, "id": "a"}),
        (("key", PredictionResult({"repeat": 1}, {"sample_id": "o", "repeat": 2})), {"sample_id": "o", "repeat": 2}),
    ],
)
def test_a_prediction_result_is_unpacked(element: Any, expected: dict[str, Any]) -> None:
    assert beamscore.unpack_inference(element) == expected


def test_the_pipeline_of_beam_yaml_reads_parquet_evaluates_and_writes(tmp_path: Path) -> None:
    pytest.importorskip("quickjs", reason="needs apache-beam[yaml]")
    pytest.importorskip("docstring_parser", reason="needs apache-beam[yaml]")
    from apache_beam.yaml import main

    output = tmp_path / "run"
    variables = {"benchmark": "chemistry", "output": str(output)}
    for side, name in zip(PATHS, ("truths", "predictions"), strict=True):
        records = [json.loads(line) for line in (CORPORA / "chemistry" / f"{side}.jsonl").read_bytes().splitlines()]
        variables[name] = str(tmp_path / f"{side}.parquet")
        pq.write_table(pa.Table.from_pylist(records), variables[name])
    pipeline = ROOT / "configs" / "beam_yaml" / "evaluate_parquet.yaml"
    flags = [f"--yaml_pipeline_file={pipeline}", f"--jinja_variables={json.dumps(variables)}"]
    main.run([*flags, "--runner=FnApiRunner"])
    rows = [json.loads(line) for path in tmp_path.glob("run-metrics*") for line in path.read_bytes().splitlines()]
    values = json.loads((output / "summary.json").read_bytes())["systems"]["mine"]["values"]
    assert {row["metric"]: row["value"] for row in rows if not row["slice"]} == pytest.approx(values)
