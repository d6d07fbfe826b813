"""The finished runs that texts on a command line name, and the baseline that others are compared with."""

from __future__ import annotations

import math
import os
import posixpath
import re
import statistics
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...metrics.statistics.intervals import ROUNDING, t_quantile
from ...metrics.statistics.measured import spec_or_undeclared
from ...metrics.statistics.paired import paired_differences
from ...transforms.io.storage import read_bytes, reason_of
from ..config.errors import UsageError
from ..config.gates import BASELINE, Gate
from .causes import DAMAGED_COVERAGE, unscored_of
from .differences import PAIRED, differences
from .documents import SystemSums
from .history import Night
from .provenance import seconds
from .run import Run, open_result

MAX_BASELINE_DAYS = 30
MAX_BLESSED_BYTES = 1 << 20
MAX_CHANCE = 0.05
"""Of any warning of a lucky baseline where the baseline is like the nights that follow."""

_SYSTEM = re.compile(r"(?P<run>.+):(?P<system>[A-Za-z0-9_.-]{1,100})", re.DOTALL)


def named_system(path: str, system: str | None) -> str:
    """Returns RUN:SYSTEM, or RUN without a system, as `split_system` reads it."""
    return path if system is None else f"{path}:{system}"


def operand(path: str) -> str:
    """Returns a path as a command line takes it for one, and not for an option."""
    return f"./{path}" if path.startswith("-") else path


class SystemRun(NamedTuple):
    """One system of a finished run."""

    run: Run
    system: str

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return named_system(self.run.path, self.system)

    @property
    def sums(self) -> SystemSums:
        """Its stored sums; raises UsageError if they are damaged."""
        return self.run.sums.systems[self.system]


def open_system(text: str) -> SystemRun:
    """Returns the only system of the run in the folder `text`, or the system that `RUN:SYSTEM` names.

    Raises UsageError if there is no finished run, or if it has several systems and `text` names none.
    """
    if not text:
        raise UsageError("the path of a run is empty")
    path, system = split_system(text)
    run = Run.read(path)
    names = list(run.systems)
    if system is None and len(names) > 1:
        raise UsageError(
            f"{path}: it holds {len(names)} systems; give one of {', '.join(f'{path}:{name}' for name in names)}"
        )
    system = names[0] if system is None else system
    if system not in names:
        raise UsageError(f"{path}:{system}: there is no such system in this run; there are {', '.join(names)}")
    # Reports a configuration that cannot be read before the comparison.
    run.configuration  # noqa: B018
    return SystemRun(run, system)


def split_system(text: str) -> tuple[str, str | None]:
    """Returns the folder and the system that RUN or RUN:SYSTEM names; the system is None if not named.

    The part after the last colon is a system unless `text` is itself a run or an existing path: addresses and times
    have colons of their own.
    """
    match = _SYSTEM.fullmatch(text)
    if match is None or os.path.exists(text) or _is_run(text):
        return text, None
    return match["run"], match["system"]


def _is_run(path: str) -> bool:
    try:
        open_result(path)
    except UsageError:
        return False
    return True


def narrowed(run: Run, system: str) -> Run:
    """Returns a run with one of its systems: metrics, sums and verdicts. The rows still have all systems.

    Raises UsageError if the sums of the run are damaged.
    """
    if len(run.systems) == 1:
        return run
    gates = [each for each in run.summary.gates if each.get("system") in (None, system)]
    narrow = run.changed(systems={system: run.systems[system]}, ranking=[system], ranking_by={}, gates=gates)
    narrow.sums = msgspec.structs.replace(run.sums, systems={system: run.sums.systems[system]})
    if run.provenance:
        inputs: dict[str, Any] = dict(run.provenance["inputs"])
        predictions = inputs.get("predictions", {})
        inputs["predictions"] = {name: side for name, side in predictions.items() if name == system}
        narrow.provenance = {**run.provenance, "systems": [system], "inputs": inputs}
    return narrow


def find_baseline(reference: str) -> tuple[str, str | None]:
    """Returns the folder of the run that the user means, and the system after a colon, if there is one.

    `reference` is a run folder, RUN:SYSTEM, or a text file such as blessed.txt. The last line of the file that is not
    empty or a comment (after `#`) is one of these, relative to its folder. Raises UsageError if it names none.
    """
    run, system = split_system(reference)
    if system is not None or not reference.endswith(".txt") or _is_run(reference):
        return run, system
    named = named_runs(reference, read_text(reference))
    if not named:
        raise UsageError(f"{reference}: it names no run; write the folder of a finished run as its last line")
    return split_system(named[-1])


def read_text(file: str) -> str:
    """Returns the text of a file such as blessed.txt; raises UsageError if it cannot be read."""
    try:
        return read_bytes(file, MAX_BLESSED_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: cannot be read: {reason_of(error)}") from error


def named_runs(file: str, text: str) -> list[str]:
    """Returns what each line of the text of a file such as blessed.txt names; see `find_baseline`."""
    named = [re.split(r"(?:^|\s)#", line)[0].strip() for line in text.splitlines()]
    return [below(file, each) for each in named if each]


def below(file: str, run: str) -> str:
    """Returns the path of a run that a file names: relative to the folder of the file, unless absolute."""
    return run if "://" in run or os.path.isabs(run) else posixpath.join(posixpath.dirname(file), run)


def load_baseline(reference: str, labels: Iterable[str]) -> Run:
    """Reads the run that `reference` names (see `find_baseline`), with the slices whose label is in `labels`.

    It is sent to the worker that publishes. Raises UsageError if there is no such run, if it cannot be read, or if it
    scored nothing.
    """
    path, system = find_baseline(reference)
    try:
        run = Run.read(path, sums=True)
    except UsageError as error:
        # The message says which file names the run.
        raise error if path == reference else UsageError(f"{reference}: {error}") from error
    if system is not None and system not in run.systems:
        raise UsageError(f"{reference}: the run has no system {system}; it has {', '.join(run.systems)}")
    try:
        unscored = unscored_of(run.summary)
    except (KeyError, TypeError) as error:
        raise UsageError(f"{run.path}: {DAMAGED_COVERAGE}") from error
    for name, reason in unscored.items():
        if system in (None, name):
            raise UsageError(f"{reference}: nothing of {name} was scored: {reason}; give another run, or RUN:SYSTEM")
    label_set = frozenset(labels)
    check_measured(run, label_set)
    baseline = run.changed(systems=_with_slices(run.systems, label_set))
    baseline.sums = msgspec.structs.replace(run.sums, systems=_with_slices(run.sums.systems, label_set))
    baseline.system = system
    return baseline


def check_measured(run: Run, labels: Iterable[str]) -> None:
    """Computes the metrics of existing slices, to report damage before anything is scored or judged."""
    for label in labels:
        for name in run.systems:
            if run.slice(name, label) is not None:
                run.measured(name, label)


def _with_slices(systems: Mapping[str, Any], labels: Container[str]) -> dict[str, Any]:
    return {
        name: msgspec.structs.replace(
            system, slices={label: each for label, each in system.slices.items() if label in labels}
        )
        for name, system in systems.items()
    }


def age_warnings(run: Run, gates: Iterable[Gate] = ()) -> list[str]:
    """Returns what makes a run doubtful as a baseline: its age, and its own gates that failed it.

    gates: those that may compare with it. It may be as many days old as each of these plans for looks.
    """
    looks = min((gate.looks for gate in gates if gate.not_worse_than == BASELINE), default=1)
    warnings = []
    try:
        age = (time.time() - seconds(str(run.provenance.get("ended")))) / 86400
    except ValueError:
        warnings.append(f"the baseline {run.path} has no run.json that says when it was made")
    else:
        if age > max(MAX_BASELINE_DAYS, looks):
            days = f"{age:.0f} days old"
            warnings.append(f"the baseline {run.path} is {days}; bless a newer run if this one is outdated")
    failed = [each for each in run.summary.gates if each.get("blocks") and each.get("verdict") in ("fail", "invalid")]
    if names := dict.fromkeys(str(each.get("gate")) for each in failed):
        warnings.append(f"the baseline {run.path} did not pass its own gates: {', '.join(names)}")
    return warnings


def luck_warnings(metrics: Sequence[str], baseline: Run, nights: Sequence[Night], median: Run) -> Iterator[str]:
    """Yields a warning for each metric in which a baseline beats the median of recent nights by more than chance.

    The chance of a warning on one night is about MAX_CHANCE at most for a baseline that is like the nights, over all
    metrics and systems (Bonferroni). If E is the paired standard error of two nights, a night has the variance E^2 / 2,
    and the median of k nights about pi / (2 k) of that: E sqrt((1 + pi / (2 k)) / 2) is the standard error of their
    difference.
    median: the run of `median_night`. Runs that do not compare yield nothing. Raises UsageError if their sums are
    damaged.
    """
    if differences(median.signature, baseline.signature, PAIRED):
        return
    benchmark = median.configuration.benchmark
    confidence = 1 - 2 * MAX_CHANCE / max(1, len(metrics) * len(median.systems))
    for system in median.systems:
        theirs = baseline.system_for(system)
        if theirs is None:
            continue
        paired = paired_differences(benchmark, median.measured(system, ""), baseline.measured(theirs, ""), confidence)
        for metric in metrics:
            pair = paired.get(metric)
            values = [night.points[system, metric].value for night in nights if (system, metric) in night.points]
            if pair is None or pair.candidate is None or not values or not pair.error or pair.error <= ROUNDING:
                continue
            error = pair.error * math.sqrt((1 + math.pi / (2 * len(values))) / 2)
            excess = pair.candidate - statistics.median(values)
            errors = spec_or_undeclared(type(benchmark), metric).signed_value(excess) / error
            if errors > t_quantile(pair.units, confidence):
                yield (
                    f"the baseline {baseline.path} is better than the median of recent nights by {errors:.1f} standard "
                    f"errors in {metric} of {system}: gates that compare with it fail more often than promised"
                )
