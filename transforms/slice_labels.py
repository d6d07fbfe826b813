"""The labels of the slices that a sample belongs to.

A slice is named by a label: `column=value`, or `first=x,second=y` where columns are crossed. So that no two slices
share a label, a comma or a backslash that belongs to a column or a value has a backslash before it, and so has an
equals sign in the name of a column.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

import msgspec

MAX_LABEL_LENGTH = 200
MAX_SLICES_PER_SAMPLE = 1_000


def slice_count(slices: Sequence[Sequence[int]], values: Sequence[Any]) -> int:
    """Returns at most how many labels `slice_labels` gives, without making them."""
    return sum(
        math.prod(len(values[column]) if isinstance(values[column], list) else 1 for column in slice_columns)
        for slice_columns in slices
    )


def check_slice_count(
    columns: Sequence[str], slices: Sequence[Sequence[int]], values: Sequence[Any], most: int
) -> None:
    """Raises ValueError, with the columns that hold lists, where a sample would belong to more than `most` slices."""
    count = slice_count(slices, values)
    if count > most:
        used = dict.fromkeys(column for each in slices for column in each)
        lists = [f"{columns[column]} ({len(values[column])})" for column in used if isinstance(values[column], list)]
        raise ValueError(
            f"the columns {', '.join(lists)} put the sample into {count} slices, more than the {most} of "
            "limits.slices_per_sample; shorten the lists, slice by fewer columns, or raise the limit"
        )


def slice_labels(columns: Sequence[str], slices: Sequence[Sequence[int]], values: Sequence[Any] | None) -> list[str]:
    """Returns the labels of the slices that a sample with these column values belongs to, each once.

    A slice of one column is labelled `column=value`, a crossed one `first=x,second=y`; see above for commas and
    backslashes in them. A list puts the sample
    into the slice of each of its members, an empty list into none; a column that is absent or null has the value
    `null`. No values at all (a ground truth that could not be read): no slices.
    """
    if values is None:
        return []
    labels: dict[str, None] = {}
    for slice_columns in slices:
        choices = [
            [f"{_escaped(columns[column], ',=')}={_escaped(value, ',')}" for value in _members(values[column])]
            for column in slice_columns
        ]
        labels.update(dict.fromkeys(",".join(parts) for parts in itertools.product(*choices)))
    return list(labels)


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
    """Returns a column's value as text: a string as it is, anything else as JSON; long ones cut, with a hash."""
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(msgspec.to_builtins(value), sort_keys=True, ensure_ascii=False)
    if len(text) > MAX_LABEL_LENGTH:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        return f"{text[:MAX_LABEL_LENGTH]}...{digest}"
    return text


def cluster_unit(value: Any, sample_id: str) -> str:
    """Returns what the bootstrap draws for a sample with this value of the cluster column.

    Without a value the sample is a cluster of its own. A string and a number that print alike are different clusters.
    """
    if value is None:
        # No JSON starts like this, so that no cluster is the same.
        return f"sample:{sample_id}"
    return msgspec.json.encode(value, order="sorted").decode()
