"""`beamscore benchmarks`: lists the benchmarks and what their metrics mean."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from ...metrics.benchmark import Benchmark, MetricSpec
from ...metrics.registry import benchmark_names
from ..config.errors import UsageError
from ..config.settings import check_benchmark
from .messages import DONE, warn

WIDTH = 100
SCREEN = 24


def run(parsed: argparse.Namespace, _: object) -> int:
    """Prints every benchmark, or the one that is named, in at most 100 columns where the names allow it.

    One that is named fits a screen: if it has too many metrics, only the main ones are explained.
    """
    names = [parsed.name] if parsed.name else benchmark_names()
    if parsed.name:
        check_benchmark(parsed.name)
    if parsed.names:
        print("\n".join(names))
        return DONE
    for name in names:
        try:
            kind = check_benchmark(name)
        except UsageError as error:
            warn([str(error)])
            continue
        text = "\n".join(_explained(name, kind))
        print(text if not parsed.name or text.count("\n") < SCREEN else "\n".join(_short(name, kind)))
    return DONE


def _explained(name: str, kind: type[Benchmark[Any, Any, Any]]) -> Iterator[str]:
    yield _wrapped(f"{name}: ", kind.summary)
    yield from _listed("metrics", kind.metrics)
    yield from _listed("metrics of each sample", kind.sample_metrics)


def _short(name: str, kind: type[Benchmark[Any, Any, Any]]) -> Iterator[str]:
    main, first = kind.main_metrics(), kind.main_sample_metric()
    yield _wrapped(f"{name}: ", kind.summary)
    yield from _listed("main metrics", [spec for each in main if (spec := kind.spec_of(each)) is not None])
    yield from _named([spec for spec in kind.metrics if spec.name not in main])
    yield from _listed("main metric of each sample", [first])
    yield from _named([spec for spec in kind.sample_metrics if spec is not first])
    yield "`beamscore benchmarks`, without a name, explains all of them"


def _listed(title: str, specs: Sequence[MetricSpec]) -> Iterator[str]:
    yield f"  {title}:"
    width = max(len(spec.name) for spec in specs)
    for spec in specs:
        yield _wrapped(f"    {spec.name:<{width}}  ", _meaning(spec))


def _named(specs: Sequence[MetricSpec]) -> Iterator[str]:
    if specs:
        yield _wrapped("  others: ", ", ".join(spec.name for spec in specs))


def _meaning(spec: MetricSpec) -> str:
    return spec.meaning if spec.higher_is_better else f"{spec.meaning}; lower is better"


def _wrapped(start: str, text: str) -> str:
    """Returns `text` after `start`, further lines below its beginning."""
    return textwrap.fill(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)
