"""The nightly evaluation on Dataflow, started by Airflow's operator for Beam pipelines.

Needs the providers `apache-airflow-providers-apache-beam` and `apache-airflow-providers-google`, and beamscore with the
extra `gcp` in the environment of Airflow's workers. The operator adds the job's name, project, region and labels. It
succeeds where the command exits with code 0; a failed or an inconclusive gate fails it, and the log says which. Gates
as tasks of their own are in nightly.py. Do not add `verbose` to the options: once the operator reads the job's id in
the log, it leaves the command and asks the service alone, which knows nothing of gates.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

from airflow.providers.apache.beam.operators.beam import BeamRunPythonPipelineOperator
from airflow.providers.google.cloud.operators.dataflow import DataflowConfiguration
from airflow.sdk import DAG

LAUNCHER = os.environ.get("BEAMSCORE_LAUNCHER", "/srv/beamscore/configs/dataflow/launch.py")
PYTHON = os.environ.get("BEAMSCORE_PYTHON", "/srv/beamscore/.venv/bin/python")
BUCKET = os.environ.get("BEAMSCORE_BUCKET", "gs://my-bucket")
PROJECT = os.environ.get("BEAMSCORE_PROJECT", "my-project")
REGION = os.environ.get("BEAMSCORE_REGION", "europe-west1")
IMAGE = os.environ.get("BEAMSCORE_IMAGE", "europe-west1-docker.pkg.dev/my-project/beamscore/beamscore:0.4.0")

with DAG(
    dag_id="beamscore_nightly_dataflow",
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["beamscore"],
) as dag:
    evaluate = BeamRunPythonPipelineOperator(
        task_id="evaluate",
        py_file=LAUNCHER,
        py_interpreter=PYTHON,
        runner="DataflowRunner",
        pipeline_options={
            "config": f"{BUCKET}/configs/nightly.yaml",
            "predictions": f"tonight={BUCKET}/predictions/{{{{ ds }}}}/*.parquet",
            "output": f"{BUCKET}/scores/{{{{ ds }}}}",
            "baseline": f"{BUCKET}/scores/blessed.txt",
            "temp_location": f"{BUCKET}/temp",
            "sdk_container_image": IMAGE,
        },
        dataflow_config=DataflowConfiguration(
            job_name="beamscore-nightly-{{ ds_nodash }}", project_id=PROJECT, location=REGION
        ),
        execution_timeout=timedelta(hours=12),
    )
