"""Builds a release and tries it as its users will: `python -m tests.installed.release FOLDER`.

What is committed is ready (see `unready`), and both distributions pass `twine check`. On the oldest and the newest
Python here that setup.py claims, both commands of the README run with the wheel, in a clone: the first without extras.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.flink.install import install, new_environment
from tests.installed.pythons import claimed_pythons

PROJECT = Path(__file__).resolve().parents[2]


def check(folder: Path) -> None:
    """Builds and tries the release in the folder, which is made anew; ends at the first command that fails."""
    if _git(PROJECT, "status", "--porcelain"):
        raise SystemExit("the working tree has changes, which the release would lack: commit or remove them")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = folder / "tree"
    _run("git", "clone", "--quiet", PROJECT, tree)
    if problems := [*unready(tree)]:
        raise SystemExit("\n".join(problems))
    wheel = _build(folder, tree)
    pythons = claimed_pythons()
    for number, python in sorted({pythons[0], pythons[-1]}):
        name = ".".join(map(str, number))
        print(f"== Python {name}", flush=True)
        environment = folder / f"environment-{name}"
        make = ("make", "-C", tree, f"VENV={environment}", f"OUT={folder / f'out-{name}'}")
        new_environment(environment, wheel, python=python)
        # What the README's commands would install is there, but no extras yet: the demo needs none.
        (environment / ".ready").touch()
        _run(*make, "demo")
        install(environment / "bin" / "python", f"beamscore[dev] @ {wheel.as_uri()}")
        _run(*make, "test")
    print(f"{wheel.stem} can be released: {wheel.parent}")


def unready(tree: Path) -> Iterator[str]:
    """Yields why what is committed in a clone cannot be released: its changelog or its tag."""
    version = (tree / "metrics" / "version.py").read_text(encoding="utf-8").split('"')[-2]
    changelog = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    changes = dict(re.findall(r"(?ms)^## \[(.+?)\].*?$(.*?)(?=^## |\Z)", changelog))
    if not changes.get(version, "").strip():
        yield f"CHANGELOG.md: has no changes in a section ## [{version}]; name what is released"
    if changes.get("Unreleased", "").strip():
        yield f"CHANGELOG.md: [Unreleased] is not empty; its changes belong to [{version}], or to a later VERSION"
    tag = f"v{version}"
    if _git(tree, "tag", "--list", tag) and tag not in _git(tree, "tag", "--points-at", "HEAD").split():
        yield f"the tag {tag} is on a different commit; raise VERSION in metrics/version.py"


def _git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=tree, capture_output=True, text=True, check=True).stdout.strip()


def _build(folder: Path, tree: Path) -> Path:
    """Returns the wheel, made of the source distribution beside it; both are ready for an index."""
    python = new_environment(folder / "tools", "build>=1,<2", "twine>=6,<7")
    _run(python, "-m", "build", "--outdir", folder / "dist", tree)
    _run(python, "-m", "twine", "check", "--strict", *sorted((folder / "dist").iterdir()))
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def _run(*command: str | Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS")}
    done = subprocess.run(list(map(str, command)), env=kept, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")


if __name__ == "__main__":
    check(Path(sys.argv[1]).resolve())
