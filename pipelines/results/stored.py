"""Finished runs, read back and checked: what every command that reads runs starts from."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from ...metrics.statistics.measured import Measured, measure
from ...metrics.statistics.sums import FRACTION_BITS, Sums
from ...metrics.version import VERSION
from ...transforms.io.published import Published
from ...transforms.io.storage import STORAGE_ERRORS
from ..config import settings
from ..config.errors import UsageError, one_line
from ..config.settings import Configuration
from .provenance import RUN_FORMAT, versions
from .run import RUN, SUMMARY, SUMS, SUMS_FORMAT, RunResult, fingerprint, open_result
from .stored_documents import (
    Fingerprint,
    SliceSums,
    StoredProvenance,
    StoredSlice,
    StoredSummary,
    StoredSums,
)

_Document = TypeVar("_Document")
_SYSTEM = re.compile(r"(?P<run>.+):(?P<system>[A-Za-z0-9_.-]{1,100})", re.DOTALL)


NOT_SCORING = (
    *("ground_truth", "predictions", "output", "slices", "limits", "worst_samples"),
    *("gates", "inconclusive", "max_rejected_fraction", "max_missing_fraction", "sample_id_type"),
)
"""The keys of a configuration that do not change what a sample scores, nor what the bootstrap draws; of `bootstrap`
its confidence does not either."""


@dataclass(frozen=True)
class Identity:
    """What two runs must have in common for their scores to be comparable."""

    benchmark: str
    version: str
    scoring: Mapping[str, Any]
    fingerprint: Fingerprint | None

    @classmethod
    def of(cls, summary: StoredSummary) -> Identity:
        """Returns the identity of a run from its summary."""
        return cls(summary.benchmark, summary.version, scoring_keys(summary.config), summary.fingerprint)

    @classmethod
    def of_result(cls, result: RunResult) -> Identity:
        """Returns the identity of a run that is about to be written."""
        return cls.of_configuration(result.configuration, msgspec.convert(fingerprint(result), Fingerprint))

    @classmethod
    def of_configuration(cls, configuration: Configuration, found: Fingerprint | None = None) -> Identity:
        """Returns the identity of a run that starts here and now; its ground truth may not be known yet."""
        config = msgspec.json.decode(msgspec.json.encode(configuration.resolved()))
        return cls(configuration.benchmark.name, VERSION, scoring_keys(config), found)


def scoring_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the part of a resolved configuration by which samples are scored and replicates are drawn."""
    keys = {key: value for key, value in config.items() if key not in NOT_SCORING}
    if isinstance(drawn := keys.get("bootstrap"), Mapping):
        keys["bootstrap"] = {key: value for key, value in drawn.items() if key != "confidence"}
    return keys


def incomparable(ours: Identity, theirs: Identity, same_samples: bool = True) -> str | None:
    """Returns why the scores of two runs must not be compared, in words; None where they may be.

    same_samples: whether both must have the same ground truth. A run without a fingerprint is never comparable then:
    nothing would tell.
    """
    if ours.benchmark != theirs.benchmark:
        return f"it is a run of {theirs.benchmark}, not of {ours.benchmark}"
    if not theirs.version or scoring_version(ours.version) != scoring_version(theirs.version):
        made = f"beamscore {theirs.version}" if theirs.version else "an earlier version of beamscore"
        return f"it was made by {made}, which may score otherwise than {ours.version}; evaluate it again"
    for key in sorted({*ours.scoring, *theirs.scoring}):
        here, there = ours.scoring.get(key), theirs.scoring.get(key)
        if here != there:
            return f"it was made with {key}: {_value(there)}, not {_value(here)}"
    if not same_samples:
        return None
    if ours.fingerprint is None or theirs.fingerprint is None:
        return "the ground truth of a run has no fingerprint, so nothing tells whether both have the same"
    if ours.fingerprint != theirs.fingerprint:
        return (
            f"its ground truth differs ({theirs.fingerprint.samples} samples, hash {theirs.fingerprint.hash[:8]}, not "
            f"{ours.fingerprint.samples}, {ours.fingerprint.hash[:8]}); evaluate it again on the same samples"
        )
    return None


class Start(msgspec.Struct, frozen=True):
    """What a run scores with; versions: those of run.json."""

    benchmark: str
    version: str
    config: dict[str, Any]
    versions: Any = None

    @classmethod
    def of(cls, configuration: Configuration) -> Start:
        """Returns what a run scores with that starts here and now."""
        benchmark = configuration.benchmark
        config = msgspec.json.decode(msgspec.json.encode(configuration.resolved()), type=dict[str, Any])
        return cls(benchmark.name, VERSION, config, versions(benchmark))


def scored_otherwise(made: Start, configuration: Configuration) -> str | None:
    """Returns why the rows of a run may differ from what scoring under a configuration gives, here; None where not.

    Unlike for a comparison, the versions must be the same to the last digit, also those of packages and programs.
    """
    benchmark = configuration.benchmark
    if made.benchmark != benchmark.name:
        return f"it is a run of {made.benchmark}, not of {benchmark.name}"
    if made.version != VERSION:
        return f"it was made by beamscore {made.version or 'of an earlier version'}, not {VERSION}"
    options = msgspec.json.decode(msgspec.json.encode(benchmark.options), type=dict[str, Any])
    # A missing prediction has a score in the rows of one and none in those of the other.
    for key, value in {**options, "missing": configuration.settings.missing}.items():
        if made.config.get(key) != value:
            return f"it was made with {key}: {_value(made.config.get(key))}, not {_value(value)}"
    here = versions(benchmark)
    for key in ("packages", "tools"):
        if not isinstance(made.versions, dict) or made.versions.get(key) != here[key]:
            return f"its run.json names other versions of {key} than are here"
    return None


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


def _value(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


def scoring_version(version: str) -> str:
    """Returns the part of a version that changes when a score may change: the major and the minor number."""
    found = re.match(r"\d+\.\d+", version)
    return found.group() if found else version


class StoredRun:
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

    @property
    def identity(self) -> Identity:
        """What the run must have in common with another to be compared."""
        return Identity.of(self.summary)

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

    @property
    def start(self) -> Start:
        """What the run scored with."""
        summary = self.summary
        return Start(summary.benchmark, summary.version, summary.config, self.provenance.get("versions"))

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
