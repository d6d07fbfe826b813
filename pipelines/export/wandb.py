"""A system of a finished run as an offline run of Weights & Biases, which `wandb sync` sends to a server."""

from __future__ import annotations

from ..config.errors import UsageError, one_line
from ..runs.run import Run
from .mlflow import metrics, parameters, run_name, tags


def log_offline(run: Run, system: str, folder: str, project: str | None = None) -> str:
    """Writes a system of a finished run below `folder`/wandb, and returns the folder of the new run there.

    Its summary has the metrics and the ends of their intervals under the names that `mlflow.entry_names` gives, its
    configuration the settings and options of the run and what identifies it. project: None: the name of the benchmark.

    Raises UsageError if W&B is not installed or the folder cannot be written.
    """
    try:
        import wandb
    except ImportError as error:
        problem = f"--to wandb: W&B cannot be imported ({one_line(error)})"
        raise UsageError(f"{problem}; pip install 'beamscore[wandb]'") from error
    settings = wandb.Settings(silent=True, console="off", disable_code=True, disable_git=True, x_disable_meta=True)
    try:
        logged = wandb.init(
            mode="offline",
            dir=folder,
            project=project or run.summary.benchmark,
            name=run_name(run, system),
            config={**parameters(run), **tags(run, system)},
            settings=settings,
        )
        logged.summary.update(metrics(run, system))
        logged.finish()
    except (wandb.Error, OSError) as error:
        raise UsageError(f"--to wandb: {one_line(error)}") from error
    return str(logged.settings.sync_dir)
