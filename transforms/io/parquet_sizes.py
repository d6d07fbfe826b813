"""What the rows of Arrow columns have at least of bytes or values, counted before any becomes a Python object."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Weights(NamedTuple):
    """What is counted of a value: of each list, struct or map, of a number with a fraction, of any other value.

    bytes: whether each byte of a text counts, too, and of the names of fields.
    """

    container: int
    fraction: int
    other: int
    bytes: bool


BYTES = Weights(1, 9, 1, True)
PARTS = Weights(4, 1, 1, False)
"""An array or object takes as much memory as a few numbers or texts, however short it is in a file."""


def row_sizes(column: Any, weights: Weights = BYTES) -> Any:
    """Returns the least bytes of each value of an Arrow array in MessagePack: one number, or an array of them.

    A number counts at least 1 byte, a floating-point one 9, text its length. A value is never larger in fact than what
    it counts here, but for numbers and heads; what counts more than a limit is certainly beyond it. With other
    `weights` it returns what they count.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return row_sizes(column.storage, weights)
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column, weights)
    if pa.types.is_struct(kind):
        names = sum(len(field.name.encode("utf-8", "replace")) + 1 for field in kind) if weights.bytes else 0
        sizes: Any = weights.container + names
        for index in range(kind.num_fields):
            sizes = sizes + row_sizes(column.field(index), weights)
        return sizes
    if pa.types.is_fixed_size_list(kind):
        inner = row_sizes(column.flatten(), weights) if not column.null_count else 1
        return weights.container + _folded(inner, np.arange(len(column) + 1, dtype=np.int64) * kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _of_list(column, weights)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return row_sizes(column.cast(pa.large_binary()), weights) if weights.bytes else weights.other
    if _is_text(kind) and weights.bytes:
        lengths = pc.fill_null(pc.binary_length(column), 0)
        return weights.other + lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return weights.fraction if pa.types.is_floating(kind) and not column.null_count else weights.other


def _is_text(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind)
    )


def _of_dictionary(column: Any, weights: Weights) -> Any:
    sizes = row_sizes(column.dictionary, weights)
    if isinstance(sizes, int):
        return sizes
    if not len(sizes):
        return 1
    indices = pc.fill_null(column.indices, 0).to_numpy(zero_copy_only=False)
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), sizes[indices], 1)


def _of_list(column: Any, weights: Weights) -> Any:
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    if pa.types.is_map(column.type):
        keys, items = column.keys[first:last], column.items[first:last]
        inner = row_sizes(keys, weights) + row_sizes(items, weights)
    else:
        inner = row_sizes(column.values[first:last], weights)
    return weights.container + _folded(inner, offsets - first)


def _folded(inner: Any, offsets: Any) -> Any:
    """Returns the sizes of lists, by the sizes of their members."""
    if isinstance(inner, int):
        return inner * np.diff(offsets)
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(inner, dtype=np.int64)])
    return total[offsets[1:]] - total[offsets[:-1]]
