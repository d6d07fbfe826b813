"""How a benchmark's own file layout becomes records: a map over files, a group by sample, a build.

A converter names the roles that its inputs play (`json`, `images`), takes keyed parts out of each file, and
builds records from the parts of one key. It opens nothing itself; the pipeline gives it streams.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar


class UnreadableSource(Exception):
    """A source file, or a part of one, that cannot be converted; the message says where in it and why."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one file holds for one sample: the file's role and path, and the bytes that matter."""

    role: str
    path: str
    content: bytes


def read_json(content: bytes) -> Any:
    """Returns the value of a JSON text, with or without a byte order mark.

    Raises ValueError where it is not JSON, or a key is duplicated in one object, of which one would be lost;
    RecursionError where it is nested too deep.
    """
    return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:60]!r} is duplicated in one object")
    return named


class Converter(abc.ABC):
    """Turns a benchmark's published layout into records."""

    roles: ClassVar[Mapping[str, str]]
    """The roles of the inputs, each with its meaning; the first is the one meant where none is named."""
    additions: ClassVar[frozenset[str]] = frozenset()
    """The roles that make no record alone. Where files of one are given, each record needs one of them."""

    @abc.abstractmethod
    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
        """Yields (key, content) for each part of one file; the key is most often the sample_id.

        Raises UnreadableSource where the file cannot be read: then none of its parts counts. Of a file of many
        samples, a part that cannot be read is yielded as an UnreadableSource, and the others go on.
        """

    @abc.abstractmethod
    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the records of one key, each with its `sample_id`; parts come ordered by role and path.

        Raises UnreadableSource where the parts make no record.
        """
