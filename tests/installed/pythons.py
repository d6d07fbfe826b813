"""The Pythons of this machine that beamscore claims to run on; `python -m tests.installed.pythons` lists them."""

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_VERSION = "import sys; print(*sys.version_info[:3])"


def claimed_pythons() -> list[tuple[tuple[int, ...], Path]]:
    """Returns version and path of each, oldest first; raises SystemExit if there is none."""
    claimed = importlib.metadata.metadata("beamscore")["Requires-Python"]
    least = tuple(map(int, claimed.removeprefix(">=").split(".")))
    found = sorted((version, path) for path in _pythons() if (version := _version(path)) >= least)
    if not found:
        raise SystemExit(f"there is no Python {claimed} on the path, nor below ~/.pyenv")
    return found


def _pythons() -> Iterator[Path]:
    yield Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from pyenv.glob("versions/*/bin/python3")
    for folder in os.get_exec_path():
        yield from (path for path in Path(folder).glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name))


def _version(python: Path) -> tuple[int, ...]:
    """Returns the version, or nothing where the program does not run, such as that of a pyenv that is not chosen."""
    try:
        done = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


if __name__ == "__main__":
    print(*(path for _, path in claimed_pythons()), sep="\n")
