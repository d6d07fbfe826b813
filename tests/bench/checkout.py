"""Another commit's source tree, to compare with."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def checked_out(commit: str, tree: Path) -> Iterator[Path]:
    """Makes a git worktree of `commit` at `tree`, and removes it afterwards.

    A commit from before there was one package has its parts beside a module of that name, which would hide them.
    """
    _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    (tree / "beamscore.py").unlink(missing_ok=True)
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def python_path(tree: Path) -> str:
    """Returns what PYTHONPATH must hold for Python to find the package in a source tree whose folder is `beamscore`."""
    return f"{tree.parent}{os.pathsep}{tree}"


def _git(*arguments: str) -> None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
