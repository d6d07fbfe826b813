"""The Python side: an environment of the workers' own, and the project installed as a user would install it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from tests.flink.jars import cache, made, run

PROJECT = Path(__file__).resolve().parents[2]
_PACKAGES = ("metrics", "transforms", "pipelines")
_FILES = ("__init__.py", "py.typed", "setup.py", "README.md", "LICENSE")


def worker_python() -> Path:
    """Returns the Python of an environment with all that the project needs, which is kept for the next time.

    Every package has the version that it has here, since what the pipeline pickles must unpickle there.
    """
    versions = sorted({f"{found.name}=={found.version}" for found in importlib.metadata.distributions()})
    key = hashlib.sha256("\n".join([platform.python_version(), *versions]).encode())
    key.update(PROJECT.joinpath("setup.py").read_bytes())
    folder = made(cache() / f"workers-{key.hexdigest()[:12]}", lambda new: _install(new, versions))
    return folder / "bin" / "python"


def install_project(folder: Path) -> None:
    """Installs the project as it is now into `folder`, for Python to find it before any other."""
    with tempfile.TemporaryDirectory() as scratch:
        source = _source(Path(scratch))
        run(worker_python(), "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-t", folder, source)


def _install(folder: Path, versions: list[str]) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "pip", "setuptools>=70")
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch, "constraints.txt")
        kept = [version for version in versions if not version.startswith(("pip=", "setuptools=", "beamscore="))]
        constraints.write_text("\n".join(kept))
        pip = (folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-build-isolation")
        run(*pip, "-c", constraints, _source(Path(scratch)))


def _source(scratch: Path) -> Path:
    """Copies what is installed, so that building it leaves nothing in the source tree."""
    source = scratch / "source"
    source.mkdir()
    for name in _PACKAGES:
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _FILES:
        shutil.copy(PROJECT / name, source / name)
    return source
