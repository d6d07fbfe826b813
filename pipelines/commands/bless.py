"""`beamscore bless`: makes the median of the recent nights the baseline of the next."""

from __future__ import annotations

import argparse
import posixpath
import time

from ...transforms.io.storage import exists, read_bytes, write_file
from ...transforms.records import printable
from ..config.errors import UsageError, as_output_errors
from ..runs.history import MIN_NIGHTS, History, histories, median_night, recent_nights
from ..runs.history_index import HISTORY, index_runs, load_table, run_path
from ..runs.looks import start_looks
from ..runs.named import MAX_BLESSED_BYTES, age_warnings, find_baseline, luck_warnings
from ..runs.numbers import count_of, fixed
from ..runs.provenance import utc
from ..runs.run import Run
from .history import BLESSED
from .messages import DONE, warn


def run(parsed: argparse.Namespace, _: object) -> int:
    """Writes the median run to blessed.txt, and starts the count of looks anew."""
    folder = parsed.folder
    history = _history(folder)
    nights = recent_nights(history, parsed.nights)
    if len(nights) < MIN_NIGHTS:
        warn([f"the median is of {count_of(len(nights), 'night')}; that of fewer than {MIN_NIGHTS} is luck"])
    night = median_night(nights, history.metrics)
    blessed = Run.read(run_path(folder, night.run), sums=True)
    warn(age_warnings(blessed))
    path = posixpath.join(folder, BLESSED)
    with as_output_errors(path):
        before = read_bytes(path, MAX_BLESSED_BYTES).decode() if exists(path) else ""
        if before:
            _warn_of_luck(path, history, blessed)
        text = before if before.endswith("\n") or not before else f"{before}\n"
        reason = f"# {utc(time.time())}: the median of {count_of(len(nights), 'night')} by {', '.join(history.metrics)}"
        write_file(path, f"{text}{printable(reason)}\n{night.run}\n".encode())
        start_looks(path, blessed)
    values = (f"{metric} of {system} {fixed(point.value)}" for (system, metric), point in night.points.items()
              if metric in history.metrics)  # fmt: skip
    print(
        printable(f"{path}: blessed {night.run}, the median of {count_of(len(nights), 'night')}: {', '.join(values)}")
    )
    return DONE


def _history(folder: str) -> History:
    index = index_runs(folder, load_table(posixpath.join(folder, HISTORY)))
    warn(index.unreadable)
    found = histories(index.table) if len(index.table) else []
    if len(found) != 1:
        names = " and ".join(each.benchmark for each in found)
        reason = (
            f"it holds runs of {names}; give a folder with those of one" if found else "no finished run is below it"
        )
        raise UsageError(f"{folder}: {reason}")
    return found[0]


def _warn_of_luck(path: str, history: History, median: Run) -> None:
    """Warns where the baseline until now was better than the nights that it judged; one that is gone needs none."""
    try:
        run, _ = find_baseline(path)
        warn(list(luck_warnings(history.metrics, Run.read(run), median)))
    except UsageError:
        return
