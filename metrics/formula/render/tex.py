"""Runs the programs of TeX within bounds: no shell, no files outside of a folder, limits on time, memory and output."""

from __future__ import annotations

import contextlib
import enum
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from metrics.benchmark import MissingTool

PACKAGES = ("geometry", "booktabs", "multirow", "amsmath", "upgreek", "amssymb", "CJK")
CHINESE_FACE = "c70gkai.fd"
INSTALL = (
    "apt-get install --no-install-recommends texlive-latex-base texlive-latex-recommended texlive-latex-extra "
    "latex-cjk-chinese latex-cjk-chinese-arphic-gkai00mp"
)

_FONTS = ("cmr10 cmbsy8 cmex8 cmmib7 msam10 eufm10 eurm10 lasy10 tcrm1000 gkaiu4e", "TFMFONTS", ".tfm")
_INPUTS = ("c70gkai.fd UTF8.chr ts1cmr.fd ueur.fd umsa.fd ulasy.fd", "TEXINPUTS", "")

MAX_NAMES = 30_000
MEMORY_KILOBYTES = 1 << 20
FILE_BLOCKS = 1 << 17
WALL_CLOCK_FACTOR = 12
CLOCK = "/proc/self/stat"
"""Where Linux tells a process the processor time that it has taken; elsewhere there is no such file."""


class End(enum.Enum):
    """How a process came to its end: by itself, ended for its processor time, or ended for something else."""

    ITS_OWN = enum.auto()
    PROCESSOR_TIME = enum.auto()
    OTHER = enum.auto()


def seconds_told(stat: str) -> float:
    """Returns the processor time in the text of `CLOCK`, in seconds; infinity where it tells none.

    Fields 14 and 15 are the ticks in the process and in the kernel (proc(5)); field 2, the name, is in parentheses.
    """
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 13:
        return float("inf")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def environment() -> dict[str, str]:
    """Returns the environment that TeX's programs run in: nothing of ours but the paths, and every door shut."""
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("TEXMF")}
    return kept | {
        "HOME": "/nonexistent",
        "LANG": "C",
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
        "openin_any": "p",
        "openout_any": "p",
        "shell_escape": "f",
        "MKTEXTFM": "0",
        "MKTEXPK": "0",
        "MKTEXMF": "0",
        # TeX touches most of 40 MB of tables at once: with large pages it starts in less time.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        # Room for as many names beyond LaTeX's own; TeX writes to all of it as it starts.
        "hash_extra": str(MAX_NAMES),
    }


def search_paths(no_index: Path) -> dict[str, str]:
    """Returns the environment in which TeX looks for files where formulas need them and nowhere else.

    It names the folders of the fonts and font definitions that a formula can call for, one known file of each. TeX then
    need not read the index of all that is installed, which takes it longer than to typeset a formula. `no_index` is a
    folder without such an index.
    """
    paths = {"TEXMFDBS": str(no_index)}
    for names, variable, ending in (_FONTS, _INPUTS):
        files = [f"{name}{ending}" for name in names.split()]
        found = subprocess.run(["kpsewhich", *files], env=environment(), capture_output=True, text=True, check=False)
        folders = dict.fromkeys(str(Path(line).parent) for line in found.stdout.splitlines())
        paths[variable] = os.pathsep.join([".", *folders])
    return paths


def run_bounded(command: list[str], folder: Path, seconds: int, paths: Mapping[str, str] | None = None) -> End:
    """Runs a command in a folder within bounds, and ends all that it started; returns how it ended.

    `paths` is what `search_paths` gave. The bound is on processor time, so that a busy machine changes no result; on
    the clock it is far wider.
    """
    limits = f"ulimit -c 0; ulimit -S -t {seconds}; ulimit -H -t {seconds + 1}"
    limits += f"; ulimit -f {FILE_BLOCKS}; ulimit -v {MEMORY_KILOBYTES}"
    with subprocess.Popen(
        ["/bin/sh", "-c", f'{{ {limits}; }} 2>/dev/null; exec "$@"', "sh", *command],
        cwd=folder,
        env=environment() | dict(paths or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            # The end of the output tells the end of the process at once, where wait() would poll.
            process.communicate(timeout=seconds * WALL_CLOCK_FACTOR)
            if process.returncode >= 0:
                return End.ITS_OWN
            return End.PROCESSOR_TIME if process.returncode == -signal.SIGXCPU else End.OTHER
        except subprocess.TimeoutExpired:
            return End.OTHER
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def find_file(name: str, folders: str = "") -> Path | None:
    """Returns where TeX finds a file; None where it has none of that name.

    It is looked for in `folders`, one of the values that `search_paths` gave, before TeX is asked, which is slow.
    """
    for folder in filter(os.path.isabs, folders.split(os.pathsep)):
        if (path := Path(folder, name)).is_file():
            return path
    done = subprocess.run(["kpsewhich", name], env=environment(), capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.stdout.strip() else None


def latex_version() -> dict[str, str]:
    """Returns the first line that `latex --version` prints, under the name `latex`; empty where there is none."""
    with contextlib.suppress(OSError):
        done = subprocess.run(["latex", "--version"], env=environment(), capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout:
            return {"latex": done.stdout.splitlines()[0]}
    return {}


def require_tex() -> None:
    """Raises MissingTool where a program, a package or the Chinese face is not on this machine, and names it."""
    for program in ("latex", "kpsewhich"):
        if shutil.which(program) is None:
            raise MissingTool(f"the formula benchmark needs the program {program}: {INSTALL}")
    files = [f"{package}.sty" for package in PACKAGES] + [CHINESE_FACE]
    done = subprocess.run(["kpsewhich", *files], env=environment(), capture_output=True, text=True, check=False)
    found = {Path(line).name for line in done.stdout.splitlines()}
    missing = [name for name in files if name not in found]
    if missing:
        raise MissingTool(f"LaTeX lacks {', '.join(missing)}: {INSTALL}")
