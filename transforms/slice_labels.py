"""The slices that a sample belongs to, and their labels.

A slice is named by a label: `column=value`, or `first=x,second=y` if columns are crossed. To keep labels unique, a
comma or a backslash in a column or a value is escaped with a backslash, and so is an equals sign in the name of a
column.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

MAX_LABEL_LENGTH = 200
MAX_SLICES = 10_000
MAX_SLICES_PER_SAMPLE = 1_000


class Slice(NamedTuple):
    """The samples that have these values, as text, in these columns; without columns, all samples."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name of the slice; empty for all samples."""
        return ",".join(
            f"{_escaped(column, ',=')}={_escaped(value, ',')}"
            for column, value in zip(self.columns, self.values, strict=True)
        )


ALL_SAMPLES = Slice()


@dataclass(frozen=True, slots=True)
class Slicing:
    """How a run slices.

    columns: the columns that any slice needs. slices: the columns of each slice. most: how many slices a sample may
    belong to.
    """

    columns: tuple[str, ...] = ()
    slices: tuple[tuple[str, ...], ...] = ()
    most: int = MAX_SLICES_PER_SAMPLE

    def of(self, values: Sequence[Any]) -> tuple[Slice, ...]:
        """Returns the slices of a sample with these values of the columns, each once, without the slice of all samples.

        Raises ValueError, naming the columns that hold lists, if there are too many.
        """
        cells = dict(zip(self.columns, values, strict=True))
        sizes = {column: len(value) for column, value in cells.items() if isinstance(value, list)}
        count = sum(math.prod(sizes.get(column, 1) for column in each) for each in self.slices)
        if count > self.most:
            lists = [f"{column} ({size})" for column, size in sizes.items()]
            raise ValueError(
                f"the columns {', '.join(lists)} put the sample into {count} slices, more than the {self.most} of "
                "limits.slices_per_sample; shorten the lists, slice by fewer columns, or raise the limit"
            )
        return sample_slices(self.slices, cells)


def sample_slices(slices: Iterable[tuple[str, ...]], values: Mapping[str, Any]) -> tuple[Slice, ...]:
    """Returns the slices that a sample with these values of the columns belongs to, each once.

    slices: the columns of each slice. A list puts the sample into the slice of each of its members, an empty list into
    none; a column that is absent or null has the value `null`.
    """
    unique: dict[Slice, None] = {}
    for columns in slices:
        members = [_members(values[column]) for column in columns]
        unique.update(dict.fromkeys(Slice(columns, each) for each in itertools.product(*members)))
    return tuple(unique)


def _escaped(text: str, special: str) -> str:
    for character in "\\" + special:
        if character in text:
            text = text.replace(character, "\\" + character)
    return text


def _members(value: Any) -> list[str]:
    if isinstance(value, list):
        return list(dict.fromkeys(value_text(member) for member in value))
    return [value_text(value)]


def value_text(value: Any) -> str:
    """Returns a column's value as text: strings unchanged, anything else as JSON; long text is cut, with a hash."""
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(msgspec.to_builtins(value), sort_keys=True, ensure_ascii=False)
    if len(text) > MAX_LABEL_LENGTH:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{text[:MAX_LABEL_LENGTH]}...{digest}"
    return text


def cluster_unit(value: Any, sample_id: str) -> str:
    """Returns the bootstrap unit of a sample with this value of the cluster column.

    Without a value the sample is a cluster of its own. A string and a number that print alike are different clusters.
    """
    if value is None:
        # No JSON starts like this, so it equals no cluster.
        return f"sample:{sample_id}"
    return msgspec.json.encode(value, order="sorted").decode()
