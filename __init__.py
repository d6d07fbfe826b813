"""Scores machine predictions against ground truth, as published benchmarks define it, from Python.

    result = beamscore.evaluate("formula", ground_truth=truths, predictions=predictions)
    result.values["cdm"]

`evaluate` scores records in memory or files, `score` one pair, a `Scorer` the samples of a loop incrementally, and
`Evaluate` the collections of a Beam pipeline. `load` reads a finished run, `compare` reports which of two is better.
The sums are bit-identical to those of the command `beamscore`.
docs/how-to/python.md and docs/how-to/embed.md explain each with examples.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .metrics.version import VERSION

if TYPE_CHECKING:
    from .metrics.benchmark import MissingTool, RejectedRecord
    from .pipelines.api.evaluate import PairScore, benchmarks, compare, evaluate, score
    from .pipelines.api.from_files import load
    from .pipelines.api.result import Comparison, Rejected, Result, SliceResult
    from .pipelines.api.scorer import Scorer
    from .pipelines.api.transform import Evaluate, unpack_inference

__all__ = [
    "Comparison",
    "Evaluate",
    "MissingTool",
    "PairScore",
    "Rejected",
    "RejectedRecord",
    "Result",
    "Scorer",
    "SliceResult",
    "__version__",
    "benchmarks",
    "compare",
    "evaluate",
    "load",
    "score",
    "unpack_inference",
]

__version__ = VERSION

# The libraries behind them take a second to import, so each is imported at its first use.
_MODULES = {
    ".metrics.benchmark": ("MissingTool", "RejectedRecord"),
    ".pipelines.api.evaluate": ("PairScore", "benchmarks", "compare", "evaluate", "score"),
    ".pipelines.api.from_files": ("load",),
    ".pipelines.api.result": ("Comparison", "Rejected", "Result", "SliceResult"),
    ".pipelines.api.scorer": ("Scorer",),
    ".pipelines.api.transform": ("Evaluate", "unpack_inference"),
}


# A checker that sees it would take every name for a public one.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports and returns a public name at its first use."""
        for module, names in _MODULES.items():
            if name in names:
                from .transforms.process import quiet_root_logger

                with quiet_root_logger:
                    value = globals()[name] = getattr(import_module(module, __name__), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
