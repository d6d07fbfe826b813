"""The benchmarks by name: those of this project, and those that other installed packages bring.

A package brings a benchmark by an entry point of the group `beamscore.benchmarks`, whose name is that of the benchmark
and whose value is its class, such as `word_error_rate = my_package.benchmark:WordErrorRate`.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .benchmark import Benchmark

ENTRY_POINTS = "beamscore.benchmarks"

BUILT_IN: dict[str, str] = {
    "chart": "beamscore.metrics.chart.benchmark:ChartBenchmark",
    "chemistry": "beamscore.metrics.chemistry.benchmark:ChemistryBenchmark",
    "figure_text": "beamscore.metrics.figure_text.benchmark:FigureTextBenchmark",
    "formula": "beamscore.metrics.formula.benchmark:FormulaBenchmark",
    "traffic_rules": "beamscore.metrics.traffic_rules.benchmark:TrafficRulesBenchmark",
}


class BrokenBenchmark(Exception):
    """A benchmark that an installed package declares but that cannot be used; the message names the package."""


@functools.cache
def _installed() -> dict[str, str]:
    """Returns the benchmarks of other packages, each as `module:attribute`; a name of ours stays ours."""
    found = {each.name: each.value for each in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.value)}
    return {name: value for name, value in found.items() if name not in BUILT_IN}


def benchmark_names() -> list[str]:
    """Returns the names of all benchmarks, sorted."""
    return sorted({*BUILT_IN, *_installed()})


def benchmark_class(name: str) -> type[Benchmark[Any, Any, Any]]:
    """Returns the benchmark called `name`.

    Raises KeyError where there is none, BrokenBenchmark where the package that brings it cannot be imported or declares
    something else.
    """
    if name in BUILT_IN:
        return _load(BUILT_IN[name])
    from .benchmark import Benchmark

    target = _installed()[name]
    try:
        loaded = _load(target)
    except Exception as error:
        raise BrokenBenchmark(
            f"the benchmark {name} cannot be loaded from {target}: {type(error).__name__}: {error}"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Benchmark)) or loaded.name != name:
        raise BrokenBenchmark(f"the entry point {name} = {target} is not a Benchmark whose name is {name}")
    return loaded


def _load(target: str) -> type[Benchmark[Any, Any, Any]]:
    module, _, attribute = target.partition(":")
    loaded: type[Benchmark[Any, Any, Any]] = getattr(importlib.import_module(module), attribute)
    return loaded
