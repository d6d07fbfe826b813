"""How a benchmark's own file layout becomes records: a map over files, a group by sample, a build.

A converter names the roles that its inputs play (`json`, `images`), extracts keyed parts from each file, and
builds records from the parts of one key. It opens no files; the pipeline passes it streams.
"""

from __future__ import annotations

import abc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, ClassVar


class UnreadableSource(Exception):
    """A source file, or a part of one, that cannot be converted; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of one file for one sample: the file's role and path, and the relevant bytes."""

    role: str
    path: str
    content: bytes


def read_json(content: bytes, constant: Callable[[str], float] = float) -> Any:
    """Returns the value of a JSON text, with or without a byte order mark; `constant` makes that of NaN and Infinity.

    Raises ValueError if it is not JSON, or a key is duplicated in one object, so that one value would be lost;
    RecursionError if it is nested too deep.
    """
    return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_distinct, parse_constant=constant)


def only_part(key: str, parts: Sequence[Part]) -> Part:
    """Returns the part of a sample that has one; raises UnreadableSource if it comes more than once."""
    if len(parts) != 1:
        places = ", ".join(f"{part.path} ({part.role})" for part in parts[:5])
        raise UnreadableSource(f"sample {key!r} comes {len(parts)} times: {places}")
    return parts[0]


def stem_of(path: str) -> str:
    """Returns `train_00001` for `folder/train_00001.jpg`."""
    return PurePosixPath(path.replace("\\", "/")).stem


def text_lines(path: str, stream: BinaryIO) -> Iterator[bytes]:
    """Yields the lines of a text, with their ends.

    Raises UnreadableSource at a character NUL, which every line of UTF-16 has, or if lines end with CR alone.
    """
    for number, line in enumerate(stream, start=1):
        if b"\0" in line:
            raise UnreadableSource(f"{path}, line {number}: it has a character NUL, as UTF-16 has; write it as UTF-8")
        # Beside LF, a CR may be part of a line.
        if number == 1 and not line.endswith(b"\n") and b"\r" in line.strip():
            raise UnreadableSource(f"{path}: its lines end with CR alone; write LF at the end of each line")
        yield line


def no_constant(name: str) -> float:
    """Raises ValueError, as `read_json` does for NaN and Infinity where it must not take them."""
    raise ValueError(f"{name} is not JSON")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        seen: set[str] = set()
        key = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {key[:60]!r} is duplicated in one object")
    return named


class Converter(abc.ABC):
    """Turns a benchmark's published layout into records."""

    roles: ClassVar[Mapping[str, str]]
    """The roles of the inputs, each with its meaning; the first is the default."""
    additions: ClassVar[frozenset[str]] = frozenset()
    """Roles that make no record alone. If files of such a role are given, each record needs one of them."""
    file_name: ClassVar[str] = "*"
    """What the files are called, as a pattern, where they lie in folders with others."""

    @abc.abstractmethod
    def parts(self, role: str, path: str, stream: BinaryIO) -> Iterable[tuple[str, bytes] | UnreadableSource]:
        """Yields (key, content) for each part of one file; the key is most often the sample_id.

        Raises UnreadableSource if the file cannot be read: then none of its parts counts. If a file has many samples,
        a part that cannot be read is yielded as an UnreadableSource, and the others follow.
        """

    @abc.abstractmethod
    def records(self, key: str, parts: Sequence[Part]) -> Iterable[Mapping[str, Any]]:
        """Yields the records of one key, each with its `sample_id`; parts come ordered by role and path.

        Raises UnreadableSource if the parts make no record.
        """
