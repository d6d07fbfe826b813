"""`python -m tests.mutants COSMIC_RAY FOLDER [MODULE ...]` changes modules, one operator at a time.

COSMIC_RAY: the program of https://cosmic-ray.readthedocs.io. FOLDER: a copy of the project is made there, and changed.
The tests run in the environment of this Python, in forks of a process that has imported what they need. A run that was
ended goes on where it was, unless the module changed; changes that no test noticed are tried again.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.modules import EXPLAINED, MODULES

PROJECT = Path(__file__).resolve().parents[2]
_COPIED = (
    "metrics", "transforms", "pipelines", "tests", "configs", "docs", "__init__.py", "pyproject.toml", "setup.py",
    "README.md",
)  # fmt: skip
_ASK = Path(__file__).with_name("ask.py")
_PYTEST = ("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants")
_TIMES_SLOWER = 10
_LEAST_SECONDS = 30.0
_EXCLUDED = ["core/ReplaceBinaryOperator_BitOr_.*", "core/RemoveDecorator"]
"""Between types in annotations, which nothing evaluates, and of decorators such as @dataclass(slots=True)."""


@dataclass(frozen=True)
class Mutant:
    """One change: the line as it is after it, the difference, and whether a test failed."""

    line: str
    difference: str
    killed: bool


def mutants(cosmic_ray: Path, folder: Path, module: str) -> list[Mutant]:
    """Returns what became of each change of a module."""
    tree, name = folder / "beamscore", module.replace("/", "-")
    config, session, source = (folder / f"{name}{suffix}" for suffix in (".toml", ".sqlite", ".source"))
    content = (tree / module).read_text(encoding="utf-8")
    known = session.exists() and source.exists() and source.read_text(encoding="utf-8") == content
    with tempfile.TemporaryDirectory() as place, _forks(tree, f"{place}/socket", MODULES[module]) as seconds:
        config.write_text(_config(module, [sys.executable, "-I", "-S", str(_ASK), f"{place}/socket"], seconds))
        if known:
            _forget_survivors(session)
        else:
            subprocess.run([cosmic_ray, "init", "--force", config, session], cwd=tree, check=True)
            subprocess.run([cosmic_ray.with_name("cr-filter-operators"), session, config], cwd=tree, check=True)
            source.write_text(content, encoding="utf-8")
        subprocess.run([cosmic_ray, "exec", config, session], cwd=tree, check=True)
    done = subprocess.run([cosmic_ray, "dump", session], cwd=tree, check=True, capture_output=True, text=True)
    return [mutant for line in done.stdout.splitlines() if (mutant := _mutant(*json.loads(line))) is not None]


@contextlib.contextmanager
def _forks(tree: Path, socket: str, tests: Sequence[str]) -> Iterator[float]:
    """Serves runs of `tests` at a socket; gives the wall time after which to give a run up."""
    arguments = [*_PYTEST, *tests]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(tree.parent)}
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # Not with -B: pytest keeps what it has made of the tests, which do not change.
    command = [sys.executable, "-m", "pytest", *arguments]
    subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = max(_LEAST_SECONDS, _TIMES_SLOWER * (time.monotonic() - started))
    limit = str(math.ceil(max(_LEAST_SECONDS, _TIMES_SLOWER * used)))
    command = [sys.executable, "-B", "-m", "tests.mutants.forks", socket, limit, *arguments]
    server = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        if server.stdout.readline() != b"ready\n":
            raise RuntimeError("the runs of the tests cannot be served")
        # Of a run that fails without any change, every change would seem to be noticed.
        subprocess.run([sys.executable, "-I", "-S", _ASK, socket], check=True)
        yield seconds
    finally:
        server.kill()
        server.wait()


def _config(module: str, command: Sequence[str], seconds: float) -> str:
    return "\n".join(
        [
            "[cosmic-ray]",
            f"module-path = {json.dumps(module)}",
            f"timeout = {seconds:.1f}",
            f"test-command = {json.dumps(shlex.join(command))}",
            "[cosmic-ray.distributor]",
            'name = "local"',
            "[cosmic-ray.filters.operators-filter]",
            f"exclude-operators = {json.dumps(_EXCLUDED)}",
            "",
        ]
    )


def _forget_survivors(session: Path) -> None:
    """Has the changes that no test noticed tried again: there may be a test now."""
    with contextlib.closing(sqlite3.connect(session)) as results, results:
        results.execute("DELETE FROM work_results WHERE test_outcome = 'SURVIVED'")


def _mutant(_: object, result: dict[str, str] | None) -> Mutant | None:
    """Returns a change from an entry of the session; None of one that was left out."""
    if result is None or result["worker_outcome"] == "skipped":
        return None
    difference = result["diff"] or ""
    added = [line[1:].strip() for line in difference.splitlines() if line[:1] == "+" and line[:3] != "+++"]
    return Mutant("\n".join(added), difference, result["test_outcome"] != "survived")


def main(cosmic_ray: Path, folder: Path, modules: Sequence[str]) -> int:
    """Prints the share that was noticed of each module and the changes that were not; 1 where one is not explained."""
    # Its name is that of the package, for `folder` is where Python looks for that.
    tree = folder / "beamscore"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in _COPIED:
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
        copy(PROJECT / name, tree / name)
    # A change and its reversal may fall into one second, so that cached bytes are told apart by what is in the file.
    kept = [str(tree / name) for name in ("metrics", "transforms", "pipelines", "tests")]
    compile_all = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "checked-hash", *kept]
    subprocess.run(compile_all, check=True)
    unexplained = 0
    for module in modules or MODULES:
        found = mutants(cosmic_ray, folder, module)
        survivors = [each for each in found if not each.killed]
        open_ones = [each for each in survivors if (module, each.line) not in EXPLAINED]
        unexplained += len(open_ones)
        share = 1 - len(survivors) / len(found) if found else 1.0
        print(
            f"{module}: {share:.1%} of {len(found)} killed, {len(survivors)} survived, {len(open_ones)} unexplained",
            flush=True,
        )
        for each in open_ones:
            print("\n".join(f"    {line}" for line in each.difference.splitlines() if line[:3] not in ("---", "+++")))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute(), sys.argv[3:]))
