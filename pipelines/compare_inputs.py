"""The two sides of a comparison: finished runs, or one system of them, opened and held against each other."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from metrics.benchmark import Benchmark
from pipelines.config import settings
from pipelines.config.errors import UsageError, one_line
from pipelines.config.settings import Configuration
from pipelines.results.comparison_sums import StoredSystem
from pipelines.results.run import SUMMARY, SUMS, SUMS_FORMAT, open_result
from transforms.io.published import Published
from transforms.io.storage import STORAGE_ERRORS

_SYSTEM = re.compile(r"(.+):([A-Za-z0-9_.-]{1,100})", re.DOTALL)
NOT_OPTIONS = frozenset(
    {
        *("ground_truth", "predictions", "slices", "gates", "inconclusive", "worst_samples", "bootstrap", "limits"),
        "max_rejected_fraction",
    }
)
"""Keys of a configuration that change no score of a sample."""


@dataclass(frozen=True)
class Side:
    """One system of a finished run.

    run: the folder, as given. summary, sums: the documents of the run.
    """

    run: str
    system: str
    result: Published
    summary: Mapping[str, Any]
    sums: Mapping[str, Any]
    configuration: Configuration

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return f"{self.run}:{self.system}"

    @property
    def benchmark(self) -> Benchmark[Any, Any, Any]:
        """The benchmark under the options of the run."""
        return self.configuration.benchmark

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What became of the records."""
        coverage: Mapping[str, Any] = self.summary["systems"][self.system]["coverage"]
        return coverage

    def stored(self) -> StoredSystem:
        """Returns the sums; raises UsageError where they are damaged."""
        try:
            return StoredSystem.of_document(self.sums, self.system)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{self.run}/{SUMS}: this is damaged ({one_line(error)}); evaluate again") from error


def open_side(text: str) -> Side:
    """Returns the run in the folder `text`, or, of `RUN:SYSTEM`, that system of it.

    Raises UsageError where there is no finished run, or it does not say which of its systems.
    """
    found = _SYSTEM.fullmatch(text)
    if found is None or os.path.exists(text):
        return _side(text, None)
    return _side(found[1], found[2])


def _side(run: str, system: str | None) -> Side:
    result = open_result(run)
    summary, sums = _document(run, result, SUMMARY), _document(run, result, SUMS)
    if sums.get("format") != SUMS_FORMAT:
        raise UsageError(
            f"{run}/{SUMS}: its format is {sums.get('format')}, not {SUMS_FORMAT}: another version wrote this run; "
            "evaluate again"
        )
    there = list(summary["systems"])
    if system is None and len(there) > 1:
        raise UsageError(
            f"{run}: it holds {len(there)} systems; give one of {', '.join(f'{run}:{name}' for name in there)}"
        )
    system = there[0] if system is None else system
    if system not in there or system not in sums["systems"]:
        raise UsageError(f"{run}:{system}: there is no such system in this run; there are {', '.join(there)}")
    configuration = settings.check({**summary["config"], "gates": {}}, f"{run}/{SUMMARY}")
    return Side(run, system, result, summary, sums, configuration)


def _document(run: str, result: Published, name: str) -> dict[str, Any]:
    try:
        document = json.loads(result.read(name))
    except KeyError as error:
        raise UsageError(f"{run}/{name}: it is missing: the run is not whole; evaluate again") from error
    except (*STORAGE_ERRORS, ValueError) as error:
        raise UsageError(f"{run}/{name}: it cannot be read ({one_line(error)}); evaluate again") from error
    known = {"config": dict, "systems": dict, "benchmark": str}
    if not isinstance(document, dict) or not all(isinstance(document.get(key), kind) for key, kind in known.items()):
        raise UsageError(f"{run}/{name}: this is no document of a run; evaluate again")
    if not document["systems"]:
        raise UsageError(f"{run}/{name}: the run has no system")
    return document


def differences(baseline: Side, candidate: Side) -> list[str]:
    """Returns in words what sets the runs apart beside their systems: options, versions, ground truth.

    Raises UsageError where they are not of the same benchmark.
    """
    if baseline.benchmark.name != candidate.benchmark.name:
        raise UsageError(
            f"{baseline.run} is a run of {baseline.benchmark.name} and {candidate.run} one of "
            f"{candidate.benchmark.name}: nothing can be compared"
        )
    return [*_options(baseline, candidate), *_versions(baseline, candidate), *_ground_truth(baseline, candidate)]


def _options(baseline: Side, candidate: Side) -> list[str]:
    before, after = baseline.configuration.resolved(), candidate.configuration.resolved()
    keys = [key for key in before if key not in NOT_OPTIONS and before[key] != after.get(key)]
    if not keys:
        return []
    return [
        "the options differ: " + ", ".join(f"{key} is {_json(before[key])} and {_json(after[key])}" for key in keys)
    ]


def _versions(baseline: Side, candidate: Side) -> list[str]:
    before, after = (_version(side) for side in (baseline, candidate))
    return [f"the versions differ: {before} and {after}"] if before != after else []


def _version(side: Side) -> str:
    """Returns the version of beamscore that wrote a run; empty where the run does not say."""
    try:
        document = json.loads(side.result.read("run.json"))
        return str(document["versions"]["beamscore"])
    except (*STORAGE_ERRORS, KeyError, ValueError, TypeError):
        return ""


def _ground_truth(baseline: Side, candidate: Side) -> list[str]:
    before, after = (side.summary.get("fingerprint") for side in (baseline, candidate))
    if before is None or after is None:
        run = (baseline if before is None else candidate).run
        return [f"whether the ground truth is the same is not known: {run}/{SUMMARY} has no fingerprint"]
    if before == after:
        return []
    counts = [each.get("samples") if isinstance(each, dict) else None for each in (before, after)]
    return [f"the ground truth differs: {counts[0]} samples and {counts[1]}, or other records"]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
