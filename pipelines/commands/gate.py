"""`beamscore gate`: judges the gates of a configuration on a finished run, without scoring again."""

from __future__ import annotations

import argparse
import contextlib
import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from apache_beam.options.pipeline_options import PipelineOptions

from ...transforms.io.storage import STORAGE_ERRORS, delete_files, write_file
from ..config import settings
from ..config.errors import UsageError, one_line
from ..config.gates import BASELINE, gate_target
from ..config.settings import Configuration
from ..results.baseline import Baseline, load_baseline
from ..results.causes import stored_causes
from ..results.differences import CONFIGURED, Signature, differences
from ..results.gates import Decision, Judge, decide, record_failures
from ..results.judged import judged_run
from ..results.moved import MovedSample, SlicePart, UnreadableRows, moved_most
from ..results.stored import Run
from ..results.verdict_files import junit, markdown
from .common import naming
from .console import print_verdicts, tell
from .messages import DONE, FAILED, INCONCLUSIVE, warn

Verdicts = Sequence[Mapping[str, Any]]


def run(parsed: argparse.Namespace, options: PipelineOptions) -> int:
    """Judges; 1 where a gate fails or is invalid, 4 where one is inconclusive."""
    remove_verdicts(parsed)
    found = Run.with_sums(parsed.run)
    configuration = _configuration(parsed, found)
    if not configuration.settings.gates:
        where = parsed.config or parsed.run
        raise UsageError(f"{where}: gates: there are none, so nothing would be judged; give --config FILE with gates")
    require_baseline(parsed, configuration)
    baseline = read_baseline(parsed, configuration)
    own = baseline is not None and bool(baseline.run_id) and baseline.run_id == found.run_id
    if baseline is not None and own and (baseline.system is None or len(found.summary.systems) == 1):
        raise UsageError(f"--baseline {parsed.baseline}: this is the run itself, which is never worse than itself")
    _check_intervals(found, configuration)
    judge = Judge(configuration, judged_run(found), found.signature, baseline)
    verdicts = msgspec.to_builtins(judge.verdicts())
    failures = _coverage_failures(found, configuration)
    if not parsed.quiet:
        print_verdicts(verdicts)
    code = conclude(decide(verdicts), failures)
    write_verdicts(parsed, parsed.run, configuration, verdicts, failures, baseline, _systems(found))
    return code


def _configuration(parsed: argparse.Namespace, found: Run) -> Configuration:
    """Returns the configuration whose gates are judged; raises UsageError where it scores otherwise than the run."""
    if parsed.config is None:
        changed = copy.deepcopy(found.summary.config)
        configuration = settings.check(settings.overridden(changed, parsed.set), parsed.run)
    else:
        configuration = settings.load(parsed.config, parsed.set, {})
    reasons = differences(Signature.of(configuration), found.signature, CONFIGURED, it=parsed.run)
    if reasons:
        where = f"{parsed.config}: " if parsed.config else ""
        raise UsageError(f"{where}{reasons[0]}; evaluate it again, or give --set KEY=VALUE as it was made")
    return configuration


def _check_intervals(found: Run, configuration: Configuration) -> None:
    """Computes the values of each slice that is judged again, so that a damaged run is told and not judged."""
    kind = type(configuration.benchmark)
    for key in configuration.settings.gates:
        target = gate_target(key, kind)
        for name in found.summary.systems:
            if target is not None and found.slice(name, target.label) is not None:
                found.measured(name, target.label)


def _coverage_failures(found: Run, configuration: Configuration) -> list[str]:
    try:
        return record_failures(_systems(found), configuration.settings, stored_causes(found.provenance))
    except (KeyError, TypeError) as error:
        raise UsageError(f"{found.path}: the coverage in summary.json is not that of a run") from error


def _systems(found: Run) -> dict[str, Any]:
    return {name: {"coverage": system.coverage} for name, system in found.summary.systems.items()}


def require_baseline(parsed: argparse.Namespace, configuration: Configuration) -> None:
    """Refuses gates that compare with a baseline where none is given: nobody should wait for verdicts without one."""
    for key, gate in configuration.settings.gates.items():
        if gate.not_worse_than == BASELINE and parsed.baseline is None:
            raise UsageError(
                f"gates.{key}.not_worse_than: found {BASELINE}, but there is none; give --baseline RUN, or a file such "
                "as blessed.txt that names one"
            )


def read_baseline(parsed: argparse.Namespace, configuration: Configuration) -> Baseline | None:
    """Returns the baseline that the command line names, and warns of an old one and of one that nothing needs."""
    if parsed.baseline is None:
        return None
    gates = configuration.settings.gates
    kind = type(configuration.benchmark)
    targets = [gate_target(key, kind) for key in gates]
    with naming("--baseline"):
        baseline = load_baseline(parsed.baseline, [target.label for target in targets if target is not None])
    warn(baseline.warnings)
    if not any(gate.not_worse_than == BASELINE for gate in gates.values()):
        warn(["no gate compares with the baseline; give one `not_worse_than: baseline`"])
    return baseline


def remove_verdicts(parsed: argparse.Namespace) -> None:
    """Removes the files of an earlier run: whoever reads them after this one must not take its verdicts for ours."""
    for name in ("junit", "markdown"):
        if path := getattr(parsed, name):
            with _output(name, path):
                delete_files([path])


def write_verdicts(
    parsed: argparse.Namespace,
    path: str,
    configuration: Configuration,
    verdicts: Verdicts,
    failures: Sequence[str],
    baseline: Baseline | None,
    systems: Mapping[str, Any],
) -> None:
    """Writes the files that were asked for; raises UsageError where that cannot be done.

    systems: by name, each with its coverage as in summary.json.
    """
    title = f"{configuration.benchmark.name}: {path}"
    if parsed.junit:
        with _output("junit", parsed.junit):
            write_file(parsed.junit, junit(title, verdicts, failures))
    if parsed.markdown:
        moved = _moved(path, configuration, verdicts, baseline)
        if baseline is not None:
            title += f" against {baseline.path}"
        with _output("markdown", parsed.markdown):
            write_file(parsed.markdown, markdown(title, verdicts, failures, moved, systems).encode())


@contextlib.contextmanager
def _output(option: str, path: str) -> Any:
    try:
        yield
    except (*STORAGE_ERRORS, ValueError) as error:
        raise UsageError(f"--{option} {path}: cannot be written: {one_line(error)}") from error


def _moved(
    path: str, configuration: Configuration, verdicts: Verdicts, baseline: Baseline | None
) -> dict[int, list[MovedSample] | str]:
    """Returns the samples that moved the metric of each bad comparison with the baseline, by its place, or why not."""
    wanted = [
        place
        for place, each in enumerate(verdicts)
        if each["verdict"] in ("fail", "inconclusive") and each["difference"] and each["not_worse_than"] == BASELINE
    ]
    if baseline is None or not wanted:
        return {}
    ours, theirs = Run(path), Run(baseline.path)
    found: dict[int, list[MovedSample] | str] = {}
    for place in wanted:
        each = verdicts[place]
        sums, other = ours.slice_sums(each["system"], each["slice"] or ""), baseline.system_for(each["system"])
        if sums is not None and other is not None:
            part = None
            if each["slice"]:
                part = SlicePart(ours.configuration.columns(), ours.configuration.slice_indexes(), each["slice"])
            sides = (ours.published, each["system"]), (theirs.published, other)
            whole = sums.all_sums(ours.sums.bootstrap.replicates)[0]
            try:
                corpus = ours.corpus(each["system"])
                found[place] = moved_most(configuration.benchmark, each["metric"], corpus, whole, *sides, part)
            except UnreadableRows as error:
                found[place] = str(error)
    return found


def conclude(decision: Decision, failures: Sequence[str]) -> int:
    """Tells what does not pass, and returns the exit code: a failure outranks what is inconclusive."""
    warn(decision.warnings)
    for line in [*failures, *decision.failures, *decision.inconclusive]:
        tell(line)
    if failures or decision.failures:
        return FAILED
    return INCONCLUSIVE if decision.inconclusive else DONE
