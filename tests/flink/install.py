"""What a cluster runs, which is downloaded or installed once.

The Java side: Flink's distribution from PyPI and Beam's Flink runner from Maven Central, by version and checksum. The
Python side: an environment of the workers' own, and the project installed as a user would install it.
"""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

FLINK_VERSION = "1.19.3"
FLINK_SHA256 = "4a58e3a1fb7d83340bc96b6c080624c6d792d69fae5d294b96224775204a9c60"
RUNNER_SHA256 = "76ce467579ec36321034277084d320181263d43ad3f663d153bb7eeb5b5732c1"
"""Over the names and SHA-256 sums of all jars that the pom.xml beside this file resolves to."""

POM = Path(__file__).with_name("pom.xml")
PROJECT = Path(__file__).resolve().parents[2]
_UV = (sys.executable, "-m", "uv")
_NOT_OURS = ".venv* .git .types .hypothesis out node_modules build dist *.egg-info __pycache__ .*_cache"


def cache() -> Path:
    """Returns the folder of what is downloaded: $BEAMSCORE_CACHE, else ~/.cache/beamscore."""
    return Path(os.environ.get("BEAMSCORE_CACHE") or Path.home() / ".cache" / "beamscore")


def class_path() -> str:
    """Returns the class path of the JobManager, the TaskManagers and the job server, downloading it at first.

    Beam's runner is on all of them, so that workers are kept from stage to stage, and no job uploads it for 12 s:
    the job server leaves out files below a folder gradle/wrapper.
    """
    key = _digest(f"{FLINK_SHA256} {RUNNER_SHA256}".encode())[:12]
    folder = made(cache() / f"flink-{FLINK_VERSION}-{key}", _download)
    return ":".join(str(jar) for jar in sorted((folder / "gradle" / "wrapper").glob("*.jar")))


def made(folder: Path, make: Callable[[Path], None]) -> Path:
    """Returns `folder`, which `make` fills at first; it is there whole or not at all, whoever else makes it too."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            make(Path(scratch) / folder.name)
            try:
                (Path(scratch) / folder.name).rename(folder)
            except OSError:
                if not folder.exists():
                    raise
    return folder


def run(*command: str | Path) -> None:
    """Runs a command; raises RuntimeError with what it printed where it ends with another code than 0."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _download(folder: Path) -> None:
    jars = folder / "gradle" / "wrapper"
    jars.mkdir(parents=True)
    run("mvn", "-B", "-C", "-f", POM, "dependency:copy-dependencies", "-DincludeScope=runtime",
        f"-DoutputDirectory={jars}")  # fmt: skip
    found = _digest("".join(f"{jar.name} {_digest(jar.read_bytes())}\n" for jar in sorted(jars.glob("*.jar"))).encode())
    if found != RUNNER_SHA256:
        raise RuntimeError(f"Beam's runner is not the one that is known: its jars sum up to {found}")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wanted = Path(scratch, "requirements.txt")
        wanted.write_text(f"apache-flink-libraries=={FLINK_VERSION} --hash=sha256:{FLINK_SHA256}\n")
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-r", wanted, "-d", scratch)
        (archive,) = Path(scratch).glob("*.tar.gz")
        names = ("*/flink-dist-*", "*/log4j-*")
        run("tar", "-xzf", archive, "-C", jars, "--wildcards", "--transform=s|.*/||", *names)


def worker_python() -> Path:
    """Returns the Python of a kept environment with the versions of here, as what is pickled must unpickle there."""
    versions = sorted({f"{found.name}=={found.version}" for found in importlib.metadata.distributions()})
    setup = PROJECT.joinpath("setup.py").read_bytes()
    key = _digest("\n".join([platform.python_version(), *versions]).encode() + setup)[:12]
    return made(cache() / f"workers-{key}", lambda new: _install(new, versions)) / "bin" / "python"


def install_project(folder: Path) -> None:
    """Installs the project as it is now into `folder`, for Python to find it before any other."""
    with tempfile.TemporaryDirectory() as scratch:
        install(worker_python(), "--no-deps", "--target", folder, source(Path(scratch)))


def new_environment(folder: Path, *requirements: str | Path, python: str | Path = sys.executable) -> Path:
    """Makes an environment of a Python with these packages and pip; returns its Python."""
    run(*_UV, "venv", "--quiet", "--seed", "--python", python, folder)
    install(folder / "bin" / "python", *requirements)
    return folder / "bin" / "python"


def install(python: Path, *requirements: str | Path) -> None:
    run(*_UV, "pip", "install", "--quiet", "--python", python, *requirements)


def _install(folder: Path, versions: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch, "constraints.txt")
        kept = [version for version in versions if not version.startswith(("pip=", "setuptools=", "beamscore="))]
        constraints.write_text("\n".join(kept))
        new_environment(folder, "-c", constraints, source(Path(scratch)))


def source(scratch: Path) -> Path:
    """Returns a copy of the project as it is now, which is built in place of the working tree."""
    return shutil.copytree(PROJECT, scratch / "source", ignore=shutil.ignore_patterns(*_NOT_OURS.split()))


if __name__ == "__main__":
    class_path()
    worker_python()
