"""The run that others are compared with: named by its folder, or by a file in which a person has blessed it."""

from __future__ import annotations

import os
import posixpath
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...transforms.earlier_rows import EarlierRows
from ...transforms.io.storage import STORAGE_ERRORS, read_bytes
from ...transforms.records import InputProblem
from ..config.errors import UsageError, one_line
from ..config.settings import Configuration
from .differences import SCORED_ALIKE, Signature, differences
from .judged import JudgedSlice, judged_slice
from .stored import Run, is_run, split_system

MAX_BASELINE_DAYS = 30
MAX_BLESSED_BYTES = 1 << 20


@dataclass(frozen=True)
class Baseline:
    """A finished run, as far as gates compare with it; it goes to the worker that publishes.

    system: the one that every system is compared with; None: the one of the same name. slices: by system and label,
    those that any gate needs. rows: the files of its rows.
    """

    path: str
    run_id: str
    signature: Signature
    systems: tuple[str, ...]
    system: str | None
    slices: Mapping[tuple[str, str], JudgedSlice]
    warnings: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def judged(self, system: str, label: str) -> tuple[JudgedSlice, str] | str:
        """Returns the slice that a system is compared with and what it is called, or why there is none."""
        name = self.system_for(system)
        if name is None:
            return f"the baseline has no system {system}; give --baseline RUN:SYSTEM with one of {self._listed()}"
        found = self.slices.get((name, label))
        if found is None:
            return f"the baseline has no slice {label}"
        return found, "the baseline"

    def system_for(self, system: str) -> str | None:
        """Returns the system that one of ours is compared with: the one of the same name, or the only one there is."""
        if self.system is not None or system in self.systems:
            return self.system or system
        return self.systems[0] if len(self.systems) == 1 else None

    def earlier_rows(self, configuration: Configuration, systems: Sequence[str]) -> EarlierRows | None:
        """Returns the rows in which a run of these systems finds what its samples scored before.

        None where there are none, or the scores do not compare. Raises UsageError where a file is damaged.
        """
        if not self.rows or differences(Signature.of(configuration), self.signature, SCORED_ALIKE):
            return None
        metric = configuration.benchmark.main_sample_metric().name
        rows = EarlierRows(self.rows, metric, tuple(map(self.system_for, systems)))
        try:
            rows.check()
        except InputProblem as error:
            raise UsageError(f"{error.message}, or give --no-html") from error
        return rows

    def _listed(self) -> str:
        return ", ".join(self.systems)


def find_baseline(given: str) -> tuple[str, str | None]:
    """Returns the folder of the run that a person means, and the system after a colon, if there is one.

    `given` is a run folder, RUN:SYSTEM, or a text file, such as blessed.txt, whose last line that is neither empty nor
    a comment (after `#`) is one of these, relative to the folder of the file. Raises UsageError where it names none.
    """
    run, system = split_system(given)
    if system is None and given.endswith(".txt") and not is_run(given):
        return split_system(_blessed(given))
    return run, system


def _blessed(path: str) -> str:
    try:
        lines = read_bytes(path, MAX_BLESSED_BYTES).decode().splitlines()
    except (*STORAGE_ERRORS, ValueError) as error:
        raise UsageError(f"{path}: cannot be read: {one_line(error)}") from error
    named = [text for line in lines if (text := re.split(r"(?:^|\s)#", line)[0].strip())]
    if not named:
        raise UsageError(f"{path}: it names no run; write the folder of a finished run as its last line")
    run = named[-1]
    return run if "://" in run or os.path.isabs(run) else posixpath.join(posixpath.dirname(path), run)


def load_baseline(given: str, labels: Iterable[str]) -> Baseline:
    """Reads the baseline that `given` names, see `find_baseline`, of its slices those with `labels`.

    Raises UsageError where there is no such run, or it cannot be read.
    """
    path, system = find_baseline(given)
    try:
        run = Run.with_sums(path)
    except UsageError as error:
        # Of a file the reader must know that it is what names the run.
        raise error if path == given else UsageError(f"{given}: {error}") from error
    if system is not None and system not in run.summary.systems:
        raise UsageError(f"{given}: the run has no system {system}; it has {', '.join(run.summary.systems)}")
    slices: dict[tuple[str, str], JudgedSlice] = {}
    for name in run.summary.systems:
        for label in dict.fromkeys(labels):
            if run.slice(name, label) is not None:
                # Whatever is damaged is told before anything is scored.
                run.measured(name, label)
                slices[name, label] = judged_slice(run, name, label)
    return Baseline(
        path,
        run.run_id,
        run.signature,
        tuple(run.summary.systems),
        system,
        slices,
        tuple(age_warnings(path, run)),
        tuple(run.rows),
    )


def age_warnings(path: str, run: Run) -> list[str]:
    """Returns what should make a person think before others are compared with a run: its age, and its own gates."""
    warnings = []
    ended = run.provenance.get("ended")
    try:
        age = (time.time() - datetime.fromisoformat(str(ended).replace("Z", "+00:00")).timestamp()) / 86400
    except ValueError:
        warnings.append(f"the baseline {path} has no run.json that says when it was made")
    else:
        if age > MAX_BASELINE_DAYS:
            warnings.append(f"the baseline {path} is {age:.0f} days old; bless a newer run where this one is outdated")
    failed = [str(each.get("gate")) for each in run.summary.gates if each.get("verdict") in ("fail", "invalid")]
    if failed:
        warnings.append(f"the baseline {path} did not pass its own gates: {', '.join(failed)}")
    return warnings
