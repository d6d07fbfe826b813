"""Builds the source distribution, and installs it into a clean environment."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from pathlib import Path

from tests.flink.jars import run

PROJECT = Path(__file__).resolve().parents[2]
_NOT_OURS = (".venv", ".git", "out", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")


def build_source(folder: Path) -> Path:
    """Returns the source distribution of the project as it is now; nothing is left in the working tree."""
    tree = folder / "tree"
    shutil.copytree(PROJECT, tree, ignore=shutil.ignore_patterns(*_NOT_OURS))
    tools = clean_environment(folder / "tools")
    run(tools, "-m", "pip", "install", "-q", "--disable-pip-version-check", "build>=1,<2")
    run(tools, "-m", "build", "--sdist", "--outdir", folder / "sdist", tree)
    (archive,) = (folder / "sdist").glob("*.tar.gz")
    shutil.rmtree(tree)
    return archive


def install(archive: Path, folder: Path) -> Path:
    """Installs the distribution with the versions that are installed here; returns the environment's Python."""
    versions = {found.name: found.version for found in importlib.metadata.distributions()}
    constraints = folder.with_suffix(".txt")
    kept = [
        f"{name}=={version}\n" for name, version in versions.items() if name not in ("beamscore", "pip", "setuptools")
    ]
    constraints.write_text("".join(kept))
    python = clean_environment(folder)
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", constraints, archive)
    return python


def clean_environment(folder: Path) -> Path:
    """Makes an environment without packages; returns its Python."""
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python"
