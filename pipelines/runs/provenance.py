"""run.json: the origin of a result, and everything else that differs between runs of equal input."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from ...metrics.benchmark import Benchmark
from ...metrics.registry import code_version
from ...metrics.version import VERSION
from ...transforms.io.files import SourceFile
from ...transforms.records import GROUND_TRUTH, writable

RUN_FORMAT = 1
MAX_FILES_LISTED = 1000
"""How many files of a side are listed; the count, the bytes and the digest are of all files."""

PACKAGES = ("apache-beam", "msgspec", "numpy", "pyarrow", "rapidfuzz", "scipy", "shapely")
"""Any other package in run.json is that of the benchmark."""
_SECRET = re.compile(
    r"secret|password|passwd|token|credential|access_?key|api_?key|private|connection_string"
    # These hold variables of the environment or of the JVM.
    r"|environment_(?:config|option)|env_var|jvm_propert",
    re.IGNORECASE,
)
HIDDEN = "***"


class InputFile(msgspec.Struct, frozen=True):
    """A file that a run read, as its filesystem described it before the run.

    modified: the time of the last change in UTC; None: not reported.
    """

    path: str
    bytes: int
    modified: str | None


class InputSide(msgspec.Struct, frozen=True):
    """The files of one side of a run. digest: a hash over path, bytes and time of all of them, listed or not."""

    count: int
    bytes: int
    digest: str
    files: tuple[InputFile, ...]


@dataclass(frozen=True)
class Invocation:
    """How a run was started, as known before the run.

    command: what was typed, without secrets. started: seconds since 1970. inputs: by side, GROUND_TRUTH or the number
    of a system. sources: the finished runs that `merge` made a result of. baseline: the run that gates compare with.
    reused: the run that provides the scores of unchanged samples.
    """

    command: tuple[str, ...] = ()
    runner: str = ""
    started: float = 0.0
    inputs: tuple[tuple[int, InputSide], ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    baseline: Mapping[str, Any] | None = None
    reused: Mapping[str, Any] | None = None

    @classmethod
    def now(cls, command: Sequence[str], runner: str, files: Iterable[SourceFile] = ()) -> Invocation:
        """Returns the invocation of a run that starts now and reads `files`."""
        return cls(tuple(without_secrets(command)), runner, time.time(), input_sides(files))


def without_secrets(command: Sequence[str]) -> list[str]:
    """Returns a command line in which the values of options that name a secret are hidden."""
    shown: list[str] = []
    hide_next = False
    for word in command:
        name, equals, _ = word.partition("=")
        # argparse takes a word with a blank for a value.
        if hide_next and (" " in word or not word.startswith("--")):
            shown.append(HIDDEN)
        elif equals and name.startswith("--") and _SECRET.search(name):
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(word)
        hide_next = word.startswith("--") and not equals and _SECRET.search(word) is not None
    return shown


def input_sides(files: Iterable[SourceFile]) -> tuple[tuple[int, InputSide], ...]:
    """Returns the files of each side as the filesystems report them."""
    by_side: dict[int, list[SourceFile]] = {}
    for file in files:
        by_side.setdefault(file.side, []).append(file)
    return tuple((side, _input_side(side_files)) for side, side_files in sorted(by_side.items()))


def _input_side(files: Sequence[SourceFile]) -> InputSide:
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        digest.update(msgspec.json.encode([writable(file.path), file.size, file.modified]))
    return InputSide(
        len(files),
        sum(file.size for file in files),
        digest.hexdigest(),
        tuple(
            InputFile(writable(file.path), file.size, utc(file.modified) if file.modified else None)
            for file in files[:MAX_FILES_LISTED]
        ),
    )


def utc(seconds: float) -> str:
    """Returns a time in seconds since 1970 as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(time: str) -> float:
    """Returns a time in the format of `utc` as seconds since 1970; raises ValueError if it is invalid."""
    return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def versions(benchmark: Benchmark[Any, Any, Any]) -> dict[str, Any]:
    """Returns the versions of this machine: the project, Python, the platform, packages and the benchmark's programs.

    The packages include that of the benchmark, or its file; see `code_version`.
    """
    packages = code_version(benchmark)
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "beamscore": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": packages,
        "tools": dict(benchmark.tool_versions()),
    }


def run_document(
    invocation: Invocation,
    run_id: str,
    benchmark: Benchmark[Any, Any, Any],
    systems: Sequence[str],
    records: Mapping[int, int],
    causes: Sequence[Any],
) -> dict[str, Any]:
    """Returns the document of run.json, made at the place and time of publication.

    records: how many records of each side were read, by its number. causes: why records were quarantined, see
    `quarantine_causes`.
    """
    ended = time.time()
    known: dict[int, Any] = dict(invocation.inputs)
    sides = {
        number: {"records": records.get(number, 0), **msgspec.to_builtins(known.get(number, {}))}
        for number in (GROUND_TRUTH, *range(len(systems)))
    }
    optional = {
        "benchmark_file": writable(benchmark.file),
        "quarantine": msgspec.to_builtins(causes),
        "merged_from": list(invocation.sources),
        "baseline": invocation.baseline,
        "reused": invocation.reused,
    }
    return {
        "format": RUN_FORMAT,
        "run_id": run_id,
        "benchmark": benchmark.name,
        "systems": list(systems),
        "started": utc(invocation.started),
        "ended": utc(ended),
        "seconds": round(max(0.0, ended - invocation.started), 3),
        "command": [writable(word) for word in invocation.command],
        "runner": invocation.runner,
        "host": platform.node(),
        "versions": versions(benchmark),
        "inputs": {
            "ground_truth": sides[GROUND_TRUTH],
            "predictions": {name: sides[number] for number, name in enumerate(systems)},
        },
        **{name: value for name, value in optional.items() if value},
    }


PAGE_PROBLEM = "page_problem"
