"""Which finished runs the texts on a command line name, and the run that others are compared with."""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ...metrics.statistics.intervals import ROUNDING
from ...metrics.statistics.measured import spec_of
from ...metrics.statistics.paired import paired_differences
from ...transforms.io.storage import read_bytes
from ..config.errors import UsageError, one_line
from .differences import PAIRED, differences
from .documents import SystemSummary, SystemSums
from .provenance import seconds
from .run import Run, open_result

MAX_BASELINE_DAYS = 30
MAX_BLESSED_BYTES = 1 << 20

_SYSTEM = re.compile(r"(?P<run>.+):(?P<system>[A-Za-z0-9_.-]{1,100})", re.DOTALL)


class SystemRun(NamedTuple):
    """One system of a finished run."""

    run: Run
    system: str

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return f"{self.run.path}:{self.system}"

    @property
    def overall(self) -> SystemSummary:
        """What summary.json says of it."""
        return self.run.systems[self.system]

    @property
    def sums(self) -> SystemSums:
        """Its stored sums; raises UsageError where they are damaged."""
        return self.run.sums.systems[self.system]

    @property
    def samples(self) -> int:
        """How many samples its metrics rest on."""
        return self.overall.measured_samples(self.run.configuration.settings.missing)


def open_system(text: str) -> SystemRun:
    """Returns the only system of the run in the folder `text`, or, of `RUN:SYSTEM`, that system of it.

    Raises UsageError where there is no finished run, or it does not say which of its systems.
    """
    path, system = split_system(text)
    run = Run.read(path)
    there = list(run.systems)
    if system is None and len(there) > 1:
        raise UsageError(
            f"{path}: it holds {len(there)} systems; give one of {', '.join(f'{path}:{name}' for name in there)}"
        )
    system = there[0] if system is None else system
    if system not in there:
        raise UsageError(f"{path}:{system}: there is no such system in this run; there are {', '.join(there)}")
    # A configuration that cannot be read is told before it is compared.
    run.configuration  # noqa: B018
    return SystemRun(run, system)


def split_system(text: str) -> tuple[str, str | None]:
    """Returns the folder of a run and the system that RUN or RUN:SYSTEM names; None where it names none.

    What follows the last colon is a system where `text`, which may have colons of its own as addresses and times have,
    is neither a run nor a path that exists.
    """
    found = _SYSTEM.fullmatch(text)
    if found is None or os.path.exists(text) or _is_run(text):
        return text, None
    return found["run"], found["system"]


def _is_run(path: str) -> bool:
    try:
        open_result(path)
    except UsageError:
        return False
    return True


def narrowed(run: Run, system: str) -> Run:
    """Returns what there is of a system in a finished run: its metrics, sums and verdicts; the rows are those of all.

    Raises UsageError if the sums of the run are damaged.
    """
    if len(run.systems) == 1:
        return run
    gates = [each for each in run.summary.gates if each.get("system") in (None, system)]
    found = run.changed(systems={system: run.systems[system]}, ranking=[system], ranking_by={}, gates=gates)
    found.sums = msgspec.structs.replace(run.sums, systems={system: run.sums.systems[system]})
    if run.provenance:
        inputs: dict[str, Any] = dict(run.provenance["inputs"])
        predictions = inputs.get("predictions", {})
        inputs["predictions"] = {name: side for name, side in predictions.items() if name == system}
        found.provenance = {**run.provenance, "systems": [system], "inputs": inputs}
    return found


def find_baseline(given: str) -> tuple[str, str | None]:
    """Returns the folder of the run that a person means, and the system after a colon, if there is one.

    `given` is a run folder, RUN:SYSTEM, or a text file, such as blessed.txt, whose last line that is neither empty nor
    a comment (after `#`) is one of these, relative to the folder of the file. Raises UsageError where it names none.
    """
    run, system = split_system(given)
    if system is not None or not given.endswith(".txt") or _is_run(given):
        return run, system
    try:
        lines = read_bytes(given, MAX_BLESSED_BYTES).decode().splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"{given}: cannot be read: {one_line(error)}") from error
    named = [text for line in lines if (text := re.split(r"(?:^|\s)#", line)[0].strip())]
    if not named:
        raise UsageError(f"{given}: it names no run; write the folder of a finished run as its last line")
    return split_system(below(given, named[-1]))


def below(file: str, run: str) -> str:
    """Returns the path of a run that a file names: relative to the folder of the file, unless it is a whole one."""
    return run if "://" in run or os.path.isabs(run) else posixpath.join(posixpath.dirname(file), run)


def load_baseline(given: str, labels: Iterable[str]) -> Run:
    """Reads the run that `given` names, see `find_baseline`, with those of its slices that have one of the `labels`.

    It goes to the worker that publishes. Raises UsageError where there is no such run, or it cannot be read.
    """
    path, system = find_baseline(given)
    try:
        run = Run.read(path, sums=True)
    except UsageError as error:
        # Of a file the reader must know that it is what names the run.
        raise error if path == given else UsageError(f"{given}: {error}") from error
    if system is not None and system not in run.systems:
        raise UsageError(f"{given}: the run has no system {system}; it has {', '.join(run.systems)}")
    wanted = frozenset(labels)
    check_measured(run, wanted)
    kept = run.changed(systems=_with_slices(run.systems, wanted))
    kept.sums = msgspec.structs.replace(run.sums, systems=_with_slices(run.sums.systems, wanted))
    kept.system = system
    return kept


def check_measured(run: Run, labels: Iterable[str]) -> None:
    """Computes the metrics of slices that are there, so that damage is told before anything is scored or judged."""
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


def age_warnings(run: Run) -> list[str]:
    """Returns what should make a person think before others are compared with a run: its age, and its own gates."""
    warnings = []
    try:
        age = (time.time() - seconds(str(run.provenance.get("ended")))) / 86400
    except ValueError:
        warnings.append(f"the baseline {run.path} has no run.json that says when it was made")
    else:
        if age > MAX_BASELINE_DAYS:
            days = f"{age:.0f} days old"
            warnings.append(f"the baseline {run.path} is {days}; bless a newer run where this one is outdated")
    failed = [str(each.get("gate")) for each in run.summary.gates if each.get("verdict") in ("fail", "invalid")]
    if failed:
        warnings.append(f"the baseline {run.path} did not pass its own gates: {', '.join(failed)}")
    return warnings


def luck_warnings(metrics: Sequence[str], baseline: Run, median: Run) -> Iterator[str]:
    """Yields where a baseline is better than a median night by more than the standard error of their difference.

    Runs that do not compare yield nothing. Raises UsageError where their sums are damaged.
    """
    if differences(median.signature, baseline.signature, PAIRED):
        return
    benchmark = median.configuration.benchmark
    for system in median.systems:
        theirs = baseline.system_for(system)
        if theirs is None:
            continue
        sides = median.measured(system, ""), baseline.measured(theirs, "")
        paired = paired_differences(benchmark, *sides, median.configuration.settings.bootstrap.confidence)
        for metric in metrics:
            found = paired.get(metric)
            if found is None or found.difference is None or not found.error or found.error <= ROUNDING:
                continue
            above = spec_of(type(benchmark), metric).goodness(found.difference) / found.error
            if above > 1:
                yield (
                    f"the baseline {baseline.path} is better than the median of recent nights by {above:.1f} standard "
                    f"errors in {metric} of {system}: gates that compare with it fail more often than promised"
                )
