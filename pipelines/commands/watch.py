"""How a run can be watched without a terminal: a line now and then, and a textfile for Prometheus."""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apache_beam.metrics import MetricsFilter

from ...metrics.version import VERSION
from ...transforms.counters import NAMESPACE, PROGRESS, Progress
from ...transforms.io.storage import STORAGE_ERRORS, write_file
from ...transforms.repeat import repeated
from ..config.errors import UsageError, as_usage_error, one_line
from .messages import CRASHED, INTERRUPTED, WRONG_USAGE, say

LINE_INTERVAL_S = 30.0
FILE_INTERVAL_S = 15.0

Labels = Mapping[str, str]


def progress_lines(systems: int, counted: bool) -> contextlib.AbstractContextManager[None]:
    """Writes a line each LINE_INTERVAL_S.

    counted: whether the workers are on this machine, where their counts can be read; else the line tells the time.
    """
    return repeated(LINE_INTERVAL_S, lambda seconds: _say_progress(systems, counted, seconds))


def _say_progress(systems: int, counted: bool, seconds: float) -> None:
    if not counted:
        say("INFO", f"running for {seconds:.0f} s; see the runner for its progress", seconds=round(seconds))
        return
    seen = PROGRESS.with_others()
    counts = {"records_read": seen.records_read, "samples_scored": seen.samples_scored}
    if seen.samples_scored:
        expected = seen.truths_read * systems
        text = f"{seen.samples_scored:,} of {expected:,} samples scored"
        counts["samples_expected"] = expected
    else:
        text = f"{seen.records_read:,} records read"
    say("INFO", f"{text} after {seconds:.0f} s", seconds=round(seconds), **counts)


class MetricsFile:
    """A file of metrics in the text format of Prometheus, as the textfile collector of node_exporter reads it.

    path: None for no file. It is written every FILE_INTERVAL_S while the run lasts, and at its end with what Beam has
    counted and with the main metrics of each system; each time as a whole. The times are those of this machine.
    """

    def __init__(self, path: str | None, benchmark: str) -> None:
        self._path = path
        self.exit_code: int | None = None
        self._labels = {"benchmark": benchmark, "version": VERSION}
        self._started = time.time()
        self._counts: dict[str, float] = {}
        self._values: list[tuple[str, str, float]] = []

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Writes the file now and again for as long as this block lasts, and at its end.

        Raises UsageError where it cannot be written at all; later on, a write that fails is left out.
        """
        if self._path is None:
            yield
            return
        try:
            self._write(self._path)
        except (*STORAGE_ERRORS, ValueError) as error:
            raise UsageError(f"--metrics-file {self._path}: cannot be written: {one_line(error)}") from error
        try:
            with repeated(FILE_INTERVAL_S, lambda _: self._update()):
                yield
        except BaseException as error:
            interrupted = INTERRUPTED if isinstance(error, KeyboardInterrupt) else CRASHED
            self.exit_code = interrupted if as_usage_error(error) is None else WRONG_USAGE
            raise
        finally:
            self._update()

    def add_result(self, result: Any) -> None:
        """Takes the counts of Beam, once a pipeline has ended."""
        found = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))
        for counter in found["counters"]:
            name = counter.key.metric.name
            self._counts[name] = self._counts.get(name, 0) + (counter.result or 0)
        for each in found["distributions"]:
            if each.result is not None:
                name = each.key.metric.name
                self._counts[f"{name}_sum"] = self._counts.get(f"{name}_sum", 0) + each.result.sum
                self._counts[f"{name}_count"] = self._counts.get(f"{name}_count", 0) + each.result.count

    def add_values(self, document: Mapping[str, Any], metrics: list[str]) -> None:
        """Takes the main metrics of a summary."""
        for system, found in document["systems"].items():
            known = {name: found["values"].get(name) for name in metrics}
            self._values += [(system, name, value) for name, value in known.items() if value is not None]

    def _update(self) -> None:
        with contextlib.suppress(*STORAGE_ERRORS, ValueError):
            if self._path is not None:
                self._write(self._path)

    def _write(self, path: str) -> None:
        write_file(path if posixpath.dirname(path) else f"./{path}", self._text(self.exit_code).encode())

    def _text(self, code: int | None) -> str:
        now, seen = time.time(), PROGRESS.with_others()
        lines = [
            *_metric("beamscore_run_running", "1 while the run lasts.", [(self._labels, float(code is None))]),
            *_metric("beamscore_run_start_time_seconds", "When the run started.", [(self._labels, self._started)]),
            *_metric(
                "beamscore_run_duration_seconds", "How long it runs or ran.", [(self._labels, now - self._started)]
            ),
        ]
        for name, count in (self._counts or _progress_counts(seen)).items():
            lines += _metric(f"beamscore_{name}", "A metric of the Beam pipeline.", [(self._labels, count)])
        if code is not None:
            lines += _metric("beamscore_run_exit_code", "0 where the gates passed.", [(self._labels, float(code))])
            lines += _metric("beamscore_run_end_time_seconds", "When it ended.", [(self._labels, now)])
        values = [({**self._labels, "system": system, "metric": name}, value) for system, name, value in self._values]
        if values:
            lines += _metric("beamscore_value", "A main metric of a system.", values)
        return "\n".join(lines) + "\n"


def _progress_counts(seen: Progress) -> dict[str, float]:
    return {"records_read": seen.records_read, "samples_scored": seen.samples_scored}


def _metric(name: str, meaning: str, samples: Sequence[tuple[Labels, float]]) -> list[str]:
    head = [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
    return [*head, *(f"{name}{{{_labels(labels)}}} {value:.17g}" for labels, value in samples)]


def _labels(labels: Labels) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
