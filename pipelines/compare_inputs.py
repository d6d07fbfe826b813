"""The two sides of a comparison: finished runs, or one system of them, opened and held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..metrics.benchmark import Benchmark
from .config.errors import UsageError
from .config.settings import Configuration
from .results.stored import StoredRun, split_system
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
    # A configuration that cannot be read is told before it is compared.
    found.configuration  # noqa: B018
    return Side(found, system)
