"""Beam's job server as one file, the form in which its FlinkRunner starts it."""

from __future__ import annotations

import textwrap
import zipfile
from pathlib import Path

from tests.flink.cluster import EXPORT, OPEN
from tests.flink.jars import class_path

_MAX_LINE_BYTES = 72


def write_job_server_jar(path: Path) -> None:
    """Writes a jar that holds nothing but the names of the jars that are downloaded, and of the class to run."""
    entries = {
        "Manifest-Version": "1.0",
        "Main-Class": "org.apache.beam.runners.flink.FlinkJobServerDriver",
        "Class-Path": " ".join(Path(jar).as_uri() for jar in class_path().split(":")),
        "Add-Opens": " ".join(OPEN),
        "Add-Exports": " ".join(EXPORT),
    }
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "".join(_folded(f"{name}: {value}") for name, value in entries.items()))


def _folded(line: str) -> str:
    """Cuts a line as manifests want it: a line that goes on starts with a space."""
    first, rest = line[:_MAX_LINE_BYTES], line[_MAX_LINE_BYTES:]
    cut = textwrap.wrap(rest.replace(" ", "\0"), _MAX_LINE_BYTES - 1, break_on_hyphens=False)
    return "\n".join([first, *(f" {part}" for part in cut)]).replace("\0", " ") + "\n"
