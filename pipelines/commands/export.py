"""`beamscore export`: exports a finished run to another tool; nothing is scored or judged again."""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import yaml
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.publication import files_of_result
from ...transforms.io.storage import atomic_write, is_on_disk, make_folder, new_run_id
from ...transforms.publish import encode_json
from ...transforms.records import printable
from ..config.errors import UsageError, as_output_errors
from ..export.formats import DEFAULT_TASK, RELATIONSHIPS, every_eval_ever, model_index, sample_scores
from ..export.trackers import log_offline, log_run
from ..export.verdicts import annotation_lines, junit
from ..runs.named import load_baseline, named_system, narrowed, open_system, split_system
from ..runs.numbers import count_of
from ..runs.run import LAYOUT, Run
from .arguments import EXPORTS
from .common import require_rows
from .gate import JudgedRun
from .messages import DONE, warn

JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub Actions names the file for the summary of a job."""


class _Dumper(yaml.SafeDumper):
    """SafeDumper, except that texts that are numbers in YAML 1.2 are quoted, too."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+)\Z"),
    list("-+.0123456789"),
)


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Exports; the verdicts of the run do not change the exit code."""
    for name in sorted({each for names in EXPORTS.values() for each in names} - {*EXPORTS[parsed.to]}):
        if getattr(parsed, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: has no effect on --to {parsed.to}")
    if parsed.relationship not in (None, *RELATIONSHIPS):
        raise UsageError(f"--relationship {parsed.relationship}: must be one of {', '.join(RELATIONSHIPS)}")
    if parsed.output and any(files_of_result(split_system(parsed.run)[0], LAYOUT, [parsed.output])):
        raise UsageError(f"--output {parsed.output}: this is a file of the run, which would be lost; give another path")
    match parsed.to:
        case "mlflow":
            run = _narrowed(parsed.run)
            for name in run.systems:
                run_id = log_run(run, name, parsed.tracking_uri, parsed.experiment)
                print(printable(f"{run.path}:{name}: logged as the run {run_id} of MLflow"))
        case "wandb":
            folder = parsed.output or "."
            if not is_on_disk(folder):
                raise UsageError(f"--output {folder}: --to wandb writes to a folder on a disk")
            with as_output_errors(f"--output {folder}"):
                os.makedirs(folder, exist_ok=True)
            run = _narrowed(parsed.run)
            for name in run.systems:
                logged = log_offline(run, name, folder, parsed.experiment)
                print(printable(f"{run.path}:{name}: written to {logged}; wandb sync sends it"))
        case "every-eval-ever":
            system = open_system(parsed.run)
            fields = {name: value for name in EXPORTS[parsed.to][1:] if (value := getattr(parsed, name)) is not None}
            _write(parsed.output, [encode_json(every_eval_ever(*system, time.time(), **fields))])
        case "inspect":
            system = open_system(parsed.run)
            require_rows(system.run)
            _write(parsed.output, (line + b"\n" for line in sample_scores(*system)))
        case "model-index":
            # A model is one system.
            run = _narrowed(parsed.run) if parsed.model is None else narrowed(*open_system(parsed.run))
            card = model_index(run, parsed.model, parsed.dataset, parsed.task or DEFAULT_TASK)
            _write(parsed.output, [yaml.dump(card, Dumper=_Dumper, sort_keys=False, allow_unicode=True).encode()])
        case "junit":
            judged = _judged(parsed.run)
            _write(parsed.output, [junit(judged.title, judged.verdicts, judged.failures)])
        case "github":
            _to_github(_judged(parsed.run), parsed.output)
    return DONE


def _to_github(judged: JudgedRun, output: str | None) -> None:
    """Writes the summary of the job, by default to the file that GitHub Actions names, and prints annotations.

    If the run was judged against a baseline that is still there, the summary lists the samples that moved a metric.
    """
    if "baseline" in judged.run.provenance:
        # There is no system if none was named, or if an earlier version judged the run.
        named = judged.run.provenance["baseline"]
        reference = named_system(str(named["path"]), named.get("system"))
        try:
            baseline = load_baseline(reference, [each["slice"] for each in judged.verdicts if each["slice"]])
            if baseline.run_id != named.get("run_id"):
                raise UsageError(f"{baseline.path}: another run has replaced the baseline")
            judged = replace(judged, baseline=baseline)
        except UsageError as error:
            warn([f"the samples that moved a metric since the baseline are not listed: {error}"])
    text = judged.markdown().encode()
    summary = os.environ.get(JOB_SUMMARY)
    if output is None and summary:
        with as_output_errors(f"--output {summary}"), open(summary, "ab") as stream:
            stream.write(text)
    else:
        _write(output, [text])
    for line in annotation_lines(judged.title, judged.verdicts, judged.failures):
        print(line)


def _judged(text: str) -> JudgedRun:
    """Returns a run with its verdicts; raises UsageError if it has none: silence must not look like a pass."""
    run = _narrowed(text)
    if not run.summary.gates:
        raise UsageError(f"{text}: there are no verdicts to export; the configuration of the run has no gates")
    return JudgedRun.of(run)


def _narrowed(text: str) -> Run:
    """Returns the run that RUN names, or for RUN:SYSTEM the run narrowed to that system."""
    path, system = split_system(text)
    run = Run.read(path)
    if system is None:
        # A configuration that cannot be read is reported before anything is written.
        run.configuration  # noqa: B018
        return run
    return narrowed(*open_system(text))


def _write(path: str | None, parts: Iterable[bytes]) -> None:
    """Writes a document atomically to a file, or to standard output."""
    if path is None:
        for part in parts:
            sys.stdout.write(part.decode())
        return
    # Errors of the run are raised before the file is created.
    parts = iter(parts)
    first, count = next(parts, b""), 0
    with as_output_errors(f"--output {path}"):
        make_folder(posixpath.dirname(path))
        with atomic_write(path, new_run_id()) as stream:
            for part in chain([first], parts):
                stream.write(part)
                count += part.count(b"\n")
    print(printable(f"{path}: {count_of(count, 'line')}"))
