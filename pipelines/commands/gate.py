"""`beamscore gate`: judges the gates of a configuration on a finished run, without scoring again."""

from __future__ import annotations

import argparse
import contextlib
import copy
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...metrics.statistics.sums import Sums
from ...transforms.io.storage import delete_files, write_file
from ...transforms.records import printable
from ..config import settings
from ..config.errors import UsageError, as_input_errors, one_line
from ..config.gates import BASELINE, gate_target
from ..config.settings import Configuration
from ..export.github import markdown
from ..export.junit import junit
from ..runs.causes import duplicate_warnings, stored_causes
from ..runs.differences import CONFIGURED, RunSignature, differences
from ..runs.gates import Decision, GateEvaluator, decide, record_failures, rejection_notes
from ..runs.looks import count_look, too_many_looks, unwritten
from ..runs.moved import MovedSample, SlicePart, UnreadableRows, moved_most
from ..runs.named import age_warnings, load_baseline
from ..runs.provenance import PAGE_PROBLEM
from ..runs.run import PAGE, REPORT, Run
from ..runs.verdict import verdict_lines
from .console import print_metrics, print_verdicts
from .messages import DONE, FAILED, INCONCLUSIVE, say, warn, without_page

Verdicts = Sequence[Mapping[str, Any]]


def run(parsed: argparse.Namespace, _: object) -> int:
    """Judges; 1 where a gate fails or is invalid, 4 where one is inconclusive."""
    remove_verdicts(parsed)
    found = Run.read(parsed.run, sums=True)
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
    verdicts = msgspec.to_builtins(GateEvaluator(configuration, found, baseline).verdicts())
    failures = stored_failures(found, configuration)
    if not parsed.quiet:
        print_verdicts(verdicts)
    code = conclude(decide(verdicts), failures)
    write_verdicts(parsed, parsed.run, configuration, verdicts, failures, baseline, coverages(found))
    predictions = [system.predictions_fingerprint for system in found.systems.values()]
    _count_look(parsed, configuration, baseline, predictions, found.run_id)
    return code


def _configuration(parsed: argparse.Namespace, found: Run) -> Configuration:
    """Returns the configuration whose gates are judged; raises UsageError where it scores otherwise than the run."""
    if parsed.config is None:
        changed = copy.deepcopy(found.summary.config)
        configuration = settings.check(settings.overridden(changed, parsed.set), parsed.run)
    else:
        configuration = settings.load(parsed.config, parsed.set, {})
    reasons = differences(RunSignature.of(configuration), found.signature, CONFIGURED, it=parsed.run)
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


def stored_failures(found: Run, configuration: Configuration) -> list[str]:
    """Returns why a finished run fails in addition to its gates; raises UsageError if its coverage is damaged."""
    try:
        return record_failures(coverages(found), configuration.settings, stored_causes(found.provenance))
    except (KeyError, TypeError) as error:
        raise UsageError(f"{found.path}: the coverage in summary.json is not that of a run") from error


def coverages(found: Run) -> dict[str, Any]:
    """Returns the systems of a run by name, each with its coverage as in summary.json."""
    return {name: {"coverage": system.coverage} for name, system in found.summary.systems.items()}


def require_baseline(parsed: argparse.Namespace, configuration: Configuration) -> None:
    """Refuses gates that compare with a baseline where none is given: nobody should wait for verdicts without one."""
    for key, gate in configuration.settings.gates.items():
        if gate.not_worse_than == BASELINE and parsed.baseline is None:
            raise UsageError(
                f"gates.{key}.not_worse_than: found {BASELINE}, but there is none; give --baseline RUN, or a file such "
                "as blessed.txt that names one"
            )


def read_baseline(parsed: argparse.Namespace, configuration: Configuration) -> Run | None:
    """Returns the baseline that the command line names, and warns of an old one and of one that nothing needs."""
    if parsed.baseline is None:
        return None
    gates = configuration.settings.gates
    kind = type(configuration.benchmark)
    targets = [gate_target(key, kind) for key in gates]
    with as_input_errors("--baseline"):
        baseline = load_baseline(parsed.baseline, [target.label for target in targets if target is not None])
    warn(age_warnings(baseline))
    if not any(gate.not_worse_than == BASELINE for gate in gates.values()):
        warn(["no gate compares with the baseline; give one `not_worse_than: baseline`"])
    return baseline


def _count_look(
    parsed: argparse.Namespace,
    configuration: Configuration,
    baseline: Run | None,
    predictions: Sequence[str | None],
    run_id: str,
) -> None:
    """Counts a run that was judged against a blessed baseline, and warns of gates that have judged too many."""
    gates = configuration.settings.gates
    judged = [gate for gate in gates.values() if gate.not_worse_than == BASELINE and gate.looks > 1]
    # A file names the baseline, if that has not the name of its own run.
    if baseline is None or not judged or baseline.path == parsed.baseline or not parsed.baseline.endswith(".txt"):
        return
    try:
        looks = count_look(parsed.baseline, baseline, predictions, run_id)
    except (OSError, ValueError) as error:
        warn([unwritten(parsed.baseline, error)])
        return
    warn(too_many_looks(gates, looks, baseline.path))


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
    baseline: Run | None,
    systems: Mapping[str, Any],
) -> None:
    """Writes the files that were asked for; raises UsageError where that cannot be done.

    systems: by name, each with its coverage as in summary.json.
    """
    if parsed.junit:
        with _output("junit", parsed.junit):
            write_file(parsed.junit, junit(verdict_title(path, configuration), verdicts, failures))
    if parsed.markdown:
        text = verdict_markdown(path, configuration, verdicts, failures, baseline, systems)
        with _output("markdown", parsed.markdown):
            write_file(parsed.markdown, text.encode())


def verdict_title(path: str, configuration: Configuration, baseline: Run | None = None) -> str:
    """Returns what the verdicts of a run are of."""
    title = f"{configuration.benchmark.name}: {path}"
    return title if baseline is None else f"{title} against {baseline.path}"


def verdict_markdown(
    path: str,
    configuration: Configuration,
    verdicts: Verdicts,
    failures: Sequence[str],
    baseline: Run | None,
    systems: Mapping[str, Any],
) -> str:
    """Returns the verdicts of a run as short Markdown; arguments as those of `write_verdicts`."""
    moved = _moved(path, configuration, verdicts, baseline)
    return markdown(verdict_title(path, configuration, baseline), verdicts, failures, moved, systems)


@contextlib.contextmanager
def _output(option: str, path: str) -> Any:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"--{option} {path}: cannot be written: {one_line(error)}") from error


def _moved(
    path: str, configuration: Configuration, verdicts: Verdicts, baseline: Run | None
) -> dict[int, list[MovedSample] | str]:
    """Returns the samples that moved the metric of each bad comparison with the baseline, by its place, or why not."""
    wanted = [
        place
        for place, each in enumerate(verdicts)
        if each["verdict"] in ("fail", "inconclusive") and each["difference"] and each["not_worse_than"] == BASELINE
    ]
    if baseline is None or not wanted:
        return {}
    ours, theirs = Run.read(path), Run.read(baseline.path)
    found: dict[int, list[MovedSample] | str] = {}
    for place in wanted:
        each = verdicts[place]
        sums, other = ours.slice_sums(each["system"], each["slice"] or ""), baseline.system_for(each["system"])
        if sums is not None and other is not None:
            part = None
            if each["slice"]:
                part = SlicePart(ours.configuration.columns(), ours.configuration.slice_indexes(), each["slice"])
            sides = (ours, each["system"]), (theirs, other)
            whole = Sums(sums.sums)
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
        say("ERROR", printable(line))
    if failures or decision.failures:
        return FAILED
    return INCONCLUSIVE if decision.inconclusive else DONE


def report_run(
    parsed: argparse.Namespace,
    output: str,
    configuration: Configuration,
    baseline: Run | None,
    document: Mapping[str, Any],
    made: Mapping[str, Any],
    failures: Sequence[str],
    decision: Decision,
) -> int:
    """Says what a run has found, writes its verdicts, and returns the exit code.

    document, made: its summary.json and run.json. failures, decision: why it fails, in addition to its gates, and what
    these mean.
    """
    causes, problem = stored_causes(made), made.get(PAGE_PROBLEM)
    if not parsed.quiet:
        report = posixpath.join(output, REPORT if parsed.no_html or problem else PAGE)
        notes = [*verdict_lines(made), *rejection_notes(document["systems"], configuration.settings, causes)]
        print_metrics(document, configuration.benchmark.main_metrics(), report, notes)
    warn([*document.get("warnings", []), *duplicate_warnings(causes)])
    code = conclude(decision, failures)
    verdicts = document.get("gates", [])
    write_verdicts(parsed, output, configuration, verdicts, failures, baseline, document["systems"])
    predictions = [system.get("predictions_fingerprint") for system in document["systems"].values()]
    _count_look(parsed, configuration, baseline, predictions, str(made.get("run_id", "")))
    return without_page(code, PAGE, problem, REPORT)
