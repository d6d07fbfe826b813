"""A system of a finished run as a run of MLflow, with its files, or as a run of Weights & Biases."""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...transforms.io.publication import Published
from ...transforms.io.storage import open_file, reason_of
from ..config.errors import UsageError
from ..runs.documents import gates_passed
from ..runs.provenance import seconds
from ..runs.run import Run

MAX_NAME_LENGTH = 250
MAX_PARAMETER_LENGTH = 6000
ENTRIES_AT_ONCE = 100
"""How many parameters MLflow accepts in one request."""

_NOT_TAKEN = re.compile(r"[^A-Za-z0-9_.\- ]")


def log_run(run: Run, system: str, tracking_uri: str | None, experiment: str | None) -> str:
    """Logs a system of a finished run as a new run of MLflow, and returns its id.

    Every metric with a value is logged under the name from `entry_names`, its interval as NAME.low and NAME.high.
    tracking_uri: None: as MLflow is set up. experiment: its name; None: the benchmark; created if it does not exist.

    Raises UsageError if MLflow is not installed, or its server or a file of the run cannot be reached.
    """
    try:
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        problem = f"--to mlflow: MLflow cannot be imported ({reason_of(error)})"
        raise UsageError(f"{problem}; pip install 'beamscore[mlflow]'") from error
    started, ended = (
        round(seconds(run.provenance[name]) * 1000) if name in run.provenance else None for name in ("started", "ended")
    )
    try:
        client = MlflowClient(tracking_uri)
        name = experiment or run.summary.benchmark
        known = client.get_experiment_by_name(name)
        number = client.create_experiment(name) if known is None else known.experiment_id
        run_id: str = client.create_run(number, started, tags(run, system), run_name(run, system)).info.run_id
        try:
            values = [Metric(key, value, ended or 0, 0) for key, value in metrics(run, system).items()]
            texts = [Param(key, text) for key, text in parameters(run).items()]
            for kind, entries in (("metrics", values), ("params", texts)):
                for start in range(0, len(entries), ENTRIES_AT_ONCE):
                    client.log_batch(run_id, **{kind: entries[start : start + ENTRIES_AT_ONCE]})
            _log_files(client, run_id, run.published)
        except BaseException:
            client.set_terminated(run_id, "FAILED")
            raise
        client.set_terminated(run_id, "FINISHED", ended)
    except (MlflowException, OSError) as error:
        raise UsageError(f"--to mlflow: {reason_of(error)}") from error
    return run_id


def log_offline(run: Run, system: str, folder: str, project: str | None) -> str:
    """Writes a system of a finished run below `folder`/wandb, and returns the folder of the new run.

    Its summary has the metrics and the ends of their intervals under the names from `entry_names`. Its configuration
    has the settings and options of the run and its `tags`. project: None: the name of the benchmark.

    Raises UsageError if W&B is not installed or the folder cannot be written.
    """
    try:
        import wandb
    except ImportError as error:
        problem = f"--to wandb: W&B cannot be imported ({reason_of(error)})"
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
        raise UsageError(f"--to wandb: {reason_of(error)}") from error
    return str(logged.settings.sync_dir)


def metrics(run: Run, system: str) -> dict[str, float]:
    """Returns the metrics to log: each with a value, and the ends of its interval."""
    summary = run.systems[system]
    values = {name: value for name, value in summary.values.items() if value is not None}
    ends = [(name, interval) for name, interval in summary.intervals.items() if name in values and interval is not None]
    names = entry_names(values)
    # A derived metric may have the name of an end.
    for name, pair in ends:
        for end, value in zip(("low", "high"), pair, strict=True):
            values.setdefault(f"{names[name]}.{end}", value)
    names = entry_names(values)
    return {names[name]: value for name, value in values.items()}


def parameters(run: Run) -> dict[str, str]:
    """Returns the settings and options of a run: one parameter for each key of a mapping, lists as JSON."""
    texts = dict(_flat("", run.summary.config))
    names = entry_names(texts)
    return {names[name]: text[:MAX_PARAMETER_LENGTH] for name, text in texts.items()}


def tags(run: Run, system: str) -> dict[str, str]:
    """Returns the tags that identify a run: its id, system, version, signature, ground truth and gates."""
    summary = run.summary
    entries = {
        "run": run.path,
        "run_id": run.run_id,
        "system": system,
        "benchmark": summary.benchmark,
        "version": summary.version,
        "signature": summary.signature,
        "ground_truth": "" if summary.fingerprint is None else summary.fingerprint.hash,
        "gates": gates_passed(summary.gates) if summary.gates else "",
    }
    return {f"beamscore.{name}": text for name, text in entries.items() if text}


def run_name(run: Run, system: str) -> str:
    """Returns the name of the run in MLflow: its folder, and the system if there are several."""
    folder = posixpath.basename(run.path.rstrip("/")) or run.path
    return folder if len(run.systems) == 1 else f"{folder}:{system}"


def entry_names(names: Iterable[str]) -> dict[str, str]:
    """Returns a name that MLflow accepts for each of these unique names; all are unique regardless of case.

    `task1.f1[pie]` becomes `task1.f1.pie`. A name ends with a hash of the original if it has other characters that
    MLflow does not accept, is too long, or is already used.
    """
    renamed: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        dotted = name.replace("[", ".").replace("].", ".").removesuffix("]")
        plain = _NOT_TAKEN.sub("_", dotted).lstrip(".")
        if plain != dotted or not plain or len(plain) > MAX_NAME_LENGTH or plain.casefold() in used:
            digest = hashlib.blake2b(name.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
            plain = f"{plain[: MAX_NAME_LENGTH - len(digest) - 1]}-{digest}"
        used.add(plain.casefold())
        renamed[name] = plain
    return renamed


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else str(name), each)
    else:
        yield prefix, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _log_files(client: Any, run_id: str, published: Published | None) -> None:
    """Logs the files of a result under their names in it, each by a copy, as it may be in an object store."""
    for name, path in sorted({} if published is None else dict(published.files).items()):
        with tempfile.TemporaryDirectory(prefix="beamscore-") as scratch:
            local = os.path.join(scratch, posixpath.basename(name))
            with open(local, "wb") as stream, open_file(path) as source:
                shutil.copyfileobj(source, stream)
            client.log_artifact(run_id, local, posixpath.dirname(name) or None)
