"""Builds a release and tries it as its users will: `python -m tests.installed.release FOLDER`.

Both distributions pass `twine check`, the changelog has the version, and both commands of the README run with the
wheel on the oldest and the newest Python here that setup.py claims, in a clone of what is committed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from beamscore.metrics.version import VERSION
from tests.flink.install import new_environment
from tests.installed.pythons import claimed_pythons

PROJECT = Path(__file__).resolve().parents[2]


def check(folder: Path) -> None:
    """Builds and tries the release in the folder, which is made anew; ends at the first command that fails."""
    if f"## [{VERSION}]" not in (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise SystemExit(f"CHANGELOG.md: has no section ## [{VERSION}]; name the changes that are released")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = folder / "tree"
    _run("git", "clone", "--quiet", PROJECT, tree)
    wheel = _build(folder, tree)
    pythons = claimed_pythons()
    for number, python in sorted({pythons[0], pythons[-1]}):
        name = ".".join(map(str, number))
        print(f"== Python {name}", flush=True)
        environment = folder / f"environment-{name}"
        new_environment(environment, f"beamscore[dev] @ {wheel.as_uri()}", python=python)
        # What the README's commands would install is there.
        (environment / ".ready").touch()
        _run("make", "-C", tree, "demo", "test", f"VENV={environment}", f"OUT={folder / f'out-{name}'}")
    print(f"beamscore {VERSION} can be released: {folder / 'dist'}")


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
