"""An evaluation every night with Apache Airflow 3: evaluate, judge the gates, bring the history up to date.

Copy this file into the DAG folder and set the variables below in the environment of Airflow's workers, or here.
Relative paths, also those in the configuration, are below FOLDER.
The task `gate` shows the verdict: success, failed, or skipped where it is inconclusive. The run of the night succeeds
only where the gate does; the history has every night, whatever its verdict.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.exceptions import AirflowFailException
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, TaskInstanceState, TriggerRule, task

FOLDER = os.environ.get("BEAMSCORE_FOLDER", "/srv/beamscore")
BEAMSCORE = os.environ.get("BEAMSCORE", ".venv/bin/beamscore")
CONFIG = os.environ.get("BEAMSCORE_CONFIG", "nightly.yaml")
PREDICTIONS = os.environ.get("BEAMSCORE_PREDICTIONS", "/data/predictions/{{ ds }}/*.parquet")
SCORES = os.environ.get("BEAMSCORE_SCORES", "/data/scores")
BASELINE = os.environ.get("BEAMSCORE_BASELINE", "/data/scores/blessed.txt")

AGAINST = f'--baseline "{BASELINE}" ' if BASELINE else ""
INCONCLUSIVE = 4

with DAG(
    dag_id="beamscore_nightly",
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["beamscore"],
) as dag:
    # The gates are left to the next task, so that a bad night is not taken for one that was not scored.
    evaluate = BashOperator(
        task_id="evaluate",
        bash_command=(
            f'{BEAMSCORE} evaluate {CONFIG} --set gates={{}} --quiet --predictions "tonight={PREDICTIONS}" '
            f'--output "{SCORES}/{{{{ ds }}}}"'
        ),
        cwd=FOLDER,
        retries=1,
        retry_delay=timedelta(minutes=10),
        execution_timeout=timedelta(hours=12),
    )

    gate = BashOperator(
        task_id="gate",
        bash_command=(
            f'{BEAMSCORE} gate "{SCORES}/{{{{ ds }}}}" --config {CONFIG} {AGAINST}--markdown "{SCORES}/{{{{ ds }}}}.md"'
        ),
        cwd=FOLDER,
        skip_on_exit_code=INCONCLUSIVE,
    )

    history = BashOperator(
        task_id="history",
        bash_command=f'{BEAMSCORE} history "{SCORES}"',
        cwd=FOLDER,
        trigger_rule=TriggerRule.ALL_DONE,
    )

    @task(trigger_rule=TriggerRule.ALL_DONE)
    def verdict(**context: Any) -> None:
        """Fails the night unless its gate passed: a run of Airflow counts a skipped task as a success."""
        this = context["ti"]
        states = this.get_task_states(dag_id=this.dag_id, task_ids=["gate"], run_ids=[this.run_id])
        state = states.get(this.run_id, {}).get("gate")
        if state != TaskInstanceState.SUCCESS:
            found = "inconclusive" if state == TaskInstanceState.SKIPPED else state
            raise AirflowFailException(f"the gate of the night is {found}; see {SCORES}/{context['ds']}.md")

    evaluate >> gate >> [history, verdict()]
