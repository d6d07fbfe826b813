"""The rows that an interrupted run had finished, kept beside what runs stage until another run has used them.

A run that may be resumed writes what it scores with to OUTPUT/.staging/RUN/start.json. Where it is interrupted, or
killed and found dead by the next one, its folder becomes RUN.kept on a disk. On an object store, which cannot rename,
the folder stays as it is: without a claim beside it, nothing is published from it.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

from .claim import CLAIM, STAGING
from .staging import KEPT, START, staging_folder
from .storage import STORAGE_ERRORS, delete_folder, is_on_disk, list_folder, read_bytes, write_file

FILES_AT_ONCE = 16


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
    for run_id, path in _folders(output).items():
        with contextlib.suppress(*STORAGE_ERRORS):
            start = read_bytes(posixpath.join(path, START))
            samples = posixpath.join(path, "samples")
            files = [posixpath.join(samples, each) for each in sorted(_names(samples))]
            with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
                whole = list(pool.map(_is_whole, files))
            yield KeptRun(run_id, start, tuple(file for file, is_whole in zip(files, whole, strict=True) if is_whole))


def remove_kept(output: str) -> None:
    """Removes what interrupted runs of an output have kept; the caller owns the output."""
    for path in _folders(output).values():
        # What is left does no harm: the next run that resumes removes it.
        with contextlib.suppress(*STORAGE_ERRORS):
            delete_folder(path)
    if is_on_disk(output):
        with contextlib.suppress(OSError):
            os.rmdir(posixpath.join(output, STAGING))


def _folders(output: str) -> dict[str, str]:
    """Returns the folders of interrupted runs by the ids of the runs, in order."""
    staging = posixpath.join(output, STAGING)
    names = sorted(_names(staging))
    if is_on_disk(output):
        return {name.removesuffix(KEPT): posixpath.join(staging, name) for name in names if name.endswith(KEPT)}
    return {name: posixpath.join(staging, name) for name in names if "." not in name and name + CLAIM not in names}


def _names(folder: str) -> list[str]:
    try:
        return list(list_folder(folder))
    except STORAGE_ERRORS:
        return []


def _is_whole(path: str) -> bool:
    """Tells whether a file was finished: its footer comes last."""
    try:
        with FileSystems.open(path, compression_type="uncompressed") as stream:
            pq.read_metadata(stream)
    except (*STORAGE_ERRORS, pa.ArrowException):
        return False
    return True
