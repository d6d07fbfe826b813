"""Values by key on the disk of one machine: as many as there are, in bounded memory."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import msgspec

from .temporary import temporary_folder, temporary_problem

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

KEYS_PER_QUERY = 500
"""SQLite takes at least 999 parameters."""
CACHE_KIB = 32 << 10
"""Memory of a worker process for what it has on its disk."""


class KeyStore:
    """Values of bytes by key, for all threads of a process; of a key that comes again, the last value counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Without a name it is a file of SQLite's own in the temporary folder, gone when this process is.
        self._connection = sqlite3.connect("", check_same_thread=False)
        self._connection.executescript(
            f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_KIB}"
        )
        self._connection.execute("CREATE TABLE rows (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")

    def add(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Adds pairs (key, value); raises InputProblem where the disk is full."""
        with self._lock:
            try:
                self._connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", items)
                self._connection.commit()
            except sqlite3.OperationalError as error:
                raise temporary_problem(temporary_folder(), error) from error

    def find(self, keys: Collection[bytes]) -> dict[bytes, bytes]:
        """Returns the values of those keys that are there."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), KEYS_PER_QUERY):
            some = wanted[start : start + KEYS_PER_QUERY]
            query = f"SELECT key, row FROM rows WHERE key IN ({','.join('?' * len(some))})"
            with self._lock:
                found.update(self._connection.execute(query, some).fetchall())
        return found

    def close(self) -> None:
        """Removes what is there."""
        self._connection.close()


def once_per_process(make: Callable[[KeyT], ValueT]) -> Callable[[KeyT], ValueT]:
    """Returns what gives `make(key)`, made once for equal keys in this process, whatever the number of its threads.

    A key for which `make` raises is tried again.
    """
    lock, made = threading.Lock(), dict[KeyT, ValueT]()

    def get(key: KeyT) -> ValueT:
        with lock:
            if key not in made:
                made[key] = make(key)
            return made[key]

    return get


def key_of(*parts: Any) -> bytes:
    """Returns a key of 16 bytes for parts that JSON can write."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).digest()
