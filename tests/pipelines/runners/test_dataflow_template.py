"""The Flex Template: each parameter of its metadata reaches the settings."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, WorkerOptions

from beamscore.pipelines.commands import evaluate as evaluate_command
from beamscore.pipelines.config.settings import Settings
from beamscore.pipelines.runners import dataflow_template, launch
from tests import toy
from tests.runs import write_lines

FOLDER = Path(__file__).parents[3] / "configs" / "dataflow"
METADATA = json.loads((FOLDER / "metadata.json").read_bytes())
PARAMETERS = {parameter["name"]: parameter for parameter in METADATA["parameters"]}

LAUNCHED = "--template_location=gs://bucket/staging/template_launches/1/job_object"
JOB = [
    *("--runner=DataflowRunner", "--project=a-project", "--region=europe-west1", "--job_name=nightly"),
    *("--labels=team=readers", "--staging_location=gs://bucket/staging", "--temp_location=gs://bucket/temp"),
    *("--num_workers=2", "--max_num_workers=20", "--machine_type=n2-standard-4", "--experiments=use_runner_v2"),
    "--service_account_email=runner@a-project.iam.gserviceaccount.com",
]
"""What Dataflow's launcher adds to the parameters."""

IMAGE = "europe-west1-docker.pkg.dev/a-project/images/beamscore:0.2.0"


def test_parameters_have_what_dataflow_asks_for() -> None:
    assert (METADATA["name"], bool(METADATA["description"]), METADATA["streaming"]) == ("beamscore", True, False)
    for name, parameter in PARAMETERS.items():
        assert set(parameter) <= {"name", "label", "helpText", "isOptional"}
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert parameter["label"]
        assert parameter["helpText"].endswith(".")
        assert (name in ("config", "output", "sdk_container_image")) != parameter.get("isOptional", False)


def test_every_parameter_reaches_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Mock(return_value=0)
    monkeypatch.setattr(evaluate_command, "_check", check)
    monkeypatch.setattr("beamscore.pipelines.runners.reachable._answered", {"gs://b"})

    def launched(*parameters: str) -> tuple[Settings, PipelineOptions]:
        """Returns what reaches `evaluate`, of a launch with --check."""
        assert dataflow_template.main([*JOB, LAUNCHED, "--check", *parameters]) == 0
        configuration, options = check.call_args.args
        return configuration.settings, options

    given = {
        "config": "toy",
        "ground_truth": "gs://b/t-*.jsonl;gs://b/u.parquet",
        "predictions": "new=gs://b/p.jsonl;gs://b/q.jsonl;new=gs://b/r.jsonl",
        "output": "gs://b/out;1",
        "slices": "kind;kind,words",
        "set": "missing=exclude;bootstrap.replicates=7",
        "sdk_container_image": IMAGE,
    }
    assert set(given) == set(PARAMETERS)
    settings, options = launched(*(f"--{name}={value}" for name, value in given.items()))
    assert settings.benchmark == "toy"
    assert settings.ground_truth == ["gs://b/t-*.jsonl", "gs://b/u.parquet"]
    assert settings.predictions == {"new": ["gs://b/p.jsonl", "gs://b/r.jsonl"], "predictions": ["gs://b/q.jsonl"]}
    # One folder, whatever is in its name.
    assert (settings.output, settings.slices) == ("gs://b/out;1", ["kind", "kind,words"])
    assert (settings.missing, settings.bootstrap.replicates) == ("exclude", 7)
    worker, cloud = options.view_as(WorkerOptions), options.view_as(GoogleCloudOptions)
    assert (worker.sdk_container_image, worker.max_num_workers) == (IMAGE, 20)
    assert (cloud.template_location, cloud.job_name) == (LAUNCHED.partition("=")[2], "nightly")
    # What is left out, or empty, is left to the configuration. The operator of Airflow adds labels of its own.
    path = tmp_path / "c.yaml"
    path.write_text("benchmark: toy\nground_truth: [a]\npredictions: {x: [b]}\noutput: c\nslices: [d]\n")
    settings, options = launched(f"--config={path}", "--slices=", "--set=", "--labels=airflow-version=v3-3-2")
    assert (settings.ground_truth, settings.predictions) == (["a"], {"x": ["b"]})
    assert (settings.output, settings.slices) == ("c", ["d"])
    assert options.view_as(GoogleCloudOptions).labels == ["team=readers", "airflow-version=v3-3-2"]


def test_without_a_configuration_the_launch_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert dataflow_template.main([]) == 2
    assert capsys.readouterr().err.startswith("beamscore: the following arguments are required: CONFIG; ")


@pytest.mark.parametrize("flag", [LAUNCHED, "--no_wait_until_finish", ""])
def test_the_launcher_hands_the_job_over_and_without_a_runner_it_runs_here(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Dataflow starts the job when the launcher has ended. Without a runner the image is tried when it is built."""
    records = write_lines(tmp_path / "t.jsonl", [toy.sample(index, 0)[0] for index in range(6)])
    given = ["--config=toy", f"--ground_truth={records}", f"--predictions={records}", f"--output={tmp_path / 'out'}"]
    if not flag:
        assert dataflow_template.main([*given, "--no_wait_until_finish"]) == 0
        assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["benchmark"] == "toy"
        return
    run, asked = Mock(return_value=SimpleNamespace(wait_until_finish=None)), list[str]()
    monkeypatch.setattr(beam.Pipeline, "run", run)
    monkeypatch.setattr(GoogleCloudOptions, "validate", lambda *_: [])
    monkeypatch.setattr(launch, "check_reachable", asked.extend)
    assert dataflow_template.main([*JOB, flag, *given]) == 0
    run.assert_called_once()
    assert asked[:2] == ["gs://bucket/temp", "gs://bucket/staging"]
    assert "continues without this command" in capsys.readouterr().out


def test_the_file_that_the_launcher_runs_calls_the_template(tmp_path: Path) -> None:
    """It is run as a script from a folder of its own: beside commands/select.py, Python would not find its own."""
    run = [sys.executable, str(FOLDER / "launch.py"), "--config=chart", "--ground_truth=/nowhere/*.jsonl"]
    environment = {"PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("beamscore: predictions: missing")
