"""Edit distances of the texts of many charts: each text of one side of a chart with each of its other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from metrics.common.arrays import indexes
from metrics.common.geometry import Array
from metrics.common.segments import Indexes
from metrics.common.text import normalised_edit_distances, paired_edit_distances

# Tables of more pairs of texts are compared by themselves.
MAX_PAIRED_TEXTS = 1 << 12


class Texts(NamedTuple):
    """The texts of one side of many charts, one chart after the other, and how many each chart has, `[C]`."""

    texts: list[str]
    counts: Indexes


def distinct_texts(texts: Sequence[str], counts: Indexes) -> tuple[Texts, Indexes]:
    """Returns the distinct texts of each chart, and for each text its place among those of its chart."""
    distinct: list[str] = []
    places: list[int] = []
    of_charts: list[int] = []
    start = 0
    for count in counts.tolist():
        held = texts[start : start + count]
        positions = {text: place for place, text in enumerate(dict.fromkeys(held))}
        distinct += positions
        places += [positions[text] for text in held]
        of_charts.append(len(positions))
        start += count
    return Texts(distinct, indexes(of_charts)), indexes(places)


def text_distances(first: Texts, second: Texts) -> Array:
    """Returns the normalised edit distances of each chart as a table `[N, M]`, one after the other."""
    tables: list[Array] = []
    texts: tuple[list[str], list[str]] = [], []
    start = other_start = 0
    for count, other_count in zip(first.counts.tolist(), second.counts.tolist(), strict=True):
        some = first.texts[start : start + count]
        others = second.texts[other_start : other_start + other_count]
        start, other_start = start + count, other_start + other_count
        if count * other_count > MAX_PAIRED_TEXTS:
            tables += [paired_edit_distances(*texts), normalised_edit_distances(some, others).ravel()]
            texts = [], []
        else:
            for text in some:
                texts[0].extend([text] * other_count)
                texts[1].extend(others)
    return np.concatenate([*tables, paired_edit_distances(*texts)])


def text_steps(first: Texts, second: Texts) -> Indexes:
    """Returns the steps of `text_distances` for each chart: two passes over its table, and the operations on words.

    64 cells of a column of the table of edits are one operation; either text may be the column.
    """
    characters, words = _sizes(first)
    other_characters, other_words = _sizes(second)
    operations = np.maximum(words * other_characters, other_words * characters)
    return np.asarray(2 * (1 + first.counts * second.counts // 20) + operations // 80, dtype=np.intp)


def _sizes(texts: Texts) -> tuple[Indexes, Indexes]:
    """Returns the characters of each chart, and the words of 64 cells that hold a column for each of its texts."""
    lengths = indexes(list(map(len, texts.texts)))
    owners = np.repeat(np.arange(len(texts.counts)), texts.counts)
    characters = np.bincount(owners, lengths, len(texts.counts)).astype(np.intp)
    words = np.bincount(owners, 1 + lengths // 64, len(texts.counts)).astype(np.intp)
    return characters, np.where(characters < 64, texts.counts, words)
