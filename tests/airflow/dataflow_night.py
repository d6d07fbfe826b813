"""Runs the task of configs/airflow/nightly_dataflow.py by Airflow's Python, without a cloud; prints what it asks."""

import json
import runpy
import sys
from typing import Any

from airflow.providers.apache.beam.hooks import beam
from airflow.providers.apache.beam.operators import beam as operators

dag_file, date = sys.argv[1:]
run_command = beam.run_beam_command


def run_here(cmd: list[str], **more: Any) -> None:
    print(json.dumps({"command": cmd}), flush=True)
    run_command(["--runner=DirectRunner" if each == "--runner=DataflowRunner" else each for each in cmd], **more)


class Dataflow(operators.DataflowHook):
    """The hook of the service, which is not there."""

    project_id = "my-project"

    def __init__(self, **_: Any) -> None:
        pass

    def wait_for_done(self, **job: Any) -> None:
        print(json.dumps({"waited_for": job}), flush=True)


beam.run_beam_command = run_here
operators.DataflowHook = Dataflow
operators.DataflowJobLink.persist = lambda **_: None

task = runpy.run_path(dag_file)["dag"].get_task("evaluate")
task.render_template_fields({"ds": date, "ds_nodash": date.replace("-", "")})
task.execute({})
