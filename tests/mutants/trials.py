"""`python trials.py SECONDS`, in a copy of the project, tries the tests that it is told, a JSON list of names a line.

What the project needs of others is imported once; each trial is a fork of that, so that it starts in no time with the
code as it is then. For each line it prints 1 where a test fails, or takes far too long or too much memory; otherwise 0.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import sys

MODULES = (
    "PIL.Image", "apache_beam", "apache_beam.options.pipeline_options", "apache_beam.runners.portability.fn_api_runner",
    "hypothesis.strategies", "jinja2", "msgspec", "numpy", "pyarrow.dataset", "pyarrow.parquet", "pytest", "rapidfuzz",
    "rich.console", "scipy.optimize", "scipy.sparse", "scipy.stats", "shapely", "yaml",
)  # fmt: skip
# pytest warns of a plugin that is imported before it could rewrite its assertions, which nobody would read.
OPTIONS = ("--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-x", "-q", "--hypothesis-profile=mutants")
MOST_BYTES = 4 << 30


def is_noticed(tests: list[str], seconds: int) -> bool:
    """Tells whether a test fails, or all of them take longer than `seconds`."""
    child = os.fork()
    if not child:
        run(tests, seconds)
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], 2 * seconds)
    os.close(handle)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status != 0


def run(tests: list[str], seconds: int) -> None:
    """Runs the tests in this process, silently, and ends it by pytest's exit code."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    code = 1
    try:
        code = int(importlib.import_module("pytest").main([*OPTIONS, *tests]))
    finally:
        os._exit(code)


def main(seconds: int) -> None:
    """Answers each line of the standard input by one of the standard output."""
    sys.path.pop(0)
    for name in MODULES:
        importlib.import_module(name)
    for line in sys.stdin:
        print(int(is_noticed(json.loads(line), seconds)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
