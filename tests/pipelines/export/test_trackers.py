"""A run in MLflow and in W&B: names that they take, and real stores on this disk, where these are installed."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.export.trackers import MAX_NAME_LENGTH, entry_names, metrics
from beamscore.pipelines.runs import run as runs
from tests import toy
from tests.runs import Run, command, evaluate, refused, write_lines


@given(st.lists(st.text(min_size=1) | st.text("aA.[]/:= ", min_size=1), unique=True))
@example(["a", "A"])
def test_names_are_taken_by_mlflow_and_differ(names: list[str]) -> None:
    """The rules are those of `mlflow.utils.validation`, on Windows, where fewer characters are allowed."""
    found = entry_names(names)
    assert list(found) == names
    assert len({each.casefold() for each in found.values()}) == len(names)
    for name in found.values():
        assert re.fullmatch(r"[/\w.\- ]+", name, re.ASCII)
        assert len(name) <= MAX_NAME_LENGTH
        assert posixpath.normpath(name) == name
        assert not name.startswith((".", "/"))


def test_a_name_says_what_it_stands_for() -> None:
    for benchmark in benchmark_names():
        names = [spec.name for spec in benchmark_class(benchmark).metrics]
        assert entry_names(names) == {name: name.replace("[", ".").replace("]", "") for name in names}
    assert entry_names(["task1.f1[pie]", "f1"]) == {"task1.f1[pie]": "task1.f1.pie", "f1": "f1"}
    (name,) = entry_names(["recall[a/b]"]).values()
    assert re.fullmatch(r"recall\.a_b-[0-9a-f]{16}", name)
    assert entry_names(["other", "recall[a/b]"])["recall[a/b]"] == name


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of two systems, of which `a` has a quarter wrong."""
    records = [toy.sample(index, 0)[0] for index in range(20)]
    truths = write_lines(tmp_path / "t.jsonl", records)
    wrong = write_lines(tmp_path / "p.jsonl", [{**each, "text": "?"} for each in records[:5]] + records[5:])
    return evaluate(
        tmp_path / "run", truths, {"a": wrong, "b": truths}, "--quiet", "--set", "gates.exact_match.minimum=0"
    )


def test_each_metric_with_a_value_is_logged_and_the_ends_of_its_interval(run: Run) -> None:
    found = runs.Run.read(str(run.output))
    ours = found.systems["a"]
    values = {**ours.values, "undefined": None, "exact": 1.0}
    intervals = {**ours.intervals, "undefined": (0.0, 1.0), "exact": None}
    found.systems["a"] = msgspec.structs.replace(ours, values=values, intervals=intervals)
    ends = {f"{name}.{end}" for name in ("exact_match", "similarity") for end in ("low", "high")}
    logged = metrics(found, "a")
    assert logged.keys() == {"exact_match", "similarity", "exact", *ends}
    assert (logged["similarity.low"], logged["similarity.high"]) == ours.intervals["similarity"]


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_logged_to_a_store_of_mlflow(run: Run, tmp_path: Path) -> None:
    client_of = pytest.importorskip("mlflow").MlflowClient
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = client_of(store)
    client.create_experiment("nightly", artifact_location=(tmp_path / "artifacts").as_uri())
    code, stdout, stderr = command(
        "export", run.output, "--to", "mlflow", "--tracking-uri", store, "--experiment", "nightly"
    )
    assert (code, stdout.count("logged as the run ")) == (0, 2), stderr
    logged = client.search_runs([client.get_experiment_by_name("nightly").experiment_id], order_by=["start_time"])
    by_system = {each.data.tags["beamscore.system"]: each for each in logged}
    assert set(by_system) == {"a", "b"}
    for system, each in by_system.items():
        found = run.summary["systems"][system]
        expected = dict(found["values"])
        for name, (low, high) in found["intervals"].items():
            expected |= {f"{name}.low": low, f"{name}.high": high}
        assert each.data.metrics == expected
        assert each.data.params["bootstrap.replicates"] == "200"
        assert each.data.params["missing"] == "wrong"
        assert each.data.tags["beamscore.signature"] == run.summary["signature"]
        assert each.data.tags["beamscore.gates"] == "2 of 2 gates pass"
        assert (each.info.status, each.info.run_name) == ("FINISHED", f"run:{system}")
        assert {file.path for file in client.list_artifacts(each.info.run_id)} >= {"summary.json", "samples"}
        fetched = client.download_artifacts(each.info.run_id, "summary.json", str(tmp_path))
        assert Path(fetched).read_bytes() == (run.output / "summary.json").read_bytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("library", "flag", "value"),
    [("mlflow", "--tracking-uri", "http://127.0.0.1:9"), ("wandb", "--output", "{folder}/t.jsonl")],
)
def test_a_place_that_cannot_be_reached_is_told_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, flag: str, value: str
) -> None:
    pytest.importorskip(library)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    line = refused("export", run.output, "--to", library, flag, value.format(folder=tmp_path))
    assert line.startswith("--to mlflow: " if library == "mlflow" else "--output ")


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_written_offline_for_wandb(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "disabled")  # what --to wandb asks for counts
    code, stdout, stderr = command("export", run.output, "--to", "wandb", "--output", tmp_path / "out")
    assert (code, stderr, stdout.count("wandb sync sends it")) == (0, "", 2)
    for system, line in zip("ab", stdout.splitlines(), strict=True):
        name, folder = line.removesuffix("; wandb sync sends it").split(": written to ")
        assert name == f"{run.output}:{system}"
        assert Path(folder).parent == tmp_path / "out" / "wandb"
        (written,) = Path(folder).glob("run-*.wandb")
        content = written.read_bytes()
        found = run.summary["systems"][system]
        for name, value in found["values"].items():
            assert name.encode() in content
            assert json.dumps(value).encode() in content
        for text in (run.summary["signature"], f"run:{system}", "exact_match.low", "bootstrap.replicates"):
            assert text.encode() in content
