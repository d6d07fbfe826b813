"""`python -m tests.mutants COSMIC_RAY FOLDER [MODULE ...]` changes modules, one operator at a time.

COSMIC_RAY: the program of https://cosmic-ray.readthedocs.io. FOLDER: a copy of the project is made there, and changed.
The tests run in the environment of this Python. A run that was ended goes on where it was, unless the module changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.modules import EXPLAINED, MODULES

PROJECT = Path(__file__).resolve().parents[2]
_COPIED = ("metrics", "transforms", "pipelines", "tests", "pyproject.toml", "setup.py", "README.md", "configs")
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
    tree, name = folder / "tree", module.replace("/", "-")
    config, session = folder / f"{name}.toml", folder / f"{name}.sqlite"
    # Not the bytes that Python has cached: a change and its reversal may fall into one second.
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *MODULES[module]]
    started = time.monotonic()
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    seconds = max(_LEAST_SECONDS, _TIMES_SLOWER * (time.monotonic() - started))
    text = "\n".join(
        [
            "[cosmic-ray]",
            f"module-path = {json.dumps(module)}",
            f"timeout = {seconds:.1f}",
            f"test-command = {json.dumps(' '.join(command))}",
            "[cosmic-ray.distributor]",
            'name = "local"',
            "[cosmic-ray.filters.operators-filter]",
            f"exclude-operators = {json.dumps(_EXCLUDED)}",
            "",
        ]
    )
    source = folder / f"{name}.source"
    content = (tree / module).read_text(encoding="utf-8")
    if not session.exists() or not source.exists() or source.read_text(encoding="utf-8") != content:
        config.write_text(text)
        subprocess.run([cosmic_ray, "init", "--force", config, session], cwd=tree, check=True)
        subprocess.run([cosmic_ray.with_name("cr-filter-operators"), session, config], cwd=tree, check=True)
        source.write_text(content, encoding="utf-8")
    subprocess.run([cosmic_ray, "exec", config, session], cwd=tree, check=True)
    done = subprocess.run([cosmic_ray, "dump", session], cwd=tree, check=True, capture_output=True, text=True)
    return [mutant for line in done.stdout.splitlines() if (mutant := _mutant(*json.loads(line))) is not None]


def _mutant(_: object, result: dict[str, str] | None) -> Mutant | None:
    """Returns a change from an entry of the session; None of one that was left out."""
    if result is None or result["worker_outcome"] == "skipped":
        return None
    difference = result["diff"] or ""
    added = [line[1:].strip() for line in difference.splitlines() if line[:1] == "+" and line[:3] != "+++"]
    return Mutant("\n".join(added), difference, result["test_outcome"] != "survived")


def main(cosmic_ray: Path, folder: Path, modules: Sequence[str]) -> int:
    """Prints the share that was noticed of each module and the changes that were not; 1 where one is not explained."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in _COPIED:
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
        copy(PROJECT / name, tree / name)
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
