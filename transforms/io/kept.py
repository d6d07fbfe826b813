"""The rows that an interrupted run had finished, kept beside what runs stage until another run has used them.

A run that may be resumed writes what it scores with to OUTPUT/.staging/RUN/start.json. Where it is interrupted, or
killed and found dead by the next one, its folder becomes RUN.kept. So it is on disks; an object store cannot rename.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.io.claim import STAGING
from transforms.io.staging import KEPT, START, staging_folder
from transforms.io.storage import STORAGE_ERRORS, delete_folder, list_folder, read_bytes, write_file


@dataclass(frozen=True)
class KeptRun:
    """An interrupted run: its id, the content of START, and its files of rows that are whole."""

    run_id: str
    start: bytes
    files: tuple[str, ...]


def ask_to_keep(output: str, run_id: str, start: bytes) -> None:
    """Makes the rows of a run stay where it is interrupted. start: what it scores with."""
    write_file(posixpath.join(staging_folder(output, run_id), START), start)


def kept_runs(output: str) -> Iterator[KeptRun]:
    """Yields the interrupted runs of an output, by their ids, with the files that they had finished."""
    folder = posixpath.join(output, STAGING)
    for name in sorted(_names(folder)):
        path = posixpath.join(folder, name)
        if name.endswith(KEPT):
            with contextlib.suppress(*STORAGE_ERRORS):
                start = read_bytes(posixpath.join(path, START))
                samples = posixpath.join(path, "samples")
                files = [posixpath.join(samples, each) for each in sorted(_names(samples))]
                yield KeptRun(name.removesuffix(KEPT), start, tuple(filter(_is_whole, files)))


def remove_kept(output: str) -> None:
    """Removes what interrupted runs of an output have kept."""
    folder = posixpath.join(output, STAGING)
    for name in _names(folder):
        if name.endswith(KEPT):
            delete_folder(posixpath.join(folder, name))
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _names(folder: str) -> list[str]:
    try:
        return list(list_folder(folder))
    except STORAGE_ERRORS:
        return []


def _is_whole(path: str) -> bool:
    """Tells whether a file was finished: its footer comes last."""
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return False
    return True
