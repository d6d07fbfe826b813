"""`python -m tests.mutants PYTHON FOLDER COUNT SEED` changes the code, one place at a time: does a test notice it?

PYTHON: that of an environment with cosmic-ray (see `changes`). In a copy of the project in FOLDER, each change is tried
by the tests that run its line, then by KEPT and those of its folder, the quickest first, up to `MOST_SECONDS`.
"""

import ast
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from queue import SimpleQueue

import coverage
import msgspec
import pytest

PROJECT = Path(__file__).resolve().parents[2]
LEAST_KILLED = 0.92
MOST_SECONDS = 100.0
KEPT = tuple(
    f"tests/{name}.py::"
    for name in ("metrics/test_sample_corpora", "pipelines/test_sample_reports", "pipelines/test_random_runs")
)
"""Tests that compare whole outputs, which notice most for their time."""
CONTROLS = 10
_WORKERS = 2
_BOUNDED = ("timeout", "--signal=KILL", f"{8 * MOST_SECONDS}", "prlimit", "--cpu=400", f"--as={4 << 30}")
"""Ends a trial, with all that it started, which takes far too long or too much memory."""
_OPTIONS = ("--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-x", "-q", "--hypothesis-profile=mutants")


class Change(msgspec.Struct, frozen=True):
    """One place, changed: `code` is the whole module then."""

    module: str
    line: int
    operator: str
    code: str


class Suite:
    """What a run of all tests has told: the seconds that each took, and who ran which line."""

    def __init__(self, data: Path, times: Path) -> None:
        self._seconds: dict[str, float] = {}
        self._of_file: dict[str, set[str]] = defaultdict(set)
        for case in ElementTree.parse(times).iter("testcase"):
            file = case.attrib["classname"].replace(".", "/") + ".py"
            self._seconds[f"{file}::{case.attrib['name']}"] = float(case.attrib["time"])
            self._of_file[file].add(f"{file}::{case.attrib['name']}")
        self._ran = coverage.CoverageData(str(data))
        self._ran.read()
        self._measured = {path.rpartition("/beamscore/")[2]: path for path in self._ran.measured_files()}

    def tests(self, change: Change) -> list[str]:
        """Returns the tests to try: those that run the line, or any of the module if none is known, then the likely."""
        lines = self._ran.contexts_by_lineno(self._measured.get(change.module, ""))
        # What ran in no test has the context "".
        contexts = list(filter(None, lines.get(change.line, []))) if _is_in_function(change) else []
        likely = (*KEPT, f"{Path('tests', change.module).parent}/")
        ran: set[str] = set()
        for context in contexts or chain(*lines.values()):
            name, _, phase = context.rpartition("|")
            # What is set up in one test may serve all of its file.
            ran |= self._of_file[name.partition("::")[0]] if phase == "setup" else {name} & self._seconds.keys()
        first = ran if contexts else self._seconds.keys()
        names = ran | {name for name in self._seconds if name.startswith(likely)}
        chosen: list[str] = []
        left = MOST_SECONDS
        for name in sorted(names, key=lambda x: (x not in first, not x.startswith(likely), self._seconds[x], x)):
            left -= self._seconds[name]
            if left < 0 and chosen:
                break
            chosen.append(name)
        return chosen


def _is_in_function(change: Change) -> bool:
    nodes = ast.walk(ast.parse((PROJECT / change.module).read_text(encoding="utf-8")))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return any(node.body[0].lineno <= change.line <= (node.end_lineno or 0) for node in functions)


def copied(folder: Path) -> Path:
    """Copies the project to a folder of the package's name, below `folder`; returns that one."""
    tree = folder / "beamscore"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    files = 'git ls-files -z --cached --others --exclude-standard | tar --create --null --files-from=- | tar -xC "$0"'
    subprocess.run(["sh", "-c", files, str(tree)], cwd=PROJECT, check=True)
    # A change and its reversal may fall into one second, so that cached bytes are told apart by what is in the file.
    kept = [str(tree / name) for name in ("metrics", "transforms", "pipelines", "tests")]
    command = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "checked-hash", *kept]
    subprocess.run(command, check=True)
    return tree


def whole_suite(tree: Path, folder: Path) -> Suite:
    """Runs all tests with coverage; what an earlier run in `folder` has told of the same files serves again."""
    data, times, digest = folder / "coverage", folder / "times.xml", folder / "digest"
    files = sorted(path for path in tree.rglob("*") if path.is_file() and path.suffix != ".pyc")
    content = hashlib.sha256(b"".join(bytes(path) + path.read_bytes() for path in files)).hexdigest()
    if not digest.exists() or digest.read_text() != content:
        digest.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-n", str(_WORKERS), "--dist", "worksteal", "--cov"]
        command += ["--cov-context=test", "--cov-report=", f"--junitxml={times}"]
        subprocess.run(command, cwd=tree, env={**_environment(tree), "COVERAGE_FILE": str(data)}, check=True)
        digest.write_text(content)
    return Suite(data, times)


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree.parent), "OPENBLAS_NUM_THREADS": "1"}


def is_killed(tree: Path, change: Change, tests: list[str]) -> bool:
    """Returns whether a test of a copy of the project fails with the change, or is ended by what bounds it.

    Where values that a test is run with are gone with the change, it is tried with all that there are.
    """
    if not tests:
        return False
    path = tree / change.module
    code = path.read_text(encoding="utf-8")
    path.write_text(change.code, encoding="utf-8")
    command = [*_BOUNDED, sys.executable, "-m", "pytest", *_OPTIONS, *tests]
    try:
        trial = subprocess.run(
            command, cwd=tree, env=_environment(tree), capture_output=True, encoding="utf-8", errors="replace"
        )
    finally:
        path.write_text(code, encoding="utf-8")
    missing = {name.partition("[")[0] for name in re.findall(r"not found: (.*)\n", trial.stderr)}
    functions = {name: name.partition("[")[0] for name in tests}
    others = list(dict.fromkeys(each if str(tree / each) in missing else name for name, each in functions.items()))
    if others != tests and change.code != code:
        return is_killed(tree, change, others)
    if trial.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise RuntimeError(f"no test was collected for {change.module}:{change.line}: {' '.join(tests)}")
    return trial.returncode != 0


def main(python: str, folder: Path, count: str, seed: str) -> int:
    """Prints each change that no test noticed, and the share of the others; 1 where that is below LEAST_KILLED."""
    started = time.monotonic()
    trees: SimpleQueue[Path] = SimpleQueue()
    for worker in range(_WORKERS):
        trees.put(copied(folder / str(worker)))
    first = folder / "0" / "beamscore"
    suite = whole_suite(first, folder)
    command = [python, str(Path(__file__).with_name("changes.py")), str(first), count, seed]
    drawn = subprocess.run(command, check=True, capture_output=True).stdout
    changes = msgspec.json.Decoder(Change).decode_lines(drawn)
    before = {each.module: (PROJECT / each.module).read_text(encoding="utf-8") for each in changes}
    controls = [msgspec.structs.replace(each, code=before[each.module]) for each in changes[:CONTROLS]]

    def is_noticed(change: Change) -> bool:
        tree = trees.get()
        try:
            return is_killed(tree, change, suite.tests(change))
        finally:
            trees.put(tree)

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
    sys.exit(main(sys.argv[1], Path(sys.argv[2]).resolve(), *sys.argv[3:]))
