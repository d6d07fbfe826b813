"""The runs that gates have judged since a baseline was blessed: a file next to blessed.txt counts them.

A look is a run with new predictions. A run that is repeated or judged again has equal predictions, the same verdict,
and no further chance to fail. A new baseline restarts the count.

A look closes a week if its number is a multiple of `WEEK`: a gate with `looks` then also judges the mean of the last
`WEEK` runs, which scatters less than one run. The chance of a false failure is split evenly between looks and weeks,
and each half is shared by all of its kind (Bonferroni).
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import msgspec
import numpy as np

from ...metrics.statistics.measured import Measured
from ...transforms.io.storage import is_on_disk, read_bytes, write_file
from ..config.errors import UsageError
from ..config.gates import BASELINE, Gate
from .differences import PAIRED, differences
from .named import below, load_baseline
from .run import JudgedRuns, Run

WEEK = 7


class Looks(msgspec.Struct, frozen=True):
    """The content of the file.

    baseline: the id of the run. judged: the folder of each run by its predictions, in order; relative if it is below
    the folder of the file.
    """

    baseline: str
    judged: dict[str, str]


def looks_path(blessed: str) -> str:
    """Returns the path of the file with the looks at the baseline that a file such as blessed.txt names."""
    return f"{blessed.removesuffix('.txt')}.looks.json"


def count_look(blessed: str, baseline: Run, run: Run) -> int:
    """Counts a judged run, and returns the number of all looks.

    blessed: the file that names the baseline. A run is not counted if an earlier run or the baseline has the same
    predictions. Raises OSError if the count cannot be written.
    """
    judged, look = _since_blessing(blessed, baseline), _key_of(run)
    if look not in judged and look != _key_of(baseline):
        parent, folder = posixpath.dirname(blessed), run.path
        if is_on_disk(blessed) and is_on_disk(folder):
            parent, folder = os.path.abspath(parent), os.path.abspath(folder)
        judged[look] = folder.removeprefix(parent.rstrip("/") + "/").rstrip("/")
        write_looks(blessed, baseline, judged)
    return len(judged)


def judged_runs(blessed: str, baseline: Run, labels: Iterable[str], run: Run | None) -> tuple[JudgedRuns, list[str]]:
    """Returns the runs judged before, and a line for each that is left out of the mean of a week.

    labels: the slices that gates are about. run: the run to judge; None: its predictions are not known yet. Only the
    weeks that it may close are read: the next one, and the last one, which equal predictions close again.
    """
    judged = _since_blessing(blessed, baseline)
    numbers = {**{key: number for number, key in enumerate(judged, start=1)}, _key_of(baseline): 0}
    ends = [len(judged), len(judged) + 1] if run is None else [number_of(numbers, run)]
    week_numbers = {number for end in ends if end and end % WEEK == 0 for number in range(end - WEEK + 1, end)}
    runs: dict[int, Run | None] = {}
    left_out = []
    for number, (key, folder) in enumerate(judged.items(), start=1):
        if number in week_numbers:
            try:
                runs[number] = _judged_run(below(blessed, folder), key, baseline, labels)
            except UsageError as error:
                runs[number] = None
                left_out.append(f"{error}; left out of the mean of the last {WEEK} runs")
    return JudgedRuns(numbers, runs), left_out


def _judged_run(path: str, key: str, baseline: Run, labels: Iterable[str]) -> Run:
    """Returns a run that was judged before; raises UsageError if it cannot be part of a mean."""
    run = load_baseline(path, labels)
    if _key_of(run) != key:
        raise UsageError(f"{path}: a different run has replaced the judged one")
    for reason in differences(baseline.signature, run.signature, PAIRED, it=path):
        raise UsageError(reason)
    return run


def number_of(numbers: Mapping[str, int], run: Run) -> int:
    """Returns the number of the look of a run: by its predictions, else the next; 0 for those of the baseline."""
    return numbers.get(_key_of(run), max(numbers.values()) + 1)


def runs_of_week(judged: JudgedRuns, run: Run) -> list[Run] | None:
    """Returns the earlier runs of the week that a run closes; None if it closes none.

    Raises UsageError if it closed a week before the last one: that week was not read.
    """
    number = number_of(judged.numbers, run)
    if not number or number % WEEK:
        return None
    week = range(number - WEEK + 1, number)
    if not judged.runs.keys() >= {*week}:
        raise UsageError(
            f"these predictions were look {number}, the end of a week; judge that week again with beamscore gate"
        )
    return [earlier for each in week if (earlier := judged.runs[each]) is not None]


def mean_of(runs: Sequence[Measured], metric: str) -> Measured:
    """Returns the mean of a metric (its value and each replicate) over runs that all have it."""
    return Measured(
        values={metric: fmean(each.values[metric] or 0.0 for each in runs)},
        replicates={metric: np.mean([each.replicates[metric] for each in runs], axis=0)},
        units={metric: min(each.units[metric] for each in runs)},
        sizes={metric: min(each.size(metric) for each in runs)},
        totals={metric: min(each.total(metric) for each in runs)},
    )


def look_confidence(confidence: float, looks: int, weekly: bool) -> float:
    """Returns the confidence that a failure of one look needs; weekly: whether means of weeks are judged too."""
    shares = 2 * looks if weekly and looks >= WEEK else looks
    return 1 - (1 - confidence) / shares


def week_confidence(confidence: float, looks: int) -> float:
    """Returns the confidence that the mean of one week needs to fail a gate with at least `WEEK` looks."""
    return 1 - (1 - confidence) / (2 * (looks // WEEK))


def too_many_looks(gates: Mapping[str, Gate], looks: int, baseline: str) -> list[str]:
    """Returns a line for each gate that has judged more runs against a baseline than its `looks`.

    Gates with a single look are not counted.
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


def _since_blessing(blessed: str, baseline: Run) -> dict[str, str]:
    """Returns the judged runs; empty if the file is missing, damaged or of a different baseline."""
    with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
        looks = msgspec.json.decode(read_bytes(looks_path(blessed)), type=Looks)
        return looks.judged if looks.baseline == _id_of(baseline) else {}
    return {}


def write_looks(blessed: str, baseline: Run, judged: dict[str, str]) -> None:
    """Writes the runs judged since the blessing; raises OSError if it cannot."""
    content = msgspec.json.encode(Looks(_id_of(baseline), judged))
    write_file(looks_path(blessed), msgspec.json.format(content, indent=1) + b"\n")


def _id_of(baseline: Run) -> str:
    return baseline.run_id or baseline.path


def _key_of(run: Run) -> str:
    """Returns the fingerprints of the predictions of all systems, or the id of the run if one is not known."""
    known = [each.predictions_fingerprint for each in run.systems.values() if each.predictions_fingerprint is not None]
    return " ".join(sorted(known)) if len(known) == len(run.systems) else run.run_id
