"""Makes an environment of the lowest versions that setup.py claims, on the oldest Python here that it claims.

`python -m tests.installed.lowest FOLDER` makes it in FOLDER. It needs no package, as it runs before there is any.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SETUP = Path(__file__).resolve().parents[2] / "setup.py"
_VERSION = "import sys; print(*sys.version_info[:3])"
_NOT_RUN_BY_TESTS = ("mypy", "ruff", "scipy-stubs", "types-")


def package_metadata() -> dict[str, Any]:
    """Returns what setup.py gives to setuptools."""
    given: dict[str, Any] = {}
    setuptools = types.ModuleType("setuptools")
    vars(setuptools).update(setup=given.update, find_packages=lambda **_: [])
    before = sys.modules.get("setuptools")
    sys.modules["setuptools"] = setuptools
    try:
        runpy.run_path(str(SETUP))
    finally:
        del sys.modules["setuptools"]
        if before is not None:
            sys.modules["setuptools"] = before
    return given


def lowest(requirements: Sequence[str]) -> list[str]:
    """Returns each requirement with the lowest version of its range alone, such as `numpy==1.26` of `numpy>=1.26,<3`.

    Raises ValueError where a requirement names no lowest version.
    """
    pins = []
    for requirement in requirements:
        found = re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[^]]*\])?)>=([0-9][0-9.]*)(?:,[^;]*)?(;.*)?", requirement)
        if not found:
            raise ValueError(f"setup.py: {requirement}: must name its lowest version with >=")
        pins.append(f"{found[1]}=={found[2]}{found[3] or ''}")
    return pins


def claimed_pythons(claimed: str) -> list[tuple[tuple[int, ...], Path]]:
    """Returns version and path of the Pythons here that `claimed`, such as `>=3.10`, allows, oldest first."""
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


def make_environment(folder: Path) -> None:
    """Makes the environment, with the project in it to be edited, unless it is there for this setup.py."""
    metadata = package_metadata()
    needed = [*metadata["install_requires"], *metadata["extras_require"]["dev"]]
    pins = lowest([each for each in needed if not each.startswith(_NOT_RUN_BY_TESTS)])
    version, python = claimed_pythons(metadata["python_requires"])[0]
    content = "".join(f"{pin}\n" for pin in pins)
    ready = folder / "lowest.txt"
    print(f"Python {'.'.join(map(str, version))} of {python}:", *pins, sep="\n  ", flush=True)
    if ready.exists() and ready.read_text() == content:
        return
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    requirements = folder / "requirements.txt"
    requirements.write_text(content)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--upgrade", "pip"], check=True)
    subprocess.run([*pip, "--requirement", str(requirements), "--editable", str(SETUP.parent)], check=True)
    requirements.rename(ready)


if __name__ == "__main__":
    make_environment(Path(sys.argv[1]))
