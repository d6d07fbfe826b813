"""Finished runs, read back and checked: what every command that reads runs starts from."""

from __future__ import annotations

import os
import posixpath
import re
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec

from ...metrics.statistics.measured import Measured, measure
from ...metrics.statistics.sums import FRACTION_BITS, Sums
from ...transforms.io.published import Published
from ...transforms.io.storage import STORAGE_ERRORS
from ..config import settings
from ..config.errors import UsageError, one_line
from ..config.settings import Configuration
from .differences import Signature
from .provenance import RUN_FORMAT
from .run import RUN, SUMMARY, SUMS, SUMS_FORMAT, open_result
from .stored_documents import (
    SliceSums,
    StoredProvenance,
    StoredSlice,
    StoredSummary,
    StoredSums,
    StoredSystem,
    SystemSums,
)

_Document = TypeVar("_Document")
_SYSTEM = re.compile(r"(?P<run>.+):(?P<system>[A-Za-z0-9_.-]{1,100})", re.DOTALL)


def split_system(text: str) -> tuple[str, str | None]:
    """Returns the folder of a run and the system that RUN or RUN:SYSTEM names; None where it names none.

    What follows the last colon is a system where `text`, which may have colons of its own as addresses and times have,
    is neither a run nor a path that exists.
    """
    found = _SYSTEM.fullmatch(text)
    if found is None or os.path.exists(text) or is_run(text):
        return text, None
    return found["run"], found["system"]


def is_run(path: str) -> bool:
    """Returns whether a finished run is in a folder, on any filesystem."""
    try:
        open_result(path)
    except UsageError:
        return False
    return True


class SystemRun(NamedTuple):
    """One system of a finished run."""

    run: Run
    system: str

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return f"{self.run.path}:{self.system}"

    @property
    def overall(self) -> StoredSystem:
        """What summary.json says of it."""
        return self.run.summary.systems[self.system]

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
    run = Run(path)
    there = list(run.summary.systems)
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


class Run:
    """A finished run in a folder, read once; sums.json, which is large, when it is needed.

    Raises UsageError, in one line, where the folder holds no run that this version can read.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.published: Published = open_result(path)
        self.summary = self._read(SUMMARY, StoredSummary)
        missing = [name for name in self.summary.ranking if name not in self.summary.systems]
        if not self.summary.systems or missing:
            raise self._problem(SUMMARY, "it names no system" if not missing else f"the system {missing[0]} is missing")
        if set(self.summary.ranking) != self.summary.systems.keys():
            raise self._problem(SUMMARY, "its ranking does not name every system")
        # Whatever is damaged is told by every command alike.
        self.provenance  # noqa: B018

    @classmethod
    def with_sums(cls, path: str) -> Run:
        """Returns a run with its sums; it is opened again where another one replaces it while it is read."""
        while True:
            published = open_result(path)
            try:
                run = cls(path)
                run.sums  # noqa: B018
            except UsageError:
                if open_result(path).run_id == published.run_id:
                    raise
            else:
                return run

    @property
    def signature(self) -> Signature:
        """With what the run scored, and what: by which it is told whether it compares with another."""
        summary, versions = self.summary, self.provenance.get("versions")
        return Signature(summary.benchmark, summary.version, summary.config, versions, summary.fingerprint)

    @property
    def rows(self) -> list[str]:
        """The files of the rows of its samples."""
        return self.published.folder("samples")

    @property
    def run_id(self) -> str:
        """The id of the run; empty where it is not known."""
        return self.published.run_id or str(self.provenance.get("run_id", ""))

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The content of run.json; empty where the run has none, as one of an earlier version, or an empty one."""
        if RUN not in self.published.files or self._read(RUN, dict[str, Any]) == {}:
            return {}
        found = self._read(RUN, StoredProvenance)
        if found.format != RUN_FORMAT:
            raise self._problem(RUN, f"its format is {found.format}, not {RUN_FORMAT}: another version wrote it")
        if found.benchmark != self.summary.benchmark or set(found.systems) != self.summary.systems.keys():
            raise self._problem(RUN, "it belongs to another run than summary.json")
        return self._read(RUN, dict[str, Any])

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration of the run, checked, without its gates, which an earlier version may have taken."""
        return settings.check({**self.summary.config, "gates": {}}, posixpath.join(self.path, SUMMARY))

    @cached_property
    def sums(self) -> StoredSums:
        """The exact sums of the run, checked against its summary."""
        sums = self._read(SUMS, StoredSums)
        if (sums.format, sums.unit_bits) != (SUMS_FORMAT, FRACTION_BITS):
            raise self._problem(SUMS, f"its format is {sums.format}, not {SUMS_FORMAT}: another version wrote it")
        same = sums.benchmark == self.summary.benchmark and sums.config == self.summary.config
        labels = {name: set(system.slices) for name, system in self.summary.systems.items()}
        if not same or {name: set(system.slices) for name, system in sums.systems.items()} != labels:
            raise self._problem(SUMS, "it belongs to another run than summary.json")
        return sums

    def slice(self, system: str, label: str) -> StoredSlice | None:
        """Returns a slice of the summary, of all samples where the label is empty; None where there is none."""
        found = self.summary.systems.get(system)
        return found if found is None or not label else found.slices.get(label)

    def slice_sums(self, system: str, label: str) -> SliceSums | None:
        """Returns the sums of a slice; None where there is none."""
        found = self.sums.systems.get(system)
        return found if found is None or not label else found.slices.get(label)

    def corpus(self, system: str) -> Sums:
        """Returns the sums of all samples of a system that is there."""
        return Sums(self.sums.systems[system].sums)

    def measured(self, system: str, label: str) -> Measured:
        """Returns the metrics of a slice that is there, with their replicates, computed again from its sums.

        Raises UsageError where they are not those of the summary, or the replicates are damaged.
        """
        sums, found = self.slice_sums(system, label), self.slice(system, label)
        if sums is None or found is None:
            raise self._problem(SUMS, f"there is no slice {label!r} of {system}")
        try:
            all_sums = sums.all_sums(self.sums.bootstrap.replicates)
        except ValueError as error:
            raise self._problem(SUMS, one_line(error)) from error
        clustered = self.configuration.settings.cluster is not None
        measured = measure(
            self.configuration.benchmark, self.corpus(system), all_sums, clustered, found.predictions_fingerprint
        )
        if measured.values != found.values:
            raise self._problem(SUMS, "its sums do not give the values of summary.json")
        return measured

    def _read(self, name: str, kind: type[_Document]) -> _Document:
        try:
            return msgspec.json.decode(self._bytes(name), type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._problem(name, one_line(error)) from error

    def _bytes(self, name: str) -> bytes:
        if name not in self.published.files:
            raise self._problem(name, "there is no such file")
        try:
            return self.published.read(name)
        except STORAGE_ERRORS as error:
            raise self._problem(name, one_line(error)) from error

    def _problem(self, name: str, reason: str) -> UsageError:
        return UsageError(
            f"{posixpath.join(self.path, name)}: no finished run can be read here: {reason}; evaluate again"
        )
