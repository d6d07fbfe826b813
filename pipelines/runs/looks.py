"""The runs that gates have judged against a baseline since it was blessed: a file beside blessed.txt counts them.

A look is a run with new predictions: equal ones, of a run that is repeated or judged again, have the same verdict, and
no further chance to fail. Another baseline starts the count anew.

Each look that is a multiple of `WEEK` closes a week: a gate with `looks` then also judges the mean of the last `WEEK`
runs, whose decoding scatters less than that of one. The chance of a false failure is split evenly between the looks and
the weeks, and each half is shared by all of its kind (Bonferroni).
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import time
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from ...metrics.statistics.measured import Measured
from ...transforms.io.storage import is_on_disk, read_bytes, write_file
from ..config.errors import UsageError, one_line
from ..config.gates import BASELINE, Gate
from .differences import PAIRED, differences
from .named import load_baseline
from .provenance import utc
from .run import JudgedRuns, Run

WEEK = 7


class Looks(msgspec.Struct, frozen=True):
    """The content of the file.

    baseline: the id of the run. runs: when each run was judged, by its predictions, in order. folders: where the run
    is, relative to the file if it is below its folder; a count of an earlier version has none.
    """

    baseline: str
    since: str
    runs: dict[str, str] = {}
    folders: dict[str, str] = {}


def looks_path(blessed: str) -> str:
    """Returns the path of the file that counts the looks at the run that a file such as blessed.txt names."""
    return f"{blessed.removesuffix('.txt')}.looks.json"


def start_looks(blessed: str, baseline: Run) -> None:
    """Starts the count anew; raises OSError where it cannot be written."""
    _write(blessed, _new_looks(baseline))


def count_look(blessed: str, baseline: Run, run: Run) -> int:
    """Counts a run that was judged, and returns the number of all of them.

    blessed: the file that names the baseline. A run with the predictions of an earlier one, or of the baseline, is none
    of its own. Raises OSError where the count cannot be written.
    """
    found = _since_blessing(blessed, baseline)
    look = _key_of(run)
    if look not in found.runs and look != _key_of(baseline):
        runs, folders = {look: utc(time.time())}, {look: _beside(blessed, run.path)}
        found = msgspec.structs.replace(found, runs=found.runs | runs, folders=found.folders | folders)
        _write(blessed, found)
    return len(found.runs)


def judged_runs(blessed: str, baseline: Run, labels: Iterable[str], run: Run | None) -> tuple[JudgedRuns, list[str]]:
    """Returns the runs that were judged before, and why one of them is left out of the mean of a week, a line each.

    labels: the slices that gates are about. run: the one that is judged; None: its predictions are not known yet. Only
    the weeks that it may close are read: the next one, and the last, which equal predictions close again.
    """
    found = _since_blessing(blessed, baseline)
    numbers = {**{key: number for number, key in enumerate(found.runs, start=1)}, _key_of(baseline): 0}
    ends = [len(found.runs), len(found.runs) + 1] if run is None else [number_of(numbers, run)]
    due = [number for end in ends if end and end % WEEK == 0 for number in range(end - WEEK + 1, end)]
    earlier = {
        number: _earlier_run(blessed, found.folders.get(key), key, baseline, labels)
        for number, key in enumerate(found.runs, start=1)
        if number in due
    }
    runs = {number: None if isinstance(each, str) else each for number, each in earlier.items()}
    reasons = [each for each in earlier.values() if isinstance(each, str)]
    return JudgedRuns(numbers, runs), [f"{each}; left out of the mean of the last {WEEK} runs" for each in reasons]


def _earlier_run(blessed: str, folder: str | None, key: str, baseline: Run, labels: Iterable[str]) -> Run | str:
    """Returns a run that was judged before, or why it has no part in a mean."""
    if folder is None:
        return f"{looks_path(blessed)}: it does not say where a run is that was judged"
    is_whole = "://" in folder or posixpath.isabs(folder)
    path = folder if is_whole else posixpath.normpath(posixpath.join(posixpath.dirname(blessed), folder))
    try:
        found = load_baseline(path, labels)
    except UsageError as error:
        return str(error)
    if _key_of(found) != key:
        return f"{path}: another run has replaced the one that was judged"
    reasons = differences(baseline.signature, found.signature, PAIRED, it=path)
    return reasons[0] if reasons else found


def number_of(numbers: Mapping[str, int], run: Run) -> int:
    """Returns which look a run is: that of its predictions, or the next; 0 where they are those of the baseline."""
    return numbers.get(_key_of(run), max(numbers.values()) + 1)


def runs_of_week(judged: JudgedRuns, run: Run) -> list[Run] | None:
    """Returns the earlier runs of the week that a run closes; None where it closes none.

    Raises UsageError where it closed a week before the last, which was not read.
    """
    number = number_of(judged.numbers, run)
    if not number or number % WEEK:
        return None
    wanted = range(number - WEEK + 1, number)
    if not judged.runs.keys() >= {*wanted}:
        raise UsageError(
            f"these predictions were look {number}, which closed a week; judge that again with beamscore gate"
        )
    return [earlier for each in wanted if (earlier := judged.runs[each]) is not None]


def mean_of(runs: Sequence[Measured], metric: str) -> Measured:
    """Returns the mean of a metric over runs that all have it, of its value and of each replicate."""
    return Measured(
        values={metric: fmean(each.values[metric] or 0.0 for each in runs)},
        replicates={metric: np.mean([each.replicates[metric] for each in runs], axis=0)},
        units={metric: min(each.units[metric] for each in runs)},
        sizes={metric: min(each.size(metric) for each in runs)},
    )


def look_confidence(confidence: float, looks: int, weekly: bool) -> float:
    """Returns the confidence at which one look may fail; weekly: whether the means of weeks are judged too."""
    shares = 2 * looks if weekly and looks >= WEEK else looks
    return 1 - (1 - confidence) / shares


def week_confidence(confidence: float, looks: int) -> float:
    """Returns the confidence at which the mean of one week may fail a gate with at least `WEEK` looks."""
    return 1 - (1 - confidence) / (2 * (looks // WEEK))


def too_many_looks(gates: Mapping[str, Gate], looks: int, baseline: str) -> list[str]:
    """Returns a line for each gate that has judged more runs against a baseline than its `looks`.

    One that is not looked at twice has no count.
    """
    return [
        f"gate {gate.name or key}: {looks} runs were judged against {baseline}, more than its looks: {gate.looks}; "
        "false failures are now more frequent than promised; bless a newer run (beamscore bless)"
        for key, gate in gates.items()
        if is_counted(gate) and gate.looks < looks
    ]


def is_counted(gate: Gate) -> bool:
    """Returns whether the looks of a gate are counted."""
    return gate.not_worse_than == BASELINE and gate.looks > 1


def unwritten(blessed: str, error: Exception) -> str:
    """Returns what is said where the count cannot be written."""
    return f"{looks_path(blessed)}: the runs judged since the baseline was blessed cannot be counted: {one_line(error)}"


def _since_blessing(blessed: str, baseline: Run) -> Looks:
    """Returns the content of the file; that of a new count where there is none, or it is damaged or out of date."""
    new = _new_looks(baseline)
    with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
        found = msgspec.json.decode(read_bytes(looks_path(blessed)), type=Looks)
        return found if found.baseline == new.baseline else new
    return new


def _beside(blessed: str, folder: str) -> str:
    """Returns the path of a run relative to the folder of the file, if it is below it."""
    here = posixpath.dirname(blessed)
    if is_on_disk(blessed) and is_on_disk(folder):
        here, folder = os.path.abspath(here), os.path.abspath(folder)
    start = here.rstrip("/") + "/"
    return folder.removeprefix(start).rstrip("/")


def _write(blessed: str, looks: Looks) -> None:
    write_file(looks_path(blessed), msgspec.json.format(msgspec.json.encode(looks), indent=1) + b"\n")


def _new_looks(baseline: Run) -> Looks:
    return Looks(baseline.run_id or baseline.path, utc(time.time()))


def _key_of(run: Run) -> str:
    """Returns the fingerprints of the predictions of all systems; the id of a run of which they are not known."""
    known = [each.predictions_fingerprint for each in run.systems.values() if each.predictions_fingerprint is not None]
    return " ".join(sorted(known)) if len(known) == len(run.systems) else run.run_id
