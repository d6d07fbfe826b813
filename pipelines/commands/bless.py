"""`beamscore bless`: makes the median of the recent nights below a folder the baseline of the next ones."""

from __future__ import annotations

import argparse
import contextlib
import posixpath
import time

from ...transforms.io.storage import exists, read_bytes, write_file
from ...transforms.records import printable
from ..config.errors import UsageError, as_output_errors
from ..runs.history import MIN_NIGHTS, histories, median_night, recent_nights
from ..runs.history_index import run_path
from ..runs.looks import start_looks
from ..runs.named import MAX_BLESSED_BYTES, age_warnings, find_baseline, luck_warnings
from ..runs.numbers import count_of, fixed
from ..runs.provenance import utc
from ..runs.run import Run
from .history import BLESSED, read_index
from .messages import DONE, warn


def run(parsed: argparse.Namespace, _: object) -> int:
    """Writes the median of the recent nights to blessed.txt, and resets the count of looks."""
    folder, path = parsed.folder, posixpath.join(parsed.folder, BLESSED)
    series = histories(read_index(folder).table)
    if len(series) > 1:
        names = " and ".join(each.benchmark for each in series)
        raise UsageError(f"{folder}: it holds runs of {names}; give a folder with those of one")
    (history,) = series
    nights = recent_nights(history, parsed.nights)
    counted = count_of(len(nights), "night")
    if len(nights) < MIN_NIGHTS:
        warn([f"the median is of {counted}; fewer than {MIN_NIGHTS} nights are unreliable"])
    night = median_night(nights, history.metrics)
    blessed = Run.read(run_path(folder, night.run), sums=True)
    warn(age_warnings(blessed))
    with as_output_errors(path):
        before = read_bytes(path, MAX_BLESSED_BYTES).decode() if exists(path) else ""
        if before:
            # The old baseline may have been better than the nights that it judged; a deleted one is ignored.
            with contextlib.suppress(UsageError):
                warn(list(luck_warnings(history.metrics, Run.read(find_baseline(path)[0]), blessed)))
        text = before if before.endswith("\n") or not before else f"{before}\n"
        reason = f"# {utc(time.time())}: the median of {counted} by {', '.join(history.metrics)}"
        write_file(path, f"{text}{printable(reason)}\n{night.run}\n".encode())
        start_looks(path, blessed)
    points = ((key, point) for key, point in night.points.items() if key[1] in history.metrics)
    values = ", ".join(f"{metric} of {system} {fixed(point.value)}" for (system, metric), point in points)
    print(printable(f"{path}: blessed {night.run}, the median of {counted}: {values}"))
    return DONE
