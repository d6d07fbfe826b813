"""A run in MLflow and in W&B: what is logged, and real stores on this disk, where these are installed."""

from __future__ import annotations

import json
import posixpath
import re
import sys
from pathlib import Path
from unittest.mock import ANY, MagicMock, call

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.export import trackers
from beamscore.pipelines.export.trackers import MAX_NAME_LENGTH, entry_names, metrics, parameters, run_name, tags
from beamscore.pipelines.runs import run as runs
from beamscore.pipelines.runs.provenance import seconds
from tests import toy
from tests.runs import Run, command, evaluate, refused, write_lines


@given(st.lists(st.text(min_size=1) | st.text("aA.[]/:= ", min_size=1), unique=True))
@example(["a", "A"])
@example(["a" * 251])
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
    (name,) = entry_names(["recall[a/b]"]).values()
    assert re.fullmatch(r"recall\.a_b-[0-9a-f]{16}", name)
    assert entry_names(["x" * 250, "recall[a/b]"]) == {"x" * 250: "x" * 250, "recall[a/b]": name}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of two systems, of which `a` has a quarter wrong."""
    records = [toy.sample(index, 0)[0] for index in range(20)]
    truths = write_lines(tmp_path / "t.jsonl", records)
    wrong = write_lines(tmp_path / "p.jsonl", [{**each, "text": "?"} for each in records[:5]] + records[5:])
    gates = "--set", "gates.exact_match.minimum=0"
    return evaluate(tmp_path / "run", truths, {"a": wrong, "b": truths}, "--quiet", *gates)


def test_what_is_logged_of_a_run(run: Run) -> None:
    """Each metric with a value and the ends of its interval, each setting, and what identifies the run."""
    found = runs.Run.read(str(run.output))
    ours, summary = found.systems["a"], run.summary
    # A derived metric may be called as the end of an interval.
    values = {**ours.values, "undefined": None, "exact": 1.0, "exact_match.low": 0.7}
    intervals = {**ours.intervals, "undefined": (0.0, 1.0), "exact": None}
    found.systems["a"] = msgspec.structs.replace(ours, values=values, intervals=intervals)
    expected = {**ours.values, "exact": 1.0}
    for name, interval in ours.intervals.items():
        assert interval is not None
        expected[f"{name}.low"], expected[f"{name}.high"] = interval
    expected["exact_match.low"] = 0.7
    assert metrics(found, "a") == expected
    identity = {"version": summary["version"], "signature": summary["signature"], "gates": "2 of 2 gates pass"}
    identity |= {"run": str(run.output), "run_id": found.run_id, "system": "a", "benchmark": "toy"}
    identity |= {"ground_truth": summary["fingerprint"]["hash"]}
    assert tags(found, "a") == {f"beamscore.{name}": text for name, text in identity.items()}
    config = {"a": {"b": 1, "c": [1, "é"]}, "none": {}, "text": "é", "long": "x" * 7000}
    found.summary = msgspec.structs.replace(found.summary, config=config, gates=[], fingerprint=None)
    assert parameters(found) == {"a.b": "1", "a.c": '[1, "é"]', "none": "{}", "text": "é", "long": "x" * 6000}
    assert tags(found, "a").keys() == {f"beamscore.{name}" for name in identity.keys() - {"gates", "ground_truth"}}
    found.path = "runs/night/"
    assert run_name(found, "a") == "night:a"
    del found.systems["b"]
    assert run_name(found, "a") == "night"


def test_the_requests_to_mlflow(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request has 100 parameters at most; the files have their names in the run; a fault ends the run as failed."""
    found, client, logged = runs.Run.read(str(run.output)), MagicMock(), dict[str, bytes]()
    found.summary = msgspec.structs.replace(found.summary, config={f"p{number}": number for number in range(150)})
    client.create_run.return_value.info.run_id = "r"
    client.log_artifact.side_effect = lambda _, path, folder: logged.update(
        {posixpath.join(folder or "", Path(path).name): Path(path).read_bytes()}
    )
    pair, factory = (lambda *of: of), MagicMock(return_value=client)
    monkeypatch.setitem(sys.modules, "mlflow", MagicMock(MlflowClient=factory))
    monkeypatch.setitem(sys.modules, "mlflow.entities", MagicMock(Metric=pair, Param=pair))
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", MagicMock(MlflowException=KeyError))
    assert trackers.log_run(found, "a", "store", "nightly") == "r"
    started, ended = (round(1000 * seconds(found.provenance[name])) for name in ("started", "ended"))
    known, numbers = client.get_experiment_by_name.return_value.experiment_id, [(f"p{n}", f"{n}") for n in range(150)]
    values = [(name, value, ended, 0) for name, value in metrics(found, "a").items()]
    calls = [each for each in client.method_calls if each != call.log_artifact("r", ANY, ANY)]
    assert calls == [
        call.get_experiment_by_name("nightly"),
        call.create_run(known, started, tags(found, "a"), "run:a"),
        call.log_batch("r", metrics=values),
        call.log_batch("r", params=numbers[:100]),
        call.log_batch("r", params=numbers[100:]),
        call.set_terminated("r", "FINISHED", ended),
    ]
    assert factory.call_args == call("store")
    assert logged.items() > run.bytes().items()
    assert sum(name.startswith("samples/") for name in logged) == len([*run.output.glob("samples/*")])
    client.get_experiment_by_name.return_value = None
    client.log_batch.side_effect = KeyError("no more")
    found.provenance = {}
    with pytest.raises(UsageError, match="--to mlflow: 'no more'"):
        trackers.log_run(found, "a", None, None)
    assert client.method_calls[-5:] == [
        call.get_experiment_by_name("toy"),
        call.create_experiment("toy"),
        call.create_run(client.create_experiment.return_value, None, tags(found, "a"), "run:a"),
        call.log_batch("r", metrics=[(*each[:2], 0, 0) for each in values]),
        call.set_terminated("r", "FAILED"),
    ]


def test_what_is_written_for_wandb(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found, wandb = runs.Run.read(str(run.output)), MagicMock(Error=KeyError)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    wandb.init.return_value.settings.sync_dir = Path("there")
    for project in (None, "mine"):
        assert trackers.log_offline(found, "a", "out", project) == "there"
        config = {**parameters(found), **tags(found, "a")}
        asked = {"name": "run:a", "config": config, "settings": wandb.Settings.return_value}
        assert wandb.init.call_args == call(mode="offline", dir="out", project=project or "toy", **asked)
        assert wandb.init.return_value.method_calls[-2:] == [call.summary.update(metrics(found, "a")), call.finish()]
    wandb.init.side_effect = KeyError("no")
    with pytest.raises(UsageError, match="--to wandb: 'no'"):
        trackers.log_offline(found, "a", "out", None)


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_logged_to_a_store_of_mlflow(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client_of = pytest.importorskip("mlflow").MlflowClient
    store, found = f"sqlite:///{tmp_path / 'mlflow.db'}", runs.Run.read(str(run.output))
    client = client_of(store)
    experiment = client.create_experiment("nightly", artifact_location=(tmp_path / "artifacts").as_uri())
    more = "--tracking-uri", store, "--experiment", "nightly"
    code, stdout, stderr = command("export", run.output, "--to", "mlflow", *more)
    assert (code, stdout.count("logged as the run ")) == (0, 2), stderr
    logged = {each.info.run_name: each for each in client.search_runs([experiment])}
    for system in ("a", "b"):
        each = logged[f"run:{system}"]
        assert (each.data.metrics, each.data.params) == (metrics(found, system), parameters(found))
        assert each.data.tags.items() >= tags(found, system).items()
        assert each.info.status == "FINISHED"
        assert {file.path for file in client.list_artifacts(each.info.run_id)} >= {"summary.json", "samples"}
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    line = refused("export", run.output, "--to", "mlflow", "--tracking-uri", "http://127.0.0.1:9")
    assert line.startswith("--to mlflow: ")


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_written_offline_for_wandb(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    assert refused("export", run.output, "--to", "wandb", "--output", tmp_path / "t.jsonl").startswith("--output ")
    monkeypatch.setenv("WANDB_MODE", "disabled")  # what --to wandb asks for counts
    code, stdout, stderr = command("export", run.output, "--to", "wandb", "--output", tmp_path / "out")
    assert (code, stderr, stdout.count("wandb sync sends it")) == (0, "", 2)
    for system, line in zip("ab", stdout.splitlines(), strict=True):
        folder = line.removeprefix(f"{run.output}:{system}: written to ").removesuffix("; wandb sync sends it")
        (written,) = Path(folder).glob("run-*.wandb")
        content, found = written.read_bytes(), run.summary["systems"][system]["values"]
        texts = [*found, *map(json.dumps, found.values()), run.summary["signature"], "exact_match.low"]
        assert all(text.encode() in content for text in [*texts, f"run:{system}", "bootstrap.replicates"])
