"""`make abuse [CASES="figure_text readers"]`: what the worst samples and files cost, and whether they do harm.

Every other module of this folder holds cases. It defines `cases()`, whose samples are scored among ordinary ones (see
`run`), or `check()`, which returns finished rows (name, processor seconds, peak bytes, verdict), or both. The benchmark
of the samples has the name of the module, or is its BENCHMARK, under its OPTIONS.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import tests.abuse
from tests.abuse.run import MAX_BYTES, MAX_SECONDS, Outcome, run_case

NEIGHBOURS = 8
_SEED = 1
_NO_CASES = {"__main__", "case", "run"}
_ROW = "{mark:<5}{name:<60} {seconds:>8.2f} s {mebibytes:>6.0f} MiB  {verdict}"


def main() -> None:
    """Prints a row for each case, and exits with 1 where one costs too much or does harm."""
    known = module_names()
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all by default")
    parsed = parser.parse_args()
    unknown = sorted(set(parsed.names) - set(known))
    if unknown:
        parser.error(f"there is no module {unknown[0]}; there are {', '.join(known)}")
    failed = count = 0
    for module in parsed.names or known:
        for name, outcome in outcomes(importlib.import_module(f"tests.abuse.{module}")):
            count += 1
            failed += outcome.failed
            print(_row(f"{module}: {name}", outcome), flush=True)
    print(f"{count} cases, {failed} of them above {MAX_SECONDS:g} s or {MAX_BYTES >> 20} MiB, or harmful")
    sys.exit(1 if failed else 0)


def module_names() -> list[str]:
    """Returns the names of the modules with cases, in order."""
    return sorted(module.name for module in pkgutil.iter_modules(tests.abuse.__path__) if module.name not in _NO_CASES)


def outcomes(module: ModuleType) -> Iterator[tuple[str, Outcome]]:
    """Yields each case of a module by name, with what it cost."""
    if hasattr(module, "cases"):
        name = module.__name__.rpartition(".")[2]
        benchmark = getattr(module, "BENCHMARK", name)
        ordinary = _sample_of(name) or _sample_of(benchmark)
        neighbours = [ordinary(index, _SEED) for index in range(NEIGHBOURS)]
        for case in module.cases():
            yield case.name, run_case(benchmark, getattr(module, "OPTIONS", {}), case, neighbours)
    if hasattr(module, "check"):
        for what, seconds, peak, verdict in module.check():
            yield what, Outcome(seconds, peak, verdict)


def _sample_of(generator: str) -> Any:
    """Returns the function that generates ordinary samples, or None where there is no such generator."""
    if importlib.util.find_spec(f"tests.generate.{generator}") is None:
        return None
    return getattr(importlib.import_module(f"tests.generate.{generator}"), "sample", None)


def _row(name: str, outcome: Outcome) -> str:
    verdict = " ".join(outcome.verdict.split())
    return _ROW.format(
        mark="FAIL" if outcome.failed else "ok",
        name=name,
        seconds=outcome.seconds,
        mebibytes=outcome.peak_bytes / 2**20,
        verdict=verdict if len(verdict) <= 300 else verdict[:297] + "...",
    )


if __name__ == "__main__":
    main()
