"""How a benchmark's own file layout becomes records: a map over files, a group by sample, a build.

A converter names the roles that its inputs play (`json`, `images`), takes keyed parts out of each file, and
builds records from the parts of one key. It opens nothing itself; the pipeline gives it streams.
"""

from __future__ import annotations

import abc
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


class Converter(abc.ABC):
    """Turns a benchmark's published layout into records."""

    roles: ClassVar[Mapping[str, str]]
    """The roles of the inputs, each with its meaning; the first is the one meant where none is named."""

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
