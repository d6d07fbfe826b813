"""`beamscore benchmarks`: lists the benchmarks and what their metrics mean."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence

from ...metrics.benchmark import MetricSpec
from ...metrics.registry import BUILT_IN, benchmark_names, declarations
from ..config.errors import UsageError
from ..config.settings import check_benchmark
from .messages import DONE, warn

WIDTH = 100


def run(parsed: argparse.Namespace, _: object) -> int:
    """Prints every benchmark, or the named one, in at most 100 columns if the names are short enough."""
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
        if name in BUILT_IN and not parsed.name and (others := declarations(name)):
            warn([f"the benchmark {name} is that of beamscore, not that of {' or '.join(others)}"])
        listed = *_listed("metrics", kind.metrics), *_listed("metrics of each sample", kind.sample_metrics)
        print(_wrapped(f"{name}: ", kind.summary), *listed, sep="\n")
    return DONE


def _listed(title: str, specs: Sequence[MetricSpec]) -> Iterator[str]:
    yield f"  {title}:"
    width = max(len(spec.name) for spec in specs)
    for spec in specs:
        meaning = spec.meaning if spec.higher_is_better else f"{spec.meaning}; lower is better"
        yield _wrapped(f"    {spec.name:<{width}}  ", meaning)


def _wrapped(start: str, text: str) -> str:
    """Returns `text` after `start`, with further lines indented to its column."""
    return textwrap.fill(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)
