"""`make abuse [CASES="figure_text readers"]`: what the worst samples and files cost, and whether they do harm.

Every other module holds cases: `cases()`, whose samples are scored among ordinary ones under each of its OPTIONS (see
`run`), by the benchmark of its name, or `check()`, which yields (name, Outcome).
"""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import tests.abuse
from tests.abuse.run import MAX_BYTES, MAX_SECONDS, Outcome, run_case


def main() -> None:
    """Prints a row for each case, and exits with 1 where one costs too much or does harm."""
    modules = sorted({module.name for module in pkgutil.iter_modules(tests.abuse.__path__)} - {"__main__", "run"})
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *modules], help="all by default")
    failed = count = 0
    for module in parser.parse_args().names or modules:
        for name, outcome in outcomes(importlib.import_module(f"tests.abuse.{module}")):
            count += 1
            failed += outcome.failed
            verdict, mark = " ".join(outcome.verdict.split())[:300], "FAIL" if outcome.failed else "ok"
            cost = f"{outcome.seconds:>8.2f} s {outcome.peak_bytes / 2**20:>6.0f} MiB"
            print(f"{mark:<5}{f'{module}: {name}':<60} {cost}  {verdict}", flush=True)
    print(f"{count} cases, {failed} of them above {MAX_SECONDS:g} s or {MAX_BYTES >> 20} MiB, or harmful")
    sys.exit(1 if failed else 0)


def outcomes(module: ModuleType) -> Iterator[tuple[str, Outcome]]:
    if hasattr(module, "check"):
        yield from module.check()
        return
    benchmark = module.__name__.rpartition(".")[2]
    generate = importlib.import_module(f"tests.generate.{benchmark}")
    neighbours = [generate.sample(index, 1) for index in range(8)]
    for options in getattr(module, "OPTIONS", [{}]):
        for case in module.cases():
            yield " ".join([case.name, *options.values()]), run_case(benchmark, options, case, neighbours)


if __name__ == "__main__":
    main()
