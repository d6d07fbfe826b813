"""`python -m tests.mutants PYTHON FOLDER COUNT SEED` changes the code, one place at a time: does a test notice it?

PYTHON: that of an environment with cosmic-ray, which draws the changes (see `changes`). FOLDER: the project is copied
to there. The suite runs once to learn which tests run which lines; then each change is tried by the tests that run
its line, those of the module itself first, then KEPT and its folder's, the quickest first, up to `MOST_SECONDS`.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import coverage
import msgspec

PROJECT = Path(__file__).resolve().parents[2]
LEAST_KILLED = 0.92
MOST_SECONDS = 40.0
KEPT = ("tests/metrics/test_sample_corpora.py::", "tests/pipelines/test_sample_reports.py::")
"""Tests that compare whole outputs, which notice most for their time."""
CONTROLS = 10
_WORKERS = 2
_COPIED = (
    "metrics", "transforms", "pipelines", "tests", "configs", "docs", "__init__.py", "pyproject.toml", "setup.py",
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "py.typed", ".ci",
)  # fmt: skip


class Change(msgspec.Struct, frozen=True):
    """One place, changed: `code` is the whole module then."""

    module: str
    line: int
    operator: str
    code: str


@dataclass(frozen=True)
class Suite:
    """What a run of all tests has told: by module and line the tests that ran it, and the seconds that each took."""

    by_line: Mapping[str, Mapping[int, Sequence[str]]]
    seconds: Mapping[str, float]

    def tests(self, change: Change) -> list[str]:
        """Returns the tests to try: those that run the line; where it runs at import, the module, KEPT and its folder.

        What runs at import is told of the test alone that happened to import the module first.
        """
        lines, mirrored = self.by_line.get(change.module, {}), Path("tests", change.module)
        own, folder = f"{mirrored.with_name('test_' + mirrored.name)}::", f"{mirrored.parent}/"
        names = set(lines.get(change.line, ()) if _is_in_function(change.module, change.line) else ())
        if not names:
            names = {name for name in self.seconds if name.startswith((*KEPT, folder))}.union(*lines.values())

        def order(name: str) -> tuple[int, float, str]:
            likely = [name.startswith(each) for each in (own, (*KEPT, folder), "")]
            return likely.index(True), self.seconds.get(name, 0.0), name

        chosen: list[str] = []
        left = MOST_SECONDS
        for name in sorted(names, key=order):
            left -= self.seconds.get(name, 0.0)
            if left < 0 and chosen:
                break
            chosen.append(name)
        return chosen


def _is_in_function(module: str, line: int) -> bool:
    nodes = ast.walk(ast.parse((PROJECT / module).read_text(encoding="utf-8")))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return any(node.body[0].lineno <= line <= (node.end_lineno or 0) for node in functions)


def copied(folder: Path) -> Path:
    """Copies the project to a folder of the package's name, below `folder`; returns that one."""
    tree = folder / "beamscore"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in _COPIED:
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
        copy(PROJECT / name, tree / name)
    # A change and its reversal may fall into one second, so that cached bytes are told apart by what is in the file.
    kept = [str(tree / name) for name in ("metrics", "transforms", "pipelines", "tests")]
    command = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "checked-hash", *kept]
    subprocess.run(command, check=True)
    return tree


def whole_suite(tree: Path, folder: Path) -> Suite:
    """Runs all tests with coverage; a report of an earlier run in `folder` serves again."""
    data, times = folder / "coverage", folder / "times.xml"
    if not times.exists():
        command = [sys.executable, "-m", "pytest", "-n", str(_WORKERS), "--dist", "worksteal", "--cov"]
        command += ["--cov-context=test", "--cov-report=", f"--junitxml={times}"]
        subprocess.run(command, cwd=tree, env={**_environment(tree), "COVERAGE_FILE": str(data)}, check=True)
    seconds = {}
    for case in ElementTree.parse(times).iter("testcase"):
        path = case.attrib["classname"].replace(".", "/") + ".py"
        seconds[f"{path}::{case.attrib['name']}"] = float(case.attrib["time"])
    return Suite(dict(_by_line(data, seconds)), seconds)


def _by_line(data: Path, names: Iterable[str]) -> Iterator[tuple[str, dict[int, list[str]]]]:
    kept = coverage.CoverageData(str(data))
    kept.read()
    by_file: dict[str, set[str]] = defaultdict(set)
    for name in names:
        by_file[_file(name)].add(name)
    for module in kept.measured_files():
        lines = kept.contexts_by_lineno(module).items()
        tests = {line: sorted(_tests(filter(None, contexts), by_file)) for line, contexts in lines}
        yield module.rpartition("/beamscore/")[2], tests


def _tests(contexts: Iterable[str], by_file: Mapping[str, set[str]]) -> set[str]:
    """Returns the tests of contexts `TEST|PHASE`: all of a file, where the setup of one of them runs for all."""
    phases = [context.rpartition("|")[::2] for context in contexts]
    setups = Counter(_file(name) for name, phase in phases if phase == "setup")
    of_all = (by_file[file] for file, count in setups.items() if count == 1)
    return {name for name, _ in phases}.union(*of_all)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree.parent), "OPENBLAS_NUM_THREADS": "1"}


class Copy:
    """A copy of the project, with a process that tries its tests (see `trials`)."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        command = [sys.executable, str(Path(__file__).with_name("trials.py")), str(int(10 * MOST_SECONDS))]
        self._process = subprocess.Popen(
            command, cwd=tree, env=_environment(tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def is_killed(self, change: Change, tests: Sequence[str]) -> bool:
        """Tells whether a test fails with the change; so does one that takes far too long or too much memory."""
        if not tests:
            return False
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        path = self._tree / change.module
        code = path.read_text(encoding="utf-8")
        path.write_text(change.code, encoding="utf-8")
        try:
            print(json.dumps(tests), file=self._process.stdin, flush=True)
            return bool(int(self._process.stdout.readline()))
        finally:
            path.write_text(code, encoding="utf-8")


def main(python: str, folder: Path, count: str, seed: str) -> int:
    """Prints each change that no test noticed, and the share of the others; 1 where that is below LEAST_KILLED."""
    started = time.monotonic()
    trees = [copied(folder / str(worker)) for worker in range(_WORKERS)]
    suite = whole_suite(trees[0], folder)
    copies: SimpleQueue[Copy] = SimpleQueue()
    for tree in trees:
        copies.put(Copy(tree))
    command = [python, str(Path(__file__).with_name("changes.py")), str(trees[0]), count, seed]
    drawn = subprocess.run(command, check=True, capture_output=True).stdout
    changes = msgspec.json.Decoder(Change).decode_lines(drawn)
    before = {each.module: (PROJECT / each.module).read_text(encoding="utf-8") for each in changes}
    controls = [msgspec.structs.replace(each, code=before[each.module]) for each in changes[:CONTROLS]]

    def is_noticed(change: Change) -> bool:
        copy = copies.get()
        try:
            return copy.is_killed(change, suite.tests(change))
        finally:
            copies.put(copy)

    killed = 0
    with ThreadPoolExecutor(_WORKERS) as workers:
        for change, noticed in zip(controls, workers.map(is_noticed, controls), strict=True):
            if noticed:
                raise RuntimeError(f"the tests of {change.module}:{change.line} fail without any change")
        for change, noticed in zip(changes, workers.map(is_noticed, changes), strict=True):
            killed += noticed
            if not noticed:
                lines = before[change.module].splitlines(), change.code.splitlines()
                difference = list(difflib.unified_diff(*lines, n=0, lineterm=""))[3:]
                print(f"{change.module}:{change.line}", *difference, sep="\n    ", flush=True)
    share = killed / len(changes)
    print(f"{killed} of {len(changes)} changes noticed, {share:.1%}, in {time.monotonic() - started:.0f} s")
    return 0 if share >= LEAST_KILLED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).absolute(), *sys.argv[3:]))
