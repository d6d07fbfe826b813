"""The two sides of a comparison: finished runs, or one system of them, opened and held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ..metrics.benchmark import Benchmark
from .config.errors import UsageError
from .config.settings import Configuration
from .results.run import SUMMARY
from .results.stored import StoredRun, scoring_keys, split_system
from .results.stored_documents import SystemSums


@dataclass(frozen=True)
class Side:
    """One system of a finished run."""

    found: StoredRun
    system: str

    @property
    def run(self) -> str:
        """The folder of the run, as given."""
        return self.found.path

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return f"{self.run}:{self.system}"

    @property
    def files(self) -> list[str]:
        """The files of the rows."""
        return self.found.published.folder("samples")

    @property
    def configuration(self) -> Configuration:
        """The configuration of the run."""
        return self.found.configuration

    @property
    def benchmark(self) -> Benchmark[Any, Any, Any]:
        """The benchmark under the options of the run."""
        return self.configuration.benchmark

    @property
    def coverage(self) -> Mapping[str, Any]:
        """What became of the records."""
        return self.found.summary.systems[self.system].coverage

    @property
    def sums(self) -> SystemSums:
        """The stored sums; raises UsageError where they are damaged."""
        return self.found.sums.systems[self.system]


def open_side(text: str) -> Side:
    """Returns the run in the folder `text`, or, of `RUN:SYSTEM`, that system of it.

    Raises UsageError where there is no finished run, or it does not say which of its systems.
    """
    run, system = split_system(text)
    found = StoredRun(run)
    there = list(found.summary.systems)
    if system is None and len(there) > 1:
        raise UsageError(
            f"{run}: it holds {len(there)} systems; give one of {', '.join(f'{run}:{name}' for name in there)}"
        )
    system = there[0] if system is None else system
    if system not in there:
        raise UsageError(f"{run}:{system}: there is no such system in this run; there are {', '.join(there)}")
    return Side(found, system)


def differences(baseline: Side, candidate: Side) -> list[str]:
    """Returns in words what sets the runs apart beside their systems: options, versions, ground truth.

    Raises UsageError where they are not of the same benchmark.
    """
    before, after = (side.found.summary.benchmark for side in (baseline, candidate))
    if before != after:
        raise UsageError(
            f"{baseline.run} is a run of {before} and {candidate.run} one of {after}: nothing can be compared"
        )
    return [*_options(baseline, candidate), *_versions(baseline, candidate), *_ground_truth(baseline, candidate)]


def _options(baseline: Side, candidate: Side) -> list[str]:
    # The replicates are drawn again, under the seed of the baseline.
    before, after = (
        {**scoring_keys(side.configuration.resolved()), "bootstrap": None} for side in (baseline, candidate)
    )
    keys = [key for key in before if before[key] != after.get(key)]
    if not keys:
        return []
    return [
        "the options differ: " + ", ".join(f"{key} is {_json(before[key])} and {_json(after[key])}" for key in keys)
    ]


def _versions(baseline: Side, candidate: Side) -> list[str]:
    before, after = (side.found.summary.version or "an earlier one" for side in (baseline, candidate))
    return [f"the versions of beamscore differ: {before} and {after}"] if before != after else []


def surroundings(baseline: Side, candidate: Side) -> list[str]:
    """Returns in words which versions of packages and programs differ, that may change a score in its last digits.

    Nothing where a run does not say which it had.
    """
    made = [side.found.provenance.get("versions") for side in (baseline, candidate)]
    told = []
    for kind in ("packages", "tools"):
        before, after = (each.get(kind) if isinstance(each, dict) else None for each in made)
        if isinstance(before, dict) and isinstance(after, dict):
            names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
            told += [f"{name} {before.get(name, 'none')} and {after.get(name, 'none')}" for name in names]
    return [f"the runs had other versions: {', '.join(told)}"] if told else []


def _ground_truth(baseline: Side, candidate: Side) -> list[str]:
    before, after = (side.found.summary.fingerprint for side in (baseline, candidate))
    if before is None or after is None:
        run = (baseline if before is None else candidate).run
        return [f"whether the ground truth is the same is not known: {run}/{SUMMARY} has no fingerprint"]
    if before == after:
        return []
    return [f"the ground truth differs: {before.samples} samples and {after.samples}, or other records"]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
