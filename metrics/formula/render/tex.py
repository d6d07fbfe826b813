"""Runs TeX programs in a sandbox: no shell escape, no files outside a folder, limits on time, memory and output."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from functools import lru_cache
from pathlib import Path

from ...benchmark import MissingTool

PACKAGES = ("geometry", "booktabs", "multirow", "amsmath", "upgreek", "amssymb", "CJK")
CHINESE_FACE = "c70gkai.fd"
INSTALL = (
    "apt-get install --no-install-recommends texlive-latex-base texlive-latex-recommended texlive-latex-extra "
    "latex-cjk-chinese latex-cjk-chinese-arphic-gkai00mp"
)

MEMORY_KILOBYTES = 1 << 20
FILE_BLOCKS = 1 << 17
WALL_CLOCK_FACTOR = 12
SIGNALS_OF_THE_RECORD = frozenset(
    [signal.SIGXCPU, signal.SIGXFSZ, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL]
)
"""Signals that a formula can cause; any other signal comes from outside, such as from the out-of-memory killer."""
ERRORS_OF_THE_DISK = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)))
NOT_STARTED = (126, 127)
"""The exit codes of a shell that cannot start a program."""


def environment() -> dict[str, str]:
    """Returns the environment of TeX programs: only PATH and TEXMF* are inherited, and unsafe features are disabled."""
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("TEXMF")}
    return kept | {
        "HOME": "/nonexistent",
        "LANG": "C",
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        # The number of names that a document may add, 600,000 by default: TeX clears the table at each start.
        "hash_extra": "200000",
        "MKTEXTFM": "0",
        "MKTEXPK": "0",
        "MKTEXMF": "0",
    }


def run_bounded(command: list[str], folder: Path, seconds: int) -> int:
    """Runs a command in a folder with resource limits, and kills its process group afterwards.

    Returns the exit code, or minus the number of the signal that killed it: SIGXCPU if it ran out of processor time.

    The time limit is on processor time, so that a busy machine changes no result; the wall-clock limit is far higher.

    Raises MissingTool if the program cannot be started, OSError if the machine is at fault: the disk is full, or a
    signal came from outside.
    """
    limits = f"ulimit -c 0; ulimit -S -t {seconds}; ulimit -H -t {seconds + 1}"
    limits += f"; ulimit -f {FILE_BLOCKS}; ulimit -v {MEMORY_KILOBYTES}"
    with subprocess.Popen(
        ["/bin/sh", "-c", f'{{ {limits}; }} 2>/dev/null; exec "$@"', "sh", *command],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            # Returns as soon as the output is closed; wait() with a timeout would poll.
            _, said = process.communicate(timeout=seconds * WALL_CLOCK_FACTOR)
            _check_machine(command[0], process.returncode, said.decode("utf-8", "replace"))
            return process.returncode
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _check_machine(program: str, code: int, said: str) -> None:
    """Raises the errors of `run_bounded` for a program with this exit code and this text on standard error."""
    if code in NOT_STARTED:
        raise MissingTool(f"the program {program} cannot be started ({said.strip()}): {INSTALL}")
    if code < 0 and -code not in SIGNALS_OF_THE_RECORD:
        raise OSError(f"the program {program} was ended from outside by the signal {signal.Signals(-code).name}")
    if code and any(error in said for error in ERRORS_OF_THE_DISK):
        raise OSError(f"the program {program} cannot write its files: {said.strip()}")


def _kpsewhich(names: list[str]) -> list[Path]:
    """Returns the paths of the TeX files with these names that exist; raises OSError if kpsewhich fails."""
    command = ["kpsewhich", *names]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    # 1: at least one of the files is missing.
    if done.returncode not in (0, 1):
        raise OSError(f"the program kpsewhich failed with exit code {done.returncode}: {done.stderr.strip()}")
    return [Path(line) for line in done.stdout.splitlines()]


_FOLDERS: dict[Path, None] = {}
"""The folders of the files found so far; a font family is usually in one folder."""


@lru_cache(maxsize=1024)
def find_file(name: str) -> Path | None:
    """Returns the path of a TeX file; None if TeX has no file of this name."""
    paths = (folder / name for folder in _FOLDERS)
    path = next((path for path in paths if path.is_file()), None) or next(iter(_kpsewhich([name])), None)
    if path:
        _FOLDERS[path.parent] = None
    return path


def latex_version() -> dict[str, str]:
    """Returns the first line of `latex --version` under the key `latex`; empty if LaTeX does not run."""
    with contextlib.suppress(OSError):
        done = subprocess.run(["latex", "--version"], env=environment(), capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout:
            return {"latex": done.stdout.splitlines()[0]}
    return {}


def require_tex() -> None:
    """Raises MissingTool, with the name, if a program, a package or the Chinese font is not installed."""
    for program in ("latex", "kpsewhich"):
        if shutil.which(program) is None:
            raise MissingTool(f"the formula benchmark needs the program {program}: {INSTALL}")
    files = [f"{package}.sty" for package in PACKAGES] + [CHINESE_FACE]
    installed = {path.name for path in _kpsewhich(files)}
    missing = [name for name in files if name not in installed]
    if missing:
        raise MissingTool(f"LaTeX lacks {', '.join(missing)}: {INSTALL}")
