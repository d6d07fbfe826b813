"""Sorts more than fits into memory: sorted runs on the worker's disk, merged."""

from __future__ import annotations

import contextlib
import heapq
import struct
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

from ..faults import temporary_folder, temporary_problem

BYTES_IN_MEMORY = 64 << 20
_BYTES_PER_ITEM = 150
"""What an item takes in memory beside its bytes: a tuple and two objects."""

_LENGTHS = struct.Struct("<QQ")

Item = tuple[bytes, bytes]


@contextlib.contextmanager
def sorted_on_disk(items: Iterable[Item], bytes_in_memory: int = BYTES_IN_MEMORY) -> Iterator[Iterator[Item]]:
    """Gives the items in order; about `bytes_in_memory` of them are held at once, the others in temporary files.

    Raises InputProblem where these cannot be written.
    """
    with contextlib.ExitStack() as files:
        runs: list[IO[bytes]] = []
        held: list[Item] = []
        size = 0
        for item in items:
            held.append(item)
            key, value = item
            size += len(key) + len(value) + _BYTES_PER_ITEM
            if size > bytes_in_memory:
                runs.append(files.enter_context(_spilled(sorted(held))))
                held, size = [], 0
        held.sort()
        yield heapq.merge(*map(_read_back, runs), held) if runs else iter(held)


def _closed(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):
        file.close()


def _spilled(items: list[Item]) -> IO[bytes]:
    folder = temporary_folder()
    with contextlib.ExitStack() as if_failed:
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
            # What it has not written yet, it would try to write again when it is closed.
            if_failed.callback(_closed, file)
            for key, value in items:
                file.write(_LENGTHS.pack(len(key), len(value)))
                file.write(key)
                file.write(value)
            file.seek(0)
        except OSError as error:
            raise temporary_problem(folder, error) from error
        if_failed.pop_all()
    return file


def _read_back(file: IO[bytes]) -> Iterator[Item]:
    while lengths := file.read(_LENGTHS.size):
        key, value = _LENGTHS.unpack(lengths)
        yield file.read(key), file.read(value)
