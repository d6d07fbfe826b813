"""`beamscore gate`: evaluates the gates of a configuration on a finished run, without scoring again."""

from __future__ import annotations

import argparse
import copy
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ...transforms.io.publication import files_of_result
from ...transforms.io.storage import delete_files, exists, is_on_disk, place_of, read_bytes, reason_of, write_file
from ...transforms.records import InputProblem, printable
from ..config import settings
from ..config.errors import UsageError, as_input_errors, as_output_errors, as_usage_error
from ..config.gates import BASELINE, gate_target
from ..config.settings import Configuration
from ..export.verdicts import junit, markdown
from ..runs.causes import duplicate_warnings, stored_causes
from ..runs.differences import CONFIGURED, PAIRED, RunSignature, differences
from ..runs.documents import gates_passed, verdict_lines
from ..runs.gates import Decision, decide, gate_verdicts, rejection_notes, stored_failures
from ..runs.looks import count_look, is_counted, judged_runs, looks_path, too_many_looks
from ..runs.named import SystemRun, age_warnings, check_measured, load_baseline, split_system
from ..runs.provenance import PAGE_PROBLEM
from ..runs.row_changes import MovedSample, top_contributors
from ..runs.run import LAYOUT, PAGE, REPORT, Run
from .console import print_metrics, print_verdicts
from .messages import DONE, FAILED, INCONCLUSIVE, exit_code, say, warn

_BEGINNINGS = {
    "junit": (b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>",),
    "markdown": tuple(f"**{word}** ".encode() for word in ("PASS", "FAIL", "INVALID", "INCONCLUSIVE")),
}
"""By option, how a file begins that an earlier command wrote: it is replaced, and any other is its owner's."""


def run(parsed: argparse.Namespace, _: object) -> int:
    """Evaluates the gates; returns 1 if one fails or is invalid, 4 if one is inconclusive."""
    remove_verdicts(parsed)
    run = Run.read(parsed.run, sums=True)
    configuration = _configuration(parsed, run)
    if not configuration.settings.gates:
        source = parsed.config or parsed.run
        raise UsageError(f"{source}: no gates are defined; give --config FILE with gates")
    require_baseline(parsed, configuration)
    baseline = read_baseline(parsed, configuration, run)
    is_same_run = baseline is not None and bool(baseline.run_id) and baseline.run_id == run.run_id
    if baseline is not None and is_same_run and (baseline.system is None or len(run.summary.systems) == 1):
        raise UsageError(f"--baseline {parsed.baseline}: the baseline is the run itself")
    check_measured(run, _labels(configuration))
    verdicts = msgspec.to_builtins(gate_verdicts(configuration, run, baseline))
    judged = JudgedRun.of(run.changed(gates=verdicts), baseline, configuration)
    if not parsed.quiet:
        print_verdicts(verdicts)
    return judged.conclude(parsed, decide(verdicts))


def _configuration(parsed: argparse.Namespace, run: Run) -> Configuration:
    """Returns the configuration with the gates; raises UsageError if it scores differently from the run."""
    if parsed.config is None:
        changed = copy.deepcopy(run.summary.config)
        configuration = settings.check(settings.overridden(changed, parsed.set), parsed.run)
    else:
        configuration = settings.load(parsed.config, parsed.set, {})
    reasons = differences(RunSignature.of(configuration), run.signature, CONFIGURED, it=parsed.run)
    if reasons:
        prefix = f"{parsed.config}: " if parsed.config else ""
        raise UsageError(f"{prefix}{reasons[0]}; evaluate it again, or repeat the --set KEY=VALUE of its evaluation")
    return configuration


def _labels(configuration: Configuration) -> list[str]:
    """Returns the labels of the slices that have gates."""
    targets = [gate_target(key, type(configuration.benchmark)) for key in configuration.settings.gates]
    return [target.label for target in targets if target is not None]


def require_baseline(parsed: argparse.Namespace, configuration: Configuration) -> None:
    """Rejects gates that need a baseline if there is none, so that no user waits for verdicts without one."""
    for key, gate in configuration.settings.gates.items():
        if gate.not_worse_than == BASELINE and parsed.baseline is None:
            raise UsageError(
                f"gates.{key}.not_worse_than: found {BASELINE}, but there is none; give --baseline RUN, or a file such "
                "as blessed.txt that names one"
            )


def read_baseline(
    parsed: argparse.Namespace, configuration: Configuration, run: Run | None = None, output: str | None = None
) -> Run | None:
    """Returns the baseline of the command line; warns if it is old or no gate needs it.

    run: the run that is judged; None: it does not exist yet, and will be written to `output`.

    Raises UsageError if the run would replace its baseline.
    """
    if parsed.baseline is None:
        return None
    gates, labels = configuration.settings.gates, _labels(configuration)
    with as_input_errors("--baseline"):
        baseline = load_baseline(parsed.baseline, labels)
    if output and place_of(baseline.path) == place_of(output):
        raise UsageError(f"--baseline {parsed.baseline}: this is --output, whose result this run replaces")
    warn(age_warnings(baseline, gates.values()))
    # Looks are counted only at a baseline that a text file, not a run, names.
    if baseline.path != parsed.baseline and parsed.baseline.endswith(".txt") and any(map(is_counted, gates.values())):
        baseline.judged, left_out = judged_runs(parsed.baseline, baseline, labels, run)
        warn(left_out)
    if gates and not any(gate.not_worse_than == BASELINE for gate in gates.values()):
        warn(["no gate compares with the baseline; give one `not_worse_than: baseline`"])
    return baseline


def check_files(parsed: argparse.Namespace, output: str | None) -> None:
    """Raises UsageError if a file that the command writes beside its result is part of a run, or is not one of ours.

    output: the folder of the result, if the command has one.
    """
    given = vars(parsed)
    paths = {name: path for name in _BEGINNINGS if (path := given.get(name))}
    named = [text for name in ("run", "baseline", "reuse") if (text := given.get(name))]
    folders = [*(split_system(text)[0] for text in (*given.get("runs", ()), *named)), *filter(None, [output])]
    of_runs = {path for folder in folders for path in files_of_result(folder, LAYOUT, paths.values())}
    for name, path in paths.items():
        option = f"--{name.replace('_', '-')} {path}"
        with as_output_errors(option):
            if path in of_runs or not _may_be_replaced(path, _BEGINNINGS[name]):
                raise UsageError(f"{option}: belongs to a run, or was not written by this option; give another path")


def _may_be_replaced(path: str, beginnings: tuple[bytes, ...]) -> bool:
    """Returns whether a file does not exist, is empty, or begins as those that we write."""
    if not exists(path):
        return True
    if is_on_disk(path) and not os.path.isfile(path):
        return False
    found = read_bytes(path, max(map(len, beginnings)))
    return not found or found.startswith(beginnings)


def remove_verdicts(parsed: argparse.Namespace) -> None:
    """Removes the files of an earlier run, so that its verdicts cannot be mistaken for those of this one.

    Raises UsageError as check_files.
    """
    check_files(parsed, vars(parsed).get("output"))
    for name in ("junit", "markdown"):
        if path := getattr(parsed, name):
            with as_output_errors(f"--{name} {path}"):
                delete_files([path])


@dataclass(frozen=True)
class JudgedRun:
    """A run with its verdicts in its summary, the configuration of its gates, and its other failures, a line each."""

    run: Run
    configuration: Configuration
    failures: Sequence[str]
    baseline: Run | None = None

    @classmethod
    def of(cls, run: Run, baseline: Run | None = None, configuration: Configuration | None = None) -> JudgedRun:
        """Returns a stored run, by default with its own configuration; raises UsageError if its coverage is damaged."""
        configuration = configuration or run.configuration
        failures = [each.text for each in stored_failures(run, configuration.settings)]
        return cls(run, configuration, failures, baseline)

    @property
    def verdicts(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts of its gates, as in summary.json."""
        return self.run.summary.gates

    @property
    def title(self) -> str:
        """The benchmark and the path of the run."""
        return f"{self.run.summary.benchmark}: {self.run.path}"

    def markdown(self) -> str:
        """Returns the verdicts as short Markdown, with the samples that moved a metric."""
        title = self.title if self.baseline is None else f"{self.title} against {self.baseline.path}"
        return markdown(title, self.verdicts, self.failures, dict(_moved(self)), self.run.summary.document()["systems"])

    def conclude(self, parsed: argparse.Namespace, decision: Decision) -> int:
        """Reports what does not pass, writes the requested files, counts the look, and returns the exit code.

        Raises UsageError if a file cannot be written.
        """
        warn(decision.warnings)
        for line in [*self.failures, *decision.failures, *decision.inconclusive]:
            say(printable(line))
        if parsed.junit:
            with as_output_errors(f"--junit {parsed.junit}"):
                write_file(parsed.junit, junit(self.title, self.verdicts, self.failures))
        if parsed.markdown:
            text = self.markdown()
            with as_output_errors(f"--markdown {parsed.markdown}"):
                write_file(parsed.markdown, text.encode())
        if self.baseline is not None and self.baseline.judged is not None:
            try:
                looks = count_look(parsed.baseline, self.baseline, self.run)
                warn(too_many_looks(self.configuration.settings.gates, looks, self.baseline.path))
            except (OSError, ValueError) as error:
                path = looks_path(parsed.baseline)
                warn([f"{path}: the runs judged since the baseline was blessed cannot be counted: {reason_of(error)}"])
        if self.failures or decision.failures:
            return FAILED
        return INCONCLUSIVE if decision.inconclusive else DONE


def _moved(judged: JudgedRun) -> Iterator[tuple[int, list[MovedSample] | str]]:
    """Yields the index of each bad verdict, and the samples that moved its metric, or why these are not known.

    They moved it from the other side of the comparison. A bound is compared with the baseline, if that is comparable.
    """
    run, baseline, benchmark = judged.run, judged.baseline, judged.configuration.benchmark
    if baseline is not None and differences(run.signature, baseline.signature, PAIRED):
        baseline = None
    for place, each in enumerate(judged.verdicts):
        reference, name = each["not_worse_than"], each["system"]
        if each["verdict"] not in ("fail", "inconclusive") or (reference and not each["difference"]):
            continue
        try:
            if reference in (None, BASELINE):
                other, theirs = baseline, None if baseline is None else baseline.system_for(name)
            else:
                # A run that is narrowed to one system lacks the sums of the others.
                other, theirs = run if reference in run.systems else Run.read(run.path), reference
            label = each["slice"] or ""
            if other is None or theirs is None or other.slice(theirs, label) is None:
                continue
            sides = SystemRun(run, name), SystemRun(other, theirs)
            yield place, top_contributors(benchmark, each["metric"], *sides, label)
        except (InputProblem, UsageError) as error:
            # What is known of the verdicts does not depend on the sums and rows.
            yield place, str(as_usage_error(error))


def report_run(parsed: argparse.Namespace, judged: JudgedRun, decision: Decision) -> int:
    """Prints the result of a run, writes its verdicts, and returns the exit code; decision: what the verdicts mean."""
    run, document, made = judged.run, judged.run.summary.document(), judged.run.provenance
    causes, problem = stored_causes(made), made.get(PAGE_PROBLEM)
    if not parsed.quiet:
        report = posixpath.join(run.path, REPORT if parsed.no_html or problem else PAGE)
        # A verdict on differences says it, too.
        passed = [gates_passed(judged.verdicts)] if judged.verdicts else []
        notes = verdict_lines(made) or passed
        notes += rejection_notes(document["systems"], judged.configuration.settings, causes)
        print_metrics(document, judged.configuration.benchmark.main_metrics(), report, notes)
    warn([*run.summary.warnings, *duplicate_warnings(causes, judged.configuration.settings.repeats)])
    return exit_code(judged.conclude(parsed, decision), PAGE, problem, REPORT)
